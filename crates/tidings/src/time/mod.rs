//! Deadlines as events: [`after`], [`at`], [`sleep`], [`timeout`], [`interval`].
//!
//! On a worker of a tidings runtime a deadline is kept by that worker; anywhere else (another
//! executor, a plain thread) by one small thread of ours. Deadlines are never early. They are
//! late by up to 16 us of granularity, and by however long the thread that keeps them is busy.

// | file | what |
// |---|---|
// | `timers.rs`, `wheel.rs` | a worker's timers: the list, and the timing wheel under it |
// | `outside.rs` | the thread that keeps deadlines where there is no worker |
// | `interval.rs` | ticks |
// | `clock.rs` | the only reader of the system's clock |

mod clock;
mod interval;
mod outside;
pub(crate) mod timers;
mod wheel;

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

pub(crate) use clock::{Ticks, system};
pub use interval::{Interval, MissedTicks, interval, interval_at};
pub(crate) use timers::Timers;
use timers::{Armed, Deadline, Look};

use crate::event::waits::Waits;
use crate::event::{Attempt, Enrol, EventFuture, Protocol, event};

/// A point in time of the runtime that runs this thread.
///
/// The system's monotonic clock, or virtual time in a simulation: unlike
/// [`std::time::Instant`], which no simulation can control. So neither becomes the other: of a deadline that is given as
/// std's, take the time that is left, `deadline.saturating_duration_since(std::time::Instant::now())`.
///
/// ```
/// use std::time::Duration;
/// use tidings::time::Instant;
/// let start = Instant::now();
/// let mut later = start + Duration::from_secs(1);
/// assert!(later > start);
/// later -= Duration::from_secs(1);
/// assert_eq!(later, start);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The current time.
    #[must_use]
    pub fn now() -> Self {
        clock::now()
    }

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn from_duration(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time since the start of the clock.
    pub(crate) const fn since_start(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The time passed since `self`; zero if `self` is in the future.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Self::now().saturating_since(self)
    }

    /// `self - earlier`.
    pub(crate) const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(Self::from_duration(duration).0))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({:?})", self.since_start())
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates at the end of time (584 years).
    fn add(self, duration: Duration) -> Self {
        self.saturating_add(duration)
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    /// Saturates at the start of time.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(Self::from_duration(duration).0))
    }
}

impl AddAssign<Duration> for Instant {
    /// Saturates at the end of time.
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl SubAssign<Duration> for Instant {
    /// Saturates at the start of time.
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Saturates at zero.
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

/// An event that happens once `duration` has passed since it was awaited.
///
/// Never early. A branch that loses, or a dropped wait, cancels the timer. Inside a choice
/// another branch of which is ready it costs nothing: no clock is read, no timer armed.
///
/// ```
/// use std::time::Duration;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// tidings::after(Duration::from_millis(2)).await;
/// # });
/// ```
pub fn after(duration: Duration) -> After {
    After {
        deadline: Deadline::After(duration),
        armed: None,
    }
}

/// An event that happens at `instant`, or at once if that has passed.
///
/// ```
/// use std::time::Duration;
/// use tidings::time::Instant;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// tidings::at(Instant::now() + Duration::from_millis(2)).await;
/// # });
/// ```
pub fn at(instant: Instant) -> After {
    After {
        deadline: Deadline::At(instant),
        armed: None,
    }
}

/// As [`after`], under the name the field knows.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// tidings::time::sleep(std::time::Duration::from_millis(2)).await;
/// # });
/// ```
pub fn sleep(duration: Duration) -> After {
    after(duration)
}

/// The event of [`after`] and [`at`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct After {
    deadline: Deadline,
    armed: Option<Armed>,
}

impl After {
    /// Arms again, for a wait whose waker has changed or whose timers are gone.
    #[cold]
    fn arm_again(&mut self, deadline: Deadline, waker: &Waker) {
        self.armed = None;
        self.armed = Some(Armed::new(deadline, waker));
    }
}

impl Protocol for After {
    const TRACELESS: bool = true;

    fn waits_for(&self, waits: &mut Waits) {
        waits.timed = true;
        waits.of(format_args!("a time"));
    }

    #[inline]
    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        let passed = match self.deadline {
            Deadline::After(duration) => duration.is_zero(),
            Deadline::At(at) => Instant::now() >= at,
        };
        passed.then_some(0)
    }

    #[inline]
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
        enrol.has_due();
    }

    #[inline]
    fn due(mut self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        let Some(armed) = &self.armed else {
            self.armed = Some(Armed::new(self.deadline, waker));
            return None;
        };
        match armed.look() {
            Look::Fired => return Some(0),
            Look::Orphaned(deadline) => self.arm_again(deadline, waker),
            Look::Waiting => {}
        }
        None
    }

    fn rewake(mut self: Pin<&mut Self>, waker: &Waker) {
        if let Some(deadline) = self.armed.as_ref().map(Armed::deadline) {
            self.arm_again(deadline, waker);
        }
    }

    #[inline]
    fn withdraw(mut self: Pin<&mut Self>, _: Option<u32>, locked: bool) {
        // Not under a lock: dropping a foreign waker runs foreign code.
        if !locked {
            self.armed = None;
        }
    }

    #[inline]
    fn finish(mut self: Pin<&mut Self>, _: u32) {
        self.armed = None;
    }

    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl[] After => ());

/// Gives a future a deadline: `Err(`[`Elapsed`]`)` if it is not ready after `duration`. That begins with the first poll,
/// as with [`after`], and not with the call.
///
/// For events there is [`Event::timeout`](crate::Event::timeout), which loses nothing: this one drops the future, and
/// what a dropped future has half done is its own affair.
///
/// # Errors
/// [`Elapsed`] if the time is over first.
///
/// ```
/// use std::time::Duration;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let never = tidings::time::timeout(Duration::from_millis(2), std::future::pending::<()>());
/// assert!(never.await.is_err());
/// # });
/// ```
pub async fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = std::pin::pin!(future.into_future());
    let mut sleep: Pin<&mut EventFuture<After>> = std::pin::pin!(after(duration).into_future());
    std::future::poll_fn(|cx| {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(cx) {
            return std::task::Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(cx).map(|()| Err(Elapsed(())))
    })
    .await
}

/// The deadline of a [`timeout`] passed, or of an [`Event::timeout`](crate::Event::timeout), which puts in here what
/// the event gives back (the unsent value of a send).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed<L = ()>(pub L);

impl<L> fmt::Display for Elapsed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl<L: fmt::Debug> std::error::Error for Elapsed<L> {}
