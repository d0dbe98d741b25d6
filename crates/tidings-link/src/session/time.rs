//! What a session does with the time: heartbeats, deadlines, and how long the peer is waited for.

use std::time::Duration;

use tidings::time::Instant;

use super::Session;
use crate::frame::{self, PongHead, kind};
use crate::limits::Broken;

impl Session {
    /// By when the caller of a request that has come wants its answer, if that can be in time; what is
    /// given to an actor later could not be answered before the caller has given it up.
    #[must_use]
    #[inline]
    pub fn deadline(&self, until: u64) -> Option<Instant> {
        self.clock.deadline(until)
    }

    /// The same of ours, for the peer.
    #[inline]
    pub(crate) fn until(&self, deadline: Option<Instant>) -> u64 {
        // 0 is for ever.
        deadline.map_or(0, |deadline| self.clock.micros(deadline).max(1))
    }

    /// Does the peer still wait for what it has asked? If we have not heard of it for as long as it
    /// waits for us, it may have given up the link, and all that lies in it: no request of its is
    /// to be begun before it has said a word to what it is asked now.
    #[must_use]
    #[inline]
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.gone || self.clock.is_awaited(now)
    }

    /// Is a request of the peer's to be begun: is there room for its answer, and does the peer still wait for that? To
    /// one that has gone nothing is written any more.
    #[inline]
    pub(crate) fn begins(&self, now: Instant) -> bool {
        self.gone || !self.is_congested() && self.is_awaited(now)
    }

    /// The peer has gone, in order: what it has sent it does not give up any more, and it reads nothing.
    pub(crate) fn leave(&mut self) {
        self.gone = true;
        self.doubted = None;
        self.stalled = None;
    }

    /// A message that waited is in its actor's mailbox. What a peer has sent that has gone is done as long
    /// as its actors take it.
    pub(crate) fn goes_on(&mut self, now: Instant) {
        if self.gone {
            self.heard = now;
        }
    }

    /// A request waits, because it is not known whether the peer still does.
    pub(crate) fn doubt(&mut self, now: Instant) {
        if !self.is_awaited(now) {
            self.doubted.get_or_insert(now);
        }
    }

    /// Asks the peer for a word.
    pub fn ping(&mut self, now: Instant) {
        self.ask = now + self.asks;
        self.stats.pings += 1;
        let at = self.clock.micros(now);
        frame::write(self.out.control.end(), kind::PING, &at);
    }

    /// Answers a ping of that time, or the peer's greeting, which is one of time 0. It is not `now`
    /// before the ping has come.
    pub fn pong(&mut self, at: u64, now: Instant) {
        let clock = self.clock.micros(now);
        let head = PongHead { at, clock };
        self.out.control.word(kind::PONG, &head);
    }

    /// The stream took nothing.
    #[inline]
    pub fn stalled(&mut self, now: Instant) {
        self.stalled.get_or_insert(now);
    }

    /// So much later than it should have this side looks at the time: it stood still meanwhile, in a process that was
    /// stopped, say. What the peer has not said or read by then is no silence of its.
    pub(crate) fn stood_still(&mut self, late: Duration, now: Instant) {
        for since in [&mut self.stalled, &mut self.doubted].into_iter().flatten() {
            *since = now.min(*since + late);
        }
        self.heard = now.min(self.heard + late);
    }

    /// Looks at the time. Gives when it is to be looked at again.
    ///
    /// # Errors
    /// If the peer has been slow, or silent, for too long.
    pub fn tick(&mut self, now: Instant) -> Result<Instant, Broken> {
        if self.is_full() {
            // It is this side that does not read.
            self.heard = now;
            self.doubted = self.doubted.map(|_| now);
        }
        let limits = &self.limits;
        if self.peer.is_none() {
            let due = self.clock.begun() + limits.handshake;
            return if now >= due {
                Err(Broken::Handshake)
            } else {
                Ok(due)
            };
        }
        let dead = self.heard + limits.silence;
        if now >= dead {
            return Err(Broken::Silent);
        }
        let mut next = dead;
        if let Some(since) = self.doubted {
            // Its words come, and too late.
            if now >= since + limits.silence {
                return Err(Broken::Silent);
            }
            next = next.min(since + limits.silence);
        }
        if let Some(since) = self.stalled {
            if now >= since + limits.stall {
                return Err(Broken::SlowPeer);
            }
            next = next.min(since + limits.stall);
        }
        if now >= self.ask {
            if now >= self.heard + limits.idle {
                self.out.trim();
            }
            self.ping(now);
        }
        next = next.min(self.ask);
        Ok(next)
    }
}
