//! Events: communications as values (Concurrent ML, Reppy 1991; Hopac's `Alt`).
//!
//! An [`Event`] describes a communication that has not been done yet. Awaiting it does it;
//! [`wait`](Event::wait) does it on a plain thread. Until then nothing has happened, so events
//! can be stored, returned and combined: [`or`](Event::or) and [`choose`] make one event of
//! several, which commits to exactly one of them, atomically, also when the partner chooses
//! too. The branches that lose had no effect (the request of a [call](crate::actor::Call) goes out when it is awaited;
//! where the call loses, its handler can know).
//!
//! A poll of a task, or of the future of a `block_on`, has a budget of operations, after which it lets others run. One of
//! another executor's tasks has none: a loop around what is always ready awaits [`yield_now`](crate::yield_now) there
//! now and then.
//!
//! Receives, sends, locks, timers, the ends of tasks and actors, calls, accepts and signals are events. These waits are futures
//! and no events, so they cannot stand in a choice; a task may run them, whose [`join`](crate::JoinHandle::join) can:
//!
//! | future | its event |
//! |---|---|
//! | a [`JoinHandle`](crate::JoinHandle) | [`join`](crate::JoinHandle::join) |
//! | reads and writes of sockets | `readable`, `writable`, then `try_read`, `try_write` |
//! | [`Sender::send_timeout`](crate::Sender::send_timeout), [`Receiver::recv_timeout`](crate::Receiver::recv_timeout) | [`timeout`](Event::timeout) of the send or receive |
//! | [`watch::Receiver::wait_for`](crate::channel::watch::Receiver::wait_for) | [`changed`](crate::channel::watch::Receiver::changed), in a loop |
//! | [`Mailbox::scan`](crate::actor::Mailbox::scan) | [`recv`](crate::actor::Mailbox::recv), with a [`stash`](crate::actor::Mailbox::stash) |
//! | [`JoinSet::shutdown`](crate::JoinSet::shutdown) | [`join_next`](crate::JoinSet::join_next), after `abort_all` |
//! | [`Barrier::wait`](crate::sync::Barrier::wait), [`OnceCell::get_or_init`](crate::sync::OnceCell::get_or_init), [`yield_now`](crate::yield_now), [`scope`](crate::scope()), `broadcast` of a [`Group`](crate::actor::Group) or a [`Pool`](crate::actor::Pool), [`time::timeout`](crate::time::timeout) of a future, `TcpStream::connect`, `lookup_host` | none |

// | file | what |
// |---|---|
// | `mod.rs` | the trait |
// | `protocol.rs` | what a source of events must do |
// | `offer.rs` | the commit protocol |
// | `future.rs` | performing an event: the future |
// | `wait.rs` | the wait of that future, whatever it waits for |
// | `waits.rs` | who waits for what, for reports of deadlocks |
// | `made.rs` | which line made a source |
// | `locks.rs` | locking all sources of a choice |
// | `or.rs`, `choose.rs`, `select.rs` | choice: of two, of many, as a macro |
// | `unfold.rs` | a stream out of a wait for each of its items |
// | `slice.rs` | the elements of a pinned slice, for choice of many |
// | `order.rs` | the order in which a choice tries its branches |
// | `map.rs`, `timeout.rs`, `either.rs`, `guard.rs`, `nack.rs`, `basic.rs`, `boxed.rs` | the rest of the algebra |

mod basic;
mod boxed;
mod choose;
mod either;
mod future;
mod guard;
mod locks;
#[cfg(debug_assertions)]
mod made;
mod map;
mod nack;
pub(crate) mod offer;
mod or;
mod order;
mod protocol;
pub(crate) mod select;
mod slice;
mod timeout;
pub(crate) mod unfold;
mod wait;
pub(crate) mod waits;

use std::pin::Pin;
use std::time::Duration;

pub use basic::{Always, Never, always, never};
pub use boxed::Boxed;
pub use choose::{Choose, choose};
pub use either::{Either, EitherOf};
pub use future::EventFuture;
pub(crate) use future::yield_first;
pub use guard::{Guard, guard};
pub(crate) use locks::{Lock, Locks};
pub use map::Map;
pub use nack::{Nack, WithNack, with_nack};
pub use or::{Biased, Or};
pub(crate) use protocol::{Attempt, Enrol, Protocol, Two};
pub use timeout::Timeout;

/// A communication described, not yet done.
///
/// What it gives when it has happened is its `Output`, as a future's.
///
/// Events are one-shot values. `.await` performs one on any executor (through
/// [`IntoFuture`]), [`wait`](Self::wait) on a plain thread. Dropping an event, or the future of
/// one, before it has happened has no effect on anybody (but a nack, [`with_nack`]).
///
/// Nobody else can implement it: what a source of events does for the commit protocol is its own.
///
/// ```
/// use std::time::Duration;
/// use tidings::{Event, after, channel};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = channel::<u32>();
/// tidings::spawn(async move { tx.send(7).await });
/// let first = rx.recv().map(|got| got.unwrap()).or(after(Duration::from_secs(5)).map(|()| 0));
/// assert_eq!(first.await, 7);
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "a choice takes events: those that lose it have had no effect, which no future promises",
    note = "the end of a task is an event: `tidings::spawn(future)` gives a handle, and its `join()` waits for it"
)]
#[must_use = "events do nothing unless awaited"]
#[expect(
    private_bounds,
    reason = "what is safe under the locks only is nobody else's to call"
)]
pub trait Event: Protocol + IntoFuture<IntoFuture = EventFuture<Self>> {
    /// What it gives back when it did not happen and something else did: the unsent value of a
    /// send, `()` where there is nothing to give back.
    type Lost;

    /// Applies `f` to what the event gives (CML's `wrap`). `f` runs after the commit, outside
    /// of any lock, and only if this event is the one that happened.
    ///
    /// ```
    /// use tidings::{Event, always};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(always(2).map(|n| n + 1).await, 3);
    /// # });
    /// ```
    fn map<R, F: FnOnce(Self::Output) -> R>(self, f: F) -> Map<Self, F> {
        Map::new(self, f)
    }

    /// Either of the two, whichever can happen first; if both can, a fair coin decides.
    ///
    /// In a choice of choices each branch has a chance of its own, however it is built: of any two that can
    /// happen each has the same, whatever stands beside them. What is [`biased`](Self::biased), or has a
    /// [`timeout`](Self::timeout), is one branch.
    ///
    /// What the loser would give back, the unsent value of a send, is dropped with it;
    /// [`either`](Self::either) gives it back.
    /// Of many, [`choose`]: one of some hundreds that is folded out of `or`s reaches each through all around it.
    ///
    /// ```
    /// use tidings::{Event, always, never};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(never().or(always(1)).await, 1);
    /// # });
    /// ```
    fn or<B: Event<Output = Self::Output>>(self, other: B) -> Or<Self, B> {
        Or::new(self, other)
    }

    /// As [`or`](Self::or), for events of different types; the loser's unused value comes back
    /// with the winner's output.
    ///
    /// ```
    /// use tidings::{Either, Event, always, channel};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, _rx) = channel::<String>();
    /// match tx.send("kept".to_string()).either(always(1)).await {
    ///     Either::Left(..) => unreachable!("nobody receives"),
    ///     Either::Right(one, unsent) => assert_eq!((one, unsent.as_str()), (1, "kept")),
    /// }
    /// # });
    /// ```
    fn either<B: Event>(self, other: B) -> EitherOf<Self, B> {
        EitherOf::new(self, other)
    }

    /// Tries branches of a choice in the order written instead of a random one.
    ///
    /// ```
    /// use tidings::{Event, always};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(always(1).or(always(2)).biased().await, 1);
    /// # });
    /// ```
    fn biased(self) -> Biased<Self> {
        Biased::new(self)
    }

    /// Gives the event `duration` to happen, counted from when it is awaited: `Err` with what
    /// the event gives back otherwise.
    ///
    /// Costs nothing if the event can happen at once: the clock is not read, no timer armed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, channel};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, _rx) = channel();
    /// let unsent = tx.send(5).timeout(Duration::from_millis(2)).await.unwrap_err();
    /// assert_eq!(unsent.0, 5);
    /// # });
    /// ```
    fn timeout(self, duration: Duration) -> Timeout<Self> {
        Timeout::new(self, duration)
    }

    /// Hides the type, at the price of an allocation.
    fn boxed<'a>(self) -> Boxed<'a, Self::Output>
    where
        Self: Send + 'a,
    {
        Boxed::new(self)
    }

    /// Performs the event on a plain thread, which waits.
    ///
    /// # Panics
    /// On a worker of a tidings runtime, or inside of its `block_on`, which must not wait: await the event there.
    ///
    /// ```
    /// use tidings::{Event, unbounded};
    /// let (tx, rx) = unbounded();
    /// std::thread::spawn(move || tx.send(1).wait());
    /// assert_eq!(rx.recv().wait(), Ok(1));
    /// ```
    #[track_caller]
    fn wait(self) -> Self::Output {
        crate::sched::block_on(self.into_future())
    }

    /// Performs the event if it can happen at once; gives it back otherwise.
    ///
    /// # Errors
    /// What the event gives back, if it could not happen now.
    ///
    /// ```
    /// use tidings::{Event, always, never};
    /// assert_eq!(always(1).try_now(), Ok(1));
    /// assert_eq!(never::<()>().try_now(), Err(()));
    /// ```
    fn try_now(self) -> Result<Self::Output, Self::Lost> {
        future::try_now(self)
    }

    /// It did not happen, and will not: what it gives back.
    #[doc(hidden)]
    fn lost(self: Pin<&mut Self>) -> Self::Lost;
}

/// Implements `IntoFuture` for an event type, with its output: performing it is its future.
macro_rules! into_future {
    (impl[$($generics:tt)*] $type:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $type {
            type Output = $output;
            type IntoFuture = $crate::event::EventFuture<Self>;
            #[inline(always)]
            #[track_caller]
            fn into_future(self) -> Self::IntoFuture {
                $crate::event::EventFuture::new(self)
            }
        }
    };
}
pub(crate) use into_future;

/// Makes an event, with its output, of a type that takes part in the protocol and gives nothing back.
macro_rules! event {
    (impl[$($generics:tt)*] $type:ty => $output:ty) => {
        impl<$($generics)*> $crate::event::Event for $type {
            type Lost = ();

            fn lost(self: std::pin::Pin<&mut Self>) {}
        }

        $crate::event::into_future!(impl[$($generics)*] $type => $output);
    };
}
pub(crate) use event;
