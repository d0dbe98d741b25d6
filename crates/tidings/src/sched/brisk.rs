//! How soon somebody looks again behind a long poll: sooner where the last looks found a task or a few, as where one task
//! makes others ready and computes on, again and again.

use std::time::Duration;

use crate::primitive::atomic::{AtomicU8, Ordering};

/// The least time that a neighbour is left its private work in one poll.
pub(super) const STUCK: Duration = Duration::from_micros(250);
/// As above, where the last look found a task or a few. So many are worth a wake-up each; of hundreds, as behind the
/// driver of a link, their worker has done with most in that time.
pub(super) const BRISK: Duration = Duration::from_micros(50);
pub(super) const FEW: usize = 4;
/// As above, by a worker that searches, which is awake and need not wait for its core: where so many looks in a row
/// found a task or a few.
pub(super) const KEEN: Duration = Duration::from_micros(20);
const IN_A_ROW: u8 = 2;
/// Where a look finds nothing, but a timer that is due before this, it is known when there will be something.
pub(super) const SOON: Duration = Duration::from_millis(2);

/// How many looks in a row have found a task or a few.
#[derive(Debug, Default)]
pub(super) struct Brisk(AtomicU8);

impl Brisk {
    // RELAXED, here and below: a guess.
    fn in_a_row(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// The least time from one look at what waits behind a poll to the next.
    pub(super) fn patience(&self) -> Duration {
        match self.in_a_row() {
            0 => STUCK,
            _ => BRISK,
        }
    }

    /// Does a search look, too?
    pub(super) fn is_keen(&self) -> bool {
        self.in_a_row() >= IN_A_ROW
    }

    /// A look has found so many; the next timer there is due after so long.
    pub(super) fn looked(&self, found: usize, timer: Option<Duration>) {
        let in_a_row = match found {
            0 if timer.is_some_and(|after| after < SOON) => return,
            1..=FEW => self.in_a_row().saturating_add(1),
            _ => 0,
        };
        self.0.store(in_a_row, Ordering::Relaxed);
    }

    /// Nobody is in a long poll.
    pub(super) fn ends(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{BRISK, Brisk, FEW, SOON, STUCK};

    #[test]
    fn a_search_looks_after_two_finds_in_a_row_of_few() {
        let brisk = Brisk::default();
        // What a look found, and whether a search looks afterwards.
        let looks = [
            (1, false),
            (FEW, true),
            (1, true),
            (0, false),
            (1, false),
            (FEW + 1, false),
            (1, false),
            (1, true),
        ];
        for (found, keen) in looks {
            brisk.looked(found, None);
            assert_eq!(brisk.is_keen(), keen);
        }
        brisk.ends();
        assert!(!brisk.is_keen());
        assert_eq!(brisk.patience(), STUCK);
    }

    #[test]
    fn a_timer_that_is_due_soon_is_as_good_as_a_find() {
        let brisk = Brisk::default();
        brisk.looked(1, None);
        for (timer, patience) in [(SOON / 2, BRISK), (SOON, STUCK)] {
            brisk.looked(0, Some(timer));
            assert_eq!(brisk.patience(), patience);
        }
    }
}
