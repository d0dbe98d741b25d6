//! Any descriptor that the system's poller can watch.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use socket2::SockRef;

use super::readiness::{Direction, POLLED, Readiness};
use super::ready::Ready;
use super::stream::poll_budget;
use super::{Driver, driver};
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
pub struct Io<T: AsFd> {
    // First, so that the descriptor is still open when it is deregistered.
    registration: Registration,
    inner: T,
}

/// A descriptor's place with its driver. It knows it by its number, which is another's as soon as it is closed: so nobody
/// may put another one in its place.
struct Registration {
    driver: Arc<Driver>,
    readiness: Arc<Readiness>,
    descriptor: RawFd,
    token: mio::Token,
}

impl<T: AsFd> Io<T> {
    /// Has `inner` watched by the runtime of this thread.
    ///
    /// It does not block from then on (`O_NONBLOCK`), here and wherever else the same open file is used: by the shell that
    /// has lent its terminal, for one; nor when it has been given back.
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
        let io = Self::with(&driver()?, inner)?;
        // A flag of any open file, by the call that there is for sockets.
        SockRef::from(&io.inner).set_nonblocking(true)?;
        Ok(io)
    }

    /// As `new`, by this driver, of what does not block.
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

/// Polls `call` of what is watched, one task at a time in each direction.
fn poll<T, R>(
    registration: &Registration,
    inner: &mut T,
    direction: Direction,
    cx: &Context<'_>,
    mut call: impl FnMut(&mut T) -> io::Result<R>,
) -> Poll<io::Result<R>> {
    ready!(poll_budget(cx));
    let call = || call(inner);
    let readiness = &registration.readiness;
    let done = ready!(readiness.poll_call(direction, POLLED, cx.waker(), call))?;
    Poll::Ready(Ok(done.0))
}

/// Has what is written flushed: tried at first in any case, for it may need no room where a write does.
fn poll_flush<T: Write>(
    registration: &Registration,
    inner: &mut T,
    cx: &Context<'_>,
) -> Poll<io::Result<()>> {
    match inner.flush() {
        Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {
            poll(registration, inner, Direction::Write, cx, Write::flush)
        }
        done => Poll::Ready(done),
    }
}

/// The traits of `futures-io`, by std's of what is watched.
macro_rules! by_std {
    ($type:ty, [$($reads:tt)*], [$($writes:tt)*], $io:ident => $inner:expr) => {
        impl<T: AsFd> AsyncRead for $type
        where
            $($reads)*
        {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let $io = self.get_mut();
                poll(&$io.registration, $inner, Direction::Read, cx, |inner| inner.read(buffer))
            }
            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                let $io = self.get_mut();
                poll(&$io.registration, $inner, Direction::Read, cx, |inner| {
                    inner.read_vectored(buffers)
                })
            }
        }

        /// `close` flushes: what the end of writing is, is the descriptor's; of a pipe, its drop.
        impl<T: AsFd> AsyncWrite for $type
        where
            $($writes)*
        {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                let $io = self.get_mut();
                poll(&$io.registration, $inner, Direction::Write, cx, |inner| inner.write(bytes))
            }
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let $io = self.get_mut();
                poll(&$io.registration, $inner, Direction::Write, cx, |inner| {
                    inner.write_vectored(buffers)
                })
            }
            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $io = self.get_mut();
                poll_flush(&$io.registration, $inner, cx)
            }
            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_flush(cx)
            }
        }
    };
}

by_std!(Io<T>, [T: Read + Unpin], [T: Write + Unpin], io => &mut io.inner);
by_std!(&Io<T>, [for<'a> &'a T: Read], [for<'a> &'a T: Write], io => &mut &io.inner);

impl<T: AsFd> AsFd for Io<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
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
