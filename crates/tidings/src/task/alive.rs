//! All tasks of a runtime that have not ended: for its shutdown, and for reports.

use std::panic::Location;
use std::ptr::{self, NonNull};

use super::cell::{Header, Task, location};
use crate::primitive::atomic::Ordering;
use crate::primitive::slab::{self, Kind};
use crate::sched::{LocalTasks, Shared};

/// Visits every live task of `shared`, a runtime or a set of local tasks. They end meanwhile, but for those of a
/// runtime whose workers have stopped, and of a set of this thread.
pub(crate) fn each_alive(shared: *const Shared, mut visit: impl FnMut(Alive)) {
    let kind = match LocalTasks::owns(shared) {
        true => Kind::LocalTask,
        false => Kind::Task,
    };
    slab::each_used(kind, |slot| {
        let header = slot.cast::<Header>();
        // SAFETY: type-stable memory; both fields are atomic in every slot that was ever used.
        let (state, owner) = unsafe {
            let header = header.as_ptr();
            (
                &*ptr::addr_of!((*header).state),
                &*ptr::addr_of!((*header).shared),
            )
        };
        if state.is_alive() && ptr::eq(owner.load(Ordering::Relaxed), shared) {
            visit(Alive(header));
        }
    });
}

/// A live task of a runtime that shuts down, or that is reported.
pub(crate) struct Alive(NonNull<Header>);

impl Alive {
    /// As waits know the task.
    pub(crate) fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// Where the task was spawned.
    pub(crate) fn location(&self) -> &'static Location<'static> {
        location(self.0)
    }

    /// Aborts it. `Some`: the caller got the run right; `None`: somebody else has it.
    pub(crate) fn abort(self) -> Option<Task> {
        // SAFETY: live tasks of a stopped runtime, or of a set of this thread, are completed by the visitor only.
        let header = unsafe { self.0.as_ref() };
        header.state.abort();
        let section = |seat| header.section(seat);
        let woken = header.lean.wake(&header.state, None, section);
        woken.then_some(Task(self.0))
    }
}
