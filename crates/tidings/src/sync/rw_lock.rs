//! A lock that many may read under: a semaphore around a value, of which a reader has one permit
//! and a writer all.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::semaphore::{Permit, Semaphore, State};
use crate::channel::source::{Side, Source};
use crate::channel::wait::{Ticket, Wait, wait_event};
use crate::event::waits;
use crate::primitive::UnsafeCell;
use crate::sched;

/// What a reader has, and what a writer has.
const ONE: usize = 1;
const ALL: usize = Semaphore::MAX_PERMITS;

/// A value that many may read at a time, or one may write, over awaits too.
///
/// Fair: first come, first served. A read waits behind a write that waits, so that readers never
/// keep writers out; hence who reads and wants to read once more, while a write waits in between,
/// waits for itself. A panic lets go like any drop: there is no poisoning. Where no await happens
/// while it is held, `std::sync::RwLock` is faster; for a value that is replaced as a whole,
/// [`watch`](crate::watch()) holds nobody up. It may be around what has no size, as a [`Mutex`](super::Mutex).
///
/// ```
/// use tidings::sync::RwLock;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let prices = RwLock::new(vec![1, 2]);
/// {
///     let (a, b) = (prices.read().await, prices.read().await);
///     assert_eq!(a.len(), b.len());
/// }
/// prices.write().await.push(3);
/// assert_eq!(*prices.read().await, [1, 2, 3]);
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    semaphore: Semaphore,
    value: UnsafeCell<T>,
}

// SAFETY: the value goes with the lock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: readers on several threads share the value, and a writer on any thread may replace it.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A lock around a value.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new(value: T) -> Self {
        Self {
            semaphore: Semaphore::new(ALL),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, taken out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes, and nobody who came before waits to: an event, which gives a guard.
    ///
    /// A wait that is dropped, or loses a choice, changes nothing; a lock that had passed to it
    /// passes on (see [`sync`](super) on waits that are kept unpolled).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, sync::RwLock};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = RwLock::new(1);
    /// let written = lock.write().await;
    /// assert!(lock.read().timeout(Duration::from_millis(1)).await.is_err());
    /// drop(written);
    /// assert_eq!(*lock.read().await, 1);
    /// # });
    /// ```
    pub fn read(&self) -> Read<'_, T> {
        Read {
            lock: self,
            slot: Ticket::new(None),
        }
    }

    /// Waits until nobody reads or writes: an event, which gives a guard. Dropped, as [`read`](Self::read).
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = tidings::sync::RwLock::new(1);
    /// *lock.write().await += 1;
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    pub fn write(&self) -> Write<'_, T> {
        Write {
            lock: self,
            slot: Ticket::new(None),
        }
    }

    /// To read, if nobody writes or waits.
    ///
    /// ```
    /// let lock = tidings::sync::RwLock::new(1);
    /// let read = lock.try_read();
    /// assert!(read.is_some() && lock.try_read().is_some());
    /// ```
    #[must_use]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.semaphore.try_take(ONE).ok()?;
        Some(RwLockReadGuard::new(self))
    }

    /// To write, if nobody reads, writes or waits.
    ///
    /// ```
    /// let lock = tidings::sync::RwLock::new(1);
    /// let read = lock.try_read();
    /// assert!(read.is_some() && lock.try_write().is_none());
    /// ```
    #[must_use]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.semaphore.try_take(ALL).ok()?;
        Some(RwLockWriteGuard::new(self))
    }

    /// The value, without waiting: the borrow says that nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self`: there is no guard.
        self.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let free = self.semaphore.available_permits();
        f.debug_struct("RwLock")
            .field("written", &(free == 0))
            .field("readers", &(if free == 0 { 0 } else { ALL - free }))
            .field("waiting", &self.semaphore.n_waiting())
            .finish_non_exhaustive()
    }
}

/// The right to read the value of a [`RwLock`], which ends when this is dropped.
#[must_use = "the right to read ends when this is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    _permit: Permit<&'a Semaphore>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The caller has a permit.
    fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            lock,
            _permit: lock.semaphore.permit(ONE),
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard has a permit, so nobody has all of them and may write.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The right to write the value of a [`RwLock`], which ends when this is dropped.
#[must_use = "the lock is free again when this is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    permits: Permit<&'a Semaphore>,
    /// Says for `Send` and `Sync` what the guard is.
    value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The caller has all permits.
    fn new(lock: &'a RwLock<T>) -> Self {
        if waits::watched() {
            waits::held(lock.semaphore.source.number(), sched::running());
        }
        Self {
            lock,
            permits: lock.semaphore.permit(ALL),
            value: PhantomData,
        }
    }

    /// To go on reading: other readers come in, and nobody writes in between.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = tidings::sync::RwLock::new(1);
    /// let mut write = lock.write().await;
    /// *write = 2;
    /// let read = write.downgrade();
    /// assert_eq!((*read, *lock.read().await), (2, 2));
    /// # });
    /// ```
    pub fn downgrade(mut self) -> RwLockReadGuard<'a, T> {
        let one = self.permits.split(ONE);
        RwLockReadGuard {
            lock: self.lock,
            _permit: one.expect("a writer has all permits"),
        }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard has all permits, so there is no other guard.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Before the permits go, and somebody else has the lock.
        if waits::watched() {
            waits::let_go(self.lock.semaphore.source.number());
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The event of [`RwLock::read`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Read<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    slot: Ticket,
}

impl<'a, T: ?Sized> Wait for Read<'a, T> {
    type State = State;
    type Output = RwLockReadGuard<'a, T>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.lock.semaphore.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(ONE as u64);
        state.take(ONE)
    }
    fn done(&mut self) -> Self::Output {
        RwLockReadGuard::new(self.lock)
    }
    fn undo(&mut self) {
        drop(self.done());
    }
}

wait_event!(impl['a, T: ?Sized] Read<'a, T> => RwLockReadGuard<'a, T>);

/// The event of [`RwLock::write`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Write<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    slot: Ticket,
}

impl<'a, T: ?Sized> Wait for Write<'a, T> {
    type State = State;
    type Output = RwLockWriteGuard<'a, T>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.lock.semaphore.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(ALL as u64);
        state.take(ALL)
    }
    fn done(&mut self) -> Self::Output {
        RwLockWriteGuard::new(self.lock)
    }
    fn undo(&mut self) {
        drop(self.done());
    }
    fn withdrawn(&mut self) {
        // Readers may have waited behind it.
        self.lock.semaphore.release(0);
    }
}

wait_event!(impl['a, T: ?Sized] Write<'a, T> => RwLockWriteGuard<'a, T>);
