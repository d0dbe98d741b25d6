//! A lock that many may read under: a semaphore around a value, of which a reader has one permit
//! and a writer all.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::guard::guard;
use super::semaphore::{Semaphore, State};
use crate::channel::source::{Side, Source};
use crate::channel::wait::{Ticket, Wait, wait_event};
use crate::primitive::UnsafeCell;

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
    pub fn read(&self) -> Read<&Self> {
        Read {
            lock: self,
            slot: Ticket::new(None),
        }
    }

    /// As [`read`](Self::read), with a guard that has a handle of the lock of its own and borrows nothing, so that it
    /// can go into a task that is spawned.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tidings::sync::RwLock;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let read = lock.read_owned().await;
    /// assert_eq!(tidings::spawn(async move { *read }).await.unwrap(), 1);
    /// # });
    /// ```
    pub fn read_owned(self: &Arc<Self>) -> Read<Arc<Self>> {
        Read {
            lock: self.clone(),
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
    pub fn write(&self) -> Write<&Self> {
        Write {
            lock: self,
            slot: Ticket::new(None),
        }
    }

    /// As [`write`](Self::write), with a guard that [borrows nothing](Self::read_owned).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tidings::sync::RwLock;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut write = lock.write_owned().await;
    /// tidings::spawn(async move { *write += 1 }).await.unwrap();
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    pub fn write_owned(self: &Arc<Self>) -> Write<Arc<Self>> {
        Write {
            lock: self.clone(),
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
        Some(self.reading())
    }

    /// As [`try_read`](Self::try_read), with a guard that [borrows nothing](Self::read_owned).
    ///
    /// ```
    /// use std::sync::Arc;
    /// let lock = Arc::new(tidings::sync::RwLock::new(1));
    /// let read = lock.try_read_owned().unwrap();
    /// assert_eq!(std::thread::spawn(move || *read).join().unwrap(), 1);
    /// ```
    #[must_use]
    pub fn try_read_owned(self: &Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        self.semaphore.try_take(ONE).ok()?;
        Some(self.clone().reading())
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
        Some(self.writing())
    }

    /// As [`try_write`](Self::try_write), with a guard that [borrows nothing](Self::read_owned).
    ///
    /// ```
    /// use std::sync::Arc;
    /// let lock = Arc::new(tidings::sync::RwLock::new(1));
    /// let mut write = lock.try_write_owned().unwrap();
    /// std::thread::spawn(move || *write = 2).join().unwrap();
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    #[must_use]
    pub fn try_write_owned(self: &Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        self.semaphore.try_take(ALL).ok()?;
        Some(self.clone().writing())
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
}

/// A [`RwLockReadGuard`] that borrows nothing, of [`RwLock::read_owned`]: it has the lock in an `Arc`.
#[must_use = "the right to read ends when this is dropped"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

guard!(lock: ['a, T: ?Sized] RwLockReadGuard<'a, T>, [T: ?Sized] OwnedRwLockReadGuard<T>);

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.semaphore.release(ONE);
    }
}

impl<T: ?Sized> Drop for OwnedRwLockReadGuard<T> {
    fn drop(&mut self) {
        self.lock.semaphore.release(ONE);
    }
}

/// The right to write the value of a [`RwLock`], which ends when this is dropped.
#[must_use = "the lock is free again when this is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// What it gives back: all, but for what a reader has that it has become.
    permits: usize,
    /// Says for `Send` and `Sync` what the guard is.
    value: PhantomData<&'a mut T>,
}

/// A [`RwLockWriteGuard`] that borrows nothing, of [`RwLock::write_owned`]: it has the lock in an `Arc`.
#[must_use = "the lock is free again when this is dropped"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    permits: usize,
    /// As above; a `Box` may be moved, whatever is in it.
    value: PhantomData<Box<T>>,
}

guard!(mut lock: ['a, T: ?Sized] RwLockWriteGuard<'a, T>, [T: ?Sized] OwnedRwLockWriteGuard<T>);

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
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
        self.permits -= ONE;
        self.lock.reading()
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// As [`RwLockWriteGuard::downgrade`].
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let lock = std::sync::Arc::new(tidings::sync::RwLock::new(1));
    /// let read = lock.write_owned().await.downgrade();
    /// assert_eq!((*read, *lock.read().await), (1, 1));
    /// # });
    /// ```
    pub fn downgrade(mut self) -> OwnedRwLockReadGuard<T> {
        self.permits -= ONE;
        self.lock.clone().reading()
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.semaphore.let_go(self.permits);
    }
}

impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    fn drop(&mut self) {
        self.lock.semaphore.let_go(self.permits);
    }
}

/// How a wait has its lock, and so which guards it gives.
pub trait Handle: Clone {
    type Read;
    type Write;
    fn semaphore(&self) -> &Semaphore;
    /// The caller has a permit.
    fn reading(self) -> Self::Read;
    /// The caller has all permits.
    fn writing(self) -> Self::Write;
}

impl<'a, T: ?Sized> Handle for &'a RwLock<T> {
    type Read = RwLockReadGuard<'a, T>;
    type Write = RwLockWriteGuard<'a, T>;
    fn semaphore(&self) -> &Semaphore {
        &self.semaphore
    }
    fn reading(self) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard { lock: self }
    }
    fn writing(self) -> RwLockWriteGuard<'a, T> {
        self.semaphore.note_holder();
        RwLockWriteGuard {
            lock: self,
            permits: ALL,
            value: PhantomData,
        }
    }
}

impl<T: ?Sized> Handle for Arc<RwLock<T>> {
    type Read = OwnedRwLockReadGuard<T>;
    type Write = OwnedRwLockWriteGuard<T>;
    fn semaphore(&self) -> &Semaphore {
        &self.semaphore
    }
    fn reading(self) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockReadGuard { lock: self }
    }
    fn writing(self) -> OwnedRwLockWriteGuard<T> {
        self.semaphore.note_holder();
        OwnedRwLockWriteGuard {
            lock: self,
            permits: ALL,
            value: PhantomData,
        }
    }
}

/// The event of [`RwLock::read`] and [`RwLock::read_owned`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Read<L> {
    lock: L,
    slot: Ticket,
}

impl<L: Handle> Wait for Read<L> {
    type State = State;
    type Output = L::Read;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.lock.semaphore().source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(ONE as u64);
        state.take(ONE)
    }
    fn done(&mut self) -> Self::Output {
        self.lock.clone().reading()
    }
    fn undo(&mut self) {
        drop(self.done());
    }
}

wait_event!(impl[L: Handle] Read<L> => L::Read);

/// The event of [`RwLock::write`] and [`RwLock::write_owned`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Write<L> {
    lock: L,
    slot: Ticket,
}

impl<L: Handle> Wait for Write<L> {
    type State = State;
    type Output = L::Write;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.lock.semaphore().source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(ALL as u64);
        state.take(ALL)
    }
    fn done(&mut self) -> Self::Output {
        self.lock.clone().writing()
    }
    fn undo(&mut self) {
        drop(self.done());
    }
    fn withdrawn(&mut self) {
        // Readers may have waited behind it.
        self.lock.semaphore().release(0);
    }
}

wait_event!(impl[L: Handle] Write<L> => L::Write);
