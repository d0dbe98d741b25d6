//! What a source of events must do: the contract with the commit protocol (`offer.rs`), whose other side is
//! the future of an event (`future.rs`).
//!
//! Its methods are safe for those two only, who hold the locks and know what has happened: hence a trait
//! that nobody outside can name, and whose methods nobody outside can call, though every `Event` has them.
//!
//! What is provided for `leaves`, `waiters`, `single` and `lock` is that of one base event: it says by `single` where it
//! waits, if it does in the list of a source. Whatever is made of other events says all four.

use std::pin::Pin;
use std::task::Waker;

use super::offer::Offer;
use super::waits::Waits;
use super::{Lock, Locks};

/// See the module.
pub(crate) trait Protocol: IntoFuture + Sized {
    /// Has it one source, which `single` gives, and an attempt that is worth its place in the code of who awaits it?
    const SHORT: bool = false;

    /// Has `withdraw` nothing to do where it has not enrolled? So of what waits in a list and of what is made of it alone;
    /// not of nacks.
    const TRACELESS: bool = false;

    /// Makes what is made at the time of the wait (guards, nacks). Once, first.
    #[inline(always)]
    fn prepare(self: Pin<&mut Self>) {}

    /// No locks held, and it is the only event of its wait: happens if it can without waiting, by
    /// a shorter way than `attempt` and `finish`. `None`: nothing has happened, those must decide.
    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<Self::Output> {
        None
    }

    /// Of a `SHORT` event, its lock held: happens, if it concerns nobody but who awaits it and what is
    /// in the source: nobody is woken, nothing noted. `None`: nothing has happened, `attempt` must decide.
    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        None
    }

    /// After a `quick` that did nothing, the lock still held: is it seen at a glance that `attempt` would do
    /// nothing either?
    #[inline(always)]
    fn must_wait(&self) -> bool {
        false
    }

    /// The number of base events: branch numbers `0..leaves()`, left to right.
    #[inline(always)]
    fn leaves(&self) -> u32 {
        1
    }

    /// How many of them wait in the list of a source, for a partner to commit them.
    #[inline(always)]
    fn waiters(&self) -> u32 {
        u32::from(self.single().is_some())
    }

    /// The only lock, if there is exactly one and it is known without looking around.
    #[inline(always)]
    fn single(&self) -> Option<&Lock> {
        None
    }

    /// Its two branches, if it is a choice of two that wait on one source each. Then `attempt_one` is there.
    #[inline(always)]
    fn two(&self) -> Option<Two<'_>> {
        None
    }

    /// Says what it waits for.
    fn waits_for(&self, waits: &mut Waits) {
        waits.event(std::any::type_name::<Self>(), self.single());
    }

    /// Adds the locks of all sources.
    #[inline(always)]
    fn lock<'a>(&'a self, locks: &mut Locks<'a>) {
        if let Some(lock) = self.single() {
            locks.add(lock);
        }
    }

    /// All locks held: commits with a partner or with what is there, and says which branch.
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32>;

    /// The turns of its branches, if it is a choice: it is tried as a whole in one, otherwise.
    #[inline(always)]
    fn turns(&self) -> u32 {
        1
    }

    /// As `attempt`, of what has this turn only.
    #[inline(always)]
    fn attempt_turn(self: Pin<&mut Self>, _turn: u32, attempt: &mut Attempt) -> Option<u32> {
        self.attempt(attempt)
    }

    /// As `attempt`, of this one of `two`, its own lock held, perhaps no other.
    #[inline(always)]
    fn attempt_one(self: Pin<&mut Self>, _which: usize, attempt: &mut Attempt) -> Option<u32> {
        self.attempt(attempt)
    }

    /// No locks held: as `attempt`, of one base event after another, each with its own lock only. It may
    /// do so, since nobody knows of this wait yet. `None`: `attempt` must decide.
    #[inline(always)]
    fn attempt_apart(self: Pin<&mut Self>, _attempt: &mut Attempt) -> Option<u32> {
        None
    }

    /// All locks held, nothing could happen: enrols in every source.
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>);

    /// No locks held: has a branch come due that no partner commits (timers, joins)? Called
    /// after the enrolment too, to arm.
    #[inline(always)]
    fn due(self: Pin<&mut Self>, _waker: &Waker) -> Option<u32> {
        None
    }

    /// No locks held: the waker has changed; `due` branches must know.
    #[inline(always)]
    fn rewake(self: Pin<&mut Self>, _waker: &Waker) {}

    /// The wait is over: unlinks what is still linked, `winner`'s branch having been unlinked
    /// by its partner. `locked`: the caller holds all locks. Nacks of losers fire (only ever
    /// called once with `locked == false`).
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);

    /// This branch has committed and everything is withdrawn: its output. Runs user code.
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output;

    /// This branch has committed, and the wait was dropped before it looked: gives back what
    /// was handed over.
    fn abandon(self: Pin<&mut Self>, branch: u32);
}

/// The branches of a choice of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Two<'a> {
    pub(super) locks: [&'a Lock; 2],
    /// In the order written, and what is within them, too; a coin decides which is tried first, otherwise.
    pub(super) biased: bool,
}

/// What an attempt carries: whom to wake once the locks are released, and how to be fair.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) waker: Option<Waker>,
    pub(crate) biased: bool,
}

/// What an enrolment carries.
#[derive(Debug)]
pub(crate) struct Enrol<'a> {
    pub(super) offer: &'a Offer,
    pub(super) branch: u32,
    pub(super) exclusive: bool,
    pub(super) alone: bool,
    pub(super) due: bool,
}

impl Enrol<'_> {
    /// The number of the next base event.
    #[inline(always)]
    pub(crate) fn next_branch(&mut self) -> u32 {
        let branch = self.branch;
        self.branch += 1;
        branch
    }

    /// Is it the only base event of the wait? Then nothing else can end it.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// This base event has no partner who commits it; it wants to be asked by `due`.
    #[inline(always)]
    pub(crate) fn has_due(&mut self) {
        self.due = true;
    }
}
