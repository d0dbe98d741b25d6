//! [`Io`] of any descriptor of the user's: it is made here, and read and written by the traits of `futures-io`.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use socket2::SockRef;

use super::driver;
use super::io::{Io, Registration};
use super::readiness::{Direction, POLLED};
use super::stream::poll_budget;

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
