//! The public queue of a worker: first in, first out, open to every thread.
//!
//! It takes what comes from outside (spawns and wakes by threads that are not workers of this
//! runtime) and what the worker shares with hungry neighbours. Cost: one read-modify-write per operation.
//! It does not look into the tasks: a list through them is one miss of the cache after the other for who
//! takes them, all of them under the lock.

use std::collections::VecDeque;

use crate::primitive::SpinLock;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::task::Task;

/// An empty one keeps at most this capacity.
const CAPACITY_KEPT: usize = 1024;

/// See the module.
pub(crate) struct Inbox {
    /// Written under the lock, read by anybody as a hint.
    len: AtomicUsize,
    list: SpinLock<List>,
}

#[derive(Default)]
struct List {
    tasks: VecDeque<Task>,
    closed: bool,
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

    /// Appends tasks. Gives them back once the runtime has shut down.
    pub(crate) fn push(&self, tasks: impl IntoIterator<Item = Task>) -> Result<(), Vec<Task>> {
        let mut list = self.list.lock();
        if list.closed {
            drop(list);
            return Err(tasks.into_iter().collect());
        }
        list.tasks.extend(tasks);
        // RELAXED: written under the lock; readers fence (idle.rs).
        self.len.store(list.tasks.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Takes the older half, rounded up, at most `max`; calls `each` in order.
    pub(crate) fn take_half(&self, max: usize, each: impl FnMut(Task)) {
        if !self.is_empty() {
            self.take(|len| len.div_ceil(2).min(max), each);
        }
    }

    /// Takes everything, in order.
    pub(crate) fn take_all(&self, each: impl FnMut(Task)) {
        if !self.is_empty() {
            self.take(|len| len, each);
        }
    }

    fn take(&self, how_many: impl FnOnce(usize) -> usize, each: impl FnMut(Task)) {
        let mut list = self.list.lock();
        let n = how_many(list.tasks.len());
        list.tasks.drain(..n).for_each(each);
        self.len.store(list.tasks.len(), Ordering::Relaxed);
        let emptied = list.tasks.is_empty() && list.tasks.capacity() > CAPACITY_KEPT;
        let large = emptied.then(|| std::mem::take(&mut list.tasks));
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
