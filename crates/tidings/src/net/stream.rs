//! What streams have in common: reading and writing by the traits of `futures-io`.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use futures_io::{AsyncRead, AsyncWrite};

use super::readiness::{Direction, Edge, POLLED, Readiness};
use crate::primitive::Arc;
use crate::sched;

/// A stream of bytes whose calls do not wait: they say `WouldBlock`.
pub(super) trait Bytes {
    fn readiness(&self) -> &Readiness;
    /// Has a call that gives or takes less than it was asked for come to the end of what is there, so that an edge tells
    /// of more? A [`Socket`](super::Socket) of a network has promised neither. A read of a Unix socket also ends where
    /// descriptors or another's credentials lie among the bytes (unix(7)).
    fn short_is_last(&self, direction: Direction) -> bool;
    fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize>;
    fn write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize>;
    /// What the system has taken waits for nobody.
    fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Nothing will be written any more. This waits for no room, either.
    fn poll_close(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    fn try_read(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let asked = asked(buffers);
        let read = || self.read(buffers);
        let done = self.readiness().try_call(Direction::Read, read)?;
        Ok(self.note(Direction::Read, asked, done))
    }

    fn try_write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let write = || self.write(buffers);
        let done = self.readiness().try_call(Direction::Write, write)?;
        Ok(self.note(Direction::Write, asked(buffers), done))
    }

    #[inline]
    fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_budget(cx));
        let asked = asked(buffers);
        let read = || self.read(buffers);
        let readiness = self.readiness();
        let read = readiness.poll_call(Direction::Read, POLLED, cx.waker(), read);
        let done = ready!(read)?;
        Poll::Ready(Ok(self.note(Direction::Read, asked, done)))
    }

    #[inline]
    fn poll_write(&self, cx: &mut Context<'_>, buffers: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        ready!(poll_budget(cx));
        let write = || self.write(buffers);
        let readiness = self.readiness();
        let written = readiness.poll_call(Direction::Write, POLLED, cx.waker(), write);
        let done = ready!(written)?;
        Poll::Ready(Ok(self.note(Direction::Write, asked(buffers), done)))
    }

    /// After a call that was asked for so many bytes: how many it gave or took.
    #[inline]
    fn note(&self, direction: Direction, asked: usize, (n, edge): (usize, Edge)) -> usize {
        if is_last(n, asked) && self.short_is_last(direction) {
            self.readiness().drained(direction, edge);
        }
        n
    }
}

/// Reads by the system's call for one buffer, if it is one, which costs less.
#[inline]
pub(super) fn read(mut from: impl Read, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    match buffers {
        [buffer] => from.read(buffer),
        _ => from.read_vectored(buffers),
    }
}

/// As `read`.
#[inline]
pub(super) fn write(mut to: impl Write, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
    match buffers {
        [bytes] => to.write(bytes),
        _ => to.write_vectored(buffers),
    }
}

/// A vectored call of the system's looks at so many buffers at least (POSIX), and not at all if there are very many.
const AT_ONCE: usize = 16;

/// How many bytes a call is asked for, at least.
#[inline]
fn asked<B: Deref<Target = [u8]>>(buffers: &[B]) -> usize {
    let first = buffers.iter().take(AT_ONCE);
    first.map(|buffer| buffer.len()).sum()
}

/// The system has taken or given less than it was asked for: the next call would wait. The end of
/// a stream, a read of nothing, comes again.
fn is_last(n: usize, asked: usize) -> bool {
    0 < n && n < asked
}

/// A stream that is always ready lets others run now and then.
pub(super) fn poll_budget(cx: &Context<'_>) -> Poll<()> {
    if sched::spend_polled() {
        return Poll::Ready(());
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// What every stream does by its [`Bytes`]: the traits of `futures-io`, for it and for references to
/// it, and the methods that do not wait.
macro_rules! async_bytes {
    ($stream:ty) => {
        impl $stream {
            /// Reads what is there, without waiting; 0 at the end.
            ///
            /// # Errors
            /// As std's; [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing.
            pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                Bytes::try_read(self, &mut [IoSliceMut::new(buffer)])
            }

            /// Writes what there is room for, without waiting.
            ///
            /// # Errors
            /// As std's; [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room.
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                Bytes::try_write(self, &[IoSlice::new(bytes)])
            }

            /// Two halves, for two tasks.
            pub fn into_split(self) -> ($crate::net::ReadHalf<Self>, $crate::net::WriteHalf<Self>) {
                $crate::net::stream::split(self)
            }
        }

        async_bytes!($stream: $stream);
        async_bytes!($stream: &$stream);
    };
    ($stream:ty: $type:ty) => {
        impl futures_io::AsyncRead for $type {
            #[inline]
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                <$stream as Bytes>::poll_read(&self, cx, &mut [IoSliceMut::new(buffer)])
            }
            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                <$stream as Bytes>::poll_read(&self, cx, buffers)
            }
        }

        impl futures_io::AsyncWrite for $type {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                <$stream as Bytes>::poll_write(&self, cx, &[IoSlice::new(bytes)])
            }
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                <$stream as Bytes>::poll_write(&self, cx, buffers)
            }
            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream as Bytes>::poll_flush(&self, cx)
            }
            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream as Bytes>::poll_close(&self, cx)
            }
        }
    };
}
pub(super) use async_bytes;

/// The reading half of a stream, from its `into_split`.
#[derive(Debug)]
pub struct ReadHalf<S>(Arc<S>);

/// The writing half of a stream, from its `into_split`.
///
/// Dropping it tells the peer that nothing more comes, as `close` does: it reads to the end of what was written. The reading half
/// reads on.
#[derive(Debug)]
pub struct WriteHalf<S> {
    stream: Arc<S>,
    /// What its drop has to do; nothing, if it was closed before.
    end: Option<fn(&S)>,
}

pub(super) fn split<S: Bytes>(stream: S) -> (ReadHalf<S>, WriteHalf<S>) {
    let stream = Arc::new(stream);
    let end = Some(end as fn(&S));
    (ReadHalf(Arc::clone(&stream)), WriteHalf { stream, end })
}

/// Ends the writing, of which nobody waits to hear.
fn end(stream: &impl Bytes) {
    let _ = stream.poll_close(&mut Context::from_waker(Waker::noop()));
}

impl<S> ReadHalf<S> {
    /// The whole stream, to ask it and to wait for it.
    pub fn stream(&self) -> &S {
        &self.0
    }
}

impl<S> WriteHalf<S> {
    /// The whole stream, to ask it and to wait for it.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Drops it, and leaves the stream as it is until the reading half is dropped, too.
    pub fn forget(mut self) {
        self.end = None;
    }
}

impl<S> Drop for WriteHalf<S> {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            end(&self.stream);
        }
    }
}

impl<S> AsyncRead for ReadHalf<S>
where
    for<'a> &'a S: AsyncRead,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        pin!(&*self.0).poll_read(cx, buffer)
    }
    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        pin!(&*self.0).poll_read_vectored(cx, buffers)
    }
}

impl<S> AsyncWrite for WriteHalf<S>
where
    for<'a> &'a S: AsyncWrite,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        pin!(&*self.stream).poll_write(cx, bytes)
    }
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        pin!(&*self.stream).poll_write_vectored(cx, buffers)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        pin!(&*self.stream).poll_flush(cx)
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(pin!(&*self.stream).poll_close(cx))?;
        self.end = None;
        Poll::Ready(Ok(()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{AT_ONCE, asked, is_last};

    #[test]
    fn less_than_was_asked_for_and_not_nothing_is_the_last() {
        let last = (0..=3).map(|n| is_last(n, 3));
        assert!(last.eq([false, true, true, false]));
    }

    #[test]
    fn what_is_asked_for_is_what_lies_in_the_buffers_that_a_call_takes_in_any_case() {
        for n in [0, 1, AT_ONCE, AT_ONCE + 1, 2000] {
            assert_eq!(asked(&vec![&b"ab"[..]; n]), 2 * n.min(AT_ONCE));
        }
    }
}
