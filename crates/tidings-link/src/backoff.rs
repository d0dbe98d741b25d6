//! When a connector tries again: ever later while it fails, and early again when a link has lasted.
//!
//! At random times, so that those who have lost the same server do not all come back at the same moment.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings::time::Instant;

/// A link that has been up for so long has lasted: what failed before it counts no more.
const LASTED: Duration = Duration::from_secs(10);

/// A clone goes its own way from here on.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    course: Mutex<Course>,
}

#[derive(Clone, Copy, Debug)]
struct Course {
    /// The next pause is at most so long.
    limit: Duration,
    /// Before that nothing is tried.
    due: Option<Instant>,
    /// Since when the last link is up, or was.
    up: Option<Instant>,
}

impl Course {
    fn pause(&mut self, longest: Duration, now: Instant) {
        self.due = Some(now + self.limit.mul_f64(chance()));
        self.limit = self.limit.saturating_mul(2).min(longest);
    }
}

impl Clone for Backoff {
    fn clone(&self) -> Self {
        Self {
            first: self.first,
            longest: self.longest,
            course: Mutex::new(*self.lock()),
        }
    }
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        let course = Course {
            limit: first,
            due: None,
            up: None,
        };
        Self {
            first,
            longest,
            course: Mutex::new(course),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before when nothing is to be tried. Who asks has no link any more.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        let mut course = self.lock();
        if let Some(up) = course.up.take() {
            if now - up >= LASTED {
                course.limit = self.first;
            }
            course.pause(self.longest, now);
        }
        course.due
    }

    /// It has failed.
    pub(crate) fn failed(&self, now: Instant) {
        self.lock().pause(self.longest, now);
    }

    /// There is a link.
    pub(crate) fn up(&self, now: Instant) {
        let mut course = self.lock();
        (course.up, course.due) = (Some(now), None);
    }
}

/// A number from 0 to 1.
fn chance() -> f64 {
    const PARTS: usize = 1 << 31;
    tidings::sched::random(PARTS) as f64 / PARTS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(60);

    fn limit(backoff: &Backoff) -> Duration {
        backoff.lock().limit
    }

    #[test]
    fn only_a_link_that_has_lasted_makes_the_pauses_short_again() {
        let backoff = Backoff::new(FIRST, LONGEST);
        let mut now = Instant::now();
        assert_eq!(backoff.due(now), None, "nothing has failed");
        let mut limits = vec![limit(&backoff)];
        for _ in 0..3 {
            backoff.failed(now);
            assert!(backoff.due(now).unwrap() <= now + *limits.last().unwrap());
            limits.push(limit(&backoff));
        }
        for lived in [Duration::ZERO, LASTED - FIRST, FIRST] {
            backoff.up(now);
            now += lived;
            // It has ended, and there is a pause before the first attempt, too.
            assert!(backoff.due(now).unwrap() <= now + *limits.last().unwrap());
            limits.push(limit(&backoff));
        }
        assert_eq!(limits, [1, 2, 4, 8, 16, 32, 60].map(Duration::from_secs));
        let other = backoff.clone();
        backoff.up(now);
        now += LASTED;
        assert!(backoff.due(now).unwrap() <= now + FIRST);
        assert_eq!((limit(&backoff), limit(&other)), (2 * FIRST, LONGEST));
    }

    #[test]
    fn no_pause_is_longer_than_the_longest_nor_too_long_to_reckon_with() {
        let backoff = Backoff::new(LONGEST, FIRST);
        assert_eq!(limit(&backoff), FIRST);
        let endless = Backoff::new(Duration::MAX, Duration::MAX);
        for _ in 0..3 {
            endless.failed(Instant::now());
        }
        assert_eq!(limit(&endless), Duration::MAX);
        assert!(endless.due(Instant::now()).is_some());
    }

    #[test]
    fn who_gives_up_waiting_and_waits_again_waits_no_longer_for_it() {
        let backoff = Backoff::new(FIRST, LONGEST);
        let now = Instant::now();
        backoff.failed(now);
        let due = backoff.due(now);
        assert_eq!(backoff.due(now + FIRST / 2), due);
    }
}
