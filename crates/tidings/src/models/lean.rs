//! `task/lean.rs`: a task that leans towards a worker, and those who take it back, whenever they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{explore_deep, fork, note, seen};
use crate::primitive::atomic::AtomicU32;
use crate::primitive::{Section, UnsafeCell};
use crate::task::{At, Home, Lean, State};

const ONE: usize = 0;
const TWO: usize = 1;
/// No worker.
const OTHER: usize = 2;

/// A task whose poll reads `sent`.
struct Shared {
    state: State,
    lean: Lean,
    sections: [Section; 2],
    sent: [AtomicU32; 3],
    stage: UnsafeCell<[u32; 3]>,
    ran: UnsafeCell<usize>,
    queued: AtomicUsize,
}

impl Shared {
    fn new() -> Arc<Self> {
        let section = |seat| {
            let section = Section::new();
            section.settle(seat);
            section
        };
        Arc::new(Self {
            state: State::new(),
            lean: Lean::new(),
            sections: [section(1), section(2)],
            sent: [(); 3].map(|()| AtomicU32::new(0)),
            stage: UnsafeCell::new([0; 3]),
            ran: UnsafeCell::new(OTHER),
            queued: AtomicUsize::new(0),
        })
    }

    /// Has run once, by worker ONE, twice, so that it leans towards it.
    fn settled() -> Arc<Self> {
        let shared = Self::new();
        shared.run(ONE);
        assert!(shared.wakes(ONE));
        shared.run(ONE);
        assert_eq!(shared.state.look().home(), 1);
        shared
    }

    fn home(&self, who: usize) -> Option<Home<'_>> {
        let section = self.sections.get(who)?;
        Some(Home {
            section,
            at: At::new(Some(section.seat())),
            turn: 0,
        })
    }

    fn section(&self, seat: u8) -> &Section {
        &self.sections[usize::from(seat) - 1]
    }

    fn wakes(&self, who: usize) -> bool {
        self.sent[who].store(1, Relaxed);
        self.lean
            .wake(&self.state, self.home(who), |seat| self.section(seat))
    }

    fn wake(&self, who: usize) {
        if self.wakes(who) {
            note(["one runs it", "two runs it", "another runs it"][who]);
            self.run(who);
        }
    }

    /// The caller has the run right: polls until nobody has woken the task meanwhile.
    fn run(&self, who: usize) {
        loop {
            let one_runs = self.queued.fetch_add(1, Relaxed) == 0;
            assert!(one_runs, "one run right at any time");
            // SAFETY: loom fails the model if two own it at once, or unordered.
            let last = self
                .ran
                .with_mut(|ran| unsafe { std::mem::replace(&mut *ran, who) });
            let home = self.home(who);
            let begun = self
                .lean
                .begin(&self.state, home, last != who, |seat| self.section(seat));
            self.stage.with_mut(|stage| {
                let sent = [0, 1, 2].map(|index: usize| self.sent[index].load(Relaxed));
                // SAFETY: loom fails the model if two run at once, or unordered.
                unsafe { *stage = sent };
            });
            self.queued.fetch_sub(1, Relaxed);
            if !self.lean.end(&self.state, home, begun) {
                break;
            }
            note("woken while it ran");
        }
    }

    /// All runs are over.
    fn saw(&self) -> [u32; 3] {
        // SAFETY: as above.
        self.stage.with(|stage| unsafe { *stage })
    }
}

#[test]
fn a_wake_from_elsewhere_and_one_at_home_are_not_lost() {
    const OUTCOMES: &[&str] = &[
        "one runs it",
        "another runs it",
        "woken while it ran",
        "the owner was late",
        "the owner was waited for",
    ];
    explore_deep(3, "lean/wake", OUTCOMES, || {
        let task = Shared::settled();
        let other = Arc::clone(&task);
        let other = fork(move || other.wake(OTHER));
        task.wake(ONE);
        other.join().unwrap();
        assert_eq!(task.saw(), [1, 0, 1]);
    });
}

#[test]
fn a_wake_while_a_lean_begins_is_not_lost() {
    const OUTCOMES: &[&str] = &["another runs it", "woken while it ran", "it leant"];
    explore_deep(3, "lean/begins", OUTCOMES, || {
        let task = Shared::new();
        task.run(ONE);
        let other = Arc::clone(&task);
        let other = fork(move || other.wake(OTHER));
        task.wake(ONE);
        if task.state.look().home() == 1 {
            seen("it leant");
        }
        other.join().unwrap();
        assert_eq!(task.saw(), [1, 0, 1]);
    });
}

#[test]
fn two_who_take_it_back_do_it_once() {
    // The home itself does nothing: with it the model has no end.
    explore_deep(2, "lean/two", &["two runs it", "another runs it"], || {
        let task = Shared::settled();
        let other = Arc::clone(&task);
        let other = fork(move || other.wake(OTHER));
        task.wake(TWO);
        other.join().unwrap();
        assert_eq!(task.saw(), [1, 1, 1]);
    });
}

/// A task that leans ends, as `end` does it, while another takes it back; its slot has another tenant then.
fn ends(name: &'static str, outcomes: &'static [&'static str], end: fn(&State)) {
    explore_deep(3, name, outcomes, move || {
        let task = Shared::settled();
        assert!(task.wakes(ONE));
        // A waker that is stale, if it comes late.
        let stale = Arc::clone(&task);
        let stale = fork(move || {
            let section = |seat| stale.section(seat);
            if stale.lean.wake(&stale.state, None, section) {
                seen("the next tenant runs for nothing");
                stale.run(OTHER);
            } else {
                seen("no effect");
            }
        });
        task.lean.begin(&task.state, task.home(ONE), false, |seat| {
            task.section(seat)
        });
        end(&task.state);
        task.state.release();
        task.state.reset();
        task.run(TWO);
        task.wake(TWO);
        stale.join().unwrap();
        assert_eq!(task.saw()[TWO], 1, "its own wake is not lost");
    });
}

#[test]
fn one_who_takes_it_back_and_its_end_do_not_meet_in_the_next_tenant() {
    const OUTCOMES: &[&str] = &["no effect", "the next tenant runs for nothing"];
    ends("lean/ends", OUTCOMES, |state| {
        assert!(state.forgo());
        assert!(state.ends_alone());
    });
}

#[test]
fn one_who_takes_it_back_and_its_completion_do_not_meet_in_the_next_tenant() {
    const OUTCOMES: &[&str] = &[
        "no effect",
        "the next tenant runs for nothing",
        "its home was being taken",
    ];
    ends("lean/completes", OUTCOMES, |state| {
        let handles_own = state.complete_unwaited(true).or_else(|| {
            seen("its home was being taken");
            state.complete(true).map(|completed| completed.handles_own)
        });
        assert!(handles_own == Some(true) && !state.forgo() && state.leave());
    });
}

#[test]
fn who_lets_go_of_it_gives_it_to_another() {
    const OUTCOMES: &[&str] = &["let go", "it was taken back", "woken while it ran"];
    explore_deep(3, "lean/gives", OUTCOMES, || {
        let task = Shared::settled();
        assert!(task.wakes(ONE));
        let other = Arc::clone(&task);
        let other = fork(move || other.wake(OTHER));
        let home = task.home(ONE).expect("a worker");
        crate::primitive::thread::yield_now();
        seen(match task.state.look().home() {
            1 => "let go",
            _ => "it was taken back",
        });
        task.state.let_go(home.at);
        let neighbour = Arc::clone(&task);
        let neighbour = fork(move || neighbour.run(TWO));
        neighbour.join().unwrap();
        other.join().unwrap();
        assert_eq!(task.saw(), [1, 0, 1]);
    });
}
