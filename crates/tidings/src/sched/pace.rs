//! How long a worker will have to do with a batch from outside: what it is worth to wake another for it.
//!
//! A wake-up costs 12 us, and on a machine that is busy it takes the core from who is to answer. So a batch that
//! one worker has done with soon is left to it.

use std::time::Duration;

use crate::time::Instant;

/// Work for so long is worth a second worker.
const WORTH: Duration = Duration::from_micros(150);
/// Turns that come of a task woken from outside: its own, and that of whom it wakes.
const TURNS: u32 = 2;
/// A new mean is so much of the old one, and the last of it.
const WEIGHT: u32 = 8;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// When this worker had something to do, and its turn then.
    began: (Instant, u32),
    /// What a turn takes.
    turn: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            began: (Instant::from_nanos(0), 0),
            turn: Duration::from_micros(5),
        }
    }
}

impl Pace {
    /// There is something to do.
    pub(super) fn begin(&mut self, now: Instant, turn: u32) {
        self.began = (now, turn);
    }

    /// There is nothing to do.
    pub(super) fn end(&mut self, now: Instant, turn: u32) {
        let (began, first) = self.began;
        let turns = turn.wrapping_sub(first);
        // The last one has found nothing.
        if turns > 1 {
            let last = now.saturating_since(began) / turns;
            self.turn = (self.turn * (WEIGHT - 1) + last) / WEIGHT;
        }
    }

    /// Are so many tasks, woken from outside, worth a second worker?
    pub(super) fn is_worth(&self, tasks: usize) -> bool {
        let turns = u32::try_from(tasks)
            .unwrap_or(u32::MAX)
            .saturating_mul(TURNS);
        self.turn.saturating_mul(turns) >= WORTH
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Duration, Instant, Pace, TURNS, WORTH};

    #[test]
    fn a_batch_is_worth_another_worker_if_it_takes_long() {
        let mut pace = Pace::default();
        // Turns of 10 us until that is what is known of them; the clock and the count of turns may begin anywhere.
        let each = Duration::from_micros(10);
        for round in 0..100_u32 {
            let (now, turn) = (Instant::from_nanos(u64::from(round)), u32::MAX - 2);
            pace.begin(now, turn);
            pace.end(now.saturating_add(each * 5), turn.wrapping_add(5));
        }
        let enough = WORTH.as_nanos().div_ceil((each * TURNS).as_nanos());
        let enough = usize::try_from(enough).unwrap();
        assert!(!pace.is_worth(enough - 1) && pace.is_worth(enough + 1));
        assert!(pace.is_worth(usize::MAX) && !pace.is_worth(0));
    }

    #[test]
    fn a_turn_that_found_nothing_says_nothing() {
        let mut pace = Pace::default();
        let before = pace.turn;
        pace.begin(Instant::from_nanos(0), 7);
        pace.end(Instant::from_nanos(u64::MAX), 8);
        assert_eq!(pace.turn, before);
    }
}
