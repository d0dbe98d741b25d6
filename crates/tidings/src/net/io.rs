//! Any descriptor that the system's poller can watch.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use super::readiness::{Direction, Readiness};
use super::ready::Ready;
use super::{Driver, driver};
use crate::primitive::Arc;

/// A descriptor of the user's, polled by the workers of this runtime: a pipe, a terminal, a
/// socket of a kind that is not here, an eventfd.
///
/// The descriptor must not block (`O_NONBLOCK`): what would block a thread is to be an error of the
/// kind [`WouldBlock`](io::ErrorKind::WouldBlock). Regular files cannot be waited for.
/// As tokio's `AsyncFd` and smol's `Async`.
///
/// ```
/// use std::io::{ErrorKind, Read, Write};
/// use std::os::unix::net::UnixStream;
/// use tidings::net::{Direction, Io};
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (a, mut b) = UnixStream::pair().unwrap();
/// a.set_nonblocking(true).unwrap();
/// let a = Io::new(a).unwrap();
/// let mut byte = [0];
/// let nothing = a.try_io(Direction::Read, |mut a| a.read(&mut byte));
/// assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
///
/// b.write_all(b"!").unwrap();
/// a.readable().await;
/// assert_eq!(a.try_io(Direction::Read, |mut a| a.read(&mut byte)).unwrap(), 1);
/// # });
/// ```
pub struct Io<T: AsFd> {
    // First, so that the descriptor is still open when it is deregistered.
    registration: Registration,
    inner: T,
}

/// A descriptor's place with its driver.
struct Registration {
    driver: Arc<Driver>,
    readiness: Arc<Readiness>,
    descriptor: RawFd,
    token: mio::Token,
}

impl<T: AsFd> Io<T> {
    /// Has `inner` watched by the runtime of this thread.
    ///
    /// It may be used from any thread and executor from then on, for as long as that runtime is
    /// there. After it has ended, what would have to wait is an error.
    ///
    /// # Errors
    /// If the system cannot watch it (a regular file), or watches it already for this runtime; on
    /// a runtime under a seam, whose time is not the system's.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn new(inner: T) -> io::Result<Self> {
        Self::with(&driver()?, inner)
    }

    /// As `new`, by this driver.
    pub(super) fn with(driver: &Arc<Driver>, inner: T) -> io::Result<Self> {
        let readiness = Arc::new(Readiness::new());
        let descriptor = inner.as_fd().as_raw_fd();
        let token = driver.register(descriptor, &readiness)?;
        let registration = Registration {
            driver: Arc::clone(driver),
            readiness,
            descriptor,
            token,
        };
        Ok(Self {
            registration,
            inner,
        })
    }

    pub(super) fn driver(&self) -> &Arc<Driver> {
        &self.registration.driver
    }

    pub(super) fn readiness(&self) -> &Readiness {
        &self.registration.readiness
    }

    /// The descriptor, to ask or to configure it.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Gives the descriptor back, watched no more.
    pub fn into_inner(self) -> T {
        let Self {
            registration,
            inner,
        } = self;
        drop(registration);
        inner
    }

    /// Waits until it can be read, or the other end is done: an event.
    pub fn readable(&self) -> Ready<'_> {
        Ready::new(self.readiness(), Direction::Read)
    }

    /// Waits until it can be written to, or the other end is done: an event.
    pub fn writable(&self) -> Ready<'_> {
        Ready::new(self.readiness(), Direction::Write)
    }

    /// Runs `call`, unless it is known that it would have to wait.
    ///
    /// # Errors
    /// Those of `call`. [`WouldBlock`](io::ErrorKind::WouldBlock) means that it would have to wait,
    /// and makes the next wait in this direction one: `call` must say so if and only if the
    /// descriptor did.
    pub fn try_io<R>(
        &self,
        direction: Direction,
        mut call: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let done = self.readiness().try_call(direction, || call(&self.inner))?;
        Ok(done.0)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.driver.deregister(self.descriptor, self.token);
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Io<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Io").field(&self.inner).finish()
    }
}
