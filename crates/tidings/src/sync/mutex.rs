//! A lock that may be held over an await: a semaphore of one permit around a value.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::semaphore::{Semaphore, State};
use crate::channel::source::{Side, Source};
use crate::channel::wait::{Ticket, Wait, wait_event};
use crate::event::waits;
use crate::primitive::UnsafeCell;
use crate::sched;

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
    pub fn lock(&self) -> Lock<'_, T> {
        Lock {
            mutex: self,
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
        let taken = self.semaphore.source.locked(|state| state.take(1));
        taken.then(|| MutexGuard::new(self))
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

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The caller has the permit.
    fn new(mutex: &'a Mutex<T>) -> Self {
        if waits::watched() {
            waits::held(mutex.semaphore.source.number(), sched::running());
        }
        Self {
            mutex,
            value: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard has the permit, so there is no other guard.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if waits::watched() {
            waits::let_go(self.mutex.semaphore.source.number());
        }
        self.mutex.semaphore.release(1);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The event of [`Mutex::lock`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Lock<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    slot: Ticket,
}

impl<'a, T: ?Sized> Wait for Lock<'a, T> {
    type State = State;
    type Output = MutexGuard<'a, T>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.mutex.semaphore.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(1);
        state.take(1)
    }
    fn done(&mut self) -> MutexGuard<'a, T> {
        MutexGuard::new(self.mutex)
    }
    fn undo(&mut self) {
        drop(self.done());
    }
}

wait_event!(impl['a, T: ?Sized] Lock<'a, T> => MutexGuard<'a, T>);
