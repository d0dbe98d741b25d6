//! Requests that were held up on their way: none is begun after its caller has given it up. In virtual
//! time; the same with processes that stand still is in `children.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::io::{AsyncReadExt, AsyncWriteExt};
use tidings::actor::{self, Builder, CallError, Exit, Mailbox, SendError};
use tidings::time::{Instant, at};
use tidings_link::memory::{self, Pipe};
use tidings_link::{Broken, Exports, Limits, Link, Options, link};

use crate::by_hand::Peer;
use crate::faults::run;

#[tidings::interface(remote)]
trait Book {
    async fn note(&mut self, n: u64);
    async fn enter(&mut self, n: u64) -> u64;
    async fn entered(&self) -> Vec<u64>;
    async fn lend(&mut self, other: BookRef) -> ();
    async fn lent(&self) -> Option<BookRef>;
}

#[derive(Default)]
struct Pages(Vec<u64>, Option<BookRef>);

impl Book for Pages {
    async fn note(&mut self, n: u64) {
        self.0.push(n);
    }
    async fn enter(&mut self, n: u64) -> u64 {
        self.0.push(n);
        n
    }
    async fn entered(&self) -> Vec<u64> {
        self.0.clone()
    }
    async fn lend(&mut self, other: BookRef) {
        self.1 = Some(other);
    }
    async fn lent(&self) -> Option<BookRef> {
        self.1.clone()
    }
}

/// Carries what is written to one end of a pipe to another, so many milliseconds later.
fn carry(from: Pipe, to: Pipe, delays: [Arc<AtomicU64>; 2]) {
    let (reads, writes) = from.split();
    let (others_reads, others_writes) = to.split();
    let [there, back] = delays;
    for (mut from, mut to, delay) in [(reads, others_writes, there), (others_reads, writes, back)] {
        let (under_way, arrives) = tidings::unbounded::<(Instant, Vec<u8>)>();
        drop(tidings::spawn(async move {
            let mut room = vec![0; 1 << 16];
            while let Ok(n @ 1..) = from.read(&mut room).await {
                let delay = Duration::from_millis(delay.load(Ordering::Relaxed));
                let due = Instant::now() + delay;
                under_way.send((due, room[..n].to_vec())).await.unwrap();
            }
        }));
        drop(tidings::spawn(async move {
            while let Ok((due, bytes)) = arrives.recv().await {
                at(due).await;
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            let _ = to.close().await;
        }));
    }
}

/// A server and a client with a slow network between them, what is in the server's book, and the
/// delays from the client and to it.
async fn slow(delay: u64, hasty: Limits) -> (BookRef, Link, Link, BookRef, [Arc<AtomicU64>; 2]) {
    slow_to(actor::start(Pages::default()), delay, hasty).await
}

/// As above, with this book.
async fn slow_to(
    here: BookRef,
    delay: u64,
    hasty: Limits,
) -> (BookRef, Link, Link, BookRef, [Arc<AtomicU64>; 2]) {
    let patient = Limits {
        silence: Duration::from_secs(100),
        stall: Duration::from_secs(100),
        ..Limits::default()
    };
    let exports = Exports::new().add("book", &here);
    let (ours, theirs) = (memory::pipe(), memory::pipe());
    let options = Options::new("server").exports(exports).limits(patient);
    let (server, driver) = link(ours.0, options);
    drop(tidings::spawn(driver));
    let (client, driver) = link(theirs.0, Options::new("client").limits(hasty));
    drop(tidings::spawn(driver));
    let delays = [(); 2].map(|()| Arc::new(AtomicU64::new(delay)));
    carry(theirs.1, ours.1, delays.clone());
    let there = client.get("book").await.unwrap();
    (here, server, client, there, delays)
}

#[test]
fn a_call_is_begun_as_long_as_its_answer_can_be_in_time() {
    run(1, || async {
        let (here, server, _client, there, _) = slow(1_000, Limits::default()).await;
        let secs = Duration::from_secs;
        assert_eq!(there.enter(1).timeout(secs(3)).await.unwrap(), 1);
        // It comes in time, and its answer would not.
        let late = there.enter(2).timeout(Duration::from_millis(1_500)).await;
        assert!(matches!(late, Err(CallError::Timeout)));
        assert_eq!(there.enter(3).await.unwrap(), 3);
        assert_eq!(here.entered().await.unwrap(), [1, 3]);
        assert_eq!(server.stats().await.expired, 1);
    });
}

#[test]
fn a_call_that_a_network_held_up_is_not_begun_when_it_comes_and_what_still_waits_is() {
    // There, or back, or both.
    for held in [[7_000, 0], [7_000, 7_000]] {
        run(2, || async move {
            let (here, server, _client, there, delays) = slow(1, Limits::default()).await;
            assert_eq!(there.enter(1).await.unwrap(), 1);
            for (delay, held) in delays.iter().zip(held) {
                delay.store(held, Ordering::Relaxed);
            }
            let late = there.enter(2).timeout(Duration::from_secs(2)).await;
            assert!(matches!(late, Err(CallError::Timeout)));
            there.note(3).await.unwrap();
            let waits = tidings::spawn({
                let there = there.clone();
                async move { there.enter(4).await }
            });
            assert_eq!(waits.await.unwrap().unwrap(), 4);
            assert_eq!(here.entered().await.unwrap(), [1, 3, 4]);
            assert_eq!(server.stats().await.expired, 1);
        });
    }
}

#[test]
fn what_lies_in_a_link_that_the_caller_has_given_up_is_not_begun() {
    run(3, || async {
        let hasty = Limits {
            idle: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            ..Limits::default()
        };
        let (here, server, client, there, delays) = slow(1, hasty).await;
        assert_eq!(there.enter(1).await.unwrap(), 1);
        for delay in &delays {
            delay.store(5_000, Ordering::Relaxed);
        }
        there.note(2).await.unwrap();
        let unknown = there.enter(3).await.unwrap_err();
        let gone = matches!(unknown, CallError::Ended(Exit::Disconnected(_)));
        assert!(gone, "{unknown}");
        assert_eq!(client.down().await, Broken::Silent);
        assert_eq!(server.down().await, Broken::Closed);
        assert_eq!(here.entered().await.unwrap(), [1]);
    });
}

#[test]
fn what_comes_after_a_gap_is_begun_when_the_peer_says_that_it_still_waits() {
    run(4, || async {
        let patient = Limits {
            silence: Duration::from_secs(14),
            ..Limits::default()
        };
        let (here, _server, _client, there, delays) = slow(1, patient).await;
        assert_eq!(there.enter(1).await.unwrap(), 1);
        // It hears of the server all the time.
        delays[0].store(20_000, Ordering::Relaxed);
        there.note(2).await.unwrap();
        let asked = Instant::now();
        tidings::after(Duration::from_secs(1)).await;
        delays[0].store(0, Ordering::Relaxed);
        assert_eq!(there.enter(3).await.unwrap(), 3);
        let took = asked.elapsed();
        assert!(
            took >= Duration::from_secs(20) && took < Duration::from_secs(21),
            "{took:?}"
        );
        assert_eq!(here.entered().await.unwrap(), [1, 2, 3]);
    });
}

/// A book with room for one message before it, which is opened when this is sent.
fn shut() -> (BookRef, tidings::channel::oneshot::Sender<()>) {
    let (open, gate) = tidings::oneshot();
    let waits = |mut mailbox: Mailbox<BookMessage>| async move {
        let () = gate.await.unwrap();
        actor::serve(Pages::default(), &mut mailbox).await;
    };
    let book = Builder::new().capacity(1).spawn(waits);
    (BookRef::from(&book), open)
}

/// Sends four: one is in the mailbox, one is the first that waits for a place there, two are behind it.
async fn four(there: &BookRef, server: &Link) {
    for n in 1..=4 {
        there.note(n).await.unwrap();
    }
    while server.stats().await.tells_in < 4 {
        tidings::after(Duration::from_millis(1)).await;
    }
}

#[test]
fn what_waits_behind_a_slow_actor_is_not_begun_when_the_caller_has_given_up_the_link() {
    run(7, || async {
        let hasty = Limits {
            idle: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            ..Limits::default()
        };
        let (book, open) = shut();
        let (here, server, client, there, delays) = slow_to(book, 1, hasty).await;
        four(&there, &server).await;
        for delay in &delays {
            delay.store(60_000, Ordering::Relaxed);
        }
        assert_eq!(client.down().await, Broken::Silent);
        tidings::after(Duration::from_secs(2)).await;
        open.send(()).unwrap();
        assert_eq!(here.entered().await.unwrap(), [1, 2]);
        assert_eq!(server.down().await, Broken::Closed);
        assert_eq!(here.entered().await.unwrap(), [1, 2]);
        assert_eq!(server.stats().await.lost_in, 2);
    });
}

#[test]
fn what_waits_behind_a_slow_actor_is_begun_when_the_peer_says_that_it_still_waits() {
    run(8, || async {
        let patient = Limits {
            silence: Duration::from_secs(14),
            ..Limits::default()
        };
        let (book, open) = shut();
        let (here, server, _client, there, delays) = slow_to(book, 1, patient).await;
        four(&there, &server).await;
        // Behind this nothing comes for so long.
        delays[0].store(20_000, Ordering::Relaxed);
        there.note(5).await.unwrap();
        tidings::after(Duration::from_secs(1)).await;
        delays[0].store(0, Ordering::Relaxed);
        tidings::after(Duration::from_secs(14)).await;
        open.send(()).unwrap();
        assert_eq!(here.entered().await.unwrap(), [1, 2]);
        assert_eq!(there.enter(6).await.unwrap(), 6);
        assert_eq!(here.entered().await.unwrap(), [1, 2, 3, 4, 5, 6]);
    });
}

#[test]
fn a_call_that_waits_behind_a_slow_actor_is_not_begun_when_its_caller_has_gone() {
    run(9, || async {
        let (book, open) = shut();
        let (here, server, _client, there, _) = slow_to(book, 1, Limits::default()).await;
        four(&there, &server).await;
        let late = there.clone();
        let left = tidings::spawn(async move { late.enter(5).await });
        while server.stats().await.calls_in < 1 {
            tidings::after(Duration::from_millis(1)).await;
        }
        left.abort();
        while server.stats().await.nacks_in < 1 {
            tidings::after(Duration::from_millis(1)).await;
        }
        open.send(()).unwrap();
        assert_eq!(there.enter(6).await.unwrap(), 6);
        assert_eq!(here.entered().await.unwrap(), [1, 2, 3, 4, 6]);
    });
}

#[test]
fn a_reference_that_is_sent_while_word_of_its_actors_end_is_on_its_way_is_to_one_that_has_ended() {
    run(6, || async {
        let (here, _server, _client, there, _) = slow(1_000, Limits::default()).await;
        let other: BookRef = actor::start(Pages::default());
        there.lend(other.clone()).await.unwrap();
        assert!(here.lent().await.unwrap().unwrap().any().exit().is_none());
        other.stop();
        other.down().await;
        tidings::after(Duration::from_millis(100)).await;
        there.lend(other).await.unwrap();
        let lent = here.lent().await.unwrap().unwrap();
        assert!(matches!(lent.down().await, Exit::NoSuchActor));
        let unsent = lent.note(1).await.unwrap_err();
        assert!(matches!(unsent, SendError::Ended(_, Exit::NoSuchActor)));
        // The message that carried it was like any other.
        assert_eq!(there.enter(1).await.unwrap(), 1);
    });
}

#[test]
fn an_actor_that_is_given_up_has_first_what_was_held_for_it() {
    run(5, || async {
        let here: BookRef = actor::start(Pages::default());
        let (ours, theirs) = memory::pipe();
        let exports = Exports::new().add("book", &here);
        let (_server, driver) = link(ours, Options::new("server").exports(exports));
        drop(tidings::spawn(driver));
        let mut peer = Peer::new(theirs, Limits::default());
        peer.up().await;
        // It does not say what its clock is: nothing is begun.
        let book = tidings::remote::interface::<BookMessage>();
        let note = &book.methods()[0];
        let target = peer.asks(1, "book", "Book").await;
        peer.session
            .tell(target, note.number(), vec![], &mut vec![7]);
        peer.session.release(target, 1);
        peer.say().await;
        // What comes behind both has been handled.
        peer.asks(2, "book", "Book").await;
        assert!(here.entered().await.unwrap().is_empty());
        peer.session.pong(0, Instant::now());
        peer.say().await;
        peer.asks(3, "book", "Book").await;
        assert_eq!(here.entered().await.unwrap(), [7]);
    });
}
