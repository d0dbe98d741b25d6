//! The public queue of a worker: first in, first out, open to every thread.
//!
//! It takes what comes from outside (spawns and wakes by threads that are not workers of this
//! runtime) and what the worker shares with hungry neighbours. Linked through the tasks
//! themselves: it never allocates. Cost: one read-modify-write per operation.

use std::ptr;

use crate::primitive::SpinLock;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::task::{Header, Task};

/// See the module.
pub(crate) struct Inbox {
    /// Written under the lock, read by anybody as a hint.
    len: AtomicUsize,
    list: SpinLock<List>,
}

struct List {
    head: *mut Header,
    tail: *mut Header,
    closed: bool,
}

// SAFETY: the list owns the run rights of its tasks, and those may move between threads.
unsafe impl Send for List {}

impl Inbox {
    pub(crate) fn new() -> Self {
        let list = List {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
            closed: false,
        };
        Self {
            len: AtomicUsize::new(0),
            list: SpinLock::new(list),
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
        let mut n = 0;
        for task in tasks {
            let link = task.into_link(ptr::null_mut());
            if list.tail.is_null() {
                list.head = link;
            } else {
                // SAFETY: the list is ours while we hold its lock, and `tail` is its last task.
                unsafe { Task::set_link(list.tail, link) };
            }
            list.tail = link;
            n += 1;
        }
        // RELAXED: written under the lock; readers fence (idle.rs).
        self.len
            .store(self.len.load(Ordering::Relaxed) + n, Ordering::Relaxed);
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

    fn take(&self, how_many: impl FnOnce(usize) -> usize, mut each: impl FnMut(Task)) {
        let mut list = self.list.lock();
        let len = self.len.load(Ordering::Relaxed);
        let n = how_many(len);
        for _ in 0..n {
            // SAFETY: the list is ours while we hold its lock; it has `len` tasks.
            if let Some((task, next)) = unsafe { Task::from_link(list.head) } {
                list.head = next;
                each(task);
            }
        }
        if list.head.is_null() {
            list.tail = ptr::null_mut();
        }
        self.len.store(len - n, Ordering::Relaxed);
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
