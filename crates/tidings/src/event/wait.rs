//! A wait, whatever it waits for: what is left of the future of an event (`future.rs`) when nothing can happen at once.
//!
//! It sees its event through a table, and is compiled once and not once for each kind of event of a program: a hundred
//! kinds of actor are some two hundred of event. Where it is awaited is what a communication takes that need not wait.

use std::marker::PhantomPinned;
#[cfg(debug_assertions)]
use std::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};

use super::offer::{Offer, Outcome};
use super::waits::{self, Waits};
use super::{Attempt, Enrol, Event, Lock, Locks};
use crate::task;

/// In this order, so that one comparison says whether it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Stage {
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

/// What of [`Protocol`](super::Protocol) a wait asks its event, by the names there; and a look at its sources in one call.
pub(super) trait Awaited {
    fn lock<'a>(&'a self, locks: &mut Locks<'a>);
    fn waits_for(&self, waits: &mut Waits);
    /// All locks held: tries to commit; enrols if that fails and a waker is given.
    fn attempt_locked(self: Pin<&mut Self>, wait: &mut Wait, trial: &mut Trial<'_>) -> Option<u32>;
    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32>;
    fn rewake(self: Pin<&mut Self>, waker: &Waker);
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);
    fn abandon(self: Pin<&mut Self>, branch: u32);
}

/// One look at all sources.
pub(super) struct Trial<'a> {
    pub(super) attempt: Attempt,
    /// Whom a partner wakes, if it is to wait where nothing can happen.
    waker: Option<&'a Waker>,
    /// A foreign one is cloned and dropped outside of the locks: that runs foreign code.
    foreign: Option<Waker>,
}

impl<'a> Trial<'a> {
    #[inline(always)]
    pub(super) fn new(waker: Option<&'a Waker>) -> Self {
        Self {
            attempt: Attempt::default(),
            waker,
            foreign: waker.filter(|waker| !task::is_ours(waker)).cloned(),
        }
    }

    /// The waker to leave. Once.
    #[inline(always)]
    fn waker(&mut self) -> Option<Waker> {
        let foreign = self.foreign.take();
        foreign.or_else(|| self.waker.and_then(task::copy_ours))
    }
}

pub(super) struct Wait {
    offer: Offer,
    pub(super) stage: Stage,
    /// On record (`waits.rs`), between two polls.
    recorded: bool,
    /// Where it was awaited.
    #[cfg(debug_assertions)]
    pub(super) at: &'static Location<'static>,
    /// Waiters point to the offer.
    _pinned: PhantomPinned,
}

impl Wait {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new() -> Self {
        Self {
            offer: Offer::new(),
            stage: Stage::New,
            recorded: false,
            #[cfg(debug_assertions)]
            at: Location::caller(),
            _pinned: PhantomPinned,
        }
    }

    /// No locks held, `branch` has happened: wakes the partner, if it waited.
    #[inline(always)]
    pub(super) fn wake(&mut self, event: Pin<&mut dyn Awaited>, attempt: Attempt, branch: u32) {
        match attempt.waker {
            Some(partner) if task::is_ours(&partner) => task::wake_now(partner),
            Some(partner) => self.wake_foreign(event, partner, branch),
            None => {}
        }
    }

    /// Apart, so that what it gives back is not put together where nothing is given back.
    #[inline(never)]
    fn wake_foreign(&mut self, event: Pin<&mut dyn Awaited>, partner: Waker, branch: u32) {
        task::wake_partner(partner, (self, event), |(wait, event)| {
            wait.abandon(event, branch);
        });
    }

    /// `branch` has happened, and nobody will look at what it gives.
    #[cold]
    fn abandon(&mut self, mut event: Pin<&mut dyn Awaited>, branch: u32) {
        self.stage = Stage::Done;
        let losers = || event.as_mut().withdraw(Some(branch), false);
        match catch_unwind(AssertUnwindSafe(losers)) {
            Ok(()) => event.abandon(branch),
            Err(panic) => {
                unwound(event, branch);
                task::go_on(Err(panic));
            }
        }
    }

    /// The rest of a first poll that has enrolled.
    #[inline(always)]
    pub(super) fn wait_enrolled(
        &mut self,
        event: Pin<&mut dyn Awaited>,
        cx: &mut Context<'_>,
    ) -> Option<u32> {
        match self.stage {
            Stage::WaitingDue => self.wait_due(event, cx),
            _ => self.waits(event, cx),
        }
    }

    /// As `wait_enrolled`, of one that wants `due` to be asked.
    #[inline(never)]
    pub(super) fn wait_due(
        &mut self,
        mut event: Pin<&mut dyn Awaited>,
        cx: &mut Context<'_>,
    ) -> Option<u32> {
        let branch = self.look_due(event.as_mut(), cx);
        branch.or_else(|| self.waits(event, cx))
    }

    /// It leaves the poll waiting: `None`.
    #[inline(always)]
    pub(super) fn waits(
        &mut self,
        event: Pin<&mut dyn Awaited>,
        cx: &mut Context<'_>,
    ) -> Option<u32> {
        task::here::waits();
        match waits::watched() {
            true => self.record(&*event, cx),
            false => None,
        }
    }

    #[cold]
    fn record(&mut self, event: &dyn Awaited, cx: &mut Context<'_>) -> Option<u32> {
        self.recorded = true;
        #[cfg(debug_assertions)]
        let at = Some(self.at);
        #[cfg(not(debug_assertions))]
        let at = None;
        let mut of = Waits::default();
        of.wakers = 1;
        event.waits_for(&mut of);
        waits::begin(std::ptr::from_ref(self).addr(), cx.waker(), at, of);
        None
    }

    /// It is polled or dropped: off the record. Gives the number that it had there.
    #[cold]
    fn strike(&mut self) -> Option<usize> {
        self.recorded = false;
        waits::end(std::ptr::from_ref(self).addr())
    }

    /// A later poll.
    #[inline(always)]
    pub(super) fn look(
        &mut self,
        event: Pin<&mut dyn Awaited>,
        cx: &mut Context<'_>,
    ) -> Option<u32> {
        if self.recorded {
            return self.look_again(event, cx);
        }
        assert!(
            self.stage != Stage::Done,
            "an event's future is polled after it was ready"
        );
        match self.offer.committed() {
            None => self.wait_on(event, cx),
            branch => branch,
        }
    }

    /// As `look`, of one that is on record. If it goes on to wait, it has waited since it was put there.
    #[cold]
    fn look_again(&mut self, event: Pin<&mut dyn Awaited>, cx: &mut Context<'_>) -> Option<u32> {
        let number = self.strike();
        let branch = self.look(event, cx);
        if let Some(number) = number.filter(|_| self.recorded) {
            waits::goes_on(std::ptr::from_ref(self).addr(), number);
        }
        branch
    }

    /// A later poll, and no partner has committed yet.
    #[cold]
    fn wait_on(&mut self, mut event: Pin<&mut dyn Awaited>, cx: &mut Context<'_>) -> Option<u32> {
        let found = match self.offer.look() {
            // Just now.
            Outcome::Committed(branch) => return Some(branch),
            found => found,
        };
        // First what is due: two wakers of one task can look different at every poll (tables of
        // functions have no one address), and a deadline that is armed again must not be missed.
        if self.stage == Stage::WaitingDue
            && found == Outcome::Waiting
            && let Some(branch) = self.look_due(event.as_mut(), cx)
        {
            return Some(branch);
        }
        if !self.offer.has_waker(cx.waker())
            && let Some(branch) = self.rewake(event.as_mut(), cx)
        {
            return Some(branch);
        }
        self.waits(event, cx)
    }

    /// Tries to commit by way of the lock of the only source; enrols if that fails and a waker is given.
    pub(super) fn attempt_single(
        &mut self,
        mut event: Pin<&mut dyn Awaited>,
        lock: *const Lock,
        waker: Option<&Waker>,
    ) -> Option<u32> {
        let mut trial = Trial::new(waker);
        // SAFETY: the lock belongs to the source, which outlives the event.
        let lock = unsafe { &*lock };
        lock.lock();
        // An attempt may ask a user's seam.
        let branch = task::finally(
            || event.as_mut().attempt_locked(self, &mut trial),
            || lock.unlock(),
        );
        if let Some(branch) = branch {
            self.happened(event, trial, branch);
        }
        branch
    }

    /// No locks held, `branch` has happened.
    #[inline(always)]
    pub(super) fn happened(&mut self, event: Pin<&mut dyn Awaited>, trial: Trial<'_>, branch: u32) {
        // Not used; its drop must not cost what has happened.
        task::drop_quietly(trial.foreign);
        self.wake(event, trial.attempt, branch);
    }

    /// As `enrol`, if there is a waker.
    #[inline(always)]
    pub(super) fn enrol_with<E: Event>(&mut self, event: Pin<&mut E>, trial: &mut Trial<'_>) {
        if let Some(waker) = trial.waker() {
            self.enrol(event, waker);
        }
    }

    /// All locks held: waits from here on. Does some branch want `due` to be asked?
    #[inline(always)]
    pub(super) fn enrol<E: Event>(&mut self, event: Pin<&mut E>, waker: Waker) -> bool {
        self.offer.open(waker);
        // One waiter: its source's lock decides (offer.rs, rule 3).
        let exclusive = event.waiters() == 1;
        let mut enrol = Enrol {
            offer: &self.offer,
            branch: 0,
            exclusive,
            alone: event.leaves() == 1,
            due: false,
        };
        event.enrol(&mut enrol);
        let due = enrol.due;
        self.stage = if due {
            Stage::WaitingDue
        } else {
            Stage::Waiting
        };
        due
    }

    /// With all locks held, if the offer still waits: makes this of the wait, and gives the waker that was there.
    /// `None`: a partner was faster.
    #[cold]
    fn change(&self, event: Pin<&mut dyn Awaited>, to: Change) -> Option<Waker> {
        let mut locks = Locks::default();
        // SAFETY: the locks belong to the sources, which outlive the event; the event itself is not moved while they
        // are held.
        unsafe { &*std::ptr::from_ref(&*event) }.lock(&mut locks);
        locks.lock_all();
        let before = match to {
            // A waker in it is dropped without locks, too.
            _ if self.offer.look() != Outcome::Waiting => None,
            Change::Waker(waker) => Some(self.offer.rewake(waker)),
            Change::Over(branch) => {
                // Unlinked under the same lock: an exclusive waiter that is linked can be claimed.
                event.withdraw(branch, true);
                Some(self.offer.close(branch))
            }
        };
        locks.leave_all();
        before
    }

    /// Asks the branches that no partner commits.
    #[cold]
    fn look_due(&mut self, mut event: Pin<&mut dyn Awaited>, cx: &mut Context<'_>) -> Option<u32> {
        let branch = event.as_mut().due(cx.waker())?;
        Some(match self.change(event, Change::Over(Some(branch))) {
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
    fn rewake(&mut self, mut event: Pin<&mut dyn Awaited>, cx: &mut Context<'_>) -> Option<u32> {
        // Cloned and dropped outside of the locks: a foreign waker runs foreign code.
        let waker = Change::Waker(task::clone_waker(cx.waker()));
        match self.change(event.as_mut(), waker) {
            Some(old) => {
                event.rewake(cx.waker());
                drop(old);
                None
            }
            None => Some(self.committed()),
        }
    }

    /// The future is dropped as it waits.
    #[cold]
    pub(super) fn withdraw(&mut self, mut event: Pin<&mut dyn Awaited>) {
        if self.recorded {
            self.strike();
        }
        let waker = self.change(event.as_mut(), Change::Over(None));
        if let Some(waker) = waker {
            self.stage = Stage::Done;
            // Who waits behind it hears of that first: the waker's drop is foreign code.
            task::finally(|| event.withdraw(None, false), || drop(waker));
            return;
        }
        self.abandon(event, self.committed());
    }
}

/// A waker has panicked as those that lost against `branch` were withdrawn: nobody will look at what it gives.
#[cold]
pub(super) fn unwound(event: Pin<&mut dyn Awaited>, branch: u32) {
    task::quietly(|| event.abandon(branch));
}
