//! Streams that lead to each other in memory: for tests, and for two halves of one program.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};

/// So many bytes are under way in each direction, at most.
const CAPACITY: usize = 256 << 10;

/// One direction.
#[derive(Debug, Default)]
struct Way {
    bytes: std::collections::VecDeque<u8>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

type Half = Arc<Mutex<Way>>;

/// One end of a [`pipe`]. What is written comes out of the other end.
///
/// Dropped, it ends both directions: the other end reads what is under way, and then its end.
#[derive(Debug)]
pub struct Pipe {
    from: Half,
    to: Half,
}

/// Two ends of a stream of bytes.
///
/// ```
/// use futures::{AsyncReadExt, AsyncWriteExt};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (mut here, mut there) = tidings_link::memory::pipe();
/// here.write_all(b"hello").await.unwrap();
/// drop(here);
/// let mut text = String::new();
/// there.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "hello");
/// # });
/// ```
#[must_use]
pub fn pipe() -> (Pipe, Pipe) {
    let (one, other) = (Half::default(), Half::default());
    let there = Pipe {
        from: Arc::clone(&one),
        to: Arc::clone(&other),
    };
    (
        Pipe {
            from: other,
            to: one,
        },
        there,
    )
}

fn lock(half: &Half) -> MutexGuard<'_, Way> {
    half.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let (n, writer) = {
            let mut way = lock(&self.from);
            let n = io::Read::read(&mut way.bytes, to)?;
            if n == 0 && !way.closed && !to.is_empty() {
                way.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            (n, way.writer.take())
        };
        wake(writer);
        Poll::Ready(Ok(n))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (n, reader) = {
            let mut way = lock(&self.to);
            if way.closed {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let n = from.len().min(CAPACITY - way.bytes.len());
            if n == 0 && !from.is_empty() {
                way.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            way.bytes.extend(&from[..n]);
            (n, way.reader.take())
        };
        wake(reader);
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        close(&self.to);
        Poll::Ready(Ok(()))
    }
}

fn close(half: &Half) {
    let (reader, writer) = {
        let mut way = lock(half);
        way.closed = true;
        (way.reader.take(), way.writer.take())
    };
    wake(reader);
    wake(writer);
}

impl Drop for Pipe {
    fn drop(&mut self) {
        close(&self.to);
        close(&self.from);
    }
}
