//! How eager a worker without work is for that of others.
//!
//! A task that goes to another core costs both: its lines move, and so do those of all that it talks to, at each
//! message. Whether that was worth it shows when the worker that took it has nothing to do again: both have worked
//! for so long, and so often it met what another worker had before. If the second core brought less than that
//! cost, the worker is sated: for a while it sleeps, and nobody gives it anything (`idle.rs`). The while is
//! doubled each time, and halved when what was taken was worth the way.
//! It sleeps as everybody does: what comes from outside wakes it, and what is stuck it takes all the same (`rescue.rs`).
//!
//! Where both always have something to do, that never shows: what tells then is how often a worker finds a lock
//! held by another, and once waiting takes more of its time than all else it is to bring a task there ([`Pull`]).

use std::time::Duration;

use crate::time::Instant;

/// What it costs that a task goes: some four lines at 130 ns (`floor/line`), and its slot's way back.
const MOVED: Duration = Duration::from_nanos(500);
/// What it costs to meet what another worker had: some eight lines, on our side; as much on the other's; and
/// twice that, because two workers that lose half of their time bring no more than one.
const CROSSED: Duration = Duration::from_micros(4);
/// Crossings that a lock costs which another worker holds: it is met, and waited for.
const HELD: u32 = 2;
/// Held locks in a row, each met before the last was paid for, that bring a task to who holds them: a channel
/// used from two cores costs both more than the second core brings.
pub(super) const PULLED: u32 = 8;
/// The first pause. The longest is more than fifty times what a split of a thousand tasks that talk to each other costs
/// (by reckoning 1.5 to 2.5 ms, as some 200 a second took a third of the time and more: all they have goes to the other
/// core, whichever of them were taken). Where the others' turns become long it ends before (`pace.rs`).
const PAUSE: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(128);

/// See the module.
#[derive(Debug)]
pub(super) struct Appetite {
    /// What was taken since this worker had nothing to do.
    taken: Option<Taken>,
    /// How often this worker met what another one had before.
    crossed: u32,
    pause: Duration,
    /// The last pause's end.
    until: Instant,
}

#[derive(Debug)]
struct Taken {
    tasks: u32,
    from: usize,
    at: Instant,
}

impl Default for Appetite {
    fn default() -> Self {
        Self {
            taken: None,
            crossed: 0,
            pause: Duration::ZERO,
            until: Instant::from_nanos(0),
        }
    }
}

impl Appetite {
    /// Tasks were taken from a worker, by this one, which had none.
    pub(super) fn take(&mut self, tasks: usize, from: usize, at: Instant) {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        self.taken = Some(Taken { tasks, from, at });
        self.crossed = 0;
    }

    /// New tasks were behind a long poll. They are likely independent, so it is hungry, whatever was before.
    pub(super) fn wake(&mut self) {
        self.until = Instant::from_nanos(0);
    }

    /// A task was woken that another worker had run, or a lock was taken that another had.
    #[inline(always)]
    pub(super) fn crossed(&mut self) {
        self.crossed = self.crossed.saturating_add(1);
    }

    /// A lock was taken that another held.
    pub(super) fn waited(&mut self) {
        self.crossed = self.crossed.saturating_add(HELD);
    }

    /// There is nothing to do: how long the work of others is to be left to them. What came meanwhile without being
    /// taken does not end it. `ran_dry`: when a worker had nothing to do the last time.
    pub(super) fn pause(
        &mut self,
        now: Instant,
        ran_dry: impl FnOnce(usize) -> Instant,
    ) -> Duration {
        let Some(taken) = self.taken.take() else {
            return self.until.saturating_since(now);
        };
        // Once the other had nothing to do, ours was no second core.
        let dry = ran_dry(taken.from);
        let until = if dry > taken.at { dry.min(now) } else { now };
        let cost = (MOVED * taken.tasks).saturating_add(CROSSED * self.crossed);
        if until.saturating_since(taken.at) < cost {
            self.pause = (self.pause * 2).clamp(PAUSE, PAUSE_MAX);
            self.until = now.saturating_add(self.pause);
            return self.pause;
        }
        self.pause /= 2;
        self.until = now;
        Duration::ZERO
    }
}

/// The locks that a worker found held by one to which its tasks may go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pull {
    since: Option<Instant>,
    met: u32,
}

impl Pull {
    /// One was met. `true`: [`PULLED`] of them in less time than they cost, and the count begins anew.
    pub(super) fn met(&mut self, now: Instant) -> bool {
        let pays = CROSSED * HELD * PULLED;
        match self.since {
            Some(since) if now.saturating_since(since) < pays => self.met += 1,
            _ => {
                self.since = Some(now);
                self.met = 1;
            }
        }
        let pulls = self.met >= PULLED;
        if pulls {
            *self = Self::default();
        }
        pulls
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{
        Appetite, CROSSED, Duration, HELD, Instant, MOVED, PAUSE, PAUSE_MAX, PULLED, Pull,
    };

    const START: Instant = Instant::from_nanos(1_000_000);
    const OTHER: usize = 7;

    /// The pause after `tasks` of the other's and so many crossings, if both worked for so long.
    fn pause(appetite: &mut Appetite, tasks: usize, crossings: u32, worked: Duration) -> Duration {
        appetite.take(tasks, OTHER, START);
        (0..crossings).for_each(|_| appetite.crossed());
        let now = START.saturating_add(worked);
        appetite.pause(now, |from| {
            assert_eq!(from, OTHER);
            Instant::from_nanos(0)
        })
    }

    #[test]
    fn who_took_nothing_is_hungry() {
        let mut appetite = Appetite::default();
        appetite.crossed();
        let nobody = |_| panic!("nothing was taken");
        assert_eq!(appetite.pause(START, nobody), Duration::ZERO);
    }

    #[test]
    fn what_costs_more_than_it_brings_is_left_alone_for_twice_as_long_each_time() {
        let mut appetite = Appetite::default();
        let just_too_little = MOVED * 3 + CROSSED * 2 - Duration::from_nanos(1);
        let mut expected = PAUSE;
        for _ in 0..13 {
            assert_eq!(pause(&mut appetite, 3, 2, just_too_little), expected);
            expected = (expected * 2).min(PAUSE_MAX);
        }
        assert_eq!(expected, PAUSE_MAX);
        // What comes without being taken is not its matter.
        let (worked, half) = (just_too_little, PAUSE_MAX / 2);
        let nobody = |_| panic!("nothing was taken");
        let later = |after| START.saturating_add(worked + after);
        assert_eq!(appetite.pause(later(half), nobody), half);
        assert_eq!(appetite.pause(later(PAUSE_MAX), nobody), Duration::ZERO);
        appetite.wake();
        assert_eq!(appetite.pause(later(half), nobody), Duration::ZERO);
    }

    #[test]
    fn what_is_worth_it_halves_the_next_pause_and_makes_none() {
        let mut appetite = Appetite::default();
        let enough = MOVED * 3 + CROSSED * 2;
        for _ in 0..4 {
            pause(&mut appetite, 1, 0, Duration::ZERO);
        }
        assert_eq!(appetite.pause, PAUSE * 8);
        assert_eq!(pause(&mut appetite, 3, 2, enough), Duration::ZERO);
        assert_eq!(pause(&mut appetite, 3, 2, enough), Duration::ZERO);
        assert_eq!(pause(&mut appetite, 1, 0, Duration::ZERO), PAUSE * 4);
    }

    #[test]
    fn alone_it_works_for_itself() {
        let after = |nanos| START.saturating_add(Duration::from_nanos(nanos));
        let cost = u64::try_from(MOVED.as_nanos()).unwrap();
        // The other had nothing to do from then on; before we took; later than now, by its clock.
        for (dry, pauses) in [
            (after(cost - 1), true),
            (after(cost), false),
            (START, false),
            (after(1_000_000), false),
        ] {
            let mut appetite = Appetite::default();
            appetite.take(1, OTHER, START);
            let pause = appetite.pause(after(10_000), |_| dry);
            assert_eq!(!pause.is_zero(), pauses, "{dry:?}");
        }
    }

    #[test]
    fn a_lock_that_is_held_costs_as_much_as_two_crossings() {
        let mut appetite = Appetite::default();
        for (worked, pauses) in [
            (MOVED + CROSSED * HELD - Duration::from_nanos(1), true),
            (MOVED + CROSSED * HELD, false),
        ] {
            appetite.take(1, OTHER, START);
            appetite.waited();
            let now = START.saturating_add(worked);
            let pause = appetite.pause(now, |_| Instant::from_nanos(0));
            assert_eq!(!pause.is_zero(), pauses);
        }
    }

    /// Which of so many held locks, met at this distance, pull.
    fn pulls(distance: Duration, locks: u32) -> Vec<u32> {
        let mut pull = Pull::default();
        let pulls = |lock: &u32| pull.met(START.saturating_add(distance * *lock));
        (1..=locks).filter(pulls).collect()
    }

    #[test]
    fn held_locks_pull_if_they_cost_more_than_the_time_between_them() {
        let cost = CROSSED * HELD;
        assert_eq!(pulls(Duration::ZERO, PULLED * 2), [PULLED, PULLED * 2]);
        assert_eq!(pulls(cost, PULLED), [PULLED]);
        // So far apart that the eighth comes when all are paid for.
        let paid = cost * PULLED / (PULLED - 1) + Duration::from_nanos(1);
        assert!(pulls(paid, PULLED * 4).is_empty());
        assert!(pulls(cost * 10, PULLED * 4).is_empty());
    }
}
