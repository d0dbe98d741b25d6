//! The public queues of a worker: first in, first out, open to every thread.
//!
//! They take what comes from outside (spawns and wakes by threads that are not workers of this
//! runtime) and what the worker shares with hungry neighbours; of that, new tasks have a queue of
//! their own. Cost: one read-modify-write per operation.
//! Nobody looks into the tasks here: a list through them is one miss of the cache after the other for who
//! takes them, all of them under the lock.

use std::collections::VecDeque;

use crate::primitive::SpinLock;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::task::Task;

/// An empty one keeps at most this capacity.
const CAPACITY_KEPT: usize = 1024;

/// See the module.
pub(crate) struct Inbox {
    /// Of both queues. Written under the lock, read by anybody as a hint.
    len: AtomicUsize,
    list: SpinLock<List>,
}

#[derive(Default)]
struct List {
    /// Of others, and from outside.
    woken: VecDeque<Task>,
    /// What its worker has spawned and shared. Whoever takes it has it as what it spawned itself: a tree of
    /// tasks runs depth first on both.
    new: VecDeque<Task>,
    closed: bool,
}

impl List {
    fn len(&self) -> usize {
        self.woken.len() + self.new.len()
    }

    fn of(&mut self, are: Are) -> &mut VecDeque<Task> {
        match are {
            Are::New => &mut self.new,
            Are::Woken => &mut self.woken,
        }
    }
}

/// Which of the two queues.
#[derive(Clone, Copy)]
pub(crate) enum Are {
    /// Spawned by a task of the worker whose inbox it is, and in no turn yet.
    New,
    /// Woken, or from outside.
    Woken,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            list: SpinLock::new(List::default()),
        }
    }

    /// Whether a `take` would find something. Exact after the fences of `idle.rs`.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Appends tasks that were woken or come from outside. Gives them back once the runtime has shut down.
    pub(crate) fn push(&self, tasks: impl IntoIterator<Item = Task>) -> Result<(), Vec<Task>> {
        self.append(Are::Woken, tasks)
    }

    /// As `push`, of one kind.
    pub(crate) fn append(
        &self,
        are: Are,
        tasks: impl IntoIterator<Item = Task>,
    ) -> Result<(), Vec<Task>> {
        let mut list = self.list.lock();
        if list.closed {
            drop(list);
            return Err(tasks.into_iter().collect());
        }
        list.of(are).extend(tasks);
        // RELAXED: written under the lock; readers fence (idle.rs).
        self.len.store(list.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Takes the older half, rounded up, at most `max`, of those that were woken, or else of the new ones; calls
    /// `each` in order.
    pub(crate) fn take_half(&self, max: usize, mut each: impl FnMut(Are, Task)) {
        self.take(|list| {
            let are = if list.woken.is_empty() {
                Are::New
            } else {
                Are::Woken
            };
            let tasks = list.of(are);
            let n = tasks.len().div_ceil(2).min(max);
            tasks.drain(..n).for_each(|task| each(are, task));
        });
    }

    /// Takes the oldest of one kind.
    pub(crate) fn take_oldest(&self, are: Are) -> Option<Task> {
        let mut oldest = None;
        self.take(|list| oldest = list.of(are).pop_front());
        oldest
    }

    /// Takes everything, in order, the new ones last.
    pub(crate) fn take_all(&self, mut each: impl FnMut(Task)) {
        self.take(|list| {
            let tasks = list.woken.drain(..).chain(list.new.drain(..));
            tasks.for_each(&mut each);
        });
    }

    fn take(&self, some: impl FnOnce(&mut List)) {
        if self.is_empty() {
            return;
        }
        let mut list = self.list.lock();
        some(&mut list);
        self.len.store(list.len(), Ordering::Relaxed);
        let empty = list.len() == 0;
        let large = empty && list.woken.capacity().max(list.new.capacity()) > CAPACITY_KEPT;
        let large = large.then(|| {
            (
                std::mem::take(&mut list.woken),
                std::mem::take(&mut list.new),
            )
        });
        drop(list);
        drop(large);
    }

    /// No task comes in any more.
    pub(crate) fn close(&self) {
        self.list.lock().closed = true;
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
