//! The only reader of the system's clock.

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
    Instant::from_duration(epoch.elapsed()).saturating_add(std::time::Duration::from_nanos(1))
}
