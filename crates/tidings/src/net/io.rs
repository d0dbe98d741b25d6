//! What the system's poller can watch: on Unix any descriptor, on Windows the sockets of `mio`.

use std::fmt;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as Source, AsRawFd, RawFd};

#[cfg(windows)]
use mio::event::Source;
#[cfg(unix)]
use mio::unix::SourceFd;

use super::Driver;
use super::readiness::{Direction, Readiness};
use super::ready::Ready;
use crate::primitive::Arc;

/// A descriptor of the user's, polled by the workers of this runtime: a pipe, a terminal, a
/// socket of a kind that is not here, an eventfd.
///
/// Reads and writes by the traits of `futures-io`, if the descriptor does by std's; what is done with it otherwise is tried
/// ([`try_io`](Self::try_io)). Regular files cannot be waited for. Its `AsFd` gives
/// the same descriptor for as long as it is watched. As tokio's `AsyncFd` and smol's `Async`.
///
/// ```
/// use futures::io::AsyncReadExt;
/// use std::process::{Command, Stdio};
/// use tidings::net::Io;
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn().unwrap();
/// let mut said = String::new();
/// let mut stdout = Io::new(child.stdout.take().unwrap()).unwrap();
/// stdout.read_to_string(&mut said).await.unwrap();
/// assert_eq!(said, "hello\n");
/// child.wait().unwrap();
/// # });
/// ```
pub struct Io<T: Source> {
    // First, so that the descriptor is still open when it is deregistered.
    pub(super) registration: Registration,
    pub(super) inner: T,
}

/// A descriptor's place with its driver. It knows it by its number, which is another's as soon as it is closed: so nobody
/// may put another one in its place.
pub(super) struct Registration {
    driver: Arc<Driver>,
    pub(super) readiness: Arc<Readiness>,
    #[cfg(unix)]
    descriptor: RawFd,
    token: mio::Token,
}

impl<T: Source> Io<T> {
    /// Has `inner`, which does not block, watched by this driver.
    pub(super) fn with(
        driver: &Arc<Driver>,
        #[cfg(unix)] inner: T,
        #[cfg(windows)] mut inner: T,
    ) -> io::Result<Self> {
        let readiness = Arc::new(Readiness::new());
        #[cfg(unix)]
        let descriptor = inner.as_fd().as_raw_fd();
        #[cfg(unix)]
        let token = driver.register(&mut SourceFd(&descriptor), &readiness)?;
        #[cfg(windows)]
        let token = driver.register(&mut inner, &readiness)?;
        let registration = Registration {
            driver: Arc::clone(driver),
            readiness,
            #[cfg(unix)]
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
    ///
    /// ```
    /// use std::io::{ErrorKind, Read, Write};
    /// use std::os::unix::net::UnixStream;
    /// use tidings::net::{Direction, Io};
    ///
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (a, mut b) = UnixStream::pair().unwrap();
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
        // On Windows a socket deregisters itself as it is dropped.
        #[cfg(unix)]
        self.driver.deregister(self.descriptor);
        self.driver.forget(self.token);
    }
}

impl<T: Source + fmt::Debug> fmt::Debug for Io<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Io").field(&self.inner).finish()
    }
}
