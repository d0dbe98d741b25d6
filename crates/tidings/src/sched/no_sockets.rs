//! In place of `sockets.rs` where there is no `net`: a worker waits at its parker.

use std::time::Duration;

use super::Shared;
use super::search::Found;
use super::worker::Worker;

/// What a runtime has for its sockets: nothing.
#[derive(Debug, Default)]
pub(super) struct Sockets {}

impl Sockets {
    pub(super) fn looked(&self) -> u32 {
        let Self {} = self;
        0
    }
    pub(super) fn are_attended(&self) -> bool {
        let Self {} = self;
        false
    }
}

impl Shared {
    pub(super) fn wake_poller(&self) {
        let Sockets {} = &self.sockets;
    }
    pub(super) fn close_sockets(&self) {}
}

impl Worker {
    #[inline(always)]
    pub(super) fn look_at_sockets(&self) -> bool {
        false
    }

    pub(super) fn linger(&self) -> Found {
        Found::Nothing
    }

    pub(super) fn rest(&self, timeout: Option<Duration>) -> bool {
        self.park(timeout);
        false
    }
}
