//! The scheduler under a seam: one thread, every choice asked for. Read this first.
//!
//! `block_on` runs the root future and all tasks on the calling thread, one poll at a time. The
//! seam picks the next among all that could run; when nothing can, it moves time on, or says
//! that only a thread outside can help. A simulator of several runtimes drives each of them step
//! by step instead ([`Runtime::step`]).

use std::task::{Context, Waker};
use std::time::Duration;

use super::local_tasks::Mine;
use super::root::Main;
use super::seam::Choice;
use super::worker::Worker;
use super::{Party, Runtime, Shared, current, deadlock, record};
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Arc, MutexGuard, Parker, lock};
use crate::task;
use crate::time::{self, Instant};

/// The number of the root future, which no task has.
const ROOT: u32 = u32::MAX - 1;

/// Wakes the root future: it counts as one of the runnable tasks.
struct RootWaker {
    woken: AtomicBool,
    parker: Arc<Parker>,
}

impl std::task::Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.woken.swap(true, Ordering::AcqRel);
        self.parker.unpark();
    }
}

/// How many tasks could run. What came from outside takes part from here on.
fn ready(worker: &Worker, shared: &Shared) -> usize {
    let tasks = worker.local(|local| {
        let line = local.line_up();
        shared.remotes[0].inbox.take_all(|task| {
            worker.number(&task);
            line.push_back(task);
        });
        line.len()
    });
    tasks + worker.locals.as_ref().map_or(0, Mine::ready)
}

/// For a simulator that drives one or several runtimes: instead of [`block_on`](Self::block_on)
/// it asks what could run, picks, and runs it for one poll. The seam is asked for all other choices.
///
/// ```
/// use std::time::Duration;
/// use tidings::sched::{Runtime, Seeded};
/// let rt = Runtime::builder().seam(Seeded::new(7)).build().unwrap();
/// let task = rt.spawn(async { tidings::spawn(async { 6 * 7 }).await.unwrap() });
/// assert!(rt.ready_party(0).is_some() && rt.ready_party(1).is_none());
/// while rt.ready() > 0 {
///     rt.step(0);
/// }
/// assert!(task.is_finished());
/// assert_eq!((rt.wake_timers(), rt.tasks()), (None, 0));
/// ```
impl Runtime {
    #[track_caller]
    fn solo(&self) -> MutexGuard<'_, Worker> {
        let solo = self.solo.as_ref();
        lock(solo.expect("only a runtime with a seam is run step by step"))
    }

    /// How many tasks could run now.
    ///
    /// # Panics
    /// Without a seam.
    #[must_use]
    pub fn ready(&self) -> usize {
        ready(&self.solo(), &self.shared)
    }

    /// As [`ready`](Self::ready), appending the numbers of those tasks to `numbers`, in the order
    /// that [`step`](Self::step) picks by. Tasks are numbered from 0, in the order of their spawns.
    ///
    /// # Panics
    /// Without a seam.
    pub fn ready_numbers(&self, numbers: &mut Vec<u32>) {
        let worker = self.solo();
        ready(&worker, &self.shared);
        worker.each_ready(|task| numbers.push(worker.number(task)));
    }

    /// Who the `pick`th of those is that are [`ready`](Self::ready), as the
    /// [flight recorder](super::Builder::flight_recorder) names him; `None` beyond them.
    ///
    /// # Panics
    /// Without a seam.
    #[must_use]
    pub fn ready_party(&self, pick: usize) -> Option<Party> {
        let worker = self.solo();
        ready(&worker, &self.shared);
        let (mut at, mut found) = (0, None);
        worker.each_ready(|task| {
            if at == pick {
                found = Some(record::of(task.as_ptr()));
            }
            at += 1;
        });
        found
    }

    /// Runs the `pick`th of the tasks that are [`ready`](Self::ready) for one poll, on this thread;
    /// gives its number. A pick beyond them runs nothing.
    ///
    /// # Panics
    /// Without a seam. What the task does with a panic of its own is the task's affair.
    pub fn step(&self, pick: usize) -> Option<u32> {
        let worker = self.solo();
        current::become_worker(&worker, || worker.run_picked(pick))
    }

    /// Wakes what waited for a time that has come; the time of the earliest timer left.
    ///
    /// # Panics
    /// Without a seam.
    pub fn wake_timers(&self) -> Option<Duration> {
        let worker = self.solo();
        let next = current::become_worker(&worker, || worker.refresh_timers());
        next.map(Instant::since_start)
    }

    /// Who ran last; `None` if nobody has.
    ///
    /// # Panics
    /// Without a seam.
    #[must_use]
    pub fn last_party(&self) -> Option<Party> {
        let last = record::of(self.solo().running());
        last.started.is_some().then_some(last)
    }

    /// How many tasks have not ended.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.shared.count_tasks()
    }
}

/// Nothing can run, and no time that passes changes that: waits for a wake from another thread. If none comes
/// for as long as the runtime has patience, that is a deadlock.
fn park(shared: &Shared, root: &Arc<RootWaker>, waker: &Waker, still: &mut Option<Instant>) {
    let Some((patience, _)) = &shared.patience else {
        return root.parker.park();
    };
    let since = *still.get_or_insert_with(time::system);
    let waited = || time::system().saturating_since(since);
    root.parker.park_timeout(patience.saturating_sub(waited()));
    let counts = Arc::strong_count(root);
    // It may be over early for no reason.
    if waited() >= *patience && shared.is_still(&root.woken, waker, counts) {
        let main = waker.data().addr();
        panic!("{}", deadlock::report(shared, main));
    }
}

/// Runs the root future and all tasks to its end; local ones end then.
pub(super) fn block_on(worker: &Worker, shared: &Shared, parker: &Arc<Parker>, main: Main<'_>) {
    let root = Arc::new(RootWaker {
        woken: AtomicBool::new(true),
        parker: Arc::clone(parker),
    });
    let waker = Waker::from(Arc::clone(&root));
    let mut context = Context::from_waker(&waker);
    // Since when nothing could run.
    let mut still = None;
    let run = || {
        let mut main = main;
        loop {
            let tasks = ready(worker, shared);
            let root_runs = root.woken.load(Ordering::Acquire);
            let runnable = tasks + usize::from(root_runs);
            if runnable == 0 {
                let next = worker.refresh_timers();
                let nothing = worker.local(|local| local.is_empty())
                    && worker.locals.as_ref().is_none_or(Mine::is_empty);
                if nothing
                    && !root.woken.load(Ordering::Acquire)
                    && worker.seam_idle(next.map(|next| next.since_start())) == Some(false)
                {
                    park(shared, &root, &waker, &mut still);
                }
                continue;
            }
            still = None;
            let pick = worker.choose(Choice::Task, runnable);
            if pick == tasks {
                // A wake that comes from here on is for the next poll.
                root.woken.swap(false, Ordering::AcqRel);
                worker.refill_budget();
                worker.refill_asked(ROOT);
                worker.runs_no_task();
                if main.poll(&mut context).is_ready() {
                    return;
                }
            } else {
                worker.run_picked(pick);
            }
        }
    };
    current::become_worker(worker, || {
        task::finally(run, || _ = worker.locals.as_ref().map(Mine::end));
    });
}
