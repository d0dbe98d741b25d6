//! What moves a link: one future, which reads, handles, and writes. It runs under any executor.
//!
//! One turn does all that is there: what others have left, what has come, what is to go. While more
//! than one call is under way it yields once after it was woken by others, so that all who have
//! something for the link put it in before it is written: a write takes many messages under load.
//! While there is one, who leaves it writes it (`shared.rs`), and the driver is not woken.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};
use tidings::remote::{prefetch, prefetch_first, quietly};
use tidings::time::{Instant, at};

use crate::hub::Hub;
use crate::intercept::{Intercepts, Origin};
use crate::limits::{Broken, Stats};
use crate::link::{Link, Options, State};
use crate::peers::{Peers, Seat};
use crate::session::{Incoming, Session};
use crate::shared::{Left, Moves, Note, Shared, Turned};

/// Reads of one poll, after which other tasks have their turn.
const READS: usize = 8;

/// How many parts the calls of a crowd are handled in, and how many messages a part has at least. When
/// a part is handled its callers have their turn, and what they ask next is written: so that the peer
/// is at work while the next part is handled, and neither waits for all that the other does.
const PARTS: usize = 4;
const PART: usize = 32;

/// So many notes of others are done in one turn, and so many messages that have come, at most. A turn that takes long
/// is taken for stuck: what waits behind it goes to another worker (`sched/rescue.rs` of tidings), and on its way are
/// all the tasks of a crowd and what they have in the cache.
const TURN: usize = 256;

/// Room for what comes: at first and when nothing has come for a while, and at most.
const ROOM: (usize, usize) = (4 << 10, 128 << 10);

type Timer = Pin<Box<<tidings::time::After as IntoFuture>::IntoFuture>>;

/// The future that moves a link. Ready when the link has ended; dropped, it ends the link.
pub struct Driver {
    shared: Arc<Shared>,
    state: Arc<State>,
}

/// A link and its stream.
struct Mover<S> {
    stream: S,
    give_up: fn(&S),
    // Not there while it is the port of this thread.
    hub: Option<Box<Hub>>,
    shared: Arc<Shared>,
    state: Arc<State>,
    /// How what was done at once has ended the link.
    broken: Option<Broken>,
    input: Vec<u8>,
    /// What of it has come, and is not handled.
    filled: (usize, usize),
    /// There may be whole messages in it.
    more: bool,
    /// What is left of [`TURN`].
    budget: usize,
    /// Nothing is read: the peer is to read first.
    deaf: bool,
    /// The peer has gone, in order: what has come is given to its actors yet.
    over: bool,
    flushed: bool,
    /// When it is due, and what wakes `waker` then.
    timer: Option<(Instant, Timer)>,
    /// The timer was polled in an earlier turn, too.
    armed: bool,
    /// The driver's, once it has looked.
    waker: Option<Waker>,
}

/// A link over a stream of bytes, and what moves it: a future for any executor.
///
/// The peer on the other end does the same. How tokio and plain threads come by such a stream:
/// [slim client](crate#slim-client); over TLS it is `Tls::connect`.
///
/// ```
/// use tidings::actor;
/// use tidings_link::{Exports, Options, link, memory};
///
/// #[tidings::interface(remote)]
/// trait Counter {
///     async fn add(&mut self, n: u64) -> u64;
/// }
/// # #[derive(Default)]
/// # struct Tally(u64);
/// # impl Counter for Tally {
/// #     async fn add(&mut self, n: u64) -> u64 {
/// #         self.0 += n;
/// #         self.0
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (ours, theirs) = memory::pipe();
/// let counter: CounterRef = actor::start(Tally::default());
/// let exports = Exports::new().add("counter", &counter);
/// let (_served, driver) = link(ours, Options::new("server").exports(exports));
/// tidings::spawn(driver);
///
/// let (link, driver) = link(theirs, Options::new("client"));
/// tidings::spawn(driver);
/// let counter: CounterRef = link.get("counter").await.unwrap();
/// assert_eq!(counter.add(7).await.unwrap(), 7);
/// # });
/// ```
#[must_use]
pub fn link<S>(stream: S, options: Options) -> (Link, Driver)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    link_to(stream, options, false, None, |_| Origin::default(), |_| {})
}

/// As [`link`]; with whether the peer has connected to us; with the table in which it is to have a place;
/// with what says where the stream comes from; and with what makes that nothing arrives any more of what
/// was written to it.
pub(crate) fn link_to<S>(
    stream: S,
    options: Options,
    accepted: bool,
    peers: Option<&Peers>,
    origin: fn(&S) -> Origin,
    give_up: fn(&S),
) -> (Link, Driver)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let now = Instant::now();
    let mut session = Session::new(&options.identity, options.limits, now);
    if let Some(nodes) = options.expected {
        session.expect(nodes);
    }
    let shared = Arc::new(Shared::default());
    let link = Link::new(Arc::clone(&shared));
    if accepted {
        session.greet_back();
    }
    if let Some(peers) = peers {
        let us = &options.identity.node;
        session.seat(Seat::new(peers.clone(), us, !accepted, &link));
    }
    let intercepts = options.interceptor.map(|interceptor| {
        Box::new(Intercepts {
            interceptor,
            origin: origin(&stream),
        })
    });
    let (exports, format) = (options.exports, options.format);
    let shares = Arc::clone(&shared);
    let hub = Hub::new(session, shares, exports, intercepts, format, now);
    let driver = Driver {
        shared: Arc::clone(&shared),
        state: Arc::clone(&link.state),
    };
    driver.shared.open(Mover {
        stream,
        give_up,
        hub: Some(Box::new(hub)),
        shared,
        state: Arc::clone(&link.state),
        broken: None,
        input: Vec::new(),
        filled: (0, 0),
        more: false,
        budget: TURN,
        deaf: false,
        over: false,
        flushed: true,
        timer: None,
        armed: false,
        waker: None,
    });
    (link, driver)
}

impl<S: AsyncRead + AsyncWrite + Unpin> Mover<S> {
    #[inline]
    fn hub(&mut self) -> &mut Hub {
        self.hub.as_mut().expect("it is put back")
    }

    #[inline]
    fn with_hub(&mut self, f: impl FnOnce(Box<Hub>) -> Box<Hub>) -> Result<(), Broken> {
        let hub = self.hub.take().expect("it is put back");
        let hub = self.hub.insert(f(hub));
        match hub.broken.take() {
            None => Ok(()),
            Some(broken) => Err(broken),
        }
    }

    /// Does all there is to do. What others leave from here on wakes it.
    /// `true`: there is more.
    #[inline]
    fn all(&mut self, left: &mut Left, cx: &mut Context<'_>) -> Result<bool, Broken> {
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        prefetch(self);
        prefetch(&*self.hub());
        self.time(cx)?;
        self.hub().session.begin_turn();
        self.budget = TURN;
        if !left.is_empty() {
            self.with_hub(|hub| hub.letters(left, TURN))?;
        }
        // On its way while the system reads.
        self.hub().prefetch();
        prefetch_first(&self.input[self.filled.1..]);
        for reads in 0..READS {
            let read = self.read(cx)?;
            if self.over {
                return self.rest();
            }
            if !read && reads > 0 {
                // All has been written that could be.
                return Ok(false);
            }
            if self.timer.is_none() {
                self.time(cx)?;
            }
            self.drain_if_unused();
            self.write_all(cx)?;
            // A stream of TLS takes bytes that it has not given away.
            if self.flushed && self.hub().is_drained() {
                return Err(Broken::Drained);
            }
            // What was not read is if there is room by now; if not, the stream says when there is.
            if !read && (!self.deaf || self.hub().session.is_full()) {
                return Ok(false);
            }
            if self.more {
                break;
            }
        }
        Ok(true)
    }

    /// Of a peer that has gone in order: ends the link when all that it has sent is done.
    #[inline(never)]
    fn rest(&mut self) -> Result<bool, Broken> {
        self.with_hub(Hub::resume)?;
        match self.hub().is_done() {
            true => Err(Broken::Drained),
            false => Ok(false),
        }
    }

    /// Does this, and writes what comes of it.
    #[inline]
    fn this(&mut self, note: Note) -> Result<(), Broken> {
        self.with_hub(|hub| hub.note(note))?;
        let waker = self.waker.take();
        let wakes = waker.as_ref().unwrap_or(Waker::noop());
        let written = self.write_all(&mut Context::from_waker(wakes));
        self.waker = waker;
        written
    }

    /// The link ends in order when the peer wishes so, and when nobody uses it any more.
    #[inline]
    fn drain_if_unused(&mut self) {
        let hub = self.hub.as_mut().expect("it is put back");
        if hub.is_to_drain() || hub.is_idle() && self.shared.lock().handles == 0 {
            hub.drain();
        }
    }

    /// The time: heartbeats, and limits of what is waited for.
    #[inline(always)]
    fn time(&mut self, cx: &mut Context<'_>) -> Result<(), Broken> {
        let now = Instant::now();
        self.hub().now = now;
        // A timer keeps the waker that it was polled with. One that is new may have let others run
        // instead, and waits only after its next poll.
        if let Some((due, _)) = &self.timer
            && self.armed
            && now < *due
            && (self.waker.as_ref()).is_some_and(|known| known.will_wake(cx.waker()))
        {
            return Ok(());
        }
        self.waker = Some(cx.waker().clone());
        self.armed = true;
        loop {
            if let Some((due, timer)) = &mut self.timer {
                let due = *due;
                if timer.as_mut().poll(cx).is_pending() {
                    return Ok(());
                }
                let now = Instant::now();
                self.hub().now = now;
                self.hub().session.stood_still(now - due, now);
                if self.filled.0 == self.filled.1 {
                    self.input = Vec::new();
                    self.filled = (0, 0);
                    self.hub().trim();
                }
            }
            let hub = self.hub();
            let next = hub.session.tick(hub.now)?;
            self.timer = Some((next, Box::pin(at(next).into_future())));
            self.armed = false;
        }
    }

    /// Handles what has come; reads if all of that is handled. `false`: nothing has.
    #[inline(always)]
    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
        if !self.more && !self.fill(cx)? {
            return Ok(false);
        }
        // The buffer is apart from the hub while its messages are handled.
        let input = std::mem::take(&mut self.input);
        let handled = self.handle(&input);
        self.input = input;
        if self.filled.0 == self.filled.1 {
            self.filled = (0, 0);
        }
        handled.map(|()| true)
    }

    /// Reads once. `false`: there was nothing, or too much is to be written that comes of it.
    #[inline(always)]
    fn fill(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
        self.deaf = self.hub().session.is_full();
        if self.deaf || self.over {
            return Ok(false);
        }
        let (start, end) = self.filled;
        if end == self.input.len() {
            self.input.copy_within(start..end, 0);
            self.filled = (0, end - start);
            let room = self.input.len().max(ROOM.0);
            self.input.resize(room, 0);
        }
        let (start, end) = self.filled;
        let stream = Pin::new(&mut self.stream);
        let n = match stream.poll_read(cx, &mut self.input[end..]) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(0)) => return self.is_over(Broken::Closed),
            Poll::Ready(Ok(n)) => n,
            Poll::Ready(Err(error)) => return self.is_over(error.into()),
        };
        let end = end + n;
        self.filled = (start, end);
        if end == self.input.len() && end < ROOM.1 {
            // Room grows with what comes.
            self.input.resize(2 * end, 0);
        }
        self.hub().session.heard(n);
        Ok(true)
    }

    /// Nothing comes any more, for this reason. The peer may go when it has all that it waits for, however it goes:
    /// a last word of TLS may be missing, and what it had not read resets a TCP stream.
    #[inline(never)]
    fn is_over(&mut self, why: Broken) -> Result<bool, Broken> {
        self.over = self.hub().session.is_done() && self.hub().held.is_empty();
        if !self.over {
            return Err(why);
        }
        self.hub().session.leave();
        Ok(false)
    }

    /// Handles what has come; a part of it, if it is answers.
    #[inline(always)]
    fn handle(&mut self, input: &[u8]) -> Result<(), Broken> {
        let most = match self.hub().session.calls() {
            // Its answers wait for nobody: the tasks that give them have their turn when all is read.
            0 => usize::MAX,
            calls => PART.max(calls / PARTS),
        };
        self.more = true;
        for _ in 0..most.min(self.budget) {
            let (start, end) = self.filled;
            if start == end {
                self.more = false;
                break;
            }
            let hub = self.hub();
            let now = hub.now;
            let mut incoming = None;
            let come = &input[start..end];
            let taken = hub.session.receive_into(come, now, &mut incoming)?;
            if taken == 0 {
                self.more = false;
                break;
            }
            self.filled.0 += taken;
            self.budget -= 1;
            if let Some(incoming) = &mut incoming {
                if *incoming == Incoming::Up {
                    self.up();
                }
                self.with_hub(|hub| hub.handle(incoming))?;
            }
        }
        match self.hub().is_due() {
            true => self.with_hub(Hub::poll_due),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn up(&mut self) {
        let peer = self.hub().session.peer().cloned();
        let peer = peer.expect("the handshake is done");
        let _ = self.state.up.fill(Ok(peer));
        // The time that it waits for from here on is another.
        self.timer = None;
    }

    /// Writes what there is. `false`: nothing was written.
    #[inline(always)]
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
        let mut any = false;
        if self.over {
            return Ok(any);
        }
        loop {
            let hub = self.hub.as_mut().expect("it is put back");
            let output = hub.session.output();
            if output.is_empty() {
                break;
            }
            match Pin::new(&mut self.stream).poll_write(cx, output) {
                Poll::Pending => {
                    hub.session.stalled(Instant::now());
                    return Ok(any);
                }
                Poll::Ready(Ok(0)) => return Err(Broken::Closed),
                Poll::Ready(Ok(n)) => hub.session.written(n),
                Poll::Ready(Err(error)) => return Err(error.into()),
            }
            any = true;
            self.flushed = false;
        }
        if !self.flushed && Pin::new(&mut self.stream).poll_flush(cx)?.is_ready() {
            self.flushed = true;
        }
        Ok(any)
    }

    /// Writes, and goes on with what waited for room.
    #[inline(always)]
    fn write_all(&mut self, cx: &mut Context<'_>) -> Result<(), Broken> {
        while self.write(cx)? && self.hub().goes_on() {
            self.with_hub(Hub::resume)?;
        }
        Ok(())
    }

    /// The stream is over: what came before may say why, and is handled.
    #[inline(never)]
    fn last_words(&mut self, cx: &mut Context<'_>) -> Option<Broken> {
        self.budget = usize::MAX;
        loop {
            match self.read(cx) {
                Ok(true) => {}
                Err(why @ Broken::RefusedByPeer(_)) => return Some(why),
                _ => return None,
            }
        }
    }

    /// The link ends: what can be written at once is. Not where it is we who do not wait any more: what
    /// a network that is cut holds up would be done when nobody knows of it.
    #[inline(never)]
    fn end(&mut self, broken: Broken, cx: &mut Context<'_>) {
        if matches!(broken, Broken::Dropped | Broken::Silent | Broken::SlowPeer) {
            (self.give_up)(&self.stream);
        } else {
            let _ = self.write(cx);
        }
        let _ = Pin::new(&mut self.stream).poll_close(cx);
        self.close(broken);
    }
}

impl<S> Mover<S> {
    /// Whoever waits for something of the link hears that it has ended; of its end, too, if a panic has
    /// taken the hub or comes meanwhile.
    fn close(&mut self, broken: Broken) {
        let _ = self.state.up.fill(Err(broken.clone()));
        let mut stats = Stats::default();
        if let Some(mut hub) = self.hub.take() {
            quietly(|| hub.close(&broken));
            stats = hub.session.stats();
            quietly(|| drop(hub));
        }
        drop(self.shared.close());
        let _ = self.state.down.fill((broken, stats));
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Moves for Mover<S> {
    fn turn(&mut self, left: &mut Left, cx: &mut Context<'_>) -> Turned {
        let mut broken = match self.all(left, cx) {
            Ok(false) => return Turned::Done,
            Ok(true) => return Turned::More,
            Err(broken) => broken,
        };
        if matches!(broken, Broken::Closed | Broken::Io(..)) {
            broken = self.last_words(cx).unwrap_or(broken);
            if self.over {
                match self.rest() {
                    Ok(_) => return Turned::Done,
                    Err(drained) => broken = drained,
                }
            }
        }
        self.end(broken.clone(), cx);
        Turned::Ended(broken)
    }

    fn at_once(&mut self, note: Note) -> bool {
        if self.broken.is_none() {
            self.broken = self.this(note).err();
        }
        let hub = self.hub();
        let ends = hub.is_to_drain() || hub.is_idle() || self.broken.is_some();
        // The driver reads on, and ends the link.
        !(ends || self.deaf)
    }

    fn is_crowded(&self) -> bool {
        let hub = self.hub.as_ref().expect("it is put back");
        hub.session.is_crowded() || self.broken.is_some()
    }
}

impl<S> Drop for Mover<S> {
    fn drop(&mut self) {
        self.close(Broken::Dropped);
    }
}

impl Future for Driver {
    type Output = Broken;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Broken> {
        self.shared.turn(cx).map(|broken| {
            let known = || self.state.down.try_read().map(|(why, _)| why.clone());
            broken.or_else(known).unwrap_or(Broken::Dropped)
        })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.shared.shut());
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
