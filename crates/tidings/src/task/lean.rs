//! A task that leans towards the worker that runs it: its wakes and the ends of its polls are plain stores there.
//!
//! Most tasks are woken and run by one worker for long. The read-modify-writes that make that safe for all threads,
//! one for the wake and one for the end of the poll, are a third of what a message costs. So a task that was run
//! by one worker [`STREAK`] times, with no other between, gets a home ([`Seen::home`]): from then on its run right is
//! kept in [`Lean::right`], which only the home writes, in a [`Section`]. Whoever else wants to wake the task, or has
//! come to run it, takes the home from it first: he marks the word as revoked, waits until the worker is outside, and
//! puts what he finds into the word. That costs what the streak has saved, and the next must be twice as long.
//! Who gives a task away, for others to run, lets go of it himself, which is cheap.
//!
//! Invariants.
//! N1. `home` is changed from 0 by the owner of the run right, to itself; from a home to 0 by that home, as the owner
//!     of the run right; from a home to REVOKED by anybody, while the task is alive, and by him to 0.
//! N2. While a task has a home `wakes` is 0, and nobody adds one: a wake is a `compare_exchange` of the whole word.
//! N3. Who ends a task waits until it is not revoked, and is at home or has none: nobody touches the slot afterwards.
//! N4. `right` is written by the home in a section in which it has seen that it is the home; or by the owner of the
//!     run right, if by that no more is changed than whether the task is queued or runs, which is the same to others.
//!
//! Source: as `primitive/leaning.rs`; tasks owned by a worker, with messages to it: Go's `runnext` has none, Pony's and
//! BEAM's schedulers own their actors, but count by atomics.

use super::state::State;
use super::word::{At, REVOKED, Seen};
use crate::primitive::Section;
use crate::primitive::atomic::{AtomicU8, Ordering};

/// A task that was run so often by one worker leans towards it. Few where the tests run.
const STREAK: u8 = if cfg!(any(loom, shuttle)) {
    1
} else if cfg!(debug_assertions) {
    8
} else {
    128
};

/// Where the run right is: neither of the two, nowhere. The higher bits of [`Lean::right`] are how often the
/// streak must be doubled.
const RIGHT: u8 = 3;
/// The task was woken since it began to run: it is in a queue of the home's, or will be.
const WOKEN: u8 = 1;
/// The home polls it.
const RUNS: u8 = 2;
const DOUBLED: u8 = RIGHT + 1;
const DOUBLED_MOST: u8 = 15 * DOUBLED;

/// A worker, as tasks know it that lean towards it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<'a> {
    pub(crate) section: &'a Section,
    pub(crate) at: At,
    pub(crate) turn: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Lean {
    right: AtomicU8,
    /// How often one worker has run it, in units that double. The owner of the run right's.
    streak: AtomicU8,
}

impl Lean {
    pub(crate) fn new() -> Self {
        Self {
            right: AtomicU8::new(0),
            streak: AtomicU8::new(0),
        }
    }

    /// N4.
    #[inline(always)]
    fn set(&self, right: u8) {
        // RELAXED: ordered by the section, or by the word that gives a home.
        self.right.store(right, Ordering::Relaxed);
    }

    #[inline(always)]
    fn right(&self) -> u8 {
        // RELAXED: as set.
        self.right.load(Ordering::Relaxed)
    }

    /// Any thread, any time; `home`: of the worker that runs on it. `true`: the caller now owns the right to run
    /// the task.
    #[inline(always)]
    pub(crate) fn wake<'a>(
        &self,
        state: &State,
        home: Option<Home<'_>>,
        section: impl Fn(u8) -> &'a Section,
    ) -> bool {
        let woken = self.wake_at_home(state, home);
        woken.unwrap_or_else(|| self.wake_openly(state, section))
    }

    /// As `wake`, where the task leans towards the worker of this thread. `None`: it does not, or there is none.
    #[inline(always)]
    pub(crate) fn wake_at_home(&self, state: &State, home: Option<Home<'_>>) -> Option<bool> {
        let seen = state.look();
        let home = home.filter(|home| seen.is_alive() && seen.is_at(home.at))?;
        let before = self.inside(state, home, |right| right | WOKEN)?;
        Some(before & RIGHT == 0)
    }

    /// As `wake`, by one who is not at the task's home.
    pub(crate) fn wake_openly<'a>(
        &self,
        state: &State,
        section: impl Fn(u8) -> &'a Section,
    ) -> bool {
        loop {
            let seen = state.look();
            // A stale waker must not write to a slot whose pages were given back.
            if !seen.is_alive() {
                return false;
            }
            if seen.home() != 0 {
                self.revoke(state, seen, &section);
            } else if let Some(first) = state.wake(seen) {
                return first;
            }
        }
    }

    /// Changes the right at home, and gives what it was. `None`: it is not, any more.
    #[inline(always)]
    fn inside(&self, state: &State, home: Home<'_>, change: impl FnOnce(u8) -> u8) -> Option<u8> {
        let inside = home.section.enter();
        let changed = state.look().is_at(home.at).then(|| {
            let before = self.right();
            self.set(change(before));
            before
        });
        home.section.leave(inside);
        #[cfg(all(test, loom))]
        if changed.is_none() {
            crate::models::note("the owner was late");
        }
        changed
    }

    /// Owner of the run right only: before the poll, or before it ends the task. `moved`: another has run it last.
    #[inline(always)]
    pub(crate) fn begin<'a>(
        &self,
        state: &State,
        home: Option<Home<'_>>,
        moved: bool,
        section: impl Fn(u8) -> &'a Section,
    ) -> Seen {
        let seen = state.begin();
        if let Some(home) = home {
            if seen.is_at(home.at) {
                self.set(self.right() & !WOKEN | RUNS);
                // What it is if it is revoked meanwhile.
                return seen.woken();
            }
            if seen.home() == 0 {
                return match self.is_due(home, moved) {
                    true => self.lean(state, seen, home),
                    false => seen,
                };
            }
        }
        self.begin_elsewhere(state, section)
    }

    /// As `begin`, by one who is not at the task's home.
    #[cold]
    fn begin_elsewhere<'a>(&self, state: &State, section: impl Fn(u8) -> &'a Section) -> Seen {
        loop {
            let seen = state.begin();
            if seen.home() == 0 {
                return seen;
            }
            self.revoke(state, seen, &section);
        }
    }

    /// Is it to lean towards `home`, at this turn?
    #[inline(always)]
    fn is_due(&self, home: Home<'_>, moved: bool) -> bool {
        // RELAXED: the owner of the run right's; so are all of it.
        let streak = self.streak.load(Ordering::Relaxed);
        if moved {
            self.streak.store(0, Ordering::Relaxed);
            return false;
        }
        // Not its low bits: of two tasks that take turns one would never count.
        let drawn = home.turn.wrapping_mul(0x9e37_79b9) >> 16;
        let unit = (1 << (self.right() / DOUBLED)) - 1;
        let streak = streak.saturating_add(u8::from(drawn & unit == 0));
        self.streak.store(streak, Ordering::Relaxed);
        streak >= STREAK && home.at.seat() != 0 && Section::is_cheap()
    }

    #[cold]
    fn lean(&self, state: &State, seen: Seen, home: Home<'_>) -> Seen {
        self.streak.store(0, Ordering::Relaxed);
        // Not again before it has been worth as much twice.
        let doubled = (self.right() & !RIGHT).saturating_add(DOUBLED);
        self.set(doubled.min(DOUBLED_MOST) | RUNS);
        let moved = state.move_to(seen, home.at.seat());
        // It was woken just now, or has another handle.
        moved.map_or(seen, Seen::woken)
    }

    /// Owner of the run right only: after a poll that returned pending. `true`: somebody woke the task meanwhile,
    /// and the caller still owns the right: it must queue the task again.
    #[inline(always)]
    pub(crate) fn end(&self, state: &State, home: Option<Home<'_>>, seen: Seen) -> bool {
        if let Some(home) = home
            && seen.is_at(home.at)
        {
            let ended = self.inside(state, home, |right| right & !RUNS);
            if let Some(before) = ended {
                return before & WOKEN != 0;
            }
            state.settle();
        }
        state.end(seen)
    }

    /// Takes its home from the task, or sees that another does.
    #[cold]
    fn revoke<'a>(&self, state: &State, seen: Seen, section: &impl Fn(u8) -> &'a Section) {
        let home = seen.home();
        if home == REVOKED {
            state.settle();
        } else if seen.is_alive() && state.move_to(seen, REVOKED).is_some() {
            section(home).wait_out();
            // One for the run right, and one more if it is to run again. (Who takes a home to wake the task does so next,
            // and covers for that one; but nobody need know it.)
            let right = self.right() & RIGHT;
            state.leave_home(u64::from(right.count_ones()));
        }
    }

    /// Nobody has woken it since it last ran; for reports.
    pub(crate) fn is_idle(&self, state: &State) -> bool {
        let seen = state.look();
        match seen.home() {
            0 => seen.is_idle(),
            REVOKED => false,
            _ => self.right() & RIGHT == 0,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A task, and a worker with the seat 1 that runs it.
    struct Rig {
        state: State,
        lean: Lean,
        section: Section,
    }

    impl Rig {
        fn new() -> Self {
            let section = Section::new();
            section.settle(1);
            Self {
                state: State::new(),
                lean: Lean::new(),
                section,
            }
        }

        /// One that leans, and was woken. `None`: none does on this system.
        fn leaning() -> Option<Self> {
            let rig = Self::new();
            Section::is_cheap().then(|| {
                rig.runs_until_it_leans(&mut (0..));
                rig
            })
        }

        fn home(&self, turn: u32) -> Option<Home<'_>> {
            Some(Home {
                section: &self.section,
                at: At::new(Some(1)),
                turn,
            })
        }

        /// By the worker.
        fn wake(&self) -> bool {
            let section = |_| &self.section;
            self.lean.wake(&self.state, self.home(0), section)
        }

        /// By another thread.
        fn wake_from_elsewhere(&self) -> bool {
            let section = |_| &self.section;
            self.lean.wake(&self.state, None, section)
        }

        /// One poll, by the worker. `true`: it is to be run again.
        fn run(&self, turn: u32, moved: bool, poll: impl FnOnce()) -> bool {
            let (home, section) = (self.home(turn), |_| &self.section);
            let seen = self.lean.begin(&self.state, home, moved, section);
            poll();
            self.lean.end(&self.state, home, seen)
        }

        fn leans(&self) -> bool {
            self.state.look().home() == 1
        }

        fn is_idle(&self) -> bool {
            self.lean.is_idle(&self.state)
        }

        /// Runs it until it leans, and gives how often that was.
        fn runs_until_it_leans(&self, turns: &mut impl Iterator<Item = u32>) -> u32 {
            let mut runs = 0;
            while !self.leans() {
                assert!(!self.is_idle());
                assert!(!self.run(turns.next().expect("no end"), false, || ()));
                assert!(self.is_idle() && self.wake());
                runs += 1;
            }
            runs
        }
    }

    #[test]
    fn a_task_leans_after_a_streak_which_must_be_twice_as_long_each_time() {
        // Whether it is cheap is known from the first section on.
        let (rig, mut turns) = (Rig::new(), 1000..);
        if !Section::is_cheap() {
            return;
        }
        // The first run of a streak is one where another was before.
        assert!(!rig.run(0, true, || ()) && rig.wake());
        let first = rig.runs_until_it_leans(&mut turns);
        assert_eq!(first, u32::from(STREAK));
        for doubled in 1..5 {
            assert!(!rig.run(0, false, || ()) && rig.is_idle());
            assert!(rig.wake_from_elsewhere() && !rig.leans());
            let runs = rig.runs_until_it_leans(&mut turns);
            // By lot, which of them count.
            let (least, most) = (first << doubled >> 1, first << doubled << 1);
            assert!(least < runs && runs < most, "{doubled}: {runs} runs");
        }
    }

    #[test]
    fn a_task_that_changes_its_worker_leans_towards_none() {
        let rig = Rig::new();
        for turn in 0..10 * u32::from(STREAK) {
            let moved = turn % u32::from(STREAK) == 0;
            assert!(!rig.run(turn, moved, || ()) && rig.wake());
            assert!(!rig.leans());
        }
    }

    #[test]
    fn the_wakes_of_a_task_that_leans_are_heard_once_each_poll() {
        let Some(rig) = Rig::leaning() else {
            return;
        };
        assert!(!rig.wake(), "it was woken already");
        assert!(!rig.run(0, false, || ()));
        assert!(rig.wake() && !rig.wake() && !rig.is_idle());
        // While it runs, twice.
        assert!(rig.run(0, false, || assert!(!rig.wake() && !rig.wake())));
        assert!(!rig.is_idle());
        assert!(rig.run(0, false, || assert!(!rig.wake_from_elsewhere())));
        assert!(!rig.leans() && !rig.is_idle());
        assert!(!rig.run(0, false, || ()));
        assert!(rig.is_idle());
    }

    #[test]
    fn a_task_whose_home_is_being_taken_may_be_about_to_run() {
        let Some(rig) = Rig::leaning() else {
            return;
        };
        assert!(!rig.run(0, false, || ()) && rig.is_idle());
        let seen = rig.state.look();
        assert!(rig.state.move_to(seen, REVOKED).is_some());
        assert!(!rig.is_idle());
    }
}
