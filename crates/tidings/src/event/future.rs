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
#[cfg(debug_assertions)]
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::locks::Lock;
use super::offer::{Offer, Outcome};
use super::{Attempt, Enrol, Event, Locks, waits};
use crate::{sched, task};

/// In this order, so that one comparison says whether it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Stage {
    New,
    Done,
    Waiting,
    /// Waiting, and some branch wants `due` to be asked.
    WaitingDue,
}

/// What becomes of a wait.
enum Change {
    Waker(Waker),
    /// By a branch of its own, or none.
    Over(Option<u32>),
}

/// The future of an event.
///
/// Dropping it before it is ready withdraws the event: nobody notices. A value that had already
/// been handed to it goes back to the front of its queue.
#[must_use = "futures do nothing unless awaited"]
pub struct EventFuture<E: Event> {
    event: E,
    offer: Offer,
    stage: Stage,
    /// On record (`waits.rs`), between two polls.
    recorded: bool,
    /// Where it was awaited.
    #[cfg(debug_assertions)]
    at: &'static Location<'static>,
    /// Waiters point into the event and to the offer.
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
            #[cfg(debug_assertions)]
            at: Location::caller(),
            event,
            offer: Offer::new(),
            stage: Stage::New,
            recorded: false,
            _pinned: PhantomPinned,
        }
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
        self.wake(attempt, branch);
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
        self.enrol(waker);
        lock.unlock();
        self.wait_enrolled(cx)
    }

    /// No locks held, `branch` has happened: wakes the partner, if it waited.
    #[inline(always)]
    fn wake(&mut self, attempt: Attempt, branch: u32) {
        if let Some(partner) = attempt.waker {
            task::wake_partner(partner, self, |this| this.abandon(branch));
        }
    }

    /// `branch` has happened, and nobody will look at what it gives.
    #[cold]
    fn abandon(&mut self, branch: u32) {
        self.stage = Stage::Done;
        withdraw_losers(&mut self.event, branch);
        event(&mut self.event).abandon(branch);
    }

    /// First poll, the long way.
    #[inline(never)]
    fn attempt_or_wait(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        let branch = self.attempt_or_enrol(Some(cx.waker()));
        branch.or_else(|| self.wait_enrolled(cx))
    }

    /// The rest of a first poll that has enrolled.
    #[inline(always)]
    fn wait_enrolled(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        if self.stage == Stage::WaitingDue
            && let Some(branch) = self.look_due(cx)
        {
            return Some(branch);
        }
        self.waits(cx);
        None
    }

    /// It leaves the poll waiting.
    #[inline(always)]
    fn waits(&mut self, cx: &Context<'_>) {
        task::here::waits();
        if waits::watched() {
            self.record(cx);
        }
    }

    #[cold]
    fn record(&mut self, cx: &Context<'_>) {
        self.recorded = true;
        #[cfg(debug_assertions)]
        let at = Some(self.at);
        #[cfg(not(debug_assertions))]
        let at = None;
        let mut of = waits::Waits::default();
        of.wakers = 1;
        self.event.waits_for(&mut of);
        waits::begin(std::ptr::from_ref(self).addr(), cx.waker(), at, of);
    }

    /// It is polled or dropped: off the record.
    #[cold]
    fn strike(&mut self) {
        self.recorded = false;
        waits::end(std::ptr::from_ref(self).addr());
    }

    /// A later poll.
    #[inline(always)]
    fn look(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        if self.recorded {
            self.strike();
        }
        assert!(
            self.stage != Stage::Done,
            "an event's future is polled after it was ready"
        );
        match self.offer.committed() {
            None => self.wait_on(cx),
            branch => branch,
        }
    }

    /// A later poll, and no partner has committed yet.
    #[cold]
    fn wait_on(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        let found = match self.offer.look() {
            // Just now.
            Outcome::Committed(branch) => return Some(branch),
            found => found,
        };
        // First what is due: two wakers of one task can look different at every poll (tables of
        // functions have no one address), and a deadline that is armed again must not be missed.
        if self.stage == Stage::WaitingDue
            && found == Outcome::Waiting
            && let Some(branch) = self.look_due(cx)
        {
            return Some(branch);
        }
        if !self.offer.has_waker(cx.waker())
            && let Some(branch) = self.rewake(cx)
        {
            return Some(branch);
        }
        self.waits(cx);
        None
    }

    /// Tries to commit; enrols if that fails and a waker is given.
    #[inline]
    fn attempt_or_enrol(&mut self, waker: Option<&Waker>) -> Option<u32> {
        // A foreign waker is cloned and dropped outside of the locks: that runs foreign code.
        let mut foreign = waker.filter(|waker| !task::is_ours(waker)).cloned();
        let mut attempt = Attempt::default();
        // One source, known statically: no list of locks.
        let branch = match self.event.single().map(std::ptr::from_ref) {
            Some(lock) => {
                // SAFETY: the lock belongs to the source, which outlives the event.
                let lock: &Lock = unsafe { &*lock };
                lock.lock();
                // An attempt may ask a user's seam.
                task::finally(
                    || self.attempt_locked(&mut attempt, waker, &mut foreign),
                    || lock.unlock(),
                )
            }
            // So that what several sources take is not compiled for it.
            None if E::SHORT => unreachable!("a short event has one source"),
            None => self.attempt_several(&mut attempt, waker, &mut foreign),
        };
        if let Some(branch) = branch {
            // Not used; its drop must not cost what has happened.
            task::drop_quietly(foreign);
            self.wake(attempt, branch);
        }
        branch
    }

    /// As `attempt_or_enrol`, of more sources than one, or of what is not known to have one.
    #[inline(always)]
    fn attempt_several(
        &mut self,
        attempt: &mut Attempt,
        waker: Option<&Waker>,
        foreign: &mut Option<Waker>,
    ) -> Option<u32> {
        if let Some(branch) = event(&mut self.event).attempt_apart(attempt) {
            return Some(branch);
        }
        if let Some(two) = self.event.two() {
            let [left, right] = two.locks;
            let locks = [std::ptr::from_ref(left), std::ptr::from_ref(right)];
            // Also of the choices within its branches.
            attempt.biased = two.biased;
            let first = match two.biased {
                true => 0,
                false => sched::choose_branch(2),
            };
            return self.attempt_two(first, locks, attempt, waker, foreign);
        }
        let mut locks = Locks::default();
        // SAFETY: the locks belong to the sources, which outlive the event; the event itself
        // is not moved while they are held.
        unsafe { &*std::ptr::from_ref(&self.event) }.lock(&mut locks);
        locks.lock_all();
        task::finally(
            || self.attempt_locked(attempt, waker, foreign),
            || locks.unlock_all(),
        )
    }

    /// As `attempt_several`, of a choice of two. The one that is tried first needs its own lock only. If it cannot
    /// happen, the other's is taken while that one is held, so all in all it is one look at both.
    #[inline(always)]
    fn attempt_two(
        &mut self,
        first: usize,
        locks: [*const Lock; 2],
        attempt: &mut Attempt,
        waker: Option<&Waker>,
        foreign: &mut Option<Waker>,
    ) -> Option<u32> {
        // SAFETY: the locks belong to the sources, which outlive the event.
        let (here, there) = unsafe { (&*locks[first], &*locks[1 - first]) };
        let (mut turn, both) = (first, Cell::new(false));
        here.lock();
        let attempt = || loop {
            let branch = event(&mut self.event).attempt_one(turn, attempt);
            if branch.is_some() {
                return branch;
            }
            if turn != first {
                self.enrol_with(waker, foreign);
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

    #[inline(always)]
    fn attempt_locked(
        &mut self,
        attempt: &mut Attempt,
        waker: Option<&Waker>,
        foreign: &mut Option<Waker>,
    ) -> Option<u32> {
        let branch = event(&mut self.event).attempt(attempt);
        if branch.is_none() {
            self.enrol_with(waker, foreign);
        }
        branch
    }

    /// As `enrol`, if there is a waker.
    #[inline(always)]
    fn enrol_with(&mut self, waker: Option<&Waker>, foreign: &mut Option<Waker>) {
        let waker = foreign.take().or_else(|| waker.and_then(task::copy_ours));
        if let Some(waker) = waker {
            self.enrol(waker);
        }
    }

    /// All locks held: waits from here on.
    #[inline(always)]
    fn enrol(&mut self, waker: Waker) {
        self.offer.open(waker);
        // One waiter: its source's lock decides (offer.rs, rule 3).
        let exclusive = self.event.waiters() == 1;
        let mut enrol = Enrol {
            offer: &self.offer,
            branch: 0,
            exclusive,
            alone: self.event.leaves() == 1,
            due: false,
        };
        event(&mut self.event).enrol(&mut enrol);
        self.stage = if enrol.due {
            Stage::WaitingDue
        } else {
            Stage::Waiting
        };
    }

    /// A partner has committed `branch`, or we have.
    #[inline(always)]
    fn done(&mut self, branch: u32) -> E::Output {
        self.stage = Stage::Done;
        withdraw_losers(&mut self.event, branch);
        event(&mut self.event).finish(branch)
    }

    /// With all locks held, if the offer still waits: makes this of the wait, and gives the waker that was there.
    /// `None`: a partner was faster.
    #[cold]
    #[inline(never)]
    fn change(&mut self, to: Change) -> Option<Waker> {
        let mut locks = Locks::default();
        // SAFETY: as in `attempt_several`.
        unsafe { &*std::ptr::from_ref(&self.event) }.lock(&mut locks);
        locks.lock_all();
        let before = match to {
            // A waker in it is dropped without locks, too.
            _ if self.offer.look() != Outcome::Waiting => None,
            Change::Waker(waker) => Some(self.offer.rewake(waker)),
            Change::Over(branch) => {
                // Unlinked under the same lock: an exclusive waiter that is linked can be claimed.
                event(&mut self.event).withdraw(branch, true);
                Some(self.offer.close(branch))
            }
        };
        locks.leave_all();
        before
    }

    /// Asks the branches that no partner commits.
    #[cold]
    fn look_due(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        let branch = event(&mut self.event).due(cx.waker())?;
        Some(match self.change(Change::Over(Some(branch))) {
            Some(waker) => {
                drop(waker);
                branch
            }
            None => self.committed(),
        })
    }

    /// All locks were held once since a claim was seen, so the partner is done.
    fn committed(&self) -> u32 {
        let Outcome::Committed(branch) = self.offer.look() else {
            unreachable!("claims end under a lock");
        };
        branch
    }

    #[cold]
    fn rewake(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        // Cloned and dropped outside of the locks: a foreign waker runs foreign code.
        match self.change(Change::Waker(task::clone_waker(cx.waker()))) {
            Some(old) => {
                event(&mut self.event).rewake(cx.waker());
                drop(old);
                None
            }
            None => Some(self.committed()),
        }
    }

    #[cold]
    fn withdraw(&mut self) {
        if self.recorded {
            self.strike();
        }
        let waker = self.change(Change::Over(None));
        if let Some(waker) = waker {
            self.stage = Stage::Done;
            // Who waits behind it hears of that first: the waker's drop is foreign code.
            task::finally(
                || event(&mut self.event).withdraw(None, false),
                || drop(waker),
            );
            return;
        }
        self.abandon(self.committed());
    }
}

/// `branch` has happened: the others are withdrawn, which may wake who waits behind them. If a waker panics, what has
/// happened is given back or counted as dead before the panic goes on.
#[inline(always)]
fn withdraw_losers<E: Event>(e: &mut E, branch: u32) {
    struct Unwinds<'a, E: Event>(&'a mut E, Option<u32>);
    impl<E: Event> Drop for Unwinds<'_, E> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(branch) = self.1 {
                task::quietly(|| event(self.0).abandon(branch));
            }
        }
    }
    let mut unwinds = Unwinds(e, Some(branch));
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
fn yield_first<T>(cx: &mut Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// The event is pinned with the future: it is not moved once polled.
#[inline(always)]
fn event<E>(event: &mut E) -> Pin<&mut E> {
    // SAFETY: callers hold the pinned future, or an event that they do not move any more.
    unsafe { Pin::new_unchecked(event) }
}

impl<E: Event> Future for EventFuture<E> {
    type Output = E::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the event is not moved out, and waiters point to places that stay.
        let this = unsafe { self.get_unchecked_mut() };
        let branch = if this.stage == Stage::New {
            if !sched::spend_budget() {
                return yield_first(cx);
            }
            #[cfg(debug_assertions)]
            let _line = sched::record::line(this.at);
            event(&mut this.event).prepare();
            if let Some(output) = event(&mut this.event).at_once() {
                this.stage = Stage::Done;
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
                    this.stage = Stage::Done;
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
            this.look(cx)
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
        if self.stage >= Stage::Waiting {
            self.withdraw();
        }
    }
}

impl<E: Event> fmt::Debug for EventFuture<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventFuture")
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// Performs an event if it can happen at once.
pub(super) fn try_now<E: Event>(e: E) -> Result<E::Output, E::Lost> {
    let mut sync = std::pin::pin!(EventFuture::new(e));
    // SAFETY: the event is not moved.
    let this = unsafe { sync.as_mut().get_unchecked_mut() };
    event(&mut this.event).prepare();
    this.stage = Stage::Done;
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
