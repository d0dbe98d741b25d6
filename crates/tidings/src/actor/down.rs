//! Waiting for an actor's end.

use std::pin::Pin;

use super::exit::Exit;
use super::life::Life;
use crate::channel::source::{Side, Slot, slot_methods};
use crate::event::waits::Waits;
use crate::event::{Attempt, Protocol, event};

impl Life {
    /// The end of this actor, as an event.
    pub(super) fn down(&self) -> Down<'_> {
        Down {
            life: self,
            slot: Slot::new(None),
        }
    }
}

/// The event of an actor's end, from [`ActorRef::down`](super::ActorRef::down): OTP's monitor.
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Down<'a> {
    life: &'a Life,
    slot: Slot<()>,
}

impl Protocol for Down<'_> {
    fn waits_for(&self, waits: &mut Waits) {
        waits.of(format_args!("the end of {}", self.life.label()));
    }

    slot_methods!(Side::Other, life);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let source = self.life.chan();
        source
            .attempt(attempt, |state, _| state.announced)
            .then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> Exit {
        self.life.tell_exit().expect("the actor has ended")
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a] Down<'a> => Exit);
