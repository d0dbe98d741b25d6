//! A lock that costs its owner two plain stores, and everybody else a system call.
//!
//! A worker touches its private queues at every task switch; another thread touches them only
//! to rescue tasks stuck behind a long poll. So the owner's side has no read-modify-write and
//! no fence: it announces itself with a plain store and looks whether anything is wanted of it. The
//! other side says that it is revoked, makes every thread of the process pass a full barrier
//! (`membarrier(2)`, about 3 us), and waits until the owner is out.
//!
//! Proof, with the barrier pair as two `SeqCst` fences (which is what it is in models, and on
//! systems without `membarrier`, where a fence is always wanted): either the owner's load sees that it is
//! revoked, and it steps back, or the other's load sees `busy`, and it waits. The values travel by the release
//! stores of `busy` and `wants` and the acquire loads that see them.
//!
//! Source: asymmetric Dekker / biased locking (Dice, Huang, Yang 2001); `membarrier(2)`.

use super::atomic::{AtomicBool, AtomicU8, Ordering};
use super::{ANYBODY, RawLock, UnsafeCell, barrier, relax};

/// A fence between the owner's announcement and its look: the system has no barrier for all threads.
const FENCE: u8 = 1;
/// Another thread is inside, or about to be.
const REVOKED: u8 = 2;

/// A value with one owning thread, which another thread can lock in an emergency.
#[derive(Debug)]
pub(crate) struct Biased<T> {
    /// Written by the owner only.
    busy: AtomicBool,
    /// 0, where the owner has nothing to do but to enter; else [`FENCE`], [`REVOKED`], or both. Written by the
    /// holder of `others` only.
    wants: AtomicU8,
    /// Serialises the threads that are not the owner.
    others: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: `enter` and `revoke` exclude each other (see the module's proof), so sharing the lock
// only sends `T` between threads.
unsafe impl<T: Send> Sync for Biased<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Biased<T> {}

impl<T> Biased<T> {
    pub(crate) fn new(value: T) -> Self {
        barrier::prepare();
        Self {
            busy: AtomicBool::new(false),
            wants: AtomicU8::new(Self::always()),
            others: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// What it wants while nobody has revoked it.
    fn always() -> u8 {
        if barrier::is_asymmetric() { 0 } else { FENCE }
    }

    /// The owner's access.
    ///
    /// # Safety
    /// One thread at a time may be the owner, and `f` must not call `enter` again.
    #[inline(always)]
    pub(crate) unsafe fn enter<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.busy.store(true, Ordering::Relaxed);
        barrier::free();
        // ORD biased.wants: acquire; pairs with the release in revoke.
        if self.wants.load(Ordering::Acquire) != 0 {
            self.enter_slowly();
        }
        // SAFETY: we are the only owner (the caller's promise), and no other thread is inside
        // (the module's proof).
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        // ORD biased.busy: release; pairs with the acquire in revoke.
        self.busy.store(false, Ordering::Release);
        result
    }

    /// `busy` is set: waits until it is not revoked, with the fence that is wanted.
    #[cold]
    fn enter_slowly(&self) {
        loop {
            barrier::light();
            // ORD biased.wants: acquire; pairs with the release in revoke.
            if self.wants.load(Ordering::Acquire) & REVOKED == 0 {
                return;
            }
            #[cfg(all(test, loom))]
            crate::models::note("the owner steps back");
            self.busy.store(false, Ordering::Release);
            let mut step = 0;
            while self.wants.load(Ordering::Relaxed) & REVOKED != 0 {
                relax(&mut step);
            }
            self.busy.store(true, Ordering::Relaxed);
        }
    }

    /// Anybody else's access: waits until the owner is outside, keeps it there, runs `f`.
    pub(crate) fn revoke<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.others.lock(ANYBODY);
        let always = Self::always();
        self.wants.store(always | REVOKED, Ordering::Relaxed);
        barrier::heavy();
        let mut step = 0;
        // ORD biased.busy: acquire; pairs with the release in enter.
        while self.busy.load(Ordering::Acquire) {
            relax(&mut step);
        }
        // SAFETY: the owner is outside and will step back (the module's proof); `others` keeps
        // every other thread away.
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        // ORD biased.wants: release; pairs with the acquire in enter.
        self.wants.store(always, Ordering::Release);
        self.others.unlock();
        result
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::Arc;
    use super::*;

    #[test]
    fn the_owner_and_another_are_never_inside_at_once() {
        const TIMES: u64 = 30_000;
        let biased = Arc::new(Biased::new((0, 0)));
        let (owned, over) = (Arc::clone(&biased), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&over);
        let owner = std::thread::spawn(move || {
            for _ in 0..TIMES {
                // SAFETY: this thread is the only owner, and the closure does not come back here.
                unsafe { owned.enter(|(one, two)| (*one, *two) = (*one + 1, *two + 1)) };
            }
            ends.store(true, Ordering::Relaxed);
        });
        let mut others = 0;
        while !over.load(Ordering::Relaxed) {
            biased.revoke(|(one, two)| {
                assert_eq!(one, two);
                (*one, *two) = (*one + 1, *two + 1);
            });
            others += 1;
        }
        owner.join().unwrap();
        assert_eq!(
            biased.revoke(|both| *both),
            (TIMES + others, TIMES + others)
        );
    }
}
