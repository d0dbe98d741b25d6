//! Waiting for a channel's end.

use std::pin::Pin;

use super::sender::Sender;
use super::source::{Side, Slot, slot_methods};
use crate::event::{Attempt, Event, into_future};

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

impl<T> Event for Closed<'_, T> {
    type Lost = ();

    slot_methods!(Side::Other, sender);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let chan = self.sender.chan();
        chan.attempt(attempt, |state, _| state.is_closed())
            .then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) {}
    fn abandon(self: Pin<&mut Self>, _: u32) {}
    fn lost(self: Pin<&mut Self>) {}
}

into_future!(impl['a, T] Closed<'a, T> => ());
