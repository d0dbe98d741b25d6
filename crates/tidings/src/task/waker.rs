//! The waker of a task: a pointer to its cell, without a reference count.
//!
//! Sound because cells are type-stable (`primitive/slab.rs`): a waker that outlives its task
//! finds a state word that says so, or wakes the slot's next tenant for nothing.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::cell::{Header, Task};
use super::here;
use crate::event::waits;
use crate::primitive::atomic::Ordering;
use crate::primitive::thread;
use crate::sched::{self, Shared};

/// What foreign code calls; ours goes around it.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake_foreign, wake_foreign, drop_raw);

/// The waker of `header`; dropping it would be free too, so it is never dropped.
#[inline(always)]
pub(super) fn waker(header: NonNull<Header>) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: the vtable's functions keep the contract: they are thread-safe, need no ownership,
    // and the pointer is valid for ever (type-stable memory).
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// A copy of a waker of ours, which costs nothing and runs no code; `None` for a foreign one.
#[inline(always)]
pub(crate) fn copy_ours(waker: &Waker) -> Option<Waker> {
    // SAFETY: as in `waker` above; our wakers count nothing.
    is_ours(waker).then(|| unsafe { Waker::from_raw(RawWaker::new(waker.data(), &VTABLE)) })
}

/// Wakes the task in `header`'s slot, if one is there and idle.
#[inline(always)]
pub(super) fn wake(header: NonNull<Header>) {
    // SAFETY: type-stable memory: this is an atomic in every slot that was ever used.
    let shared = unsafe { &*ptr::addr_of!((*header.as_ptr()).shared) };
    wake_one_of(header, shared.load(Ordering::Relaxed));
}

/// As [`wake`], of a slot whose task was one of the runtime `seen` just now.
#[inline(always)]
fn wake_one_of(header: NonNull<Header>, seen: *const Shared) {
    // SAFETY: as in `wake`.
    let (state, lean) = unsafe {
        let header = header.as_ptr();
        (
            &*ptr::addr_of!((*header).state),
            &*ptr::addr_of!((*header).lean),
        )
    };
    sched::schedule(seen, |home| {
        // Towards a worker of this thread's lean tasks of its runtime alone.
        if let Some(woken) = lean.wake_at_home(state, home) {
            return woken.then_some(Task(header));
        }
        // SAFETY: who is asked for a section has seen the task alive, and it cannot end meanwhile.
        let woken = lean.wake_openly(state, |seat| unsafe { header.as_ref() }.section(seat));
        let task = woken.then_some(Task(header))?;
        // Of a stale waker it may be another tenant, of another runtime.
        if ptr::eq(task.shared(), seen) {
            return Some(task);
        }
        sched::schedule_outside(task);
        None
    });
}

/// Has the task woken, whose next run drops the future.
pub(super) fn abort(header: NonNull<Header>) {
    // SAFETY: the caller is a handle, so the slot has not been given back.
    unsafe { header.as_ref() }.state.abort();
    wake(header);
}

/// As `Waker::clone`, in our own waits, which are known to those who ask what a task waits for.
#[inline(always)]
pub(crate) fn clone_waker(waker: &Waker) -> Waker {
    copy_ours(waker).unwrap_or_else(|| waker.clone())
}

/// As `Waker::wake`, without the indirect call where the waker is one of ours.
#[inline(always)]
pub(crate) fn wake_now(waker: Waker) {
    if is_ours(&waker) {
        let waker = ManuallyDrop::new(waker);
        wake_raw(waker.data());
    } else {
        wake_theirs(waker);
    }
}

/// In a drop as a panic unwinds a second one would end the process.
#[inline(never)]
fn wake_theirs(waker: Waker) {
    match thread::panicking() {
        true => wake_quietly([waker]),
        false => waker.wake(),
    }
}

/// As [`wake_now`], of the partner from whom `taken` was taken. A foreign waker may panic: then nobody gets
/// that, and it is given back before the panic goes on.
#[inline(always)]
pub(crate) fn wake_partner<T>(partner: Waker, taken: T, give_back: impl FnOnce(T)) -> T {
    if is_ours(&partner) {
        wake_now(partner);
        taken
    } else {
        wake_foreign_partner(partner, taken, give_back)
    }
}

#[inline(never)]
fn wake_foreign_partner<T>(partner: Waker, taken: T, give_back: impl FnOnce(T)) -> T {
    match wake_caught(partner) {
        Ok(()) => taken,
        Err(panic) => {
            // That wakes, too.
            quietly(|| give_back(taken));
            resume_unwind(panic)
        }
    }
}

fn wake_caught(waker: Waker) -> Woken {
    catch_unwind(AssertUnwindSafe(|| waker.wake()))
}

/// What wakers did: the panic of the first that panicked.
pub(crate) type Woken = Result<(), Box<dyn Any + Send>>;

/// Wakes all of them. A foreign waker may panic, and the others must hear all the same.
pub(crate) fn wake_each(wakers: impl IntoIterator<Item = Waker>) -> Woken {
    let mut woken = Ok(());
    for waker in wakers {
        if is_ours(&waker) {
            wake_now(waker);
        } else {
            woken = first(woken, wake_caught(waker));
        }
    }
    woken
}

/// As [`wake_each`], where nobody can be told of a panic.
pub(crate) fn wake_quietly(wakers: impl IntoIterator<Item = Waker>) {
    if let Err(panic) = wake_each(wakers) {
        discard(panic);
    }
}

/// Drops wakers where nobody can be told of a panic: of a foreign one that is foreign code.
pub(crate) fn drop_quietly(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        quietly(|| drop(waker));
    }
}

/// The first panic of the two.
pub(crate) fn first(woken: Woken, then: Woken) -> Woken {
    match (woken, then) {
        (Err(panic), Err(later)) => {
            discard(later);
            Err(panic)
        }
        (woken, then) => woken.and(then),
    }
}

/// Runs users' code where nobody can be told of its panic; the panic hook has been.
pub(crate) fn quietly(f: impl FnOnce()) {
    caught(&mut Some(f));
}

/// What catches is compiled once, and not once for each event, task and actor of a program.
fn caught(f: &mut dyn Once) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| f.once())) {
        discard(panic);
    }
}

trait Once {
    fn once(&mut self);
}

impl<F: FnOnce()> Once for Option<F> {
    fn once(&mut self) {
        if let Some(f) = self.take() {
            f();
        }
    }
}

/// Runs both, `last` also where `first` panics: then quietly, before that panic goes on.
#[inline(always)]
pub(crate) fn finally<R>(first: impl FnOnce() -> R, last: impl FnOnce()) -> R {
    struct Last<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Last<F> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(last) = self.0.take() {
                unwinding(last);
            }
        }
    }
    let mut guard = Last(Some(last));
    let result = first();
    if let Some(last) = guard.0.take() {
        last();
    }
    result
}

/// As `quietly`, kept out of the way of those that do not panic.
#[cold]
#[inline(never)]
fn unwinding(last: impl FnOnce()) {
    quietly(last);
}

/// Does `f` to each of `all`, also to those behind one of which it panics: to them quietly, before that panic goes on.
#[inline(always)]
pub(crate) fn each<T>(all: impl Iterator<Item = T>, f: impl FnMut(T)) {
    struct Rest<I: Iterator, F: FnMut(I::Item)>(I, F);
    impl<I: Iterator, F: FnMut(I::Item)> Drop for Rest<I, F> {
        #[inline(always)]
        fn drop(&mut self) {
            let Self(rest, f) = self;
            for item in rest {
                unwinding(|| f(item));
            }
        }
    }
    let mut rest = Rest(all, f);
    let Rest(all, f) = &mut rest;
    for item in all {
        f(item);
    }
}

/// Drops what somebody panicked with. That may panic, too, and so may the drop of what it panics with:
/// what is left after a few is kept, since there may be no end of it.
#[cold]
pub(crate) fn discard(mut panic: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            Ok(()) => return,
            Err(again) => panic = again,
        }
    }
    Box::leak(panic);
}

/// As [`wake_each`]; a panic goes on when all have been woken.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    go_on(wake_each(wakers));
}

/// Lets a waker's panic go on, unless this is a drop in another: a second one would end the process.
pub(crate) fn go_on(woken: Woken) {
    match woken {
        Err(panic) if thread::panicking() => discard(panic),
        Err(panic) => resume_unwind(panic),
        Ok(()) => {}
    }
}

/// Does cloning and dropping this waker run no foreign code?
#[inline(always)]
pub(crate) fn is_ours(waker: &Waker) -> bool {
    ptr::eq(waker.vtable(), &VTABLE)
}

/// Its task is to lose its name as it ends. `false`: it is one of ours, but does not run on this thread.
pub(super) fn gets_name(waker: &Waker) -> bool {
    if !is_ours(waker) {
        return true;
    }
    let runs = sched::running().id == waker.data().addr();
    if runs {
        // SAFETY: the header of a task that runs.
        unsafe { &*waker.data().cast::<Header>() }
            .out
            .is_to_lose_name();
    }
    runs
}

fn clone(data: *const ()) -> RawWaker {
    here::note(here::FOREIGN);
    if waits::watched() {
        waits::foreign(data.addr());
    }
    RawWaker::new(data, &VTABLE)
}

/// In place: kept apart, a message that wakes its receiver takes 20 instructions more.
#[inline(always)]
fn wake_raw(data: *const ()) {
    // SAFETY: `data` came from a `NonNull<Header>`.
    wake(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) });
}

fn wake_foreign(data: *const ()) {
    // Of the running task itself, perhaps.
    here::again();
    wake_raw(data);
}

fn drop_raw(_: *const ()) {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc;
    use std::task::Poll;

    use super::*;
    use crate::Runtime;

    fn header(waker: &Waker) -> NonNull<Header> {
        NonNull::new(waker.data().cast_mut().cast()).unwrap()
    }

    #[test]
    fn a_task_runs_on_its_own_runtime_though_the_one_before_in_its_slot_was_anothers() {
        let [other, own] = [(); 2].map(|()| Runtime::builder().workers(1).build().unwrap());
        let (tell, told) = mpsc::channel();
        let task = own.spawn(poll_fn(move |cx| {
            let polled = (thread::current().id(), cx.waker().clone());
            tell.send(polled).unwrap();
            Poll::<()>::Pending
        }));
        let abort = task.abort_handle();
        let (at, waker) = told.recv().unwrap();
        while !abort.is_idle() {
            thread::yield_now();
        }
        let stale = other.spawn(poll_fn(move |cx| {
            // What a waker reads of the slot whose tenant was one of that runtime.
            // SAFETY: this task's own slot.
            let seen = unsafe { header(cx.waker()).as_ref() }
                .shared
                .load(Ordering::Relaxed);
            wake_one_of(header(&waker), seen);
            Poll::Ready(())
        }));
        other.block_on(stale).unwrap();
        assert_eq!(told.recv().unwrap().0, at);
    }
}
