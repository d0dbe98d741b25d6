//! A lock that leans towards the worker that uses it most: that one takes it without a read-modify-write.
//!
//! Most channels are used by tasks of one worker (placement sees to it), and an atomic read-modify-write
//! is a quarter of what a message costs. So a lock that one worker has taken [`STREAK`] times in a row,
//! with nobody between, is leant towards it: from then on that worker announces itself in `busy` by a plain
//! store, and looks whether it still leans (`biased.rs` has the same, of a value with a fixed owner). The next
//! other who comes takes `spin`, takes the lean back, with a barrier on all threads, and waits until the
//! owner is out; that costs what the streak has saved, and the next streak must be twice as long.
//!
//! Invariants.
//! L1. `whose` is written by the holder of `spin` only: NOBODY to a worker (the holder itself), a worker to
//!     REVOKED to NOBODY.
//! L2. Whoever is inside holds `spin` while `whose` is NOBODY, or is the worker whose it is, or was until
//!     it became REVOKED, and has set `busy`. So `whose` tells an unlock which way the lock was taken.
//! L3. A lock leans towards one worker in its life (`owner`): one who was revoked may be late, between
//!     its two looks, and will set and clear `busy` once more. Nobody else may mean something by `busy` then.
//!
//! Proof of exclusion: that of `biased.rs`, between the owner and the holder of `spin`.
//! Source: biased locking (Dice, Huang, Yang 2001; Russell and Detlefs 2006); `membarrier(2)`.

use super::atomic::{AtomicBool, AtomicU8, Ordering};
use super::lasting::{Mutex, lock};
use super::{ANYBODY, RawLock, UnsafeCell, barrier, relax};

/// The lock leans towards nobody.
const NOBODY: u8 = 0;
/// The lean is being taken back.
const REVOKED: u8 = u8::MAX;
/// Whoever calls itself so is no worker, and no lock leans towards it.
const PASSING: u8 = u8::MAX - 1;

/// So many times in a row cost, in read-modify-writes, about what it costs to take the lean back.
/// Few where the tests run, so that they see both ways.
const STREAK: u16 = if cfg!(any(loom, shuttle)) {
    1
} else if cfg!(debug_assertions) {
    16
} else {
    512
};

/// As whom a thread locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Me {
    /// Its name in a [`RawLock`].
    pub(crate) name: u8,
    /// Its [`Seat`], or [`PASSING`].
    pub(crate) id: u8,
}

impl Me {
    /// A thread that is no worker.
    pub(crate) const ANYBODY: Self = Self {
        name: ANYBODY,
        id: PASSING,
    };
}

/// Another thread that is met at a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It held the lock when we came, and called itself so.
    Holder(u8),
    /// A worker that had the lock last.
    Before,
}

impl Met {
    /// Who holds a [`RawLock`]: 0, nobody.
    #[inline(always)]
    pub(crate) fn holder(name: u8) -> Option<Self> {
        (name != 0).then_some(Self::Holder(name))
    }
}

/// A number that no other thread has, as long as this is kept. Who has it after us comes after us,
/// and is the owner of what leans towards us.
#[derive(Debug)]
pub(crate) struct Seat(u8);

static FREE: Mutex<Seats> = Mutex::new(Seats {
    new: NOBODY + 1,
    used: Vec::new(),
});

struct Seats {
    new: u8,
    used: Vec<u8>,
}

impl Seat {
    /// One of 253; `None`: all are taken.
    pub(crate) fn take() -> Option<Self> {
        let mut free = lock(&FREE);
        let used = free.used.pop();
        used.or_else(|| {
            let new = (free.new < PASSING).then_some(free.new)?;
            free.new += 1;
            Some(new)
        })
        .map(Self)
    }

    pub(crate) fn id(&self) -> u8 {
        self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&FREE).used.push(self.0);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct LeaningLock {
    spin: RawLock,
    whose: AtomicU8,
    /// Written by the owner only.
    busy: AtomicBool,
    habit: UnsafeCell<Habit>,
}

/// Who uses it. Guarded by `spin`, while it leans towards nobody.
#[derive(Debug)]
struct Habit {
    last: u8,
    /// L3. NOBODY: none yet.
    owner: u8,
    /// How often `last` has come since another did.
    streak: u16,
    enough: u16,
}

// SAFETY: `habit` is guarded by `spin`.
unsafe impl Sync for LeaningLock {}

impl LeaningLock {
    const HABIT: Habit = Habit {
        last: PASSING,
        owner: NOBODY,
        streak: 0,
        enough: STREAK,
    };

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn new() -> Self {
        Self {
            spin: RawLock::new(),
            whose: AtomicU8::new(NOBODY),
            busy: AtomicBool::new(false),
            habit: UnsafeCell::new(Self::HABIT),
        }
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn new() -> Self {
        Self {
            spin: RawLock::new(),
            whose: AtomicU8::new(NOBODY),
            busy: AtomicBool::new(false),
            habit: UnsafeCell::new(Self::HABIT),
        }
    }

    /// Locks. Gives another thread that was met here, if one was.
    #[cfg(test)]
    pub(crate) fn lock(&self, me: Me) -> Option<Met> {
        if self.enter(me) {
            return None;
        }
        self.lock_openly(me)
    }

    /// Locks if it leans towards `me`.
    #[inline(always)]
    pub(crate) fn enter(&self, me: Me) -> bool {
        // RELAXED: a hint; it is looked at again.
        if self.whose.load(Ordering::Relaxed) == me.id {
            self.busy.store(true, Ordering::Relaxed);
            // Nothing leans but where it is free.
            barrier::free();
            // RELAXED: what says that it is ours is our own store, and since then nobody else was inside.
            if self.whose.load(Ordering::Relaxed) == me.id {
                return true;
            }
            #[cfg(all(test, loom))]
            crate::models::note("the owner was late");
            // ORD leaning.busy: release; pairs with the acquire in revoke.
            self.busy.store(false, Ordering::Release);
        }
        false
    }

    /// Unlocks. Only who has entered may call it.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        // ORD leaning.busy: release; pairs with the acquire in revoke.
        self.busy.store(false, Ordering::Release);
    }

    /// Waits until the last who has it has let go of it. The caller has seen what he did with it, and
    /// nobody else will come: so it is his taking of the lock, or his letting go of it, that is read here,
    /// whichever way he took it.
    #[inline(always)]
    pub(crate) fn see_out(&self) {
        if self.is_taken() {
            self.see_out_slowly();
        }
    }

    #[inline(always)]
    fn is_taken(&self) -> bool {
        // ORD leaning.busy: acquire; pairs with the release of leave.
        self.spin.is_held() || self.busy.load(Ordering::Acquire)
    }

    /// Apart, so that who need not wait saves no registers for it.
    #[cold]
    #[inline(never)]
    fn see_out_slowly(&self) {
        let mut step = 0;
        while self.is_taken() {
            relax(&mut step);
        }
    }

    /// What is read here has all happened before, or loom fails the model.
    #[cfg(all(test, loom))]
    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: loom looks after it.
        unsafe { !self.busy.unsync_load() }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn leans(&self) -> bool {
        self.whose.load(Ordering::Relaxed) != NOBODY
    }

    /// As everybody: where `enter` has said no.
    #[inline(always)]
    pub(crate) fn lock_openly(&self, me: Me) -> Option<Met> {
        let holder = self.spin.try_lock(me.name);
        // RELAXED: written by holders of `spin`, of which we are one.
        if holder == 0
            && self.whose.load(Ordering::Relaxed) == NOBODY
            // SAFETY: we hold `spin`, and it leans towards nobody.
            && self.habit.with_mut(|habit| unsafe { (*habit).goes_on(me.id) })
        {
            return None;
        }
        self.lock_anew(me, holder)
    }

    /// `holder`: had it when we came; if nobody, we have it. In place, for a new lock, as each call's reply has one,
    /// comes here once: called, it made a call of an actor a tenth slower.
    #[inline(always)]
    fn lock_anew(&self, me: Me, holder: u8) -> Option<Met> {
        if holder != 0 {
            self.spin.lock(me.name);
        }
        // RELAXED: written by holders of `spin`, of which we are one; so in `lock_openly`.
        if self.whose.load(Ordering::Relaxed) != NOBODY {
            self.revoke();
        }
        // SAFETY: we hold `spin`, and it leans towards nobody.
        let (before, leans) = self.habit.with_mut(|habit| unsafe { (*habit).note(me.id) });
        if leans {
            self.lean(me.id);
        }
        Met::holder(holder).or(before)
    }

    /// The caller holds `spin`.
    #[cold]
    fn revoke(&self) {
        self.whose.store(REVOKED, Ordering::Relaxed);
        barrier::heavy();
        let mut step = 0;
        // ORD leaning.busy: acquire; pairs with the releases of unlock and lock.
        while self.busy.load(Ordering::Acquire) {
            #[cfg(all(test, loom))]
            crate::models::note("the owner was waited for");
            relax(&mut step);
        }
        // RELAXED: who reads it takes `spin` next.
        self.whose.store(NOBODY, Ordering::Relaxed);
    }

    /// The caller, who holds `spin`, holds the lock as its owner from here on.
    #[cold]
    fn lean(&self, id: u8) {
        // Where the owner would need a fence it would win nothing.
        if barrier::is_asymmetric() {
            self.busy.store(true, Ordering::Relaxed);
            self.whose.store(id, Ordering::Relaxed);
            // It publishes both to the next holder.
            self.spin.unlock();
        }
    }

    /// Unlocks. Only the holder may call it.
    #[inline(always)]
    pub(crate) fn unlock(&self) {
        // RELAXED: L2.
        if self.whose.load(Ordering::Relaxed) == NOBODY {
            self.spin.unlock();
        } else {
            self.leave();
        }
    }
}

impl Habit {
    /// Has `id` come again, and is nothing to be done about it? `false`: that is not noted.
    #[inline(always)]
    fn goes_on(&mut self, id: u8) -> bool {
        let streak = self.streak + 1;
        let goes_on = self.last == id && streak < self.enough;
        if goes_on {
            self.streak = streak;
        }
        goes_on
    }

    /// `id` has come. Was another worker here before it, and is the lock to lean towards it?
    #[inline(always)]
    fn note(&mut self, id: u8) -> (Option<Met>, bool) {
        if self.last != id {
            let workers = self.last != PASSING && id != PASSING;
            (self.last, self.streak) = (id, 0);
            return (workers.then_some(Met::Before), false);
        }
        self.streak += 1;
        (None, self.streak >= self.enough && self.settle(id))
    }

    #[cold]
    fn settle(&mut self, id: u8) -> bool {
        self.streak = 0;
        if self.owner == NOBODY && id != PASSING {
            self.owner = id;
        }
        let leans = self.owner == id;
        if leans {
            // Not again before it has been worth as much twice.
            self.enough = self.enough.saturating_mul(2);
        }
        leans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_has_a_seat_of_its_own_as_long_as_there_are_some() {
        let mut all: Vec<_> = std::iter::from_fn(Seat::take).collect();
        let ids: BTreeSet<_> = all.iter().map(Seat::id).collect();
        assert_eq!(ids.len(), all.len());
        assert!(!ids.contains(&NOBODY) && !ids.contains(&PASSING) && !ids.contains(&REVOKED));
        drop(all.pop());
        let (one, two) = (Seat::take(), Seat::take());
        assert!(one.is_some() && one.as_ref().map(Seat::id) != two.as_ref().map(Seat::id));
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn a_lock_leans_towards_who_comes_again_and_again_until_another_comes() {
        let me = Me { name: 1, id: 1 };
        let shared = LeaningLock::new();
        let come = |me| {
            shared.lock(me);
            shared.unlock();
            shared.whose.load(Ordering::Relaxed)
        };
        barrier::prepare();
        assert_eq!(come(me), NOBODY);
        let comes = |me, n| (0..n).fold(None, |_, _| Some(come(me)));
        comes(Me::ANYBODY, 2 * STREAK);
        // The first of a row is the one after which it begins.
        assert_eq!(comes(me, STREAK), Some(NOBODY));
        let whose = if barrier::is_asymmetric() {
            me.id
        } else {
            NOBODY
        };
        assert_eq!(come(me), whose);
        assert_eq!(comes(me, 3), Some(whose));
        assert_eq!(come(Me::ANYBODY), NOBODY);
        // Twice as long now.
        assert_eq!(comes(me, 2 * STREAK), Some(NOBODY));
        assert_eq!(come(me), whose);
        assert_eq!(come(Me::ANYBODY), NOBODY);
        // Nobody else's, ever.
        assert_eq!(comes(Me { name: 2, id: 2 }, 20 * STREAK), Some(NOBODY));
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn owners_and_passers_by_exclude_each_other_on_threads() {
        const ROUNDS: u16 = 300;
        struct Shared(LeaningLock, UnsafeCell<u64>);
        // SAFETY: the value is touched under the lock only.
        unsafe impl Sync for Shared {}
        impl Shared {
            fn come(&self, me: Me) {
                self.0.lock(me);
                // SAFETY: as above.
                self.1.with_mut(|n| unsafe { *n += 1 });
                self.0.unlock();
            }
        }
        barrier::prepare();
        let shared = Shared(LeaningLock::new(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for id in [1, 2] {
                let shared = &shared;
                scope.spawn(move || {
                    for _ in 0..200 * u32::from(ROUNDS) {
                        shared.come(Me { name: id, id });
                    }
                });
            }
            for _ in 0..ROUNDS {
                shared.come(Me::ANYBODY);
                std::thread::yield_now();
            }
        });
        assert_eq!(shared.1.into_inner(), 401 * u64::from(ROUNDS));
    }
}
