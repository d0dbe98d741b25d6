//! `task/state.rs`: the run right, the end of a task, its slot. The cell here does what
//! `task/cell.rs` does; the slab's memory cannot be explored, its words are not loom's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Ledger, Value, explore, fork, note, seen};
use crate::primitive::atomic::AtomicU32;
use crate::primitive::{Biased, Section, UnsafeCell};
use crate::task::{Lean, Out, State};

/// No worker runs these tasks, so they lean towards none.
fn nobodys<'a>(_: u8) -> &'a Section {
    unreachable!("a task without a home")
}

/// A task whose poll reads `sent` and remembers the most it has seen.
struct Polled {
    state: State,
    lean: Lean,
    sent: [AtomicU32; 2],
    /// What a queue writes: it belongs to the owner of the run right before the poll too.
    link: UnsafeCell<u32>,
    stage: UnsafeCell<[u32; 2]>,
    queued: AtomicUsize,
}

impl Polled {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: State::new(),
            lean: Lean::new(),
            sent: [AtomicU32::new(0), AtomicU32::new(0)],
            link: UnsafeCell::new(0),
            stage: UnsafeCell::new([0; 2]),
            queued: AtomicUsize::new(0),
        })
    }

    /// The caller has the run right: polls until nobody has woken the task meanwhile.
    fn run(&self) {
        loop {
            let one_runs = self.queued.fetch_add(1, Relaxed) == 0;
            assert!(one_runs, "one run right at any time");
            // SAFETY: loom fails the model if two own it at once, or unordered.
            self.link.with_mut(|link| unsafe { *link += 1 });
            let seen = self.lean.begin(&self.state, None, true, nobodys);
            self.stage.with_mut(|stage| {
                let sent = [0, 1].map(|index: usize| self.sent[index].load(Relaxed));
                // SAFETY: loom fails the model if two run at once, or unordered.
                unsafe { *stage = sent };
            });
            self.queued.fetch_sub(1, Relaxed);
            if !self.lean.end(&self.state, None, seen) {
                break;
            }
            note("woken while it ran");
        }
    }

    fn wake(&self, index: usize) {
        self.sent[index].store(1, Relaxed);
        if self.lean.wake(&self.state, None, nobodys) {
            seen("woken while idle");
            self.run();
        }
    }
}

#[test]
fn a_wake_is_never_lost() {
    explore(
        "state/wake",
        &["woken while idle", "woken while it ran"],
        || {
            let task = Polled::new();
            let wakers = [0, 1].map(|index| {
                let task = Arc::clone(&task);
                fork(move || task.wake(index))
            });
            task.run();
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
            // SAFETY: all runs are over.
            let last = task.stage.with(|stage| unsafe { *stage });
            assert_eq!(
                last,
                [1, 1],
                "the last poll saw what both had done before they woke it"
            );
        },
    );
}

/// A task that completes at its first poll, as `task/cell.rs` does it.
struct Ending {
    state: State,
    lean: Lean,
    stage: UnsafeCell<Option<Value>>,
    out: Out,
    /// The waker, whose it is by what the state says.
    joiner: UnsafeCell<usize>,
    /// Which was woken last.
    woken: AtomicUsize,
    freed: AtomicUsize,
}

impl Ending {
    fn free(&self, by: &'static str) {
        self.see_out();
        self.give_back(by);
    }

    fn see_out(&self) {
        self.out.see(&self.state);
    }

    fn waker(&self) -> usize {
        // SAFETY: loom fails the model if somebody writes it, or unordered.
        self.joiner.with(|joiner| unsafe { *joiner })
    }

    fn leave_waker(&self, waker: usize) {
        // SAFETY: loom fails the model if somebody else is there, or unordered.
        self.joiner.with_mut(|joiner| unsafe { *joiner = waker });
    }

    /// As the owner of the stage. Was there one?
    fn drop_output(&self) -> bool {
        // SAFETY: as above.
        self.stage
            .with_mut(|stage| unsafe { (*stage).take() })
            .is_some()
    }

    /// The slot's owner needs no lock.
    fn give_back(&self, by: &'static str) {
        // The next tenant's.
        self.leave_waker(0);
        self.drop_output();
        self.state.release();
        assert_eq!(self.freed.fetch_add(1, Relaxed), 0, "freed once");
        seen(by);
    }

    fn run(&self, output: Value) {
        let seen_word = self.state.begin();
        if seen_word.is_aborted() {
            seen("aborted");
        }
        let mut put = self.state.is_joined();
        if put {
            // SAFETY: as above.
            self.stage
                .with_mut(|stage| unsafe { *stage = Some(output) });
        } else {
            drop(output);
            seen("nobody wants the output");
        }
        if self.state.ends_alone() {
            self.give_back("freed by the completer");
            return;
        }
        if let Some(handles_own) = self.state.complete_unwaited(put) {
            if handles_own {
                seen("nobody waited");
            } else {
                self.give_back("freed by the completer, late");
            }
            return;
        }
        let completed = loop {
            if let Some(completed) = self.state.complete(put) {
                break completed;
            }
            seen("the output was left behind");
            self.drop_output();
            put = false;
        };
        let waiting = completed.awaited.then(|| self.waker());
        if !completed.handles_own {
            self.give_back("freed by the completer, late");
        } else if let Some(waiting) = waiting {
            self.out.goes();
            self.woken.store(waiting, Relaxed);
            seen("woken");
        }
    }

    /// Polls the join handle: does it wait?
    fn register(&self, waker: usize) -> bool {
        if self.state.has_waker() && (self.waker() == waker || !self.state.take_back()) {
            return !self.state.is_complete();
        }
        self.leave_waker(waker);
        let waits = self.state.wait();
        if !waits {
            self.leave_waker(0);
        }
        waits
    }

    /// A wait for the join handle is dropped.
    fn deregister(&self) {
        if self.state.take_back() {
            assert_eq!(self.waker(), 1);
            self.leave_waker(0);
        }
    }

    /// Drops the join handle.
    fn leave(&self) {
        self.deregister();
        if self.state.forgo() {
            return;
        }
        self.see_out();
        self.drop_output();
        if self.state.leave() {
            self.free("freed by a handle");
        }
    }
}

fn ending(ledger: &Ledger) -> (Arc<Ending>, Value) {
    let task = Ending {
        state: State::new(),
        lean: Lean::new(),
        stage: UnsafeCell::new(None),
        out: Out::new(),
        joiner: UnsafeCell::new(0),
        woken: AtomicUsize::new(0),
        freed: AtomicUsize::new(0),
    };
    (Arc::new(task), ledger.value(1))
}

/// Whoever waits goes at once, and drops the wait before that or not.
fn leaves(name: &'static str, drops: bool) {
    const OUTCOMES: &[&str] = &[
        "freed by the completer",
        "freed by the completer, late",
        "freed by a handle",
        "nobody wants the output",
        "nobody waited",
        "woken",
    ];
    explore(name, OUTCOMES, move || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        let runner = Arc::clone(&task);
        let runner = fork(move || runner.run(output));
        task.register(1);
        if drops {
            task.deregister();
        }
        task.leave();
        runner.join().unwrap();
        assert_eq!(task.freed.load(Relaxed), 1);
        ledger.balance();
    });
}

#[test]
fn a_join_handle_that_leaves_and_a_completer_free_the_slot_once() {
    leaves("state/leave", false);
}

#[test]
fn a_join_handle_whose_wait_is_dropped_and_that_goes_and_a_completer_free_the_slot_once() {
    leaves("state/withdraw", true);
}

/// Who goes keeps the task in its queue meanwhile, or finds that another has taken it, who runs it.
#[test]
fn a_join_handle_of_a_queued_task_and_a_thief_free_the_slot_once() {
    const OUTCOMES: &[&str] = &[
        "still queued",
        "taken",
        "freed by the completer",
        "freed by the completer, late",
        "freed by a handle",
        "nobody wants the output",
        "nobody waited",
    ];
    explore("state/queued", OUTCOMES, || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        let queue = Arc::new(Biased::new(Some(Arc::clone(&task))));
        let thief = Arc::clone(&queue);
        let thief = fork(move || {
            let stolen = thief.revoke(Option::take).expect("it was queued");
            stolen.run(output);
        });
        // SAFETY: this thread is the one owner.
        let forgone = unsafe {
            queue.enter(|queued| queued.as_ref().is_some_and(|task| task.state.forgo_new()))
        };
        if forgone {
            seen("still queued");
        } else {
            seen("taken");
            task.leave();
        }
        thief.join().unwrap();
        assert_eq!(task.freed.load(Relaxed), 1);
        ledger.balance();
    });
}

/// Another handle is kept, and whoever waits has been polled before, or not.
fn left_behind(name: &'static str, outcomes: &'static [&'static str], waits: bool) {
    explore(name, outcomes, move || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        task.state.add_handle();
        assert!(!waits || task.register(1));
        let runner = Arc::clone(&task);
        let runner = fork(move || runner.run(output));
        task.leave();
        runner.join().unwrap();
        assert!(!task.drop_output(), "it went with the join handle");
        assert!(task.state.is_complete() && task.state.leave());
        task.free("freed by a handle");
        ledger.balance();
    });
}

#[test]
fn an_output_does_not_outlive_its_join_handle_though_there_are_others() {
    const ALONE: &[&str] = &[
        "nobody wants the output",
        "nobody waited",
        "the output was left behind",
        "freed by a handle",
    ];
    left_behind("state/left", ALONE, false);
    const WAITED: &[&str] = &[
        "nobody wants the output",
        "woken",
        "the output was left behind",
        "freed by a handle",
    ];
    left_behind("state/left/waited", WAITED, true);
}

#[test]
fn who_waits_for_a_task_is_woken_once_and_who_comes_late_finds_the_output() {
    const OUTCOMES: &[&str] = &["nobody waited", "woken", "freed by a handle"];
    explore("state/join", OUTCOMES, || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        let runner = Arc::clone(&task);
        let runner = fork(move || runner.run(output));
        // It is polled twice, by two.
        let waits = task.register(1) && task.register(2);
        if !waits {
            // At once, whatever the completer still does.
            task.leave();
        }
        runner.join().unwrap();
        if waits {
            assert_eq!(task.woken.load(Relaxed), 2);
            assert!(task.state.is_complete());
            task.leave();
        }
        assert_eq!(task.freed.load(Relaxed), 1);
        ledger.balance();
    });
}

/// Another looks whether the task has ended, of which it is known whether somebody waits for it.
fn finished(name: &'static str, outcomes: &'static [&'static str], waits: bool) {
    explore(name, outcomes, move || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        assert!(!waits || task.register(1));
        let done = Arc::new(UnsafeCell::new(0));
        let (runner, does) = (Arc::clone(&task), Arc::clone(&done));
        let runner = fork(move || {
            // SAFETY: loom fails the model if the reader is not ordered behind us.
            does.with_mut(|done| unsafe { *done = 1 });
            runner.run(output);
        });
        crate::primitive::thread::yield_now();
        if task.state.is_complete() {
            // SAFETY: as above.
            assert_eq!(done.with(|done| unsafe { *done }), 1);
            seen("finished");
        }
        runner.join().unwrap();
        task.leave();
        assert_eq!(task.freed.load(Relaxed), 1);
        ledger.balance();
    });
}

#[test]
fn whoever_sees_the_end_sees_what_was_done() {
    const ALONE: &[&str] = &["finished", "freed by a handle", "nobody waited"];
    finished("state/finished", ALONE, false);
    const WAITED: &[&str] = &["finished", "freed by a handle", "woken"];
    finished("state/finished/waited", WAITED, true);
}

#[test]
fn an_abort_and_a_completion_free_the_slot_once() {
    const OUTCOMES: &[&str] = &[
        "aborted",
        "freed by the completer",
        "freed by the completer, late",
        "freed by a handle",
        "nobody wants the output",
        "nobody waited",
        "the output was left behind",
        "woken",
    ];
    explore("state/abort", OUTCOMES, || {
        let ledger = Ledger::default();
        let (task, output) = ending(&ledger);
        task.state.add_handle();
        let runner = Arc::clone(&task);
        let runner = fork(move || runner.run(output));
        let aborter = Arc::clone(&task);
        let aborter = fork(move || {
            aborter.state.abort();
            let right = aborter.lean.wake(&aborter.state, None, nobodys);
            assert!(!right, "the runner has the run right to the end");
            if aborter.state.leave() {
                aborter.free("freed by a handle");
            }
        });
        task.register(1);
        task.leave();
        runner.join().unwrap();
        aborter.join().unwrap();
        assert_eq!(task.freed.load(Relaxed), 1);
        ledger.balance();
    });
}

const STALE: &[&str] = &["no effect", "the next tenant runs for nothing"];

/// A waker of the slot's last tenant is used.
fn wakes_late(task: &Arc<Polled>) -> loom::thread::JoinHandle<()> {
    let stale = Arc::clone(task);
    fork(move || {
        if stale.lean.wake(&stale.state, None, nobodys) {
            seen("the next tenant runs for nothing");
            stale.run();
        } else {
            seen("no effect");
        }
    })
}

#[test]
fn a_stale_wake_is_at_most_spurious() {
    explore("state/stale", STALE, || {
        let task = Polled::new();
        // The first tenant completes; a waker of it is still about.
        let stale = wakes_late(&task);
        assert!(task.state.forgo());
        assert!(task.state.ends_alone());
        task.state.release();
        task.state.reset();
        task.run();
        let waker = Arc::clone(&task);
        waker.sent[0].store(1, Relaxed);
        if waker.lean.wake(&waker.state, None, nobodys) {
            waker.run();
        }
        stale.join().unwrap();
        // SAFETY: all runs are over.
        assert_eq!(
            task.stage.with(|stage| unsafe { *stage })[0],
            1,
            "its own wake is not lost"
        );
        // Its handle is its own, too.
        assert!(task.state.is_joined() && task.state.forgo());
        assert!(task.state.ends_alone());
    });
}

#[test]
fn a_stale_wake_does_not_undo_that_a_join_handle_is_gone() {
    explore("state/stale-queued", STALE, || {
        let task = Polled::new();
        assert!(task.state.forgo() && task.state.ends_alone());
        task.state.release();
        let stale = wakes_late(&task);
        task.state.reset();
        assert!(task.state.forgo_new() || task.state.forgo());
        task.run();
        stale.join().unwrap();
        assert!(!task.state.is_joined() && task.state.ends_alone());
    });
}
