//! Where a thread is: inside of what leans towards it, or outside. What `biased.rs` and `leaning.rs` have for one
//! lock each, for all that is too small to have one.
//!
//! The owner enters, looks whether what it came for is still its own, and if so does what it has to do by plain
//! stores, which takes no longer than some instructions. Who takes something from it makes that visible, passes a
//! heavy barrier, and waits until the owner is outside of where it was then.
//!
//! Proof, with the barriers as two `SeqCst` fences: either the owner's look, behind its fence, sees that it is taken;
//! or the other's load, behind its own, sees the owner inside, and waits. If that load finds it inside of an earlier
//! section than the one in question, the fences were passed in the other order, and the owner's look sees it.

use super::atomic::{AtomicU8, AtomicU32, Ordering};
use super::{barrier, relax};

/// Of one thread, its owner.
#[derive(Debug)]
pub(crate) struct Section {
    /// The [`Seat`](super::Seat) of the owner.
    seat: AtomicU8,
    /// How often it went in or out: odd, it is inside. Written by the owner only.
    steps: AtomicU32,
}

impl Section {
    pub(crate) fn new() -> Self {
        barrier::prepare();
        Self {
            seat: AtomicU8::new(0),
            steps: AtomicU32::new(0),
        }
    }

    /// Before anything leans towards the owner.
    pub(crate) fn settle(&self, seat: u8) {
        // RELAXED: whoever asks has seen something that leans.
        self.seat.store(seat, Ordering::Relaxed);
    }

    pub(crate) fn seat(&self) -> u8 {
        self.seat.load(Ordering::Relaxed)
    }

    /// Is it worth it? Where the owner would need a fence it would win nothing.
    pub(crate) fn is_cheap() -> bool {
        barrier::is_asymmetric()
    }

    /// The owner only, who is outside. Gives what [`leave`](Self::leave) is given.
    #[inline(always)]
    pub(crate) fn enter(&self) -> u32 {
        // RELAXED: our own.
        let inside = self.steps.load(Ordering::Relaxed).wrapping_add(1);
        // ORD section.steps: release, of what was done in earlier sections; pairs with wait_out.
        self.steps.store(inside, Ordering::Release);
        // Nothing leans but where it is free.
        barrier::free();
        inside
    }

    /// The owner only, who is inside.
    #[inline(always)]
    pub(crate) fn leave(&self, inside: u32) {
        // ORD section.steps: release; pairs with wait_out.
        self.steps.store(inside.wrapping_add(1), Ordering::Release);
    }

    /// Anybody else, who has taken something from the owner: waits until it has noticed, or is done with it.
    pub(crate) fn wait_out(&self) {
        barrier::heavy();
        // ORD section.steps: acquire; pairs with enter and leave.
        let steps = self.steps.load(Ordering::Acquire);
        let mut step = 0;
        // ORD section.steps: acquire; as above.
        while steps % 2 == 1 && self.steps.load(Ordering::Acquire) == steps {
            #[cfg(all(test, loom))]
            crate::models::note("the owner was waited for");
            relax(&mut step);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::primitive::atomic::AtomicBool;

    #[test]
    fn who_takes_something_waits_until_the_owner_is_outside() {
        let section = Section::new();
        assert_eq!(section.seat(), 0);
        section.settle(3);
        assert_eq!(section.seat(), 3);
        // It is outside: nobody waits.
        section.wait_out();
        let (begun, over, left) = <(AtomicBool, AtomicBool, AtomicBool)>::default();
        let said = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        for _ in 0..2 {
            for flag in [&begun, &over, &left] {
                flag.store(false, Ordering::Relaxed);
            }
            let inside = section.enter();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    begun.store(true, Ordering::Relaxed);
                    section.wait_out();
                    over.store(true, Ordering::Relaxed);
                    assert!(said(&left), "it did not wait");
                });
                while !said(&begun) {
                    std::thread::yield_now();
                }
                // Time enough for one that does not wait.
                for _ in 0..200_000 {
                    if said(&over) {
                        break;
                    }
                    std::hint::spin_loop();
                }
                left.store(true, Ordering::Relaxed);
                section.leave(inside);
            });
        }
    }
}
