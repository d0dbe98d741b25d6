//! What one turn of a link does, moved by hand: no runtime, no other thread. The peer is a session.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::io::{AsyncRead, AsyncWrite};
use tidings::actor::CallError;
use tidings::time::Instant;
use tidings_link::memory::{self, Pipe};
use tidings_link::{Broken, Driver, Grant, Incoming, Limits, Link, Options, Session, link};

use crate::nodes::{CounterRef, peer};

/// The other end.
pub(crate) struct Peer {
    pub(crate) session: Session,
    pipe: Pipe,
    /// Callers that have gone, as it was told.
    gone: usize,
}

impl Peer {
    pub(crate) fn new(pipe: Pipe, limits: Limits) -> Self {
        let session = peer(limits);
        Self {
            session,
            pipe,
            gone: 0,
        }
    }

    /// Hears all that has been written so far, and gives the calls in it.
    pub(crate) fn hear(&mut self) -> Vec<u32> {
        let mut cx = Context::from_waker(Waker::noop());
        let (mut bytes, mut room) = (Vec::new(), [0; 1 << 16]);
        while let Poll::Ready(n) = Pin::new(&mut self.pipe).poll_read(&mut cx, &mut room) {
            bytes.extend_from_slice(&room[..n.unwrap()]);
        }
        let (mut rest, mut calls) = (&bytes[..], Vec::new());
        while let Some((taken, incoming)) = self.session.receive(rest, Instant::now()).unwrap() {
            rest = &rest[taken..];
            match incoming {
                Some(Incoming::Request { call, .. }) => {
                    let call = call.unwrap();
                    assert!(self.session.serve(call).unwrap());
                    calls.push(call);
                }
                Some(Incoming::Bind(bind)) => self.session.bound(bind.id, Ok(0)),
                Some(Incoming::Nack(_)) => self.gone += 1,
                _ => {}
            }
        }
        assert!(rest.is_empty());
        calls
    }

    /// Says all that it has to say.
    pub(crate) fn say(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            let output = self.session.output();
            if output.is_empty() {
                return;
            }
            let polled = Pin::new(&mut self.pipe).poll_write(&mut cx, output);
            let Poll::Ready(n) = polled else {
                panic!("the pipe is full");
            };
            self.session.written(n.unwrap());
        }
    }

    pub(crate) fn answer(&mut self, calls: &[u32]) {
        for call in calls {
            self.session.answer(*call, Ok(vec![]), &mut vec![0]);
        }
        self.say();
    }

    /// Has the other end dropped its stream?
    pub(crate) fn is_at_the_end(&mut self) -> bool {
        let (mut cx, mut room) = (Context::from_waker(Waker::noop()), [0; 1 << 10]);
        loop {
            match Pin::new(&mut self.pipe).poll_read(&mut cx, &mut room) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return true,
                Poll::Pending => return false,
            }
        }
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A driver that is polled when the test says so.
pub(crate) struct Moved {
    driver: Driver,
    woken: Arc<Woken>,
}

impl Moved {
    pub(crate) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> (Link, Self) {
        Self::with(stream, Options::new("client"))
    }

    pub(crate) fn with(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        options: Options,
    ) -> (Link, Self) {
        let (link, driver) = link(stream, options);
        let woken = Arc::default();
        (link, Self { driver, woken })
    }

    fn poll(&mut self) -> Poll<Broken> {
        self.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.woken));
        Pin::new(&mut self.driver).poll(&mut Context::from_waker(&waker))
    }

    /// One turn. Does it want another?
    pub(crate) fn turn(&mut self) -> bool {
        assert_eq!(self.poll(), Poll::Pending);
        self.woken.0.load(Ordering::Relaxed)
    }

    pub(crate) fn turns(&mut self) {
        while self.turn() {}
    }

    /// As an executor: a turn whenever it was woken. How it has ended.
    pub(crate) fn run(&mut self) -> Option<Broken> {
        while self.woken.0.load(Ordering::Relaxed) {
            if let Poll::Ready(broken) = self.poll() {
                return Some(broken);
            }
        }
        None
    }
}

pub(crate) type Call = Pin<Box<dyn Future<Output = Result<i64, CallError>> + Send>>;

pub(crate) fn poll(call: &mut Call) -> bool {
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    polled.map(Result::unwrap).is_ready()
}

/// So many calls that wait to be sent.
pub(crate) fn calls(there: &CounterRef, n: usize) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    calls.resize_with(n, || {
        let there = there.clone();
        Box::pin(async move { there.get().await })
    });
    assert!(!calls.iter_mut().any(poll));
    calls
}

/// A link that is up, and a reference.
fn up() -> (Peer, Moved, Link, CounterRef) {
    up_over(|pipe| pipe, Limits::default())
}

/// A pipe that asks before each write whether it takes anything.
pub(crate) struct Gated<F> {
    pub(crate) pipe: Pipe,
    pub(crate) takes: F,
}

impl<F: Unpin> AsyncRead for Gated<F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_read(cx, to)
    }
}

impl<F: FnMut() -> bool + Unpin> AsyncWrite for Gated<F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        match (self.takes)() {
            true => Pin::new(&mut self.pipe).poll_write(cx, from),
            false => Poll::Pending,
        }
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_close(cx)
    }
}

/// As `up`, over what is made of the pipe, to a peer with these limits.
pub(crate) fn up_over<S>(
    stream: impl FnOnce(Pipe) -> S,
    limits: Limits,
) -> (Peer, Moved, Link, CounterRef)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (ours, theirs) = memory::pipe();
    let mut peer = Peer::new(theirs, limits);
    let (link, mut moved) = Moved::new(stream(ours));
    let mut get = Box::pin(link.get::<CounterRef>("counter"));
    for _ in 0..2 {
        moved.turns();
        peer.hear();
        peer.say();
    }
    moved.turns();
    let got = get
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .map(Result::unwrap);
    let Poll::Ready(there) = got else {
        panic!("the name has been answered");
    };
    (peer, moved, link, there)
}

#[test]
fn a_crowd_is_answered_in_parts_and_those_who_were_go_on_before_the_next() {
    let (mut peer, mut moved, _link, there) = up();
    let mut waiting = calls(&there, 200);
    moved.turns();
    let begun = peer.hear();
    assert_eq!(begun.len(), 200);
    peer.answer(&begun);
    // All of it can be read at once. A quarter is handled, and the driver asks for another turn.
    assert!(moved.turn());
    waiting.retain_mut(|call| !poll(call));
    assert_eq!(waiting.len(), 150);
    // What they ask next is written before the rest is handled.
    let mut next = calls(&there, 50);
    assert!(moved.turn());
    assert_eq!(peer.hear().len(), 50);
    waiting.retain_mut(|call| !poll(call));
    assert_eq!(waiting.len(), 100);
    moved.turns();
    assert!(waiting.iter_mut().all(poll));
    assert!(!next.iter_mut().any(poll));
}

#[test]
fn a_turn_is_over_after_so_many_messages_and_the_next_goes_on() {
    // As many as a turn handles of either; and calls of which a quarter is more.
    const TURN: usize = 256;
    const CALLS: usize = 1500;
    let window = Grant {
        messages: 1 << 12,
        bytes: 1 << 20,
    };
    let limits = Limits {
        window,
        ..Limits::default()
    };
    let (mut peer, mut moved, _link, there) = up_over(|pipe| pipe, limits);
    let mut waiting = calls(&there, CALLS);
    let mut begun = Vec::new();
    while begun.len() < CALLS {
        moved.turns();
        begun.extend(peer.hear());
        // Some wait for a place in the mailbox.
        assert!(!waiting.iter_mut().any(poll));
    }
    // What comes from others: that callers have gone.
    waiting.truncate(CALLS / 2);
    while peer.gone < CALLS / 2 {
        let before = peer.gone;
        let wants_another = moved.turn();
        peer.hear();
        assert!(peer.gone - before <= TURN);
        assert!(wants_another || peer.gone == CALLS / 2);
    }
    // What comes from the peer: answers.
    peer.answer(&begun);
    while !waiting.is_empty() {
        let before = waiting.len();
        let wants_another = moved.turn();
        waiting.retain_mut(|call| !poll(call));
        assert!(before - waiting.len() <= TURN);
        assert!(wants_another || waiting.is_empty());
    }
}

#[test]
fn a_few_are_answered_at_once() {
    let (mut peer, mut moved, _link, there) = up();
    let mut waiting = calls(&there, 30);
    moved.turns();
    let begun = peer.hear();
    peer.answer(&begun);
    moved.turn();
    assert!(waiting.iter_mut().all(poll));
}

#[test]
fn who_asks_while_others_wait_is_written_with_whoever_asks_beside_him() {
    let (mut peer, mut moved, _link, there) = up();
    // Alone, at once: whoever asks writes it, and the driver has nothing to do.
    let _first = calls(&there, 1);
    assert_eq!(peer.hear().len(), 1);
    let _second = calls(&there, 1);
    assert_eq!(peer.hear().len(), 1);
    assert!(!moved.woken.0.load(Ordering::Relaxed));
    // Two are under way: whoever comes now waits until the others have had their turn, once.
    let _third = calls(&there, 1);
    assert!(moved.turn());
    assert!(peer.hear().is_empty());
    let _fourth = calls(&there, 1);
    assert!(!moved.turn());
    assert_eq!(peer.hear().len(), 2);
}

#[test]
fn a_stream_that_breaks_as_a_caller_writes_ends_the_link() {
    let (peer, mut moved, link, there) = up();
    drop(peer);
    moved.woken.0.store(false, Ordering::Relaxed);
    let mut call = Box::pin(async move { there.get().await });
    let waker = Waker::from(Arc::clone(&moved.woken));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    // The driver hears of it, lets others have their turn, and tells the caller.
    assert!(moved.woken.0.load(Ordering::Relaxed));
    assert!(moved.turn());
    let polled = Pin::new(&mut moved.driver).poll(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Ready(Broken::Closed));
    assert_eq!(link.exit(), Some(Broken::Closed));
    assert!(matches!(call.as_mut().poll(&mut cx), Poll::Ready(Err(_))));
}

/// A peer that never stops to speak, and hears nothing.
struct Endless {
    greeting: Vec<u8>,
    word: Vec<u8>,
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let read = self.read.fetch_add(to.len(), Ordering::Relaxed);
        let words = self.greeting.iter().chain(self.word.iter().cycle());
        for (to, byte) in to.iter_mut().zip(words.skip(read)) {
            *to = *byte;
        }
        Poll::Ready(Ok(to.len()))
    }
}

impl AsyncWrite for Endless {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_peer_that_never_stops_lets_others_have_their_turn() {
    let mut peer = Peer::new(memory::pipe().0, Limits::default());
    peer.session.pong(0, Instant::now());
    let greeting = peer.session.output().to_vec();
    peer.session.written(greeting.len());
    peer.session.tell(7, 1, vec![], &mut vec![1]);
    let word = peer.session.output().to_vec();
    let read = Arc::<AtomicUsize>::default();
    let stream = Endless {
        greeting,
        word,
        read: Arc::clone(&read),
    };
    let (_link, mut moved) = Moved::new(stream);
    for _ in 0..5 {
        let before = read.load(Ordering::Relaxed);
        let mut turns = 0..100;
        while read.load(Ordering::Relaxed) == before {
            assert!(turns.next().is_some(), "nothing is read any more");
            assert!(moved.turn());
        }
    }
}
