//! Tasks that stay on a thread, for futures that are not `Send`: [`spawn_local`].
//!
//! A call of `block_on` has a set of them, made with the first. It runs them between the polls of its own future, on
//! its thread, which is no worker, and ends those that are left before it returns. A runtime with a seam has one set,
//! from which the seam picks as from all its tasks (`solo.rs`).
//!
//! Any thread wakes and aborts such a task: the right to run it goes into the set's inbox, and its thread is nudged.
//! That nobody else runs it, or drops its future or its output, rests on these:
//! 1. A local task's owner, where others have their runtime, is its set, one byte off: an address that no runtime has.
//!    Its slot has had, and will have, local tasks alone (`slab::Kind`). So whatever a wake finds there, however late
//!    it comes, goes to no worker's queue (`sched::schedule`), but to the set that it belongs to.
//! 2. The inbox is emptied by [`Mine`] alone, which stays on the set's thread, or, where it can be moved, looks.
//! 3. A set goes when none of its tasks is alive: its thread has ended them. If it cannot, the set stays for ever.
//! 4. The handle that has the output is `Send` if the output is.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use super::inbox::Inbox;
use super::living::Living;
use super::root::Root;
use super::worker::Worker;
use super::{Shared, current, panics};
use crate::primitive::thread::{self, ThreadId};
use crate::primitive::{Arc, Heard, relax};
use crate::task::{self, JoinHandle, Task, here};
use crate::time;

/// Starts a task that stays on this thread, and whose future need not be `Send`.
///
/// Works inside of [`Runtime::block_on`](crate::Runtime::block_on) (so in `#[tidings::main]` and `#[tidings::test]`)
/// and of [`Handle::block_on`](crate::Handle::block_on), on their thread, and in local tasks. They run there while
/// that call waits, one poll at a time, in turn with its future; what blocks the thread holds all of them up. In them
/// all works as in that future: [`spawn`](crate::spawn) starts a task on the workers.
///
/// Their handles are as those of other tasks, but `Send` only if the output is. An
/// [`abort`](JoinHandle::abort), from any thread, drops the future on its own. When that `block_on` returns, or
/// panics, it drops first what local tasks are left, and what these start as they are dropped; their handles hear that
/// they were cancelled.
///
/// On a runtime with a [seam](crate::sched::Builder::seam), and in a simulation, any of its tasks may start a local
/// one, which the seam picks as all others. From then on the runtime stays on its thread.
///
/// # Panics
/// Outside of a `block_on`, and in a task that workers run: it moves between threads.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let sum = Rc::new(Cell::new(0));
/// let tasks = [1, 2, 3].map(|n| {
///     let sum = Rc::clone(&sum);
///     tidings::spawn_local(async move {
///         tidings::yield_now().await;
///         sum.set(sum.get() + n);
///     })
/// });
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(sum.get(), 6);
/// # });
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let at = Location::caller();
    here::note(here::GAVE);
    if let Some(worker) = current::worker() {
        let Some(mine) = &worker.locals else {
            panic!(
                "tidings::spawn_local in a task that workers run, which moves between threads: call it in \
                 block_on's own future, or in a local task"
            );
        };
        return mine.spawn(&worker.shared, Some(worker), future, at);
    }
    let Some((shared, mine)) = current::mine() else {
        panic!(
            "tidings::spawn_local needs a block_on whose thread it stays on: call it inside Runtime::block_on, or \
             Handle::block_on"
        );
    };
    mine.spawn(&shared, None, future, at)
}

/// A set of local tasks, as those know it who wake them.
pub(crate) struct LocalTasks {
    /// Those that are to run, from any thread.
    woken: Inbox,
    told: Told,
    thread: ThreadId,
}

/// Who is told that a task was woken.
#[derive(Clone)]
pub(super) enum Told {
    /// Who waits in `block_on`.
    Root(Arc<Root>),
    /// Who waits in that of this runtime, which has a seam.
    Solo(Arc<Shared>),
}

// Of two bytes or more, so that one byte off is nobody's place.
const _: () = assert!(align_of::<LocalTasks>() > 1 && align_of::<Shared>() > 1);

impl LocalTasks {
    /// As its tasks know it: rule 1.
    fn owner(set: &Arc<Self>) -> *const Shared {
        Arc::as_ptr(set).cast::<Shared>().wrapping_byte_add(1)
    }

    /// Is the owner of a task a set of local tasks?
    pub(crate) fn owns(owner: *const Shared) -> bool {
        owner.addr() & 1 == 1
    }

    /// A task that has a set as its owner is to run.
    pub(super) fn wake(task: Task) {
        debug_assert!(Self::owns(task.shared()));
        let set = task.shared().wrapping_byte_sub(1).cast::<Self>();
        // SAFETY: the task is alive and we have its run right, so its set waits for us before it goes; our own count
        // keeps it from then on. The place is that of an `Arc` (`owner`).
        let set = unsafe {
            Arc::increment_strong_count(set);
            Arc::from_raw(set)
        };
        set.push(task);
        match &set.told {
            Told::Root(root) => root.parker.nudge(),
            Told::Solo(shared) => shared.unpark(0),
        }
    }

    fn push(&self, task: Task) {
        let pushed = self.woken.push([task]);
        debug_assert!(pushed.is_ok(), "it is never closed");
    }

    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }
}

impl fmt::Debug for LocalTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTasks")
            .field("woken", &self.woken)
            .finish_non_exhaustive()
    }
}

/// All sets of a runtime, for its reports.
pub(super) type Sets = Living<LocalTasks>;

impl Sets {
    /// Is one of them to run?
    pub(super) fn are_woken(&self) -> bool {
        self.all().iter().any(|set| !set.woken.is_empty())
    }

    /// Is it one of them that owns a task?
    pub(super) fn own(&self, owner: usize) -> bool {
        let sets = self.all();
        sets.iter()
            .any(|set| LocalTasks::owner(set).addr() == owner)
    }
}

/// The local tasks of a call of `block_on`, or of a runtime with a seam, as their thread has them.
pub(super) struct Mine {
    /// Made with the first of them.
    set: RefCell<Option<Arc<LocalTasks>>>,
    /// Those that are to run next.
    queue: RefCell<VecDeque<Task>>,
    /// They are told apart, and ended in the order of their starts, by their numbers.
    spawned: Cell<u32>,
    /// Under a seam: one that is not among them ran last.
    turn: Cell<bool>,
    told: Told,
}

impl Mine {
    pub(super) fn new(told: Told) -> Self {
        Self {
            set: RefCell::default(),
            queue: RefCell::default(),
            spawned: Cell::new(0),
            turn: Cell::new(false),
            told,
        }
    }

    /// `worker`: that has the seam.
    fn spawn<F>(
        &self,
        shared: &Shared,
        worker: Option<&Worker>,
        future: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let set = self.here().unwrap_or_else(|| self.begin(shared));
        let (task, handle) = Task::new_local(future, LocalTasks::owner(&set), at);
        match worker {
            Some(worker) => _ = worker.number(&task),
            None => {
                let number = self.spawned.get();
                self.spawned.set(number.wrapping_add(1));
                task.set_ran_on(number);
            }
        }
        if worker.is_some() && shared.is_closing() {
            // It would be the first after the last.
            task.cancel();
        } else {
            // It is this thread that looks there.
            set.push(task);
        }
        handle
    }

    #[cold]
    fn begin(&self, shared: &Shared) -> Arc<LocalTasks> {
        let set = Arc::new(LocalTasks {
            woken: Inbox::new(),
            told: self.told.clone(),
            thread: thread::current().id(),
        });
        shared.local_tasks.add(&set);
        *self.set.borrow_mut() = Some(Arc::clone(&set));
        set
    }

    /// The set, of this thread; `None`: there is none, or all of it has ended.
    ///
    /// # Panics
    /// If it is another thread's.
    fn here(&self) -> Option<Arc<LocalTasks>> {
        let set = self.set.borrow().clone()?;
        if set.is_here() {
            return Some(set);
        }
        assert!(
            !is_alive(&set),
            "the local tasks of a runtime stay on the thread that has started them: run it there"
        );
        *self.set.borrow_mut() = None;
        None
    }

    /// In `block_on`: runs what is woken until its own future is, or, if given, `timeout` is over. Was it?
    pub(super) fn wait(&self, root: &Root, budget: u32, timeout: Option<Duration>) -> bool {
        let end = timeout.map(|timeout| (time::system(), timeout));
        let is_over = || {
            end.is_some_and(|(start, timeout)| time::system().saturating_since(start) >= timeout)
        };
        loop {
            let ran = self.run(root, budget);
            let heard = match ran {
                true => root.parker.hear(),
                false => root.parker.listen(timeout),
            };
            match heard {
                Heard::Unpark => return true,
                Heard::Nothing if !ran => return false,
                Heard::Nudge | Heard::Nothing if is_over() => return false,
                Heard::Nudge | Heard::Nothing => {}
            }
        }
    }

    /// Polls each that was woken, once. `false`: none was.
    fn run(&self, root: &Root, budget: u32) -> bool {
        let set = match &*self.set.borrow() {
            Some(set) if !set.woken.is_empty() => Arc::clone(set),
            _ => return false,
        };
        root.run(|| {
            let mut queue = self.queue.take();
            set.woken.take_all(|task| queue.push_back(task));
            for task in queue.drain(..) {
                let header = task.as_ptr();
                // It is not a worker's, so it leans towards none.
                let again = current::poll_local(header, budget, || task.run(None, true));
                if let Some(again) = again {
                    set.push(again);
                }
            }
            self.queue.replace(queue);
        });
        true
    }

    /// Under a seam: how many could run. What was woken takes part from here on.
    pub(super) fn ready(&self) -> usize {
        let Some(set) = self.here() else { return 0 };
        let mut queue = self.queue.borrow_mut();
        set.woken.take_all(|task| queue.push_back(task));
        queue.len()
    }

    /// Under a seam: how many of them come before all other tasks, which is all or none: neither keep the others
    /// waiting for ever, where the first is picked each time.
    pub(super) fn first(&self) -> usize {
        match self.turn.get() {
            true => self.queue.borrow().len(),
            false => 0,
        }
    }

    /// Under a seam: one that is not among them runs now, or one that is.
    pub(super) fn turn(&self, other: bool) {
        self.turn.set(other);
    }

    /// Under a seam: there is none that could run.
    pub(super) fn is_empty(&self) -> bool {
        let set = self.set.borrow();
        self.queue.borrow().is_empty() && set.as_ref().is_none_or(|set| set.woken.is_empty())
    }

    /// Under a seam: those that could run.
    pub(super) fn each(&self, each: impl FnMut(&Task)) {
        self.queue.borrow().iter().for_each(each);
    }

    /// Under a seam: takes one that could run.
    pub(super) fn pick(&self, n: usize) -> Option<Task> {
        self.here()?;
        self.queue.borrow_mut().remove(n)
    }

    /// Under a seam: one that was picked is to run again.
    pub(super) fn again(&self, task: Task) {
        self.queue.borrow_mut().push_back(task);
    }

    /// Ends all of them, and what they start as they end. `false`: they are another thread's, and stay.
    pub(super) fn end(&self) -> bool {
        let Some(set) = self.set.borrow().clone() else {
            return true;
        };
        if !set.is_here() {
            return !is_alive(&set);
        }
        let (mut tasks, mut step) = (Vec::new(), 0);
        loop {
            tasks.extend(self.queue.take());
            set.woken.take_all(|task| tasks.push(task));
            if tasks.is_empty() {
                let mut alive = false;
                task::each_alive(LocalTasks::owner(&set), |task| {
                    alive = true;
                    tasks.extend(task.abort());
                });
                if !alive {
                    break;
                }
                // In the order of their starts. Those that are alive and not ours to end are on their way here: a
                // waker on another thread is about to push them, and refers to the set until it has.
                tasks.sort_by_key(Task::ran_on);
                relax(&mut step);
            }
            panics::ending(|| tasks.drain(..).for_each(Task::cancel));
        }
        *self.set.borrow_mut() = None;
        true
    }

    /// Nobody can end them: they stay where they are, for ever.
    pub(super) fn leak(&self) {
        if let Some(set) = self.set.take() {
            let _ = Arc::into_raw(set);
        }
    }
}

/// Tells of a runtime, which has ended otherwise, that its local tasks stay.
pub(super) fn panic_if_they_stay(stay: bool) {
    assert!(
        !stay || thread::panicking(),
        "a runtime was dropped on another thread than that of its local tasks, which stay for ever"
    );
}

fn is_alive(set: &Arc<LocalTasks>) -> bool {
    let mut alive = false;
    task::each_alive(LocalTasks::owner(set), |_| alive = true);
    alive
}

impl Shared {
    /// All tasks that have not ended, and whether they are local ones, who come last.
    pub(super) fn each_task(&self, mut visit: impl FnMut(&task::Alive, bool)) {
        task::each_alive(self, |task| visit(&task, false));
        for set in self.local_tasks.all() {
            task::each_alive(LocalTasks::owner(&set), |task| visit(&task, true));
        }
    }

    /// How many tasks have not ended, local ones too.
    pub(super) fn count_tasks(&self) -> usize {
        let mut tasks = 0;
        self.each_task(|_, _| tasks += 1);
        tasks
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{Handle, running, spend_budget, spend_quickly};
    use super::*;
    use crate::Runtime;

    #[test]
    fn a_local_task_has_its_budget_and_is_who_runs_and_the_future_of_block_on_has_its_own() {
        let runtime = Runtime::builder().workers(1).budget(5).build().unwrap();
        let count = || (0..20).take_while(|_| spend_budget()).count();
        runtime.block_on(async {
            let local = spawn_local(async move {
                // In a block_on inside of it, too.
                let inside =
                    Handle::current().block_on(async move { (count(), running().started) });
                assert_eq!(inside, (5, None));
                let quickly = || (0..20).take_while(|_| spend_quickly()).count();
                ([count(), count(), quickly()], running().started)
            });
            let (counts, started) = local.await.unwrap();
            assert_eq!(counts, [5, 2, 1]);
            assert_eq!(started.unwrap().file(), file!());
            assert_eq!((count(), running().started), (5, None));
        });
    }

    #[test]
    fn what_a_wake_finds_in_the_place_of_a_local_task_is_its_sets() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime.block_on(async {
            let mut handles = Vec::new();
            for n in 0..100 {
                let local = spawn_local(async move { n });
                handles.push(runtime.spawn(async move { n }));
                handles.push(local);
                let (_, mine) = current::mine().unwrap();
                let set = mine.here().unwrap();
                let owner = LocalTasks::owner(&set);
                assert!(LocalTasks::owns(owner) && !LocalTasks::owns(&*runtime.shared));
                task::each_alive(owner, |task| {
                    assert_eq!(task.location().line(), line!() - 8);
                });
            }
            for (at, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.await.unwrap(), at / 2);
            }
        });
        assert!(runtime.shared.local_tasks.all().is_empty(), "it has gone");
    }
}
