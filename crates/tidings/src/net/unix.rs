//! Unix sockets.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::accept::{Accepting, Listen};
use super::io::Io;
use super::readiness::{Direction, Readiness};
use super::ready::Ready;
use super::stream::{self, Bytes, async_bytes};
use super::system;
use crate::primitive::Mutex;

/// A connection over a Unix socket; otherwise as [`TcpStream`](super::TcpStream).
///
/// ```
/// use futures::io::{AsyncReadExt, AsyncWriteExt};
/// use tidings::net::UnixStream;
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (mut a, mut b) = UnixStream::pair().unwrap();
/// a.write_all(b"hello").await.unwrap();
/// let mut word = [0; 5];
/// b.read_exact(&mut word).await.unwrap();
/// assert_eq!(&word, b"hello");
/// # });
/// ```
#[derive(Debug)]
pub struct UnixStream(Io<net::UnixStream>);

impl UnixStream {
    /// Connects; polled by the runtime of this thread from then on, wherever it goes.
    ///
    /// # Errors
    /// As std's; [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's queue is full; on a
    /// runtime with a network of its own or under a seam,
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn connect(to: impl AsRef<Path>) -> io::Result<Self> {
        let driver = system()?;
        let stream = mio::net::UnixStream::connect(to)?;
        Ok(Self(Io::with(&driver, stream.into())?))
    }

    /// Two streams, each the other's peer.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let driver = system()?;
        let (a, b) = mio::net::UnixStream::pair()?;
        let a = Io::with(&driver, a.into())?;
        Ok((Self(a), Self(Io::with(&driver, b.into())?)))
    }

    /// Takes over a stream of std's.
    ///
    /// # Errors
    /// As [`Io::new`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self(Io::new(stream)?))
    }

    /// Std's stream, which does not block.
    pub fn into_std(self) -> net::UnixStream {
        self.0.into_inner()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// As std's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.get_ref().local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// As std's.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.get_ref().peer_addr()
    }

    /// Waits until a read is worth a try: an event.
    pub fn readable(&self) -> Ready<'_> {
        self.0.readable()
    }

    /// Waits until a write is worth a try: an event.
    pub fn writable(&self) -> Ready<'_> {
        self.0.writable()
    }
}

/// To ask and to configure it, by `socket2::SockRef` for one; what is read and written must be by this stream.
impl AsFd for UnixStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bytes for UnixStream {
    fn readiness(&self) -> &Readiness {
        self.0.readiness()
    }
    fn short_is_last(&self, direction: Direction) -> bool {
        direction == Direction::Write
    }
    #[inline]
    fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        stream::read(self.0.get_ref(), buffers)
    }
    #[inline]
    fn write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        stream::write(self.0.get_ref(), buffers)
    }
    #[inline]
    fn poll_flush(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.get_ref().shutdown(Shutdown::Write))
    }
}

async_bytes!(UnixStream);

/// Takes connections over a Unix socket; otherwise as [`TcpListener`](super::TcpListener).
///
/// ```
/// use tidings::net::{UnixListener, UnixStream};
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let at = std::env::temp_dir().join(format!("tidings-doc-{}", std::process::id()));
/// let listener = UnixListener::bind(&at).unwrap();
/// let stream = UnixStream::connect(&at).unwrap();
/// let (peer, _) = listener.accept().await.unwrap();
/// std::fs::remove_file(at).unwrap();
/// # drop((stream, peer));
/// # });
/// ```
pub struct UnixListener {
    io: Io<mio::net::UnixListener>,
    returned: Mutex<VecDeque<(UnixStream, SocketAddr)>>,
}

impl UnixListener {
    /// Makes the socket `at`, and listens there. It is not removed when the listener is dropped.
    ///
    /// # Errors
    /// As std's, [`AddrInUse`](io::ErrorKind::AddrInUse) if the file exists; on a runtime with a
    /// network of its own or under a seam, [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn bind(at: impl AsRef<Path>) -> io::Result<Self> {
        let driver = system()?;
        let io = Io::with(&driver, mio::net::UnixListener::bind(at)?)?;
        Ok(Self::of(io))
    }

    /// Takes over a listener of std's.
    ///
    /// # Errors
    /// As [`Io::new`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn from_std(listener: net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::of(Io::new(mio::net::UnixListener::from_std(
            listener,
        ))?))
    }

    fn of(io: Io<mio::net::UnixListener>) -> Self {
        Self {
            io,
            returned: Mutex::default(),
        }
    }

    /// Waits for the next connection, as [`TcpListener::accept`](super::TcpListener::accept).
    pub fn accept(&self) -> Accepting<'_, (UnixStream, SocketAddr)> {
        Accepting::new(self)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As std's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }
}

/// To ask and to configure it.
impl AsFd for UnixListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl Listen<(UnixStream, SocketAddr)> for UnixListener {
    fn readiness(&self) -> &Readiness {
        self.io.readiness()
    }
    fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, from) = self.io.get_ref().accept()?;
        let stream = Io::with(self.io.driver(), stream.into())?;
        Ok((UnixStream(stream), from))
    }
    fn returned(&self) -> &Mutex<VecDeque<(UnixStream, SocketAddr)>> {
        &self.returned
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnixListener")
            .field("at", &self.local_addr())
            .finish()
    }
}
