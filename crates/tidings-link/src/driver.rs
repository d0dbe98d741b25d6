//! What moves a link: one future, which reads, handles, and writes. It runs under any executor.
//!
//! One turn does all that is there: what others have left, what has come, what is to go. It yields
//! once after it was woken by others, so that all who have something for the link put it in before
//! it is written: a write takes many messages under load, and one when there is one.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use tidings::time::{Instant, at};

use crate::hub::Hub;
use crate::limits::Broken;
use crate::link::{Link, Options, State};
use crate::session::{Incoming, Session};
use crate::shared::{Letters, Shared};

/// Rounds of one poll, after which other tasks have their turn.
const ROUNDS: usize = 8;

/// Room for what comes: at first and when nothing has come for a while, and at most.
const ROOM: (usize, usize) = (4 << 10, 128 << 10);

type Timer = Pin<Box<<tidings::time::After as IntoFuture>::IntoFuture>>;

/// The future that moves a link. Ready when the link has ended; dropped, it ends the link.
pub struct Driver<S> {
    stream: S,
    // Not there while it is the port of this thread.
    hub: Option<Box<Hub>>,
    shared: Arc<Shared>,
    state: Arc<State>,
    letters: Letters,
    input: Vec<u8>,
    /// What of it has come, and is not handled.
    filled: (usize, usize),
    flushed: bool,
    yielded: bool,
    timer: Option<Timer>,
}

/// A link over a stream of bytes, and what moves it: a future for any executor.
///
/// The peer on the other end does the same.
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
pub fn link<S>(stream: S, options: Options) -> (Link, Driver<S>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let now = Instant::now();
    let mut session = Session::new(&options.identity, options.limits, now);
    if let Some(nodes) = options.expected {
        session.expect(nodes);
    }
    let shared = Arc::new(Shared::default());
    let hub = Hub::new(session, Arc::clone(&shared), options.exports, now);
    let link = Link::new(Arc::clone(&shared));
    let driver = Driver {
        stream,
        hub: Some(Box::new(hub)),
        shared,
        state: Arc::clone(&link.state),
        letters: Letters::default(),
        input: Vec::new(),
        filled: (0, 0),
        flushed: true,
        yielded: false,
        timer: None,
    };
    (link, driver)
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    fn hub(&mut self) -> &mut Hub {
        self.hub.as_mut().expect("it is put back")
    }

    fn with_hub(
        &mut self,
        f: impl FnOnce(Box<Hub>) -> (Box<Hub>, Result<(), Broken>),
    ) -> Result<(), Broken> {
        let hub = self.hub.take().expect("it is put back");
        let (hub, result) = f(hub);
        self.hub = Some(hub);
        result
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Broken> {
        self.hub().now = Instant::now();
        for _ in 0..ROUNDS {
            match self.round(cx) {
                Err(broken) => return Poll::Ready(broken),
                Ok(true) => {}
                Ok(false) => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Does what there is to do. `false`: nothing more, until something wakes it.
    fn round(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
        self.time(cx)?;
        self.shared.take(&mut self.letters, cx.waker());
        if !self.letters.is_empty() {
            let mut letters = std::mem::take(&mut self.letters);
            let done = self.with_hub(|hub| hub.letters(&mut letters));
            self.letters = letters;
            done?;
        }
        let read = self.read(cx)?;
        let wrote = self.write(cx)?;
        if wrote {
            self.with_hub(Hub::resume)?;
        }
        self.is_over()?;
        Ok(read || wrote)
    }

    fn is_over(&mut self) -> Result<(), Broken> {
        let hub = self.hub.as_mut().expect("it is put back");
        if hub.session.is_draining() {
            hub.session.drain();
            if hub.is_drained() {
                return Err(Broken::Drained);
            }
        } else if self.shared.lock().handles == 0 && hub.is_idle() {
            hub.session.drain();
        }
        Ok(())
    }

    /// The time: heartbeats, and limits of what is waited for.
    fn time(&mut self, cx: &mut Context<'_>) -> Result<(), Broken> {
        loop {
            if let Some(timer) = &mut self.timer {
                if timer.as_mut().poll(cx).is_pending() {
                    return Ok(());
                }
                self.hub().now = Instant::now();
                if self.filled.0 == self.filled.1 {
                    self.input = Vec::new();
                    self.filled = (0, 0);
                }
            }
            let hub = self.hub();
            let next = hub.session.tick(hub.now)?;
            self.timer = Some(Box::pin(at(next).into_future()));
        }
    }

    /// Reads once, and handles what has come. `false`: nothing has.
    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
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
            Poll::Ready(Ok(0)) if self.hub().session.is_draining() => return Err(Broken::Drained),
            Poll::Ready(Ok(0)) => return Err(Broken::Closed),
            Poll::Ready(Ok(n)) => n,
            Poll::Ready(Err(error)) => return Err(error.into()),
        };
        self.filled = (start, end + n);
        let hub = self.hub();
        let now = hub.now;
        hub.session.heard(n, now);
        // The buffer is apart from the hub while its messages are handled.
        let input = std::mem::take(&mut self.input);
        let handled = self.handle(&input, now);
        self.input = input;
        if end + n == self.input.len() && end + n < ROOM.1 {
            // Room grows with what comes.
            self.input.resize(2 * (end + n), 0);
        }
        if self.filled.0 == self.filled.1 {
            self.filled = (0, 0);
        }
        handled.map(|()| true)
    }

    fn handle(&mut self, input: &[u8], now: Instant) -> Result<(), Broken> {
        loop {
            let (start, end) = self.filled;
            let received = self.hub().session.receive(&input[start..end], now)?;
            let Some((taken, incoming)) = received else {
                break;
            };
            self.filled.0 += taken;
            if let Some(incoming) = incoming {
                if incoming == Incoming::Up {
                    self.up();
                }
                self.with_hub(|hub| hub.handle(incoming))?;
            }
        }
        self.with_hub(Hub::poll_due)
    }

    fn up(&mut self) {
        let peer = self.hub().session.peer().cloned();
        let peer = peer.expect("the handshake is done");
        let _ = self.state.up.fill(Ok(peer));
        // What it waits for from here on is another.
        self.timer = None;
    }

    /// Writes what there is. `false`: nothing was written.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, Broken> {
        let mut any = false;
        loop {
            let hub = self.hub.as_mut().expect("it is put back");
            let output = hub.session.output();
            if output.is_empty() {
                break;
            }
            match Pin::new(&mut self.stream).poll_write(cx, output) {
                Poll::Pending => {
                    let now = hub.now;
                    hub.session.stalled(now);
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

    /// The stream is over: what came before may say why, and is handled.
    fn last_words(&mut self, cx: &mut Context<'_>) -> Option<Broken> {
        loop {
            match self.read(cx) {
                Ok(true) => {}
                Err(why @ (Broken::RefusedByPeer(_) | Broken::Drained)) => return Some(why),
                _ => return None,
            }
        }
    }

    /// The link ends: what can be written at once is.
    fn end(&mut self, broken: Broken, cx: &mut Context<'_>) {
        let _ = self.write(cx);
        let _ = Pin::new(&mut self.stream).poll_close(cx);
        self.close(broken);
    }
}

impl<S> Driver<S> {
    fn close(&mut self, broken: Broken) {
        let Some(mut hub) = self.hub.take() else {
            return;
        };
        let _ = self.state.up.fill(Err(broken.clone()));
        hub.close(&broken);
        let _ = self.state.down.fill(broken);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Driver<S> {
    type Output = Broken;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Broken> {
        let this = self.get_mut();
        if this.hub.is_none() {
            let down = this.state.down.try_read();
            return Poll::Ready(down.cloned().unwrap_or(Broken::Dropped));
        }
        if !this.yielded && this.shared.is_rung() {
            this.yielded = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.yielded = false;
        let mut broken = ready!(this.turn(cx));
        if matches!(broken, Broken::Closed | Broken::Io(..)) {
            broken = this.last_words(cx).unwrap_or(broken);
        }
        this.end(broken.clone(), cx);
        Poll::Ready(broken)
    }
}

impl<S> Drop for Driver<S> {
    fn drop(&mut self) {
        self.close(Broken::Dropped);
    }
}

impl<S> fmt::Debug for Driver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
