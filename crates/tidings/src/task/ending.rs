//! How a task ends: it panics or is cancelled, its handles hear of it, and the last that goes frees the slot. None of it
//! knows the future's type, so it is compiled once.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::cell::{Header, Polled};
use super::handle::JoinError;
use super::name;
use super::panic;
use super::stage::Holds;
use super::state::State;
use super::waker::{discard, quietly, wake_quietly};
use crate::primitive::atomic::{AtomicU8, Ordering};
use crate::primitive::{relax, slab};
use crate::sched;

/// Has the completer taken the joiner's waker? It is asked for where there was one. Until then: does the table of names
/// have the task?
#[derive(Debug)]
pub(crate) struct Out(AtomicU8);

const NAMED: u8 = 1;
const GONE: u8 = 2;

impl Out {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// The owner of the run right only: the task has a name, which is to be out of the table before it completes.
    pub(super) fn is_to_lose_name(&self) {
        // RELAXED: for those that have the run right after us.
        self.0.store(NAMED, Ordering::Relaxed);
    }

    /// The completer only, when it has taken the waker and touches the slot no more.
    #[inline(always)]
    pub(crate) fn goes(&self) {
        // ORD task.out: release (its look at the waker); pairs with see.
        self.0.store(GONE, Ordering::Release);
    }

    /// A handle of a complete task only: waits for the completer, if there was a waker and it has not yet taken it.
    #[inline(always)]
    pub(crate) fn see(&self, state: &State) {
        if state.has_waker() {
            let mut step = 0;
            // ORD task.out: acquire; pairs with goes.
            while self.0.load(Ordering::Acquire) != GONE {
                relax(&mut step);
            }
        }
    }
}

/// The poll of a task has panicked, or then the drop of its future, whose output is in the stage.
///
/// # Safety
/// The caller owns the run right.
#[cold]
pub(super) unsafe fn panicked(task: NonNull<Header>, payload: Box<dyn Any + Send>) -> Polled {
    // SAFETY: the cell is live.
    let header = unsafe { task.as_ref() };
    // SAFETY: the owner of the run right owns the stage.
    let in_poll = header.holds.with(|holds| unsafe { *holds }) == Holds::Future;
    if in_poll {
        sched::task_panicked(header.location());
    }
    let panic = panic::of_task(task, payload);
    if !in_poll {
        // SAFETY: as above.
        unsafe { clear(task) };
    }
    // SAFETY: the caller's promise.
    unsafe { fail(task, JoinError::panic(header.location(), panic)) }
}

/// A task is not polled any more: it was aborted, or its runtime ends.
///
/// # Safety
/// The caller owns the run right.
pub(super) unsafe fn cancelled(task: NonNull<Header>) -> Polled {
    // SAFETY: the cell is live.
    let started = unsafe { task.as_ref() }.location();
    // SAFETY: the caller's promise.
    unsafe { fail(task, JoinError::cancelled(started)) }
}

/// Drops the future, if it is there, and puts the error in its place or drops it.
///
/// # Safety
/// The caller owns the run right.
unsafe fn fail(task: NonNull<Header>, error: JoinError) -> Polled {
    // SAFETY: the cell is live.
    let header = unsafe { task.as_ref() };
    // SAFETY: the owner of the run right owns the stage.
    let drops = || unsafe { (header.vtable().clear)(task) };
    // A panic in the future's drop ends here: if the task had ended before, no joiner hears of it.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drops)) {
        // The error came first.
        discard(panic::of_task(task, panic));
    }
    let put = header.state.is_joined();
    if put {
        // SAFETY: as above; it holds nothing by now.
        unsafe { (header.vtable().put_error)(task, error) };
    } else {
        // Nobody wants it. What somebody has panicked with may panic as it is dropped.
        quietly(|| drop(error));
    }
    Polled::Over { put }
}

/// Drops what the stage holds. An output's drop is user code, and may panic: the panic hook has reported it, and there
/// is nobody else to tell.
///
/// # Safety
/// The caller owns the stage.
pub(super) unsafe fn clear(task: NonNull<Header>) {
    // SAFETY: the caller's promise.
    quietly(|| unsafe { (task.as_ref().vtable().clear)(task) });
}

/// Completes a task that is over, and lets its handles know: without any it frees the slot.
///
/// # Safety
/// The caller owns the run right and gives it up; the stage holds the output if it was `put` there, and else nothing.
#[inline(always)]
pub(super) unsafe fn end(task: NonNull<Header>, put: bool) {
    // SAFETY: the cell is live.
    let header = unsafe { task.as_ref() };
    // RELAXED: as it was written.
    if header.out.0.load(Ordering::Relaxed) == NAMED {
        name::ended(task.addr().get());
    }
    if !put && header.state.ends_alone() {
        // SAFETY: the handles are gone, so the completer owns the slot.
        unsafe { give_back(task) };
    } else if let Some(handles_own) = header.state.complete_unwaited(put) {
        if !handles_own {
            // SAFETY: the handles went before we completed, so the slot is ours.
            unsafe { drop_and_free(task) };
        }
    } else {
        // SAFETY: the caller's promise.
        unsafe { end_awaited(task, put) };
    }
}

/// As `end`, of a task that somebody awaits or has awaited.
///
/// # Safety
/// As for `end`.
unsafe fn end_awaited(task: NonNull<Header>, mut put: bool) {
    // SAFETY: the cell is live.
    let header = unsafe { task.as_ref() };
    let completed = loop {
        if let Some(completed) = header.state.complete(put) {
            break completed;
        }
        // It is nobody's. SAFETY: the owner of the run right owns the stage.
        unsafe { clear(task) };
        put = false;
    };
    // SAFETY: it is ours, and whoever sees the end sees us out.
    let waiting = completed.awaited.then(|| unsafe { header.take_waker() });
    if completed.handles_own {
        if waiting.is_some() {
            // From here on the slot is the handles'.
            header.out.goes();
        }
        // A foreign waker may panic: the worker must not end of it.
        wake_quietly(waiting);
    } else {
        // SAFETY: the handles went before we completed, so the slot is ours. The join handle has taken its waker along.
        unsafe { drop_and_free(task) };
    }
}

/// Drops what the stage holds, and frees the slot.
///
/// # Safety
/// The caller owns the whole slot and gives it up.
unsafe fn drop_and_free(task: NonNull<Header>) {
    // SAFETY: the caller owns the slot.
    let header = unsafe { task.as_ref() };
    // SAFETY: as above.
    if header.holds.with(|holds| unsafe { *holds }) != Holds::Nothing {
        // SAFETY: as above.
        unsafe { clear(task) };
    }
    // SAFETY: as above.
    unsafe { give_back(task) };
}

/// # Safety
/// The caller owns the slot and gives it up; what was in the stage has been taken or dropped, and so the completer seen
/// out.
#[inline]
pub(super) unsafe fn give_back(task: NonNull<Header>) {
    // SAFETY: the slot is the caller's.
    let header = unsafe { task.as_ref() };
    let class = header.vtable().class;
    header.state.release();
    // SAFETY: the slot came from `alloc(class)`, nothing but stale wakes refers to it.
    unsafe { slab::free(task.cast(), class) };
}

/// Drops the output, if it is still there.
///
/// # Safety
/// The task is complete and the caller is its join handle.
pub(super) unsafe fn drop_output(header: NonNull<Header>) {
    // SAFETY: the handle keeps the slot.
    unsafe { header.as_ref() }.see_out();
    // SAFETY: the join handle owns the stage of a complete task.
    unsafe { clear(header) };
}

/// # Safety
/// The task is complete and the caller, its last handle, which is no join handle, owns the slot and gives it up.
pub(super) unsafe fn free(header: NonNull<Header>) {
    // SAFETY: the handle keeps the slot until here.
    unsafe { header.as_ref() }.see_out();
    // SAFETY: the caller's promise.
    unsafe { drop_and_free(header) };
}
