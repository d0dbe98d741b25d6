//! The clock of the peer, as far as what it says of it goes: so a request is given up here when its
//! caller gives it up there, wherever it was held up.
//!
//! A ping says when it went, by the clock of who asks, and its answer says what the clock of the other
//! was after that. So that was not further ahead than the difference of both: a bound that no delay
//! makes wrong, only wide, by the time that the ping took to get there. Which is as long as an answer
//! takes at least: what the bound refuses could not have been answered in time.
//!
//! Of two bounds the narrower one holds, until clocks have drifted so far apart that a later answer
//! refutes it: further than by the time that one ping and its answer took.
//!
//! An answer also shows that the peer heard us after the ping went. It does not give the link up
//! before its patience has passed since then: until then what it asks is asked still.

use std::time::Duration;

use tidings::time::Instant;

#[derive(Debug)]
pub(super) struct Clock {
    /// When this side's clock was 0.
    begun: Instant,
    /// How far the peer's is ahead of it at most, in microseconds.
    ahead: Option<i64>,
    /// When the latest ping went that was answered.
    answered: Option<i64>,
    /// How long the peer waits for a word.
    patience: i64,
}

impl Clock {
    pub(super) fn new(begun: Instant) -> Self {
        Self {
            begun,
            ahead: None,
            answered: None,
            patience: 0,
        }
    }

    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// The peer has said how long it waits.
    pub(super) fn be_patient(&mut self, patience: u64) {
        self.patience = signed(patience);
    }

    /// This side's clock.
    pub(super) fn micros(&self, at: Instant) -> u64 {
        micros(at - self.begun)
    }

    /// A ping of that time was answered: the peer's clock was `there`.
    pub(super) fn answer(&mut self, asked: u64, there: u64, now: Instant) {
        let (here, there) = (signed(self.micros(now)), signed(there));
        let asked = signed(asked).min(here);
        self.answered = self.answered.max(Some(asked));
        // Each is up to a microsecond more than it says.
        let (least, most) = (there - here - 1, there - asked + 1);
        // What was known is better, unless this refutes it: clocks drift, and sleep.
        let known = self.ahead.filter(|known| (least..=most).contains(known));
        self.ahead = known.or(Some(most));
    }

    /// When that is here, by the peer's clock; 0 is never. What is not known has passed.
    pub(super) fn deadline(&self, until: u64) -> Option<Instant> {
        if until == 0 {
            return None;
        }
        let here = self.ahead.map_or(0, |ahead| signed(until) - ahead);
        Some(self.begun + Duration::from_micros(u64::try_from(here).unwrap_or(0)))
    }

    /// Does the peer still wait for what it has asked?
    pub(super) fn is_awaited(&self, now: Instant) -> bool {
        let here = signed(self.micros(now));
        self.answered
            .is_some_and(|asked| here < asked + self.patience)
    }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// No clock goes further than a hundred thousand years; so no sum of a few is too large.
fn signed(micros: u64) -> i64 {
    micros.min(1 << 60).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATIENCE: u64 = 10_000_000;

    fn clock() -> (Clock, Instant) {
        let begun = Instant::now();
        let mut clock = Clock::new(begun);
        clock.be_patient(PATIENCE);
        (clock, begun)
    }

    fn at(begun: Instant, micros: u64) -> Instant {
        begun + Duration::from_micros(micros)
    }

    #[test]
    fn before_the_peer_has_said_what_its_clock_is_nothing_is_awaited_and_every_time_has_passed() {
        let (clock, begun) = clock();
        assert!(!clock.is_awaited(begun));
        assert_eq!(clock.deadline(5_000), Some(begun));
        assert_eq!(clock.deadline(0), None);
    }

    #[test]
    fn what_was_asked_is_awaited_for_the_peers_patience_from_when_it_was_asked_for_a_word() {
        let (mut clock, begun) = clock();
        clock.answer(2_000_000, 7, at(begun, 9_000_000));
        assert!(clock.is_awaited(at(begun, 11_999_999)));
        assert!(!clock.is_awaited(at(begun, 12_000_000)));
        // An older ping shows nothing new, and none went in the future.
        clock.answer(1_000_000, 7, at(begun, 12_000_000));
        assert!(!clock.is_awaited(at(begun, 12_000_000)));
        clock.answer(u64::MAX, 7, at(begun, 13_000_000));
        assert!(!clock.is_awaited(at(begun, 23_000_000)));
    }

    #[test]
    fn a_clock_that_slept_is_known_anew() {
        let (mut clock, begun) = clock();
        clock.answer(0, 0, at(begun, 100));
        // Ours slept for an hour: the peer's is ahead of it from here on.
        let hour = 3_600_000_000;
        clock.answer(1_000, hour + 1_050, at(begun, 1_100));
        let due = clock.deadline(hour + 5_050);
        assert_eq!(due, Some(at(begun, 4_999)));
    }

    proptest! {
        /// Whatever is late, and however often: no request is held to be asked after it was given up,
        /// and none to have been given up whose answer could be back in time.
        #[test]
        fn a_request_is_known_to_be_given_up_before_it_is(
            offset in -5_000_000_i64..5_000_000,
            pings in prop::collection::vec((0_u64..8_000_000, 0_u64..3_000_000, 0_u64..3_000_000), 1..20),
            until in 1_u64..9_000_000,
        ) {
            let (mut clock, begun) = clock();
            let there = |here: u64| u64::try_from(here as i64 + offset + 5_000_000).unwrap();
            let mut quickest = u64::MAX;
            let mut now = begun;
            for (gap, way, back) in pings {
                let asked = clock.micros(now) + gap;
                now = at(begun, asked + way + back);
                clock.answer(asked, there(asked + way), now);
                quickest = quickest.min(way);
                let due = clock.deadline(there(asked) + until).unwrap();
                let exact = at(begun, asked + until);
                prop_assert!(due <= exact, "{due:?} {exact:?}");
                prop_assert!(due + Duration::from_micros(quickest + 1) >= exact);
            }
        }
    }
}
