//! Receiving where messages flow: the last was in the queue, so the next is looked for there, without a wait.

use super::mailbox::Mailbox;
use super::parcel::Parcel;
use crate::channel::chan::State;
use crate::sched;
use crate::task::here;

impl<M> Mailbox<M> {
    /// Of who has just received: was the message there, and may there be more of its kind? Then ask
    /// [`next_now`](Self::next_now) first.
    #[inline(always)]
    pub(super) fn flows(&self) -> bool {
        self.flows
    }

    /// What `recv` gives, if messages flow and this one has only to be taken out of the queue: without a wait.
    /// `None`: nothing has happened, and `recv` must decide.
    #[inline(always)]
    pub(super) fn next_now(&mut self) -> Option<M> {
        debug_assert!(self.flows && !self.special, "only while messages flow");
        if !sched::spend_quickly() {
            return None;
        }
        let parcel = self.take_now();
        if parcel.is_none() {
            here::unspend();
        }
        Some(self.take_quickly(parcel?))
    }

    /// A message that is in the queue, if the lock leans towards this thread.
    #[inline(always)]
    pub(super) fn take_now(&self) -> Option<Parcel<M>> {
        let chan = self.chan();
        if !chan.lock.enter() {
            return None;
        }
        let signalled = self.chan.beside().is_signalled();
        let parcel = (!signalled).then(|| chan.quick(State::take_quickly));
        chan.lock.leave();
        parcel.flatten()
    }

    /// A message has been taken out of the queue, with nothing else to be done about it.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, parcel: Parcel<M>) -> M {
        let life = self.chan.beside();
        if !here::takes(life.id) {
            life.goes_away();
        }
        self.open(parcel)
    }
}
