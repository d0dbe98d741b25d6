//! How often a supervisor starts children anew, and how long it waits before.

use std::collections::VecDeque;
use std::time::Duration;

use crate::sched::random_below;
use crate::time::Instant;

/// How long a supervisor waits before it starts a child anew: twice as long after each failure in a
/// row, up to a limit, less a random part, so that children that failed together do not start
/// together.
///
/// A life at least as long as the limit ends the row.
///
/// ```
/// use std::time::Duration;
/// use tidings::actor::Backoff;
/// // 100 ms, 200 ms, 400 ms, .. 10 s, each less up to a fifth.
/// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
/// // The same for all.
/// let exact = backoff.jitter(0.0);
/// assert_ne!(backoff, exact);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backoff {
    first: Duration,
    pub(super) limit: Duration,
    jitter: f64,
}

/// Parts of a delay that chance takes away.
const PARTS: u32 = 1 << 20;

impl Backoff {
    /// From `first` up to `limit`, less up to a fifth.
    #[must_use]
    pub const fn new(first: Duration, limit: Duration) -> Self {
        Self {
            first,
            limit,
            jitter: 0.2,
        }
    }

    /// The largest part of a delay that chance takes away: between 0 and 1.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub const fn jitter(mut self, part: f64) -> Self {
        assert!(part >= 0.0 && part <= 1.0, "a part is between 0 and 1");
        self.jitter = part;
        self
    }

    /// Is there any delay?
    pub(super) fn waits(&self) -> bool {
        !self.first.min(self.limit).is_zero()
    }

    /// Before the start that follows so many failures in a row.
    pub(super) fn delay(&self, failures: u32) -> Duration {
        let factor = 1u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let delay = self.first.saturating_mul(factor).min(self.limit);
        if delay.is_zero() || self.jitter == 0.0 {
            return delay;
        }
        let chance = f64::from(u32::try_from(random_below(PARTS as usize)).unwrap_or(0));
        delay.mul_f64(1.0 - self.jitter * chance / f64::from(PARTS))
    }
}

/// At most so many restarts in so much time (OTP's intensity and period).
#[derive(Clone, Copy, Debug)]
pub(super) struct Intensity {
    pub(super) restarts: usize,
    pub(super) period: Duration,
}

/// The restarts of a period.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Instant>);

impl Window {
    /// One more restart. `false`: it is one too many.
    pub(super) fn restart(&mut self, now: Instant, intensity: Intensity) -> bool {
        if intensity.restarts == usize::MAX {
            // However many: none is counted.
            return true;
        }
        self.0.push_back(now);
        let recent = |at: &Instant| now.saturating_since(*at) <= intensity.period;
        while self.0.front().is_some_and(|at| !recent(at)) {
            self.0.pop_front();
        }
        self.0.len() <= intensity.restarts
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_delay_doubles_up_to_its_limit() {
        let exact = Backoff::new(secs(1), secs(5)).jitter(0.0);
        let delays: Vec<_> = [1, 2, 3, 4, 40, u32::MAX].map(|n| exact.delay(n)).into();
        assert_eq!(delays, [1, 2, 4, 5, 5, 5].map(secs));
        assert_eq!(Backoff::default().delay(9), Duration::ZERO);
        // To the last nanosecond, which a factor would not keep.
        let longest = Backoff::new(Duration::MAX, Duration::MAX).jitter(0.0);
        assert_eq!(longest.delay(1), Duration::MAX);
    }

    #[test]
    fn chance_takes_away_no_more_than_it_was_told() {
        let half = Backoff::new(secs(8), secs(8)).jitter(0.5);
        let delays: Vec<_> = (0..1000).map(|_| half.delay(1)).collect();
        assert!(
            delays
                .iter()
                .all(|&delay| secs(4) <= delay && delay <= secs(8))
        );
        assert!(delays.iter().any(|&delay| delay < secs(5)));
        assert!(delays.iter().any(|&delay| delay > secs(7)));
    }

    #[test]
    fn the_window_slides() {
        let at = |n| Instant::from_nanos(0) + secs(n);
        let twice = Intensity {
            restarts: 2,
            period: secs(10),
        };
        let mut window = Window::default();
        let within: Vec<_> = [0, 10, 11, 12, 21, 22, 40]
            .map(|n| window.restart(at(n), twice))
            .into();
        assert_eq!(within, [true, true, true, false, false, false, true]);
        let always = Intensity {
            restarts: usize::MAX,
            period: Duration::MAX,
        };
        let mut window = Window::default();
        assert!((0..100).all(|n| window.restart(at(n), always)));
        assert!(
            window.0.is_empty(),
            "nothing is kept of restarts without end"
        );
    }
}
