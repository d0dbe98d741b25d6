//! What goes out of a link that drains, and what holds for it: messages that were accepted, streams, and
//! the last answer over a stream that keeps what it takes while it cannot give it away, as TLS does.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite};
use tidings::actor::{self, Builder, Mailbox, Streaming};
use tidings_link::memory::{self, Pipe};
use tidings_link::{Broken, Exports, Limits, Link, Options, link};

use crate::faults::run;
use crate::nodes::{CounterMessage, CounterRef, Hands, LaterRef, Tally, counter, linked};

#[derive(Default)]
struct Way {
    blocked: bool,
    waits: Option<Waker>,
}

struct Keeps {
    pipe: Pipe,
    bytes: Vec<u8>,
    way: Arc<Mutex<Way>>,
}

impl AsyncRead for Keeps {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_read(cx, to)
    }
}

impl AsyncWrite for Keeps {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bytes.extend_from_slice(from);
        let _ = self.poll_flush(cx)?;
        Poll::Ready(Ok(from.len()))
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let mut way = this.way.lock().unwrap();
        if way.blocked {
            way.waits = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(way);
        while !this.bytes.is_empty() {
            let n = ready!(Pin::new(&mut this.pipe).poll_write(cx, &this.bytes))?;
            this.bytes.drain(..n);
        }
        Poll::Ready(Ok(()))
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.pipe).poll_close(cx)
    }
}

#[test]
fn the_last_answer_is_given_away_before_a_link_that_drains_ends() {
    run(10, || async {
        let (to, replies) = tidings::unbounded();
        let here: LaterRef = actor::start(Hands(to));
        let way = Arc::<Mutex<Way>>::default();
        let (ours, theirs) = memory::pipe();
        let ours = Keeps {
            pipe: ours,
            bytes: Vec::new(),
            way: Arc::clone(&way),
        };
        let exports = Exports::new().add("later", &here);
        let (_server, driver) = link(ours, Options::new("server").exports(exports));
        drop(tidings::spawn(driver));
        let (client, driver) = link(theirs, Options::new("client"));
        drop(tidings::spawn(driver));
        let there: LaterRef = client.get("later").await.unwrap();
        let call = tidings::spawn(async move { there.ask().await });
        let reply = replies.recv().await.unwrap();
        client.drain();
        // Both have said so.
        tidings::after(Duration::from_secs(1)).await;
        way.lock().unwrap().blocked = true;
        let _ = reply.send(7);
        tidings::after(Duration::from_secs(1)).await;
        let waits = {
            let mut way = way.lock().unwrap();
            way.blocked = false;
            way.waits.take()
        };
        if let Some(waker) = waits {
            waker.wake();
        }
        assert_eq!(call.await.unwrap().unwrap(), 7);
    });
}

#[test]
fn what_was_accepted_before_a_drain_goes_out_before_the_goodbye() {
    run(11, || async {
        let (here, server, client, there) = counter().await;
        for n in 1..=100 {
            there.add(n).await.unwrap();
        }
        client.drain();
        assert_eq!(client.down().await, Broken::Drained);
        assert_eq!(server.down().await, Broken::Drained);
        assert_eq!(here.get().await.unwrap(), 5_050);
        assert_eq!(client.stats().await.unsendable, 0);
    });
}

/// One that tells a counter when to begin, the counter, the ends of a link, and what the other end has.
type Slow = (
    tidings::oneshot::Sender<()>,
    CounterRef,
    Link,
    Link,
    CounterRef,
);

/// A counter that begins to take messages when it is told.
async fn slow(limits: Limits) -> Slow {
    slow_over(|pipe| pipe, limits).await
}

/// As above, where the server has made this of its stream.
async fn slow_over<S>(stream: impl FnOnce(Pipe) -> S, limits: Limits) -> Slow
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (open, gate) = tidings::oneshot();
    let late = Builder::new().capacity(1);
    let late = late.spawn(|mut mailbox: Mailbox<CounterMessage>| async move {
        if gate.await.is_ok() {
            actor::serve(Tally::default(), &mut mailbox).await;
        }
    });
    let here = CounterRef::from(&late);
    let exports = Exports::new().add("counter", &here);
    let (ours, theirs) = memory::pipe();
    let options = Options::new("server").exports(exports).limits(limits);
    let (server, driver) = link(stream(ours), options);
    drop(tidings::spawn(driver));
    let (client, driver) = link(theirs, Options::new("client"));
    drop(tidings::spawn(driver));
    let there = client.get("counter").await.unwrap();
    (open, here, server, client, there)
}

#[test]
fn what_waits_for_credit_as_a_link_drains_is_sent_and_what_comes_behind_it_is_not() {
    for by_client in [true, false] {
        run(12, move || async move {
            let mut few = Limits::default();
            few.window.messages = 2;
            let (open, here, server, client, there) = slow(few).await;
            for n in 1..=10 {
                there.add(n).await.unwrap();
            }
            tidings::after(Duration::from_secs(1)).await;
            // One is in the mailbox, and of its credit another has come.
            assert_eq!(server.stats().await.tells_in, 3);
            if by_client { &client } else { &server }.drain();
            tidings::after(Duration::from_secs(1)).await;
            there.add(1_000).await.unwrap();
            // It waits for its turn, and is refused then.
            let late = tidings::spawn(async move { there.get().await });
            assert_eq!((client.exit(), server.exit()), (None, None));
            open.send(()).unwrap();
            assert!(late.await.unwrap().is_err());
            assert_eq!(client.down().await, Broken::Drained);
            assert_eq!(server.down().await, Broken::Drained);
            assert_eq!(here.get().await.unwrap(), 55);
            assert_eq!(client.stats().await.unsendable, 2);
        });
    }
}

/// The client sends and goes; the counter begins to take messages long after that, and has all.
async fn has_all_when_the_other_has_gone((open, here, server, client, there): Slow) {
    for n in 1..=10 {
        there.add(n).await.unwrap();
    }
    client.drain();
    assert_eq!(client.down().await, Broken::Drained);
    tidings::after(Duration::from_secs(1)).await;
    assert_eq!(server.exit(), None);
    open.send(()).unwrap();
    assert_eq!(server.down().await, Broken::Drained);
    assert_eq!(here.get().await.unwrap(), 55);
    assert_eq!(server.stats().await.lost_in, 0);
}

#[test]
fn what_a_peer_has_sent_that_has_gone_in_order_is_given_to_its_actors() {
    run(15, || async {
        has_all_when_the_other_has_gone(slow(Limits::default()).await).await;
        // Nobody waits for ever for an actor that takes none.
        let (_shut, _here, server, client, there) = slow(Limits::default()).await;
        for n in 1..=10 {
            there.add(n).await.unwrap();
        }
        client.drain();
        assert_eq!(client.down().await, Broken::Drained);
        assert_eq!(server.down().await, Broken::Silent);
        assert_eq!(server.stats().await.lost_in, 9);
    });
}

/// A stream that breaks where its peer ends it: as TLS without a last word, and TCP where something is unread.
struct Breaks(Pipe, io::ErrorKind);

impl AsyncRead for Breaks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match ready!(Pin::new(&mut self.0).poll_read(cx, to))? {
            0 => Poll::Ready(Err(self.1.into())),
            n => Poll::Ready(Ok(n)),
        }
    }
}

impl AsyncWrite for Breaks {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

#[test]
fn what_a_peer_has_sent_that_has_gone_in_order_is_given_to_its_actors_though_its_stream_breaks() {
    for kind in [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::TimedOut,
    ] {
        run(16, move || async move {
            let breaks = |pipe| Breaks(pipe, kind);
            let slow = slow_over(breaks, Limits::default()).await;
            has_all_when_the_other_has_gone(slow).await;
        });
    }
}

#[tidings::interface(remote)]
trait Source {
    async fn numbers(&self) -> Streaming<u32>;
}

/// Gives after a second more than are asked for at a time, and those one after the other.
struct Numbers;

impl Source for Numbers {
    async fn numbers(&self) -> Streaming<u32> {
        tidings::after(Duration::from_secs(1)).await;
        let (replies, stream) = actor::streaming(8);
        tidings::spawn(async move {
            for n in 0..1_000 {
                if replies.send(n).await.is_err() {
                    return;
                }
            }
            replies.finish();
        });
        stream
    }
}

#[test]
fn a_stream_that_has_begun_as_a_link_drains_comes_whole() {
    for by_client in [true, false] {
        run(13, move || async move {
            let here: SourceRef = actor::start(Numbers);
            let exports = Exports::new().add("source", &here);
            let (server, client) = linked(
                Options::new("server").exports(exports),
                Options::new("client"),
            );
            let there: SourceRef = client.get("source").await.unwrap();
            let (mut numbers, left) = (
                there.numbers().await.unwrap(),
                there.numbers().await.unwrap(),
            );
            assert_eq!(numbers.recv().await.unwrap().unwrap(), 0);
            if by_client { &client } else { &server }.drain();
            tidings::after(Duration::from_secs(1)).await;
            for n in 1..1_000 {
                assert_eq!(numbers.recv().await.unwrap().unwrap(), n);
            }
            assert!(numbers.recv().await.is_none());
            // One that nobody takes holds the link, until it is dropped.
            tidings::after(Duration::from_secs(1)).await;
            assert_eq!((client.exit(), server.exit()), (None, None));
            drop(left);
            assert_eq!(client.down().await, Broken::Drained);
            assert_eq!(server.down().await, Broken::Drained);
        });
    }
}

#[test]
fn a_stream_that_comes_by_the_last_answer_of_a_peer_that_drains_comes_whole() {
    run(14, || async {
        let here: SourceRef = actor::start(Numbers);
        let exports = Exports::new().add("source", &here);
        let options = Options::new("server").exports(exports);
        let (server, client) = linked(options, Options::new("client"));
        let there: SourceRef = client.get("source").await.unwrap();
        let asked = tidings::spawn(async move { there.numbers().await });
        while server.stats().await.calls_in == 0 {
            tidings::yield_now().await;
        }
        server.drain();
        let mut numbers = asked.await.unwrap().unwrap();
        for n in 0..1_000 {
            assert_eq!(numbers.recv().await.unwrap().unwrap(), n);
        }
        assert!(numbers.recv().await.is_none());
        assert_eq!(client.down().await, Broken::Drained);
        assert_eq!(server.down().await, Broken::Drained);
    });
}

#[tidings::interface(remote)]
trait Heap {
    async fn put(&mut self, n: u64);
    async fn sum(&self) -> u64;
}

/// Takes 20 ms for each.
struct Slowly(u64);

impl Heap for Slowly {
    async fn put(&mut self, n: u64) {
        tidings::after(Duration::from_millis(20)).await;
        self.0 += n;
    }
    async fn sum(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_slow_actor_has_all_that_a_peer_had_sent_that_has_gone_in_order_however_long_it_takes() {
    run(14, || async {
        let here: HeapRef = actor::start(Slowly(0));
        let server = Options::new("server").exports(Exports::new().add("heap", &here));
        let (server, client) = linked(server, Options::new("client"));
        let there: HeapRef = client.get("heap").await.unwrap();
        for _ in 0..1_200 {
            there.put(1).await.unwrap();
        }
        client.drain();
        assert_eq!(client.down().await, Broken::Drained);
        // Longer than a peer may be silent for.
        assert_eq!(server.down().await, Broken::Drained);
        assert_eq!(server.stats().await.lost_in, 0);
        assert_eq!(here.sum().await.unwrap(), 1_200);
    });
}
