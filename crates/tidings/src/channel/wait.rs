//! What cells and locks have in common: events that wait until a state has moved on.
//!
//! The commit protocol of [`Event`](crate::Event) is written once, in `wait_event!`; an event of
//! a cell says the rest in the safe methods of [`Wait`]. Its slot holds a *ticket*, a number that
//! says what it waits for: an epoch, a position, a count of permits. So a partner knows under the
//! lock whom its change concerns, and can release a crowd in batches: whoever enrols between
//! two batches has a later ticket and is left alone.

use std::task::Waker;

use super::source::{Side, Slot, Source, slot_of};
use crate::event::Lock;
use crate::event::offer::{Claimed, Judge, Waiters};
use crate::event::waits::{self, Waits};
use crate::sched::record;
use crate::task::{Woken, first, go_on, wake_each};

/// A slot with a ticket.
pub(crate) type Ticket = Slot<u64>;

impl Ticket {
    /// The owner's, while it is not linked.
    pub(crate) fn write(&mut self, ticket: u64) {
        *self.value() = Some(ticket);
    }
}

/// How many are woken per lock, so that it is not held for a million waiters.
const BATCH: usize = 32;

/// What an event of a cell is.
pub(crate) trait Wait {
    /// What the lock guards.
    type State;
    type Output;
    /// The list it waits in.
    const SIDE: Side;

    fn source(&self) -> &Source<Self::State>;

    /// Can it happen now? Takes what it takes. If not, writes the ticket. Lock held: no user
    /// code.
    fn ready(&mut self, state: &mut Self::State) -> bool;

    /// It has happened. No lock held.
    fn done(&mut self) -> Self::Output;

    /// Says what it waits for.
    fn waits_for(&self, waits: &mut Waits) {
        waits.event(std::any::type_name::<Self>(), Some(&self.source().lock));
    }

    /// A partner has completed it, and the wait was dropped before it looked: passes on what
    /// was handed over. No lock held.
    fn undo(&mut self) {}

    /// It did not happen and has left its list: those behind it may be able to go on. No lock
    /// held.
    fn withdrawn(&mut self) {}
}

/// A list of tickets.
#[derive(Debug)]
pub(crate) struct Tickets(Waiters);

impl Tickets {
    pub(crate) const fn new() -> Self {
        Self(Waiters::new())
    }

    /// For [`Lists`](super::source::Lists). Only `wait_event!` enrols here, and its slots are
    /// tickets.
    #[inline(always)]
    pub(crate) fn list(&mut self) -> &mut Waiters {
        &mut self.0
    }

    /// Is somebody waiting who has not committed elsewhere?
    #[inline]
    pub(crate) fn is_waited_in(&mut self) -> bool {
        let mut found = false;
        if !self.0.is_empty() {
            let none = self.0.claim_if(|_| {
                found = true;
                Judge::Stop
            });
            debug_assert!(none.is_none(), "nobody was to be taken");
        }
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Claims the first that `judge` takes by its ticket.
    pub(crate) fn claim(&mut self, mut judge: impl FnMut(u64) -> Judge) -> Option<Claimed> {
        self.0.claim_if(|waiter| {
            // SAFETY: its waiters are tickets (`list`), linked, and whoever can name the list
            // holds its lock.
            let ticket = unsafe { (*slot_of::<u64>(waiter)).peek() };
            judge(ticket.unwrap_or(0))
        })
    }

    /// Claims the first whose ticket is below `epoch`; tickets never fall along this list.
    pub(crate) fn claim_before(&mut self, epoch: u64) -> Option<Claimed> {
        self.claim(|ticket| {
            if ticket < epoch {
                Judge::Take
            } else {
                Judge::Stop
            }
        })
    }
}

impl<S> Source<S> {
    /// Commits every waiter that `next` claims, and wakes them without the lock.
    pub(crate) fn commit_each(&self, closed: bool, next: impl FnMut(&mut S) -> Option<Claimed>) {
        go_on(self.commit_quietly(closed, next));
    }

    /// As [`commit_each`](Self::commit_each), for a caller who has more to do before a waker's
    /// panic goes on.
    pub(crate) fn commit_quietly(
        &self,
        closed: bool,
        mut next: impl FnMut(&mut S) -> Option<Claimed>,
    ) -> Woken {
        let released = |waker: &Waker| record::released::<S>(self.number(), waker);
        // SAFETY: it is called with the lock held.
        let mut next = || next(unsafe { self.state() }).map(|claimed| claimed.commit(closed));
        commit(&self.lock, &mut next, &released)
    }
}

/// Takes from `next`, with this lock held, the wakers of those that it commits, and wakes them without the lock.
/// Compiled once, and not once for each kind of channel of a program.
fn commit(
    lock: &Lock,
    next: &mut dyn FnMut() -> Option<Waker>,
    released: &dyn Fn(&Waker),
) -> Woken {
    let mut woken = Ok(());
    loop {
        let mut wakers: [Option<Waker>; BATCH] = [const { None }; BATCH];
        lock.lock();
        let more = wakers.iter_mut().all(|place| {
            *place = next();
            place.is_some()
        });
        lock.unlock();
        if waits::noted() {
            wakers.iter().flatten().for_each(released);
        }
        woken = first(woken, wake_each(wakers.into_iter().flatten()));
        if !more {
            return woken;
        }
    }
}

/// Makes an [`Event`](crate::Event) of a [`Wait`] whose field `slot` is a [`Ticket`].
macro_rules! wait_event {
    (impl[$($generics:tt)*] $type:ty => $output:ty) => {
        impl<$($generics)*> crate::event::Protocol for $type {
            #[inline(always)]
            fn single(&self) -> Option<&crate::event::Lock> {
                Some(&crate::channel::wait::Wait::source(self).lock)
            }
            fn waits_for(&self, waits: &mut crate::event::waits::Waits) {
                crate::channel::wait::Wait::waits_for(self, waits);
            }
            #[inline]
            fn attempt(
                self: std::pin::Pin<&mut Self>,
                _: &mut crate::event::Attempt,
            ) -> Option<u32> {
                // SAFETY: the slot is not moved: `Wait` has no way to.
                let this = unsafe { self.get_unchecked_mut() };
                let source = std::ptr::from_ref(crate::channel::wait::Wait::source(this));
                // SAFETY: the caller holds the lock, and the event keeps its source.
                let state = unsafe { (*source).state() };
                crate::channel::wait::Wait::ready(this, state).then_some(0)
            }
            #[inline]
            fn enrol(self: std::pin::Pin<&mut Self>, enrol: &mut crate::event::Enrol<'_>) {
                // SAFETY: the slot stays pinned with the event.
                let this = unsafe { self.get_unchecked_mut() };
                let source = std::ptr::from_ref(crate::channel::wait::Wait::source(this));
                // SAFETY: as above.
                let slot = unsafe { std::pin::Pin::new_unchecked(&mut this.slot) };
                let side = <Self as crate::channel::wait::Wait>::SIDE;
                // SAFETY: the event keeps its source. The caller holds the lock; the slot was
                // not linked, and is withdrawn or committed before the event ends.
                unsafe { (*source).enrol(side, slot, enrol) };
            }
            #[inline]
            fn withdraw(self: std::pin::Pin<&mut Self>, winner: Option<u32>, locked: bool) {
                if winner.is_some() {
                    return;
                }
                // SAFETY: the slot stays pinned with the event.
                let this = unsafe { self.get_unchecked_mut() };
                let source = std::ptr::from_ref(crate::channel::wait::Wait::source(this));
                // SAFETY: as above.
                let slot = unsafe { std::pin::Pin::new_unchecked(&mut this.slot) };
                let side = <Self as crate::channel::wait::Wait>::SIDE;
                // SAFETY: the event keeps its source, and the slot waits on this side, or not
                // at all.
                unsafe { (*source).withdraw(side, slot, locked) };
                if !locked {
                    crate::channel::wait::Wait::withdrawn(this);
                }
            }
            #[inline]
            fn finish(self: std::pin::Pin<&mut Self>, _: u32) -> Self::Output {
                // SAFETY: the slot is not moved: `Wait` has no way to.
                crate::channel::wait::Wait::done(unsafe { self.get_unchecked_mut() })
            }
            fn abandon(self: std::pin::Pin<&mut Self>, _: u32) {
                // SAFETY: as above.
                crate::channel::wait::Wait::undo(unsafe { self.get_unchecked_mut() });
            }
        }

        crate::event::event!(impl[$($generics)*] $type => $output);
    };
}
pub(crate) use wait_event;
