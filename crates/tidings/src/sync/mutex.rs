//! A lock that may be held over an await: a semaphore of one permit around a value.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::guard::guard;
use super::semaphore::{Semaphore, State};
use crate::channel::source::{Side, Source};
use crate::channel::wait::{Ticket, Wait, wait_event};
use crate::primitive::UnsafeCell;

/// A value that one task at a time may use, over awaits too.
///
/// Fair: first come, first served. A panic while it is held lets it go like any drop: there is
/// no poisoning, so mind the invariants that must survive one. Where no await happens while it
/// is held, `std::sync::Mutex` is faster; where all users are tasks, an actor is often simpler.
///
/// As std's it may be around what has no size: an `Arc<Mutex<T>>` becomes an `Arc<Mutex<dyn Trait>>`. `new` is
/// no `const fn`: a static one is in a [`LazyLock`](std::sync::LazyLock).
///
/// ```
/// use std::sync::Arc;
/// use tidings::sync::Mutex;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let count = Arc::new(Mutex::new(0));
/// let tasks: Vec<_> = (0..4)
///     .map(|_| {
///         let count = count.clone();
///         tidings::spawn(async move { *count.lock().await += 1 })
///     })
///     .collect();
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(*count.lock().await, 4);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    /// Its one permit is the right to the value.
    semaphore: Semaphore,
    value: UnsafeCell<T>,
}

// SAFETY: the permit gives the value to one thread at a time, so sharing the lock only sends `T`.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A mutex around a value.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new(value: T) -> Self {
        Self {
            semaphore: Semaphore::new(1),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, taken out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody else has the value: an event, which gives a guard.
    ///
    /// A wait that is dropped, or loses a choice, changes nothing; a lock that had passed to it
    /// passes on (see [`sync`](super) on waits that are kept unpolled).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, sync::Mutex};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mutex = Mutex::new(1);
    /// let held = mutex.lock().await;
    /// assert!(mutex.lock().timeout(Duration::from_millis(1)).await.is_err());
    /// drop(held);
    /// assert_eq!(*mutex.lock().await, 1);
    /// # });
    /// ```
    pub fn lock(&self) -> Lock<&Self> {
        Lock {
            mutex: self,
            slot: Ticket::new(None),
        }
    }

    /// As [`lock`](Self::lock), with a guard that has a handle of the mutex of its own and borrows nothing, so that it
    /// can go into a task that is spawned.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tidings::sync::Mutex;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut held = mutex.lock_owned().await;
    /// tidings::spawn(async move { *held += 1 }).await.unwrap();
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    pub fn lock_owned(self: &Arc<Self>) -> Lock<Arc<Self>> {
        Lock {
            mutex: self.clone(),
            slot: Ticket::new(None),
        }
    }

    /// The value, if nobody has it and nobody waits for it.
    ///
    /// ```
    /// let mutex = tidings::sync::Mutex::new(1);
    /// let held = mutex.try_lock();
    /// assert!(held.is_some() && mutex.try_lock().is_none());
    /// ```
    #[must_use]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.semaphore.try_take(1).ok()?;
        Some(self.guard())
    }

    /// As [`try_lock`](Self::try_lock), with a guard that [borrows nothing](Self::lock_owned).
    ///
    /// ```
    /// use std::sync::Arc;
    /// let mutex = Arc::new(tidings::sync::Mutex::new(1));
    /// let held = mutex.try_lock_owned().unwrap();
    /// std::thread::spawn(move || drop(held)).join().unwrap();
    /// assert!(mutex.try_lock().is_some());
    /// ```
    #[must_use]
    pub fn try_lock_owned(self: &Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        self.semaphore.try_take(1).ok()?;
        Some(self.clone().guard())
    }

    /// The value, without waiting: the borrow says that nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self`: there is no guard.
        self.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex")
            .field("locked", &(self.semaphore.available_permits() == 0))
            .field("waiting", &self.semaphore.n_waiting())
            .finish_non_exhaustive()
    }
}

/// The right to the value of a [`Mutex`], which passes on when this is dropped.
#[must_use = "the mutex is free again when this is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Says for `Send` and `Sync` what the guard is.
    value: PhantomData<&'a mut T>,
}

/// A [`MutexGuard`] that borrows nothing, of [`Mutex::lock_owned`]: it has the mutex in an `Arc`.
#[must_use = "the mutex is free again when this is dropped"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    /// As above; a `Box` may be moved, whatever is in it.
    value: PhantomData<Box<T>>,
}

guard!(mut mutex: ['a, T: ?Sized] MutexGuard<'a, T>, [T: ?Sized] OwnedMutexGuard<T>);

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.semaphore.let_go(1);
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.semaphore.let_go(1);
    }
}

/// How a wait has its mutex, and so which guard it gives.
pub trait Handle: Clone {
    type Guard;
    fn semaphore(&self) -> &Semaphore;
    /// The caller has the permit.
    fn guard(self) -> Self::Guard;
}

impl<'a, T: ?Sized> Handle for &'a Mutex<T> {
    type Guard = MutexGuard<'a, T>;
    fn semaphore(&self) -> &Semaphore {
        &self.semaphore
    }
    fn guard(self) -> MutexGuard<'a, T> {
        self.semaphore.note_holder();
        MutexGuard {
            mutex: self,
            value: PhantomData,
        }
    }
}

impl<T: ?Sized> Handle for Arc<Mutex<T>> {
    type Guard = OwnedMutexGuard<T>;
    fn semaphore(&self) -> &Semaphore {
        &self.semaphore
    }
    fn guard(self) -> OwnedMutexGuard<T> {
        self.semaphore.note_holder();
        OwnedMutexGuard {
            mutex: self,
            value: PhantomData,
        }
    }
}

/// The event of [`Mutex::lock`] and [`Mutex::lock_owned`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Lock<M> {
    mutex: M,
    slot: Ticket,
}

impl<M: Handle> Wait for Lock<M> {
    type State = State;
    type Output = M::Guard;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.mutex.semaphore().source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(1);
        state.take(1)
    }
    fn done(&mut self) -> M::Guard {
        self.mutex.clone().guard()
    }
    fn undo(&mut self) {
        drop(self.done());
    }
}

wait_event!(impl[M: Handle] Lock<M> => M::Guard);
