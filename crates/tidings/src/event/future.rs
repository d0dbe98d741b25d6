//! Performing an event.
//!
//! First poll: prepare, lock every source, try, and if nothing can happen enrol everywhere and
//! unlock. (A choice of two locks the second source only if the first has nothing.) Later polls look at
//! the offer: a partner commits it, or a deadline is due. Dropping the future withdraws; what a partner
//! had already handed over is given back.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::locks::Lock;
use super::wait::{Awaited, Stage, Trial, Wait, unwound};
use super::waits::Waits;
use super::{Attempt, Event, Locks, Protocol};
use crate::{sched, task};

/// The future of an event.
///
/// Dropping it before it is ready withdraws the event: nobody notices. A value that had already
/// been handed to it goes back to the front of its queue.
#[must_use = "futures do nothing unless awaited"]
pub struct EventFuture<E: Event> {
    event: E,
    wait: Wait,
    /// Waiters point into the event.
    _pinned: PhantomPinned,
}

// SAFETY: the waiters' pointers lead into this future, which waits pinned; whoever follows them
// holds the source's lock, and moves or wakes only what `E` and `Waker` allow to be sent.
unsafe impl<E: Event + Send> Send for EventFuture<E> {}
// SAFETY: a shared `EventFuture` gives access to nothing.
unsafe impl<E: Event + Send> Sync for EventFuture<E> {}

impl<E: Event> EventFuture<E> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(event: E) -> Self {
        Self {
            event,
            wait: Wait::new(),
            _pinned: PhantomPinned,
        }
    }

    /// Is there nothing more to come of it, also by a panic of whom it woke?
    pub(crate) fn is_over(&self) -> bool {
        self.wait.stage == Stage::Done
    }

    /// First poll of an event with one source, in the code of who awaits it, `lock` held: what can happen
    /// happens here.
    #[inline(always)]
    fn attempt_short(&mut self, lock: &Lock, cx: &mut Context<'_>) -> Option<u32> {
        let mut attempt = Attempt::default();
        let Some(branch) = event(&mut self.event).attempt(&mut attempt) else {
            return self.wait_short(lock, cx);
        };
        lock.unlock();
        self.wait.wake(awaited(&mut self.event), attempt, branch);
        Some(branch)
    }

    /// As `attempt_short`: nothing can happen, and `lock` is held.
    #[inline(never)]
    fn wait_short(&mut self, lock: &Lock, cx: &mut Context<'_>) -> Option<u32> {
        let Some(waker) = task::copy_ours(cx.waker()) else {
            // Cloned without the lock.
            lock.unlock();
            return self.attempt_or_wait(cx);
        };
        let due = self.wait.enrol(event(&mut self.event), waker);
        lock.unlock();
        match due {
            true => self.wait.wait_due(awaited(&mut self.event), cx),
            false => self.wait.waits(awaited(&mut self.event), cx),
        }
    }

    /// First poll, the long way.
    #[inline(never)]
    fn attempt_or_wait(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        let branch = self.attempt_or_enrol(Some(cx.waker()));
        branch.or_else(|| self.wait.wait_enrolled(awaited(&mut self.event), cx))
    }

    /// Tries to commit; enrols if that fails and a waker is given.
    #[inline]
    fn attempt_or_enrol(&mut self, waker: Option<&Waker>) -> Option<u32> {
        // One source, known statically: no list of locks.
        if let Some(lock) = self.event.single().map(std::ptr::from_ref) {
            return self
                .wait
                .attempt_single(awaited(&mut self.event), lock, waker);
        }
        // So that what several sources take is not compiled for it.
        assert!(!E::SHORT, "a short event has one source");
        let mut trial = Trial::new(waker);
        let branch = attempt_several(event(&mut self.event), &mut self.wait, &mut trial);
        if let Some(branch) = branch {
            self.wait.happened(awaited(&mut self.event), trial, branch);
        }
        branch
    }

    /// A partner has committed `branch`, or we have.
    #[inline(always)]
    fn done(&mut self, branch: u32) -> E::Output {
        let enrolled = self.wait.stage != Stage::New;
        self.wait.stage = Stage::Done;
        if enrolled || !E::TRACELESS {
            withdraw_losers(&mut self.event, branch);
        }
        event(&mut self.event).finish(branch)
    }
}

impl<E: Event> Awaited for E {
    fn lock<'a>(&'a self, locks: &mut Locks<'a>) {
        match self.single() {
            Some(lock) => locks.add_only(lock),
            None => Protocol::lock(self, locks),
        }
    }

    fn waits_for(&self, waits: &mut Waits) {
        Protocol::waits_for(self, waits);
    }

    fn attempt_locked(
        mut self: Pin<&mut Self>,
        wait: &mut Wait,
        trial: &mut Trial<'_>,
    ) -> Option<u32> {
        let branch = self.as_mut().attempt(&mut trial.attempt);
        if branch.is_none() {
            wait.enrol_with(self, trial);
        }
        branch
    }

    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        Protocol::due(self, waker)
    }

    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        Protocol::rewake(self, waker);
    }

    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        Protocol::withdraw(self, winner, locked);
    }

    fn abandon(self: Pin<&mut Self>, branch: u32) {
        Protocol::abandon(self, branch);
    }
}

/// Tries to commit, of more sources than one, or of what is not known to have one; enrols if that fails.
#[inline(always)]
fn attempt_several<E: Event>(
    mut event: Pin<&mut E>,
    wait: &mut Wait,
    trial: &mut Trial<'_>,
) -> Option<u32> {
    if let Some(branch) = event.as_mut().attempt_apart(&mut trial.attempt) {
        return Some(branch);
    }
    if let Some(two) = event.two() {
        let [left, right] = two.locks;
        let locks = [std::ptr::from_ref(left), std::ptr::from_ref(right)];
        // Also of the choices within its branches.
        trial.attempt.biased = two.biased;
        let first = match two.biased {
            true => 0,
            false => sched::choose_branch(2),
        };
        return attempt_two(event, first, locks, wait, trial);
    }
    let mut locks = Locks::default();
    // SAFETY: the locks belong to the sources, which outlive the event; the event itself
    // is not moved while they are held.
    unsafe { &*std::ptr::from_ref(&*event) }.lock(&mut locks);
    locks.lock_all();
    task::finally(|| event.attempt_locked(wait, trial), || locks.unlock_all())
}

/// As `attempt_several`, of a choice of two. The one that is tried first needs its own lock only. If it cannot
/// happen, the other's is taken while that one is held, so all in all it is one look at both.
#[inline(always)]
fn attempt_two<E: Event>(
    mut event: Pin<&mut E>,
    first: usize,
    locks: [*const Lock; 2],
    wait: &mut Wait,
    trial: &mut Trial<'_>,
) -> Option<u32> {
    // SAFETY: the locks belong to the sources, which outlive the event.
    let (here, there) = unsafe { (&*locks[first], &*locks[1 - first]) };
    let (mut turn, both) = (first, Cell::new(false));
    here.lock();
    let attempt = || loop {
        let branch = event.as_mut().attempt_one(turn, &mut trial.attempt);
        if branch.is_some() {
            return branch;
        }
        if turn != first {
            wait.enrol_with(event.as_mut(), trial);
            return None;
        }
        // The first once more, if it was let go of for a moment.
        if both.get() || here.and(there) {
            turn = 1 - first;
        }
        both.set(true);
    };
    task::finally(attempt, || {
        if both.get() && !std::ptr::eq(here, there) {
            there.unlock();
        }
        here.unlock();
    })
}

/// `branch` has happened: the others are withdrawn, which may wake who waits behind them. If a waker panics, what has
/// happened is given back or counted as dead before the panic goes on.
#[inline(always)]
fn withdraw_losers<E: Event>(it: &mut E, branch: u32) {
    struct Unwinds<'a, E: Event>(&'a mut E, Option<u32>);
    impl<E: Event> Drop for Unwinds<'_, E> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(branch) = self.1 {
                unwound(awaited(self.0), branch);
            }
        }
    }
    let mut unwinds = Unwinds(it, Some(branch));
    event(&mut *unwinds.0).withdraw(Some(branch), false);
    unwinds.1 = None;
}

/// Runs `attempt` of an event with one lock, which is taken here.
#[inline]
pub(super) fn attempt_alone<E: Event>(
    event: Pin<&mut E>,
    attempt: impl FnOnce(Pin<&mut E>) -> Option<u32>,
) -> Option<u32> {
    let lock = event.single().map(std::ptr::from_ref)?;
    // SAFETY: the lock belongs to the source, which outlives the event.
    let lock = unsafe { &*lock };
    lock.lock();
    if E::SHORT {
        // As in `attempt_short`: it asks no seam.
        let branch = attempt(event);
        lock.unlock();
        return branch;
    }
    task::finally(|| attempt(event), || lock.unlock())
}

/// The task has done enough in this turn: others go first.
#[cold]
pub(crate) fn yield_first<T>(cx: &mut Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// The event is pinned with the future: it is not moved once polled.
#[inline(always)]
fn event<E>(event: &mut E) -> Pin<&mut E> {
    // SAFETY: callers hold the pinned future, or an event that they do not move any more.
    unsafe { Pin::new_unchecked(event) }
}

/// As `event`, for a wait.
#[inline(always)]
fn awaited<E: Event>(it: &mut E) -> Pin<&mut dyn Awaited> {
    let event: Pin<&mut E> = event(it);
    event
}

impl<E: Event> Future for EventFuture<E> {
    type Output = E::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the event is not moved out, and waiters point to places that stay.
        let this = unsafe { self.get_unchecked_mut() };
        let branch = if this.wait.stage == Stage::New {
            if !sched::spend_budget() {
                return yield_first(cx);
            }
            #[cfg(debug_assertions)]
            let _line = sched::record::line(this.wait.at);
            event(&mut this.event).prepare();
            if let Some(output) = event(&mut this.event).at_once() {
                this.wait.stage = Stage::Done;
                return Poll::Ready(output);
            }
            if E::SHORT
                && let Some(lock) = this.event.single().map(std::ptr::from_ref)
            {
                // SAFETY: the lock belongs to the source, which outlives the event.
                let lock = unsafe { &*lock };
                lock.lock();
                if let Some(output) = event(&mut this.event).quick() {
                    lock.unlock();
                    this.wait.stage = Stage::Done;
                    return Poll::Ready(output);
                }
                if this.event.must_wait() {
                    this.wait_short(lock, cx)
                } else {
                    this.attempt_short(lock, cx)
                }
            } else {
                this.attempt_or_wait(cx)
            }
        } else {
            this.wait.look(awaited(&mut this.event), cx)
        };
        // Here alone, so that what it gives is made where it is awaited, and comes out of no call.
        match branch {
            Some(branch) => Poll::Ready(this.done(branch)),
            None => Poll::Pending,
        }
    }
}

impl<E: Event> Drop for EventFuture<E> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.wait.stage >= Stage::Waiting {
            self.wait.withdraw(awaited(&mut self.event));
        }
    }
}

impl<E: Event> fmt::Debug for EventFuture<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventFuture")
            .field("stage", &self.wait.stage)
            .finish_non_exhaustive()
    }
}

/// Performs an event if it can happen at once.
pub(super) fn try_now<E: Event>(e: E) -> Result<E::Output, E::Lost> {
    let mut sync = std::pin::pin!(EventFuture::new(e));
    // SAFETY: the event is not moved.
    let this = unsafe { sync.as_mut().get_unchecked_mut() };
    event(&mut this.event).prepare();
    this.wait.stage = Stage::Done;
    match this.attempt_or_enrol(None) {
        Some(branch) => Ok(this.done(branch)),
        None => {
            event(&mut this.event).withdraw(None, false);
            Err(event(&mut this.event).lost())
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::ptr::null;
    use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

    use crate::{Event, unbounded};

    fn copy(_: *const ()) -> RawWaker {
        RawWaker::new(null(), &COPY)
    }
    static FIRST: RawWakerVTable = RawWakerVTable::new(copy, |_| (), |_| (), |_| ());
    static COPY: RawWakerVTable =
        RawWakerVTable::new(copy, |_| (), |_| (), |_| panic!("a waker's drop"));

    #[test]
    fn a_waker_whose_copies_panic_as_they_are_dropped_costs_no_value() {
        let (tx, rx) = unbounded();
        let (_tx, other) = unbounded();
        tx.try_send(1).unwrap();
        // SAFETY: its functions do nothing with the pointer.
        let waker = unsafe { Waker::from_raw(RawWaker::new(null(), &FIRST)) };
        let mut choice = pin!(rx.recv().or(other.recv()).into_future());
        let polled = catch_unwind(AssertUnwindSafe(|| {
            choice.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        assert!(matches!(polled, Ok(Poll::Ready(Ok(1)))));
    }
}
