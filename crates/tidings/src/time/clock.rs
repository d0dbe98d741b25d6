//! The only reader of the system's clock.

use std::time::Duration;

use super::Instant;
use crate::primitive::OnceLock;
use crate::sched;

/// The time of this thread's runtime: virtual under a seam, the system's otherwise.
pub(super) fn now() -> Instant {
    sched::seam_now().map_or_else(system, Instant::from_duration)
}

/// The system's monotonic time since the process first asked.
pub(crate) fn system() -> Instant {
    static EPOCH: OnceLock<std::time::Instant> = OnceLock::new();
    let epoch = EPOCH.get_or_init(std::time::Instant::now);
    // One tick past zero, so that 0 can mean "not known".
    Instant::from_duration(epoch.elapsed()).saturating_add(Duration::from_nanos(1))
}

/// The processor's own count of time, quicker to read than the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// At one moment.
    first: (u64, Instant),
}

impl Ticks {
    /// `None`: this processor has no count that runs evenly and everywhere the same.
    pub(crate) fn start() -> Option<Self> {
        processor::is_even().then(|| Self {
            first: (processor::ticks(), system()),
        })
    }

    #[inline(always)]
    pub(crate) fn now(self) -> u64 {
        processor::ticks()
    }

    /// Tells when it was that late.
    pub(crate) fn times(self) -> impl Fn(u64) -> Duration {
        let (first, start) = self.first;
        let (now, end) = (processor::ticks(), system());
        let ticks = u128::from(now.saturating_sub(first).max(1));
        let nanos = u128::from(end.as_nanos() - start.as_nanos());
        move |then| {
            let passed = u128::from(then.saturating_sub(first)) * nanos / ticks;
            start.since_start() + Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX))
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod processor {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Does the time stamp counter run at one rate, asleep or not?
    pub(super) fn is_even() -> bool {
        const POWER: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
    }

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every processor of this kind has it, and it changes nothing.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
mod processor {
    pub(super) fn is_even() -> bool {
        false
    }

    pub(super) fn ticks() -> u64 {
        0
    }
}
