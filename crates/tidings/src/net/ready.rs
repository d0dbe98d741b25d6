//! Waiting until a socket may be read or written, as an event.

use std::pin::Pin;
use std::task::Waker;

use super::readiness::{Direction, Readiness};
use crate::event::{Attempt, Enrol, Protocol, event};

/// The event of `readable` and `writable`.
///
/// It happens when a call in this direction is worth a try: the call may find nothing all the
/// same, for one if another was faster; then `try_read` and its like say so, and a new wait waits.
/// It takes nothing, so losing a choice or being dropped has no effect.
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Ready<'a> {
    readiness: &'a Readiness,
    direction: Direction,
    enrolled: bool,
}

impl<'a> Ready<'a> {
    pub(super) fn new(readiness: &'a Readiness, direction: Direction) -> Self {
        Self {
            readiness,
            direction,
            enrolled: false,
        }
    }

    /// It does not move while it waits.
    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Protocol for Ready<'_> {
    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        self.readiness.look(self.direction).map(|_| 0)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
        enrol.has_due();
    }
    fn due(mut self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        self.enrolled = true;
        let ready = self.readiness.poll(self.direction, self.place(), waker);
        ready.is_ready().then_some(0)
    }
    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        if self.due(waker).is_some() {
            // It has become ready meanwhile, and has woken the waker before.
            waker.wake_by_ref();
        }
    }
    fn withdraw(self: Pin<&mut Self>, _: Option<u32>, locked: bool) {
        // Not under a lock: dropping a foreign waker runs foreign code.
        if self.enrolled && !locked {
            self.readiness.forget(self.direction, self.place());
        }
    }
    fn finish(self: Pin<&mut Self>, _: u32) {}
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a] Ready<'a> => ());
