//! What goes wrong on the way to the server in memory.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidings::sched::random;

/// What goes wrong, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// How long anything takes from a node to the server, and from there to a node.
    pub delay: RangeInclusive<Duration>,
    /// One in so many gets lost: messages, operations, and answers of operations; 0: none.
    pub lose: usize,
    /// One in so many messages comes twice; 0: none.
    pub double: usize,
}

impl Default for Faults {
    /// None, and no delay.
    fn default() -> Self {
        Self {
            delay: Duration::ZERO..=Duration::ZERO,
            lose: 0,
            double: 0,
        }
    }
}

impl Faults {
    pub(super) fn delay(&self) -> Duration {
        let (from, to) = (*self.delay.start(), *self.delay.end());
        let micros = usize::try_from(to.saturating_sub(from).as_micros());
        match micros.unwrap_or(usize::MAX).min(u32::MAX as usize) {
            0 => from,
            micros => from + Duration::from_micros(random(micros + 1) as u64),
        }
    }
}

/// Not with the first number, which is what a run has that a simulation has made short.
pub(super) fn one_in(n: usize) -> bool {
    n > 0 && random(n) == n - 1
}
