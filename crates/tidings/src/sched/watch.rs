//! Somebody is awake while a worker works: the alarm behind `rescue`.
//!
//! What waits privately behind a long poll is rescued by a neighbour that sleeps with a timeout
//! (worker.rs). But workers that fell asleep when all was quiet sleep without one, and waking a
//! second worker for every task that comes costs 12 us. So the worker that breaks the quiet sets
//! an alarm: a kernel timer, one system call of half a microsecond, which nobody takes back. One
//! thread of the process waits for it, and wakes a sleeper of each runtime that is still busy;
//! that one keeps watch from then on. A runtime that is idle sets no alarm.

use std::time::Duration;

use super::Shared;
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Arc, Mutex, OnceLock, Weak, lock, thread};

/// From the alarm's setting to the look.
const DELAY: Duration = Duration::from_millis(2);

/// One runtime's part of it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// An alarm is set and has not rung.
    set: AtomicBool,
}

struct Watcher {
    runtimes: Mutex<Vec<Weak<Shared>>>,
    alarm: alarm::Alarm,
}

static WATCHER: OnceLock<Option<&'static Watcher>> = OnceLock::new();

/// Starts the process's watcher, if it is not there, and has it watch this runtime too.
pub(super) fn register(shared: &Arc<Shared>) {
    let watcher = WATCHER.get_or_init(|| {
        let alarm = alarm::Alarm::new()?;
        let runtimes = Mutex::new(Vec::new());
        let watcher: &'static Watcher = Box::leak(Box::new(Watcher { runtimes, alarm }));
        let name = "tidings-watch".into();
        thread::Builder::new()
            .name(name)
            .spawn(|| watcher.run())
            .ok()?;
        Some(watcher)
    });
    if let Some(watcher) = watcher {
        lock(&watcher.runtimes).push(Arc::downgrade(shared));
    }
}

impl Watcher {
    fn run(&self) {
        loop {
            self.alarm.wait();
            let mut busy = Vec::new();
            lock(&self.runtimes).retain(|runtime| match runtime.upgrade() {
                Some(shared) => {
                    busy.push(shared);
                    true
                }
                None => false,
            });
            busy.iter().for_each(|shared| shared.ring());
        }
    }
}

impl Shared {
    /// A worker leaves the quiet, and may leave others asleep that keep no watch.
    #[inline]
    pub(super) fn set_alarm(&self) {
        // RELAXED: a race sets the alarm twice.
        if self.idle.has_sleepers() && !self.watch.set.load(Ordering::Relaxed) {
            self.watch.set.store(true, Ordering::Relaxed);
            match WATCHER.get() {
                Some(Some(watcher)) => watcher.alarm.set(DELAY),
                // Without an alarm the price is a wake-up.
                _ => self.ring(),
            }
        }
    }

    /// The alarm: if somebody is still busy, one sleeper gets up to keep watch.
    fn ring(&self) {
        if self.watch.set.swap(false, Ordering::Relaxed)
            && let Some(sleeper) = self.idle.any_sleeper()
        {
            self.unpark(sleeper);
        }
    }
}

#[cfg(target_os = "linux")]
mod alarm {
    //! A timerfd: set by any thread, awaited by one.

    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::ptr;
    use std::time::Duration;

    use crate::primitive::sleep;

    pub(super) struct Alarm(File);

    impl Alarm {
        pub(super) fn new() -> Option<Self> {
            // SAFETY: makes a file descriptor, or fails.
            let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
            // SAFETY: the descriptor is new and ours.
            (fd >= 0).then(|| Self(unsafe { File::from_raw_fd(fd) }))
        }

        pub(super) fn set(&self, delay: Duration) {
            let zero = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let nanos = delay.subsec_nanos();
            let delay = libc::timespec {
                tv_sec: libc::time_t::try_from(delay.as_secs()).unwrap_or(1),
                tv_nsec: libc::c_long::from(i32::try_from(nanos).unwrap_or(1)),
            };
            let spec = libc::itimerspec {
                it_interval: zero,
                it_value: delay,
            };
            // SAFETY: the descriptor is ours; `spec` lives over the call.
            unsafe {
                libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const spec, ptr::null_mut())
            };
        }

        pub(super) fn wait(&self) {
            let mut rings = [0; 8];
            if (&self.0).read(&mut rings).is_err() {
                // Not seen to happen; if it does, a look every second is better than none.
                sleep(Duration::from_secs(1));
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod alarm {
    //! No alarm: the worker that breaks the quiet wakes a watcher itself.

    use std::time::Duration;

    pub(super) struct Alarm;

    impl Alarm {
        pub(super) fn new() -> Option<Self> {
            None
        }
        pub(super) fn set(&self, _: Duration) {}
        pub(super) fn wait(&self) {}
    }
}
