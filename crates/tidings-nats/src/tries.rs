//! How long something is tried that may succeed later: what joins, and what puts into a queue.

use std::time::Duration;

use tidings::time::Instant;

/// No pause is longer.
const LONGEST: Duration = Duration::from_secs(1);

/// So long the last attempt may take.
const LAST: Duration = Duration::from_secs(1);

/// Attempts until a time, with pauses between them that grow.
#[derive(Debug)]
pub(crate) struct Tries {
    until: Instant,
    pause: Duration,
}

impl Tries {
    /// Attempts for so long.
    pub(crate) fn new(patience: Duration, first: Duration) -> Self {
        Self {
            until: Instant::now() + patience,
            pause: first,
        }
    }

    /// How long the next attempt may take.
    pub(crate) fn left(&self) -> Duration {
        (self.until - Instant::now()).max(LAST)
    }

    /// Waits until it is tried again, the last time when the time is up. `false`: that was the last.
    pub(crate) async fn again(&mut self) -> bool {
        let left = self.until - Instant::now();
        if left.is_zero() {
            return false;
        }
        tidings::after(self.pause.min(left)).await;
        self.pause = (2 * self.pause).min(LONGEST);
        true
    }
}
