//! Counted permits, fair.
//!
//! Invariant, whenever the lock is free: the first waiter that has not committed elsewhere wants
//! more permits than there are. Whatever breaks it (permits come back, a waiter leaves) calls
//! `grant`.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::{Claimed, Judge, Waiters};
use crate::event::waits;
use crate::sched;

/// Permits that are acquired, held and given back.
///
/// First come, first served: a wait for many permits is not overtaken by waits for few, and
/// [`try_acquire`](Self::try_acquire) does not overtake waits.
///
/// ```
/// use tidings::sync::Semaphore;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let seats = Semaphore::new(2);
/// let taken = seats.acquire(2).await.unwrap();
/// assert!(seats.try_acquire(1).is_err());
/// drop(taken);
/// assert_eq!(seats.available_permits(), 2);
/// # });
/// ```
pub struct Semaphore {
    pub(super) source: Source<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    permits: usize,
    closed: bool,
    /// The ticket is how many permits it wants.
    waiting: Tickets,
}

impl Lists for State {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        self.waiting.list()
    }
}

impl State {
    /// Takes `n` permits, if they are there and nobody waits.
    pub(super) fn take(&mut self, n: usize) -> bool {
        let can = self.permits >= n && !self.waiting.is_waited_in();
        if can {
            self.permits -= n;
        }
        can
    }

    /// The first waiter that gets its permits now, with them.
    fn grant(&mut self) -> Option<Claimed> {
        let mut given = 0;
        let claimed = self.waiting.claim(|want| {
            given = want as usize;
            if given <= self.permits {
                Judge::Take
            } else {
                Judge::Stop
            }
        });
        self.permits -= if claimed.is_some() { given } else { 0 };
        claimed
    }
}

impl Semaphore {
    /// The most permits there can be.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// A semaphore with `permits` permits.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new(permits: usize) -> Self {
        assert!(
            permits <= Self::MAX_PERMITS,
            "a semaphore has at most MAX_PERMITS permits"
        );
        let state = State {
            permits,
            closed: false,
            waiting: Tickets::new(),
        };
        Self {
            source: Source::new(state),
        }
    }

    /// Acquires `n` permits at once: an event, which gives a guard.
    ///
    /// Waits until it is the first in the queue and there are enough. Fails once the semaphore
    /// is closed. A wait that is dropped, or loses a choice, takes nothing; permits that had
    /// been handed to it pass on (see [`sync`](super) on waits that are kept unpolled).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, sync::Semaphore};
    /// let semaphore = Semaphore::new(1);
    /// assert!(semaphore.acquire(2).timeout(Duration::from_millis(1)).wait().is_err());
    /// assert!(semaphore.acquire(1).wait().is_ok());
    /// ```
    pub fn acquire(&self, n: usize) -> Acquire<&Self> {
        Acquire {
            semaphore: self,
            n,
            slot: Ticket::new(None),
        }
    }

    /// As [`acquire`](Self::acquire), with permits that have a handle of the semaphore of their own and
    /// borrow nothing, so that they can go into a task that is spawned.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tidings::sync::Semaphore;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let at_once = Arc::new(Semaphore::new(2));
    /// for url in ["/a", "/b", "/c"] {
    ///     let permit = at_once.acquire_owned(1).await.unwrap();
    ///     tidings::spawn(async move {
    ///         println!("fetching {url}");
    ///         drop(permit);
    ///     });
    /// }
    /// # });
    /// ```
    pub fn acquire_owned(self: &Arc<Self>, n: usize) -> Acquire<Arc<Self>> {
        Acquire {
            semaphore: self.clone(),
            n,
            slot: Ticket::new(None),
        }
    }

    /// Acquires `n` permits, if they are there and nobody waits.
    ///
    /// # Errors
    /// If not, or the semaphore is closed.
    ///
    /// ```
    /// use tidings::sync::{Semaphore, TryAcquireError};
    /// let semaphore = Semaphore::new(1);
    /// let _one = semaphore.try_acquire(1).unwrap();
    /// assert_eq!(semaphore.try_acquire(1).unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    pub fn try_acquire(&self, n: usize) -> Result<Permit<&Self>, TryAcquireError> {
        self.try_take(n)?;
        Ok(Permit { semaphore: self, n })
    }

    /// As [`try_acquire`](Self::try_acquire), with permits that [borrow nothing](Self::acquire_owned).
    ///
    /// # Errors
    /// As that.
    ///
    /// ```
    /// use std::sync::Arc;
    /// let semaphore = Arc::new(tidings::sync::Semaphore::new(1));
    /// let one = semaphore.try_acquire_owned(1).unwrap();
    /// std::thread::spawn(move || drop(one)).join().unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn try_acquire_owned(
        self: &Arc<Self>,
        n: usize,
    ) -> Result<Permit<Arc<Self>>, TryAcquireError> {
        self.try_take(n)?;
        Ok(Permit {
            semaphore: self.clone(),
            n,
        })
    }

    pub(super) fn try_take(&self, n: usize) -> Result<(), TryAcquireError> {
        self.source.locked(|state| {
            if state.closed {
                Err(TryAcquireError::Closed)
            } else if state.take(n) {
                Ok(())
            } else {
                Err(TryAcquireError::NoPermits)
            }
        })
    }

    /// Whoever calls has all permits of a lock, and is the one for whom others wait.
    pub(super) fn note_holder(&self) {
        if waits::watched() {
            waits::held(self.source.number(), sched::running());
        }
    }

    /// Gives permits back that were [held](Self::note_holder), once nobody is told to wait for who had them.
    pub(super) fn let_go(&self, n: usize) {
        if waits::watched() {
            waits::let_go(self.source.number());
        }
        self.release(n);
    }

    /// Adds permits, which did not exist before.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS) then that nobody holds.
    ///
    /// ```
    /// let semaphore = tidings::sync::Semaphore::new(0);
    /// semaphore.add_permits(3);
    /// assert_eq!(semaphore.available_permits(), 3);
    /// ```
    pub fn add_permits(&self, n: usize) {
        let room = self.source.locked(|state| {
            let room = n <= Self::MAX_PERMITS.saturating_sub(state.permits);
            state.permits += if room { n } else { 0 };
            room
        });
        assert!(room, "a semaphore has at most MAX_PERMITS permits");
        self.release(0);
    }

    /// Puts permits back and hands them on.
    pub(super) fn release(&self, mut n: usize) {
        self.source.commit_each(false, |state| {
            // Permits that were added while others were held may be too many.
            state.permits = state.permits.saturating_add(std::mem::take(&mut n));
            state.grant()
        });
    }

    /// How many permits nobody holds.
    #[must_use]
    pub fn available_permits(&self) -> usize {
        self.source.locked(|state| state.permits)
    }

    /// Closes the semaphore: whoever waits, or comes to, hears of it. Permits that are held stay
    /// valid.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tidings::sync::Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.acquire(1).await.is_err());
    /// # });
    /// ```
    pub fn close(&self) {
        self.source.commit_each(true, |state| {
            state.closed = true;
            state.waiting.claim(|_| Judge::Take)
        });
    }

    /// Has it been closed?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.source.locked(|state| state.closed)
    }

    /// How many wait.
    pub(super) fn n_waiting(&self) -> usize {
        self.source.locked(|state| state.waiting.len())
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("permits", &self.available_permits())
            .field("waiting", &self.n_waiting())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// Permits of a [`Semaphore`], given back when dropped.
///
/// `S` is how they have it: a reference, or an `Arc` if they were [acquired
/// owned](Semaphore::acquire_owned).
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct Permit<S: Deref<Target = Semaphore>> {
    semaphore: S,
    n: usize,
}

impl<S: Deref<Target = Semaphore>> Permit<S> {
    /// How many permits these are.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.n
    }

    /// Does away with the permits: they are not given back, the semaphore has that many less.
    ///
    /// ```
    /// let semaphore = tidings::sync::Semaphore::new(2);
    /// semaphore.try_acquire(1).unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        self.n = 0;
    }

    /// Splits `n` of the permits off, to be given back by themselves; `None` if there are less.
    ///
    /// ```
    /// let semaphore = tidings::sync::Semaphore::new(3);
    /// let mut all = semaphore.try_acquire(3).unwrap();
    /// drop(all.split(2));
    /// assert_eq!((all.permits(), semaphore.available_permits()), (1, 2));
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self>
    where
        S: Clone,
    {
        self.n = self.n.checked_sub(n)?;
        Some(Self {
            semaphore: self.semaphore.clone(),
            n,
        })
    }
}

impl<S: Deref<Target = Semaphore>> Drop for Permit<S> {
    fn drop(&mut self) {
        if self.n > 0 {
            self.semaphore.release(self.n);
        }
    }
}

/// The semaphore was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError;

/// Why permits could not be acquired at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// There are not enough, or somebody waits for some.
    NoPermits,
    /// The semaphore was closed.
    Closed,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("acquiring from a closed semaphore")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPermits => "not enough permits",
            Self::Closed => "acquiring from a closed semaphore",
        })
    }
}

impl std::error::Error for AcquireError {}
impl std::error::Error for TryAcquireError {}

/// The event of [`Semaphore::acquire`] and [`Semaphore::acquire_owned`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Acquire<S> {
    semaphore: S,
    n: usize,
    slot: Ticket,
}

impl<S: Deref<Target = Semaphore> + Clone> Wait for Acquire<S> {
    type State = State;
    type Output = Result<Permit<S>, AcquireError>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.semaphore.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(self.n as u64);
        self.slot.set_closed(state.closed);
        state.closed || state.take(self.n)
    }
    fn done(&mut self) -> Self::Output {
        if self.slot.is_closed() {
            return Err(AcquireError);
        }
        Ok(Permit {
            semaphore: self.semaphore.clone(),
            n: self.n,
        })
    }
    fn undo(&mut self) {
        drop(self.done());
    }
    fn withdrawn(&mut self) {
        // It may have been the first, and the next may want less.
        self.semaphore.release(0);
    }
}

wait_event!(impl[S: Deref<Target = Semaphore> + Clone] Acquire<S> => Result<Permit<S>, AcquireError>);
