//! Events: communications as values (Concurrent ML, Reppy 1991; Hopac's `Alt`).
//!
//! An [`Event`] describes a communication that has not been done yet. Awaiting it does it;
//! [`wait`](Event::wait) does it on a plain thread. Until then nothing has happened, so events
//! can be stored, returned and combined: [`or`](Event::or) and [`choose`] make one event of
//! several, which commits to exactly one of them, atomically, also when the partner chooses
//! too. The branches that lose had no effect.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the trait: what a source of events must do |
//! | `offer.rs` | the commit protocol |
//! | `sync.rs` | performing an event: the future |
//! | `waits.rs` | who waits for what, for reports of deadlocks |
//! | `made.rs` | which line made a source |
//! | `locks.rs` | locking all sources of a choice |
//! | `or.rs`, `choose.rs`, `select.rs` | choice: of two, of many, as a macro |
//! | `order.rs` | the order in which a choice tries its branches |
//! | `map.rs`, `timeout.rs`, `either.rs`, `guard.rs`, `nack.rs`, `basic.rs`, `boxed.rs` | the rest of the algebra |

mod basic;
mod boxed;
mod choose;
mod either;
mod guard;
mod locks;
#[cfg(debug_assertions)]
mod made;
mod map;
mod nack;
pub(crate) mod offer;
mod or;
mod order;
pub(crate) mod select;
mod slice;
mod sync;
mod timeout;
pub(crate) mod waits;

use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

pub use basic::{Always, Never, always, never};
pub use boxed::Boxed;
pub use choose::{Choose, choose};
pub use either::{Either, EitherOf};
pub use guard::{Guard, guard};
pub use locks::{Lock, Locks};
pub use map::Map;
pub use nack::{Nack, WithNack, with_nack};
use offer::Offer;
pub use or::{Biased, Or};
pub use sync::Sync;
pub use timeout::Timeout;
use waits::Waits;

/// A communication described, not yet done.
///
/// What it gives when it has happened is its `Output`, as a future's.
///
/// Events are one-shot values. `.await` performs one on any executor (through
/// [`IntoFuture`]), [`wait`](Self::wait) on a plain thread. Dropping an event, or the future of
/// one, before it has happened has no effect on anybody (but a nack, [`with_nack`]).
///
/// The hidden methods are the contract between a source of events and the commit protocol; the
/// trait is implemented in this crate only.
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
    note = "`tidings::spawn(future)` gives a handle that is an event: the future's end"
)]
#[must_use = "events do nothing unless awaited"]
pub trait Event: IntoFuture<IntoFuture = Sync<Self>> + Sized {
    /// What it gives back when it did not happen and something else did: the unsent value of a
    /// send, `()` where there is nothing to give back.
    type Lost;

    /// Has it one source, and an attempt that is worth its place in the code of who awaits it?
    #[doc(hidden)]
    const SHORT: bool = false;

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
    /// On a worker of a tidings runtime, which must not wait: await the event there.
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
        sync::try_now(self)
    }

    /// Makes what is made at the time of the wait (guards, nacks). Once, first.
    #[doc(hidden)]
    #[inline(always)]
    fn prepare(self: Pin<&mut Self>) {}

    /// No locks held, and it is the only event of its wait: happens if it can without waiting, by
    /// a shorter way than `attempt` and `finish`. `None`: nothing has happened, those must decide.
    #[doc(hidden)]
    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<Self::Output> {
        None
    }

    /// Of a `SHORT` event, its lock held: happens, if it concerns nobody but who awaits it and what is
    /// in the source: nobody is woken, nothing noted. `None`: nothing has happened, `attempt` must decide.
    #[doc(hidden)]
    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        None
    }

    /// After a `quick` that did nothing, the lock still held: is it seen at a glance that `attempt` would do
    /// nothing either?
    #[doc(hidden)]
    #[inline(always)]
    fn must_wait(&self) -> bool {
        false
    }

    /// The number of base events: branch numbers `0..leaves()`, left to right.
    #[doc(hidden)]
    fn leaves(&self) -> u32;

    /// How many of them wait in the list of a source, for a partner to commit them.
    #[doc(hidden)]
    #[inline(always)]
    fn waiters(&self) -> u32 {
        self.leaves()
    }

    /// The only lock, if there is exactly one and it is known without looking around.
    #[doc(hidden)]
    #[inline(always)]
    fn single(&self) -> Option<&Lock> {
        None
    }

    /// Says what it waits for.
    #[doc(hidden)]
    fn waits_for(&self, waits: &mut Waits) {
        waits.event::<Self>(self.single());
    }

    /// Adds the locks of all sources.
    #[doc(hidden)]
    fn lock<'a>(&'a self, locks: &mut Locks<'a>);

    /// All locks held: commits with a partner or with what is there, and says which branch.
    #[doc(hidden)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32>;

    /// The turns of its branches, if it is a choice: it is tried as a whole in one, otherwise.
    #[doc(hidden)]
    #[inline(always)]
    fn turns(&self) -> u32 {
        1
    }

    /// As `attempt`, of what has this turn only.
    #[doc(hidden)]
    #[inline(always)]
    fn attempt_turn(self: Pin<&mut Self>, _turn: u32, attempt: &mut Attempt) -> Option<u32> {
        self.attempt(attempt)
    }

    /// No locks held: as `attempt`, of one base event after another, each with its own lock only. It may
    /// do so, since nobody knows of this wait yet. `None`: `attempt` must decide.
    #[doc(hidden)]
    #[inline(always)]
    fn attempt_apart(self: Pin<&mut Self>, _attempt: &mut Attempt) -> Option<u32> {
        None
    }

    /// All locks held, nothing could happen: enrols in every source.
    #[doc(hidden)]
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>);

    /// No locks held: has a branch come due that no partner commits (timers, joins)? Called
    /// after the enrolment too, to arm.
    #[doc(hidden)]
    #[inline(always)]
    fn due(self: Pin<&mut Self>, _waker: &Waker) -> Option<u32> {
        None
    }

    /// No locks held: the waker has changed; `due` branches must know.
    #[doc(hidden)]
    #[inline(always)]
    fn rewake(self: Pin<&mut Self>, _waker: &Waker) {}

    /// The wait is over: unlinks what is still linked, `winner`'s branch having been unlinked
    /// by its partner. `locked`: the caller holds all locks. Nacks of losers fire (only ever
    /// called once with `locked == false`).
    #[doc(hidden)]
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);

    /// This branch has committed and everything is withdrawn: its output. Runs user code.
    #[doc(hidden)]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output;

    /// This branch has committed, and the wait was dropped before it looked: gives back what
    /// was handed over.
    #[doc(hidden)]
    fn abandon(self: Pin<&mut Self>, branch: u32);

    /// Nothing of this event happened: what it gives back.
    #[doc(hidden)]
    fn lost(self: Pin<&mut Self>) -> Self::Lost;
}

/// What an attempt carries: whom to wake once the locks are released, and how to be fair.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Attempt {
    pub(crate) waker: Option<Waker>,
    pub(crate) biased: bool,
}

/// What an enrolment carries.
#[doc(hidden)]
#[derive(Debug)]
pub struct Enrol<'a> {
    offer: &'a Offer,
    branch: u32,
    exclusive: bool,
    alone: bool,
    due: bool,
}

impl Enrol<'_> {
    /// The number of the next base event.
    #[inline(always)]
    pub(crate) fn next_branch(&mut self) -> u32 {
        let branch = self.branch;
        self.branch += 1;
        branch
    }

    /// Is it the only base event of the wait? Then nothing else can end it.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// This base event has no partner who commits it; it wants to be asked by `due`.
    #[inline(always)]
    pub(crate) fn has_due(&mut self) {
        self.due = true;
    }
}

/// Implements `IntoFuture` for an event type, with its output: performing it is its future.
macro_rules! into_future {
    (impl[$($generics:tt)*] $type:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $type {
            type Output = $output;
            type IntoFuture = $crate::event::Sync<Self>;
            #[inline(always)]
            #[track_caller]
            fn into_future(self) -> Self::IntoFuture {
                $crate::event::Sync::new(self)
            }
        }
    };
}
pub(crate) use into_future;
