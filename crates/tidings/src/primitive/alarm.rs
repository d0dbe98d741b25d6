//! A timer of the system's that any thread sets: a timerfd. One thread waits for it, or a poller.
//!
//! Only Linux has one; elsewhere none can be made.

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsRawFd, FromRawFd, RawFd};
    use std::ptr;
    use std::time::Duration;

    /// See the module.
    #[derive(Debug)]
    pub(crate) struct Alarm(File);

    impl Alarm {
        pub(crate) fn new() -> io::Result<Self> {
            let flags = libc::TFD_CLOEXEC;
            // SAFETY: makes a file descriptor, or fails.
            let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is new and ours.
            Ok(Self(unsafe { File::from_raw_fd(fd) }))
        }

        /// It rings once, this much later, and no more at the time it was set to before.
        pub(crate) fn set(&self, delay: Duration) {
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

        /// Waits until it rings.
        pub(crate) fn wait(&self) -> io::Result<()> {
            let mut rings = [0; 8];
            (&self.0).read_exact(&mut rings)
        }
    }

    impl AsRawFd for Alarm {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{Alarm, Duration};

        #[test]
        fn an_alarm_rings_at_the_time_it_was_set_to_last() {
            let alarm = Alarm::new().unwrap();
            let start = std::time::Instant::now();
            alarm.set(Duration::from_secs(3600));
            let soon = Duration::from_micros(2_500);
            alarm.set(soon);
            alarm.wait().unwrap();
            assert!(start.elapsed() >= soon);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;
    use std::time::Duration;

    /// See the module.
    #[derive(Debug)]
    pub(crate) struct Alarm(());

    impl Alarm {
        pub(crate) fn new() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
        pub(crate) fn set(&self, _: Duration) {}
        pub(crate) fn wait(&self) -> io::Result<()> {
            Ok(())
        }
    }
}

pub(crate) use imp::Alarm;
