//! How long a worker will have to do with what comes from outside: whether it is worth to wake another for it.
//!
//! A wake-up costs 12 us, and on a machine that is busy it takes the core from who is to answer. So a batch that
//! one worker has done with soon is left to it, and so is the poller while its turns are short
//! ([07](../../../../docs/decisions/07-who-polls-the-sockets.md)). Nor is anybody sated (`appetite.rs`) while they are long:
//! then they are worth another core.

use std::time::Duration;

use super::worker::Worker;
use crate::primitive::atomic::Ordering;
use crate::time::Instant;

/// Work for so long is worth a second worker.
const WORTH: Duration = Duration::from_micros(150);
/// Turns that come of a task woken from outside: its own, and that of whom it wakes.
const TURNS: u32 = 2;
/// Whose turns are shorter has done with a task before another would have come to it: a wake-up.
const SHORT: Duration = Duration::from_micros(12);
/// A new mean is so much of the old one, and the last of it.
const WEIGHT: u32 = 8;

/// The turns of one worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// When this worker had something to do, or was asked last, and its turn then.
    began: (Instant, u32),
    /// What a turn takes: a mean.
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
    fn begin(&mut self, now: Instant, turn: u32) {
        self.began = (now, turn);
    }

    /// It has worked until now.
    fn note(&mut self, now: Instant, turn: u32) {
        let (began, first) = self.began;
        let turns = turn.wrapping_sub(first);
        // The last one may have found nothing.
        if turns > 1 {
            let last = now.saturating_since(began) / turns;
            self.turn = (self.turn * (WEIGHT - 1) + last) / WEIGHT;
        }
        self.begin(now, turn);
    }

    /// Are so many tasks, woken from outside, worth a second worker?
    fn is_worth(&self, tasks: usize) -> bool {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        self.turn.saturating_mul(tasks.saturating_mul(TURNS)) >= WORTH
    }
}

impl Worker {
    /// There is something to do, after there was nothing. `true`: what is here is worth a second worker.
    pub(super) fn begins(&self, now: Instant) -> bool {
        let mut pace = self.pace.get();
        pace.begin(now, self.turn());
        self.pace.set(pace);
        pace.is_worth(self.local(|local| local.len()))
    }

    /// It has worked until now.
    pub(super) fn note_pace(&self, now: Instant) {
        let mut pace = self.pace.get();
        pace.note(now, self.turn());
        self.pace.set(pace);
        let nanos = u32::try_from(pace.turn.as_nanos()).unwrap_or(u32::MAX);
        // RELAXED: what it decides is no more than a guess.
        self.remote().turn_takes.store(nanos, Ordering::Relaxed);
    }

    /// Has each other worker that works short turns?
    pub(super) fn others_have_short_turns(&self) -> bool {
        let mut others = self.shared.remotes.iter().enumerate();
        others.all(|(index, remote)| {
            // RELAXED: as above.
            let turn = || u64::from(remote.turn_takes.load(Ordering::Relaxed));
            index == self.index()
                || self.shared.idle.is_sleeping(index)
                || Duration::from_nanos(turn()) < SHORT
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::worker::tests::on_both;
    use super::{Duration, Instant, Ordering, Pace, SHORT, TURNS, WORTH};
    use crate::Runtime;

    #[test]
    fn a_batch_is_worth_another_worker_if_it_takes_long() {
        let mut pace = Pace::default();
        // Turns of 10 us until that is what is known of them; the clock and the count of turns may begin anywhere.
        let each = Duration::from_micros(10);
        for round in 0..100_u32 {
            let (now, turn) = (Instant::from_nanos(u64::from(round)), u32::MAX - 2);
            pace.begin(now, turn);
            pace.note(now.saturating_add(each * 5), turn.wrapping_add(5));
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
        pace.note(Instant::from_nanos(u64::MAX), 8);
        assert_eq!(pace.turn, before);
    }

    #[test]
    fn a_neighbour_with_long_turns_is_not_left_alone() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let seen = on_both(&runtime, |worker, both| {
            let short = u32::try_from(SHORT.as_nanos()).unwrap();
            let seen = (worker.index() == 1).then(|| {
                [short - 1, short].map(|takes| {
                    let other = &worker.shared.remotes[0];
                    other.turn_takes.store(takes, Ordering::Relaxed);
                    worker.others_have_short_turns()
                })
            });
            // The first is in its poll until the other has seen enough.
            both.wait();
            seen
        });
        assert_eq!(seen, Some([true, false]));
    }
}
