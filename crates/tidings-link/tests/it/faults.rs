//! Links over streams that drip, cut, stall and lie, under the seeded scheduler and virtual time: same
//! seed, same run.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite};
use tidings::actor::{self, CallError, Exit};
use tidings::sched::{Runtime, Seeded};
use tidings::{Event, JoinSet};
use tidings_link::memory::{self, Pipe};
use tidings_link::{Broken, Exports, Limits, Link, Options, link};

use crate::nodes::{self, CounterMessage, CounterRef, LONG, Tally};

/// What a stream does to its bytes.
#[derive(Debug, Default)]
struct Fault {
    /// At most so many bytes at a time; any number if it is 0.
    drip: usize,
    /// So many bytes are written, and then it breaks; never if it is negative.
    cut: AtomicI64,
    /// Nothing is written, nothing breaks.
    stalled: AtomicBool,
    /// Nothing comes, nothing breaks.
    deaf: AtomicBool,
}

impl Fault {
    fn none() -> Self {
        Self {
            cut: AtomicI64::new(-1),
            ..Self::default()
        }
    }
}

struct Faulty {
    pipe: Pipe,
    fault: Arc<Fault>,
}

impl AsyncRead for Faulty {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if self.fault.deaf.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        let most = match self.fault.drip {
            0 => to.len(),
            drip => drip.min(to.len()),
        };
        Pin::new(&mut self.pipe).poll_read(cx, &mut to[..most])
    }
}

impl AsyncWrite for Faulty {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.fault.stalled.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        let left = self.fault.cut.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let mut most = from.len();
        if self.fault.drip > 0 {
            most = most.min(self.fault.drip);
        }
        if left > 0 {
            most = most.min(usize::try_from(left).unwrap());
        }
        let polled = Pin::new(&mut self.pipe).poll_write(cx, &from[..most]);
        if let (Poll::Ready(Ok(n)), 1..) = (&polled, left) {
            self.fault.cut.fetch_sub(*n as i64, Ordering::Relaxed);
        }
        polled
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_close(cx)
    }
}

/// A server with a counter, and a client whose stream has the fault.
fn pair(fault: Fault, limits: Limits) -> (CounterRef, Link, Link, Arc<Fault>) {
    let counter: CounterRef = actor::start(Tally::default());
    let exports = Exports::new().add("counter", &counter);
    let (server, client, fault) = faulty(exports, fault, limits);
    (counter, server, client, fault)
}

/// A server, and a client whose stream has the fault.
fn faulty(exports: Exports, fault: Fault, limits: Limits) -> (Link, Link, Arc<Fault>) {
    let (ours, theirs) = memory::pipe();
    let (server, driver) = link(ours, Options::new("server").exports(exports).limits(limits));
    tidings::spawn(driver);
    let fault = Arc::new(fault);
    let theirs = Faulty {
        pipe: theirs,
        fault: Arc::clone(&fault),
    };
    let (client, driver) = link(theirs, Options::new("client").limits(limits));
    tidings::spawn(driver);
    (server, client, fault)
}

pub(crate) fn run<F: Future>(seed: u64, f: impl FnOnce() -> F) -> F::Output {
    let runtime = Runtime::builder().seam(Seeded::new(seed)).build().unwrap();
    runtime.block_on(async { f().await })
}

#[test]
fn a_stream_that_drips_byte_by_byte_carries_all() {
    for drip in [1, 2, 3, 7] {
        run(drip as u64, || async move {
            let fault = Fault {
                drip,
                ..Fault::none()
            };
            let (_counter, _server, client, _) = pair(fault, Limits::default());
            let there: CounterRef = client.get("counter").await.unwrap();
            for n in 0..20 {
                there.add(n).await.unwrap();
            }
            assert_eq!(there.get().await.unwrap(), 190);
            let bytes = vec![3; 40_000];
            assert!(there.echo(bytes.clone()).await.unwrap() == bytes);
        });
    }
}

#[test]
fn a_link_that_is_cut_anywhere_ends_every_call_once_and_says_what_is_known() {
    for cut in (0..700).step_by(7) {
        run(cut, || async move {
            let fault = Fault {
                cut: AtomicI64::new(cut as i64),
                ..Fault::none()
            };
            let (counter, server, client, _) = pair(fault, Limits::default());
            let mut acknowledged = 0;
            let mut unknown = 0;
            if let Ok(there) = client
                .get::<CounterRef>("counter")
                .timeout_or_down(&client)
                .await
            {
                let mut calls = JoinSet::new();
                for _ in 0..20 {
                    let there = there.clone();
                    calls.spawn(async move {
                        let _ = there.add(1).await;
                        there.get().await
                    });
                }
                while let Some(ended) = calls.join_next().await {
                    match ended.unwrap() {
                        Ok(_) => acknowledged += 1,
                        Err(CallError::Ended(Exit::Disconnected(_))) => unknown += 1,
                        Err(CallError::NotExecuted(Exit::Disconnected(_))) => {}
                        Err(other) => panic!("cut at {cut}: {other}"),
                    }
                }
                let exit = there.down().await;
                if acknowledged < 20 {
                    assert!(matches!(exit, Exit::Disconnected(_)), "{exit}");
                }
            }
            client.close();
            client.down().await;
            server.down().await;
            // At most once: no more were added than were sent, no fewer than were answered.
            let sum = counter.get().await.unwrap();
            assert!(
                (acknowledged..=20).contains(&sum),
                "cut at {cut}: {sum}, {acknowledged}, {unknown}"
            );
        });
    }
}

/// A wait for a name that ends with the link.
trait OrDown<R> {
    async fn timeout_or_down(self, link: &Link) -> Result<R, ()>;
}

impl<R, F: Future<Output = Result<R, tidings_link::GetError>>> OrDown<R> for F {
    async fn timeout_or_down(self, link: &Link) -> Result<R, ()> {
        let got = self.await;
        if got.is_err() {
            assert!(link.exit().is_some());
        }
        got.map_err(|_| ())
    }
}

#[test]
fn a_peer_that_does_not_read_is_given_up_and_those_who_wait_hear_of_it() {
    run(1, || async {
        let (_counter, server, client, fault) = pair(Fault::none(), Limits::default());
        let there: CounterRef = client.get("counter").await.unwrap();
        fault.stalled.store(true, Ordering::Relaxed);
        let start = tidings::time::Instant::now();
        let error = there.get().await.unwrap_err();
        assert!(
            matches!(error, CallError::Ended(Exit::Disconnected(_))),
            "{error}"
        );
        assert_eq!(client.down().await, Broken::SlowPeer);
        assert!(start.elapsed() <= Duration::from_secs(21));
        assert_eq!(server.down().await, Broken::Closed);
    });
}

#[test]
fn a_half_open_link_is_noticed() {
    run(2, || async {
        let limits = Limits {
            stall: Duration::from_secs(30),
            ..Limits::default()
        };
        let (_counter, server, client, fault) = pair(Fault::none(), limits);
        let there: CounterRef = client.get("counter").await.unwrap();
        fault.stalled.store(true, Ordering::Relaxed);
        fault.deaf.store(true, Ordering::Relaxed);
        let start = tidings::time::Instant::now();
        // The server has nothing to say, and hears nothing.
        assert_eq!(server.down().await, Broken::Silent);
        assert!(start.elapsed() <= Duration::from_secs(16));
        assert!(matches!(
            client.down().await,
            Broken::Silent | Broken::SlowPeer
        ));
        assert!(matches!(there.down().await, Exit::Disconnected(_)));
    });
}

#[test]
fn an_idle_link_stays() {
    run(3, || async {
        let (_counter, server, client, _) = pair(Fault::none(), Limits::default());
        let there: CounterRef = client.get("counter").await.unwrap();
        tidings::after(Duration::from_secs(3600)).await;
        assert_eq!(there.get().timeout(LONG).await.unwrap(), 0);
        assert!(server.stats().await.pings + client.stats().await.pings > 0);
    });
}

#[test]
fn a_peer_that_says_nothing_has_no_link() {
    run(4, || async {
        let (ours, _theirs) = memory::pipe();
        let (server, driver) = link(ours, Options::new("server"));
        tidings::spawn(driver);
        assert_eq!(server.up().await.unwrap_err(), Broken::Handshake);
        assert_eq!(server.down().await, Broken::Handshake);
    });
}

#[test]
fn a_slow_actor_stops_those_who_send_to_it_and_nobody_else() {
    run(5, || async {
        let deaf = actor::Builder::new().capacity(1).spawn(
            |mailbox: actor::Mailbox<CounterMessage>| async move {
                std::future::pending::<()>().await;
                drop(mailbox);
            },
        );
        let counter: CounterRef = actor::start(Tally::default());
        let exports = Exports::new()
            .add("deaf", &CounterRef::from(&deaf))
            .add("counter", &counter);
        let (_server, client) = nodes::pair(exports);
        let slow: CounterRef = client.get("deaf").await.unwrap();
        let there: CounterRef = client.get("counter").await.unwrap();
        let mut sent = 0;
        while slow.add(1).timeout(Duration::from_secs(1)).await.is_ok() {
            sent += 1;
        }
        // Its mailbox and the one in its hands, its window, and the mailbox here.
        let room = 1 + 1 + 1024 + 1024;
        assert!((room - 2..=room).contains(&sent), "{sent}");
        for n in 0..2000 {
            there.add(n).await.unwrap();
        }
        assert_eq!(there.get().await.unwrap(), 1999 * 1000);
        deaf.kill();
        let exit = slow.down().timeout(LONG).await.unwrap();
        assert!(matches!(exit, Exit::Killed), "{exit}");
    });
}

#[tidings::interface(remote)]
trait Log {
    async fn note(&mut self, n: u64);
    async fn noted(&mut self) -> Vec<u64>;
}

#[derive(Default)]
struct Lines(Vec<u64>);

impl Log for Lines {
    async fn note(&mut self, n: u64) {
        self.0.push(n);
    }
    async fn noted(&mut self) -> Vec<u64> {
        self.0.clone()
    }
}

#[test]
fn what_waits_for_a_place_in_a_mailbox_keeps_its_order_and_its_messages() {
    run(8, || async {
        let (open, gate) = tidings::oneshot();
        let late = actor::Builder::new().capacity(1).spawn(
            |mut mailbox: actor::Mailbox<LogMessage>| async move {
                let () = gate.await.unwrap();
                actor::serve(Lines::default(), &mut mailbox).await;
            },
        );
        let exports = Exports::new().add("log", &LogRef::from(&late));
        let (server, client) = nodes::pair(exports);
        let there: LogRef = client.get("log").await.unwrap();
        for n in 0..100 {
            there.note(n).await.unwrap();
        }
        while server.stats().await.tells_in < 100 {
            tidings::yield_now().await;
        }
        open.send(()).unwrap();
        for n in 100..200 {
            there.note(n).await.unwrap();
        }
        assert!(there.noted().await.unwrap().into_iter().eq(0..200));
    });
}

#[tidings::interface(remote)]
trait Keeper {
    async fn keep(&mut self, it: CounterRef);
}

struct Shelf(tidings::Sender<CounterRef>);

impl Keeper for Shelf {
    async fn keep(&mut self, it: CounterRef) {
        self.0.send(it).await.unwrap();
    }
}

#[test]
fn a_reference_that_comes_after_the_end_of_its_actor_hears_of_the_end() {
    run(9, || async {
        let (shelf, kept) = tidings::unbounded();
        let keeper: KeeperRef = actor::start(Shelf(shelf));
        let tally: CounterRef = actor::start(Tally::default());
        let exports = Exports::new().add("keeper", &keeper).add("tally", &tally);
        let (_server, client, fault) = faulty(exports, Fault::none(), Limits::default());
        let keeper: KeeperRef = client.get("keeper").await.unwrap();
        let tally: CounterRef = client.get("tally").await.unwrap();
        let counter: CounterRef = actor::start(Tally::default());
        keeper.keep(counter.clone()).await.unwrap();
        let early = kept.recv().await.unwrap();
        // The reference lies behind more than is written at once when the end comes, which is told
        // before requests.
        fault.stalled.store(true, Ordering::Relaxed);
        let large = tidings::spawn({
            let tally = tally.clone();
            async move { tally.echo(vec![0; 300_000]).await }
        });
        while client.stats().await.calls_out < 1 {
            tidings::yield_now().await;
        }
        keeper.keep(counter.clone()).await.unwrap();
        while client.stats().await.tells_out < 2 {
            tidings::yield_now().await;
        }
        counter.stop();
        counter.down().await;
        client.stats().await;
        fault.stalled.store(false, Ordering::Relaxed);
        client.stats().await;
        assert!(matches!(early.down().await, Exit::Stopped));
        let late = kept.recv().await.unwrap();
        let exit = late.down().timeout(LONG).await;
        assert!(matches!(exit, Ok(Exit::Stopped)), "{exit:?}");
        let error = late.get().await.unwrap_err();
        assert!(
            matches!(error, CallError::NotExecuted(Exit::Stopped)),
            "{error}"
        );
        assert_eq!(large.await.unwrap().unwrap().len(), 300_000);
    });
}

#[test]
fn a_request_that_comes_too_late_is_not_given_to_its_actor() {
    run(6, || async {
        let (open, gate) = tidings::oneshot();
        let late = actor::Builder::new().capacity(1).spawn(
            |mut mailbox: actor::Mailbox<CounterMessage>| async move {
                let () = gate.await.unwrap();
                actor::serve(Tally::default(), &mut mailbox).await;
            },
        );
        let exports = Exports::new().add("late", &CounterRef::from(&late));
        let (server, client) = nodes::pair(exports);
        let there: CounterRef = client.get("late").await.unwrap();
        // One in its mailbox, one that waits for a place, and one behind that.
        for _ in 0..3 {
            there.add(1).await.unwrap();
        }
        let asked = there.echo(vec![1]).timeout(Duration::from_secs(1)).await;
        assert!(matches!(asked, Err(CallError::Timeout)));
        open.send(()).unwrap();
        assert_eq!(there.get().await.unwrap(), 3);
        assert_eq!(server.stats().await.expired, 1);
    });
}

#[test]
fn a_request_whose_time_passes_in_the_mailbox_never_reaches_its_handler() {
    run(7, || async {
        let (open, gate) = tidings::oneshot();
        let late = actor::spawn(|mut mailbox: actor::Mailbox<CounterMessage>| async move {
            let () = gate.await.unwrap();
            actor::serve(Tally::default(), &mut mailbox).await;
        });
        let here = CounterRef::from(&late);
        let exports = Exports::new().add("late", &here);
        let (_server, client) = nodes::pair(exports);
        let there: CounterRef = client.get("late").await.unwrap();
        // From either side: its handler would be the actor's end.
        for counter in [&there, &here] {
            let late = counter.panics().timeout(Duration::from_secs(1)).await;
            assert!(matches!(late, Err(CallError::Timeout)));
        }
        open.send(()).unwrap();
        assert_eq!(there.get().timeout(LONG).await.unwrap(), 0);
    });
}

#[test]
fn the_same_calls_hold_under_a_hundred_schedules() {
    for seed in 0..100 {
        run(seed, || async move {
            let fault = Fault {
                drip: (seed % 5) as usize * 40,
                ..Fault::none()
            };
            let few = Limits {
                window: tidings_link::Grant {
                    messages: 2,
                    bytes: 64,
                },
                link_window: tidings_link::Grant {
                    messages: 3,
                    bytes: 100,
                },
                calls: 4,
                ..Limits::default()
            };
            let (_counter, _server, client, _) = pair(fault, few);
            let there: CounterRef = client.get("counter").await.unwrap();
            let mut callers = JoinSet::new();
            for caller in 0..8_u8 {
                let there = there.clone();
                callers.spawn(async move {
                    for n in 0..6 {
                        let bytes = vec![caller; n * 20];
                        // No more calls than the peer takes: others wait, and are not refused.
                        assert_eq!(there.echo(bytes.clone()).await.unwrap(), bytes);
                    }
                });
            }
            while let Some(caller) = callers.join_next().await {
                caller.unwrap();
            }
        });
    }
}

#[test]
fn a_request_that_waits_because_too_much_is_to_be_written_is_counted() {
    // None at all is one: a link on which nothing may wait would send nothing.
    for outgoing in [1, 0] {
        run(7, move || async move {
            let narrow = Limits {
                outgoing,
                ..Limits::default()
            };
            let (_counter, _server, client, _) = pair(Fault::none(), narrow);
            let there: CounterRef = client.get("counter").await.unwrap();
            let before = client.stats().await.congested;
            for n in 0..3 {
                there.add(n).await.unwrap();
            }
            assert_eq!(there.get().await.unwrap(), 3);
            assert!(client.stats().await.congested > before);
        });
    }
}
