//! A channel's end: how it closes, and waiting for that.

use std::pin::Pin;

use super::chan::{Chan, State};
use super::queue::Queue;
use super::sender::Sender;
use super::source::{Side, Slot, slot_methods};
use crate::event::offer::{Claimed, Waiters};
use crate::event::{Attempt, Protocol, event};

impl<T, X> Chan<T, X> {
    /// Nobody is left on a side.
    pub(super) fn close_side(&self, side: Side) {
        match side {
            Side::Sender => {
                self.close();
            }
            _ => self.discard(),
        }
    }

    /// Nobody will receive any more: closes it, and drops what is queued.
    fn discard(&self) {
        // Most channels end so: nothing is in them, and nobody waits.
        if self.locked(|state| state.queue.is_empty() && state.shuts_quickly().is_some()) {
            return;
        }
        drop(self.empty());
    }

    /// Nobody will receive any more: closes it, and gives what is queued.
    pub(crate) fn empty(&self) -> impl Iterator<Item = T> + use<T, X> {
        // The drop of a value is user code.
        let mut dead = self.locked(|state| {
            state.shut();
            state.left += state.queue.len() as u64;
            state.note_dead(state.queue.len());
            std::mem::replace(&mut state.queue, Queue::new())
        });
        super::count_dead(dead.len());
        // Who waits hears of it even if a value's drop panics.
        self.close();
        std::iter::from_fn(move || dead.pop_front())
    }

    /// Takes messages again after a [`close`](Self::close), if there is still a sender: the
    /// caller is a receiver.
    pub(crate) fn reopen(&self) {
        // The last sender counts itself out before it closes: either we see that, or it closes
        // after us.
        self.locked(|state| state.closed = self.count(Side::Sender) == 0);
    }

    /// No more sends: senders that wait get their value back, receivers take what is left.
    /// `true`: it was open.
    pub(crate) fn close(&self) -> bool {
        if let Some(was_open) = self.locked(State::shuts_quickly) {
            return was_open;
        }
        let mut was_open = None;
        self.commit_each(true, |state| {
            was_open.get_or_insert_with(|| state.shut());
            state.claim_for_close()
        });
        was_open == Some(true)
    }
}

impl<T> State<T> {
    /// Closes it if nobody is to hear of that. Was it open?
    fn shuts_quickly(&mut self) -> Option<bool> {
        match are_waited_in(self.lists()) {
            true => None,
            false => Some(self.shut()),
        }
    }

    /// No more sends. Was it open?
    fn shut(&mut self) -> bool {
        self.queue.revoke();
        !std::mem::replace(&mut self.closed, true)
    }

    fn claim_for_close(&mut self) -> Option<Claimed> {
        claim_any(self.lists())
    }

    /// In the order in which they hear of the close.
    fn lists(&mut self) -> [&mut Waiters; 3] {
        [&mut self.senders, &mut self.receivers, &mut self.observers]
    }
}

// These two are compiled once, and not for the values of each channel.
fn are_waited_in(lists: [&mut Waiters; 3]) -> bool {
    lists.iter().any(|list| !list.is_empty())
}

fn claim_any([senders, receivers, observers]: [&mut Waiters; 3]) -> Option<Claimed> {
    let claimed = senders.claim().or_else(|| receivers.claim());
    claimed.or_else(|| observers.claim())
}

/// The event of [`Sender::closed`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Closed<'a, T> {
    sender: &'a Sender<T>,
    slot: Slot<T>,
}

impl<'a, T> Closed<'a, T> {
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        Self {
            sender,
            slot: Slot::new(None),
        }
    }
}

impl<T> Protocol for Closed<'_, T> {
    slot_methods!(Side::Other, sender);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let chan = self.sender.chan();
        chan.attempt(attempt, |state, _| state.is_closed())
            .then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) {}
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a, T] Closed<'a, T> => ());
