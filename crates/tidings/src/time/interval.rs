//! A tick every so often.

use std::convert::identity;
use std::time::Duration;

use super::{Instant, at};
use crate::event::Event;
use crate::event::unfold::unfold;

/// A tick every `period`, the first at once.
///
/// # Panics
/// If `period` is zero.
///
/// ```
/// use std::time::Duration;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let mut ticks = tidings::time::interval(Duration::from_millis(1));
/// let first = ticks.tick().await;
/// let second = ticks.tick().await;
/// assert!(second >= first + Duration::from_millis(1));
/// # });
/// ```
#[must_use]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// A tick every `period`, the first at `start`.
///
/// # Panics
/// If `period` is zero.
#[must_use]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "the period of an interval is not zero");
    Interval {
        next: start,
        period,
        missed: MissedTicks::default(),
    }
}

/// What an interval does about ticks that nobody waited for in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTicks {
    /// All of them come, as fast as they are awaited, until the schedule is met again.
    #[default]
    Burst,
    /// The next one comes a period after the late one. Less than 5 ms, or than a period if that is less, is not late:
    /// each tick is by a little, and the schedule would slip.
    Delay,
    /// They are left out; the next one comes at the next multiple of the period.
    Skip,
}

/// A tick that is taken so much later than it was due was missed.
const LATE: Duration = Duration::from_millis(5);

/// See [`interval`].
#[derive(Debug)]
pub struct Interval {
    next: Instant,
    period: Duration,
    missed: MissedTicks,
}

impl Interval {
    /// Waits for the next tick; gives the time it was due. A wait that is dropped, or a branch
    /// that loses, leaves the tick for the next call.
    pub fn tick(&mut self) -> impl Event<Output = Instant, Lost = ()> + Send + '_ {
        at(self.next).map(|()| self.advance())
    }

    /// The ticks, as a [`futures_core::Stream`] that does not end.
    ///
    /// ```
    /// use std::time::Duration;
    /// use futures::StreamExt;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let ticks = tidings::time::interval(Duration::from_millis(1)).into_stream();
    /// let ticks: Vec<_> = ticks.take(3).collect().await;
    /// assert!(ticks.is_sorted());
    /// # });
    /// ```
    pub fn into_stream(self) -> impl futures_core::Stream<Item = Instant> + Send + Unpin {
        let next = async |mut ticks: Self| Some((ticks.tick().await, ticks));
        unfold(self, next, identity)
    }

    /// Sets what is done about missed ticks.
    #[must_use]
    pub const fn missed_ticks(mut self, missed: MissedTicks) -> Self {
        self.missed = missed;
        self
    }

    /// The time between ticks.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// When the next tick is due.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Goes on to the next tick; gives the time this one was due.
    pub(crate) fn advance(&mut self) -> Instant {
        let due = self.next;
        self.next = match self.missed {
            MissedTicks::Burst => due + self.period,
            MissedTicks::Delay if due.elapsed() < LATE.min(self.period) => due + self.period,
            MissedTicks::Delay => Instant::now() + self.period,
            MissedTicks::Skip => {
                let late = due.elapsed().as_nanos();
                let whole = late - late % self.period.as_nanos();
                due + Duration::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX)) + self.period
            }
        };
        due
    }
}
