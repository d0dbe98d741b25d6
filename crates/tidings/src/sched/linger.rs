//! A worker that waits for sockets goes on looking at them for a while before it sleeps.
//!
//! To wake a thread whose core has halted takes some tens of microseconds (the arena's `floor/park`), and the system
//! likes to put who is woken by a socket on the core of who wrote: two processes that talk to each other take turns
//! there, while the other core idles. So where the next message has come soon of late, a worker looks for as long as a
//! wake-up would take, and gives its core to whoever wants it between two looks: competitive spinning (Karlin, Li,
//! Manasse, Owicki: Empirical Studies of Competitive Spinning, SOSP 1991; the same is KVM's `halt_poll_ns`, Seastar's
//! `--idle-poll-time-us` and Erlang's `+sbwt`).
//!
//! One worker of a runtime does so. Meanwhile others that have nothing to do keep away from the poller, or they would
//! take what comes to another core, by turns ([07](../../../../docs/decisions/07-who-polls-the-sockets.md)).
//! What others push is left to it meanwhile, and it takes what stands behind a long poll (`rescue.rs`). Who gets its
//! core at a yield and has much to do keeps it from that for a slice of milliseconds: then it sleeps.
//! Here is when; `sockets.rs` does it.

use std::time::Duration;

use crate::time::Instant;

/// How long, if nothing else is set: two wake-ups of a halted core (`floor/park`).
pub(super) const IDLE_POLL: Duration = Duration::from_micros(50);
/// What came within so long came soon, though the worker slept meanwhile: that is what makes it long.
const SOON: Duration = Duration::from_micros(200);
/// A look and a yield that took so long have given the core to somebody with much to do.
const AWAY: Duration = Duration::from_micros(100);
/// So often in a row in vain, and the next waits begin with a sleep. Not fewer: while two processes take turns on one
/// core both look in vain, until the system moves one of them.
const MISSES: u32 = 32;
/// So many at first; twice as many each time, until looking was not in vain.
const PAUSE: u32 = 64;
const PAUSE_MAX: u32 = 4096;

/// When one worker lingers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Linger {
    /// What came last came soon.
    soon: bool,
    /// In vain, in a row.
    pub(super) misses: u32,
    /// Waits that are left until it is tried again, and how many there were.
    left: u32,
    pause: u32,
}

impl Linger {
    /// A wait begins: does it begin with looks?
    pub(super) fn begins(&mut self) -> bool {
        if !self.soon {
            return false;
        }
        let paused = self.left > 0;
        self.left = self.left.saturating_sub(1);
        !paused
    }

    /// Something came while it looked.
    pub(super) fn heard(&mut self) {
        (self.misses, self.pause) = (0, 0);
    }

    /// Nothing came: it sleeps now.
    fn missed(&mut self) {
        self.misses += 1;
        if self.misses == MISSES {
            self.misses = 0;
            self.pause = (self.pause * 2).clamp(PAUSE, PAUSE_MAX);
            self.left = self.pause;
        }
    }

    /// Nothing has come until `now`, by a look and a yield that began at `last`: is that enough?
    pub(super) fn gives_up(&mut self, last: Instant, now: Instant, until: Instant) -> bool {
        let over = now >= until || now.saturating_since(last) >= AWAY;
        if over {
            self.missed();
        }
        over
    }

    /// It has slept in the poller for so long, until something came or something else woke it: of a short sleep that
    /// says nothing.
    pub(super) fn slept(&mut self, time: Duration, heard: bool) {
        if heard || time >= SOON {
            self.soon = time < SOON;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AWAY, Duration, Instant, Linger, MISSES, PAUSE, PAUSE_MAX, SOON};

    /// One for which something came soon.
    fn hopeful() -> Linger {
        let mut linger = Linger::default();
        linger.slept(SOON / 2, true);
        linger
    }

    /// How many waits begin without looks, from here on.
    fn pause(linger: &mut Linger) -> u32 {
        let mut waits = 0;
        while !linger.begins() {
            waits += 1;
        }
        waits
    }

    #[test]
    fn it_lingers_when_what_it_slept_for_has_come_soon_and_no_longer_when_it_has_not() {
        let mut linger = Linger::default();
        assert!(!linger.begins(), "nothing is known yet");
        linger.slept(SOON / 2, true);
        assert!(linger.begins() && linger.begins());
        linger.slept(SOON, true);
        assert!(!linger.begins());
        linger.slept(Duration::ZERO, true);
        linger.slept(SOON / 2, false);
        assert!(linger.begins(), "it was a task of another worker's");
        linger.slept(SOON, false);
        assert!(!linger.begins());
    }

    #[test]
    fn in_vain_so_often_in_a_row_it_pauses_for_longer_each_time_until_something_comes() {
        let mut linger = hopeful();
        let miss = |linger: &mut Linger| {
            for _ in 0..MISSES {
                assert_eq!(pause(linger), 0);
                linger.missed();
                linger.slept(SOON / 2, true);
            }
        };
        miss(&mut linger);
        assert_eq!(pause(&mut linger), PAUSE);
        miss(&mut linger);
        assert_eq!(pause(&mut linger), 2 * PAUSE);
        for _ in 0..16 {
            miss(&mut linger);
            assert!(pause(&mut linger) <= PAUSE_MAX);
        }
        linger.heard();
        miss(&mut linger);
        assert_eq!(pause(&mut linger), PAUSE);
    }

    #[test]
    fn it_gives_up_in_vain_when_its_time_is_over_or_its_core_was_away() {
        let last = Instant::from_nanos(1_000_000);
        let until = last.saturating_add(100 * AWAY);
        let moment = Duration::from_nanos(1);
        let mut linger = hopeful();
        assert!(!linger.gives_up(last, last.saturating_add(AWAY - moment), until));
        assert!(!linger.gives_up(
            until,
            until.saturating_add(AWAY - moment),
            until.saturating_add(AWAY)
        ));
        assert_eq!(linger.misses, 0);
        assert!(linger.gives_up(last, last.saturating_add(AWAY), until));
        assert!(linger.gives_up(until, until, until));
        assert_eq!(linger.misses, 2);
    }

    #[test]
    fn a_hit_forgets_the_misses_before_it() {
        let mut linger = hopeful();
        for _ in 0..10 {
            for _ in 1..MISSES {
                linger.missed();
            }
            linger.heard();
            assert!(linger.begins());
        }
    }
}
