//! A one-byte lock for critical sections of a few tens of nanoseconds.
//!
//! Cost: one read-modify-write to lock, one release store to unlock. Used by queues and, below
//! `leaning.rs`, by channels, whose sections move a value and relink a list and never run user code.
//! Source: test-and-test-and-set; a waiter spins on a plain load, then yields its core.

use std::ops::{Deref, DerefMut};

use super::UnsafeCell;
#[cfg(any(test, not(loom)))]
use super::atomic::{AtomicU8, Ordering};

/// The lock alone, without the data it guards: a choice locks many of different types.
#[cfg(loom)]
pub(crate) use blocking::RawLock;
#[cfg(not(loom))]
pub(crate) type RawLock = Spin;

/// A holder that is nobody in particular.
pub(crate) const ANYBODY: u8 = u8::MAX;

/// What a [`RawLock`] is. Its byte says who holds it: 0 nobody, otherwise what the holder called
/// itself.
#[cfg(any(test, not(loom)))]
#[derive(Debug)]
pub(crate) struct Spin {
    holder: AtomicU8,
}

#[cfg(any(test, not(loom)))]
impl Spin {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            holder: AtomicU8::new(0),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            holder: AtomicU8::new(0),
        }
    }

    /// Tries to lock, as `me` (not 0). Gives who holds it: 0 if it is ours now.
    ///
    /// Our name over another holder's changes nothing: a lock is taken while its byte is not 0,
    /// and the holder will store 0.
    #[inline(always)]
    pub(crate) fn try_lock(&self, me: u8) -> u8 {
        // ORD lock.holder: acquire; pairs with unlock.
        self.holder.swap(me, Ordering::Acquire)
    }

    /// Locks, as `me`. Gives who held it when we came: 0 if nobody.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn lock(&self, me: u8) -> u8 {
        let holder = self.try_lock(me);
        if holder != 0 {
            self.lock_slow(me);
        }
        holder
    }

    #[cfg(not(loom))]
    #[cold]
    fn lock_slow(&self, me: u8) {
        let mut step = 0;
        loop {
            while self.holder.load(Ordering::Relaxed) != 0 {
                super::relax(&mut step);
            }
            if self.try_lock(me) == 0 {
                return;
            }
        }
    }

    /// Does somebody hold it? `false`: what he did has happened.
    #[inline(always)]
    pub(crate) fn is_held(&self) -> bool {
        // ORD lock.holder: acquire; pairs with unlock.
        self.holder.load(Ordering::Acquire) != 0
    }

    /// What is read here has all happened before, or loom fails the model.
    #[cfg(all(test, loom))]
    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: loom looks after it.
        unsafe { self.holder.unsync_load() == 0 }
    }

    /// Unlocks. Only the holder may call it.
    #[inline(always)]
    pub(crate) fn unlock(&self) {
        // ORD lock.holder: release; pairs with try_lock.
        self.holder.store(0, Ordering::Release);
    }
}

/// Under loom the users of a lock wait without spinning, or there would be no end of schedules.
/// `models/lock.rs` explores [`Spin`] itself.
#[cfg(loom)]
mod blocking {
    use std::cell::UnsafeCell;

    use loom::sync::{Mutex, MutexGuard};

    #[derive(Debug)]
    pub(crate) struct RawLock {
        /// The holder's. First, so that it goes before the mutex.
        guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
        mutex: Box<Mutex<()>>,
    }

    // SAFETY: the guard is touched by the holder of the mutex only.
    unsafe impl Send for RawLock {}
    // SAFETY: as above.
    unsafe impl Sync for RawLock {}

    impl RawLock {
        pub(crate) fn new() -> Self {
            Self {
                guard: UnsafeCell::new(None),
                mutex: Box::new(Mutex::new(())),
            }
        }

        /// It waits: a model has no use for a lock that it did not get.
        pub(crate) fn try_lock(&self, me: u8) -> u8 {
            self.lock(me)
        }

        pub(crate) fn lock(&self, _: u8) -> u8 {
            // SAFETY: the mutex is in a box of ours, and the guard goes first.
            let mutex: &'static Mutex<()> = unsafe { &*std::ptr::from_ref(&*self.mutex) };
            let guard = mutex.lock().expect("a model that panics ends");
            // SAFETY: we are the holder.
            unsafe { *self.guard.get() = Some(guard) };
            0
        }

        pub(crate) fn is_held(&self) -> bool {
            self.lock(0);
            self.unlock();
            false
        }

        pub(crate) fn unlock(&self) {
            // SAFETY: the caller is the holder.
            drop(unsafe { (*self.guard.get()).take() });
        }
    }
}

/// A value behind a [`RawLock`].
#[derive(Debug)]
pub(crate) struct SpinLock<T> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing the lock only sends `T`.
unsafe impl<T: Send> Send for SpinLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    #[cfg(not(loom))]
    pub(crate) const fn new(value: T) -> Self {
        Self {
            raw: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new(value: T) -> Self {
        Self {
            raw: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> SpinGuard<'_, T> {
        // SAFETY: the two belong together, and the guard is the only way to the value.
        unsafe { SpinGuard::lock(&self.raw, &self.value) }
    }
}

/// Holds a [`SpinLock`], or a lock and its value that lie apart, until dropped.
#[derive(Debug)]
pub(crate) struct SpinGuard<'a, T> {
    raw: &'a RawLock,
    value: &'a UnsafeCell<T>,
}

impl<'a, T> SpinGuard<'a, T> {
    /// Locks.
    ///
    /// # Safety
    /// `raw` guards `value`: nobody gets to the value but through a guard of this lock.
    #[inline(always)]
    pub(crate) unsafe fn lock(raw: &'a RawLock, value: &'a UnsafeCell<T>) -> Self {
        raw.lock(ANYBODY);
        Self { raw, value }
    }
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, so no other reference to the value exists.
        self.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, so no other reference to the value exists.
        self.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.raw.unlock();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{AtomicU8, Ordering, Spin};
    use crate::primitive::thread;

    #[test]
    fn who_comes_while_another_holds_it_waits_until_that_one_unlocks() {
        const ROUNDS: u32 = 200;
        for _ in 0..ROUNDS {
            let (lock, came) = (Spin::new(), AtomicU8::new(0));
            thread::scope(|scope| {
                assert_eq!(lock.lock(1), 0);
                scope.spawn(|| {
                    let holder = lock.lock(2);
                    came.store(10 + holder, Ordering::Relaxed);
                    lock.unlock();
                });
                // Once it has tried, its name stands there.
                let is_in = || came.load(Ordering::Relaxed) != 0;
                while lock.holder.load(Ordering::Relaxed) == 1 && !is_in() {
                    thread::yield_now();
                }
                for _ in 0..3 {
                    thread::yield_now();
                    assert!(!is_in(), "two are inside");
                }
                lock.unlock();
            });
            assert_eq!(came.into_inner(), 11, "it was told who held it");
            assert_eq!(lock.lock(1), 0, "it is free");
        }
    }
}
