//! Sockets of an installed [`Network`](super::Network), as those of the system: their polls are
//! calls that say `WouldBlock`, and their wakes are edges.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use super::network::{Accept, Socket};
use super::readiness::{Direction, POLLED, Readiness, Waiting};
use super::tcp::TcpStream;
use crate::primitive::{Arc, Mutex, lock};

/// A stream.
pub(super) struct Installed {
    /// Held while the network polls, by one task of the stream's at a time.
    socket: Mutex<Box<dyn Socket>>,
    readiness: Arc<Readiness>,
    reads: Waker,
    writes: Waker,
}

impl Installed {
    pub(super) fn new(socket: Box<dyn Socket>) -> Self {
        let readiness = Arc::new(Readiness::new());
        Self {
            socket: Mutex::new(socket),
            reads: waiting(&readiness, Direction::Read),
            writes: waiting(&readiness, Direction::Write),
            readiness,
        }
    }

    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }
    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        lock(&self.socket).local_addr()
    }
    pub(super) fn peer_addr(&self) -> io::Result<SocketAddr> {
        lock(&self.socket).peer_addr()
    }
    pub(super) fn set_zero_linger(&self) -> io::Result<()> {
        lock(&self.socket).set_zero_linger()
    }
    pub(super) fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.call(&self.reads, |socket, cx| {
            socket.poll_read_vectored(cx, buffers)
        })
    }
    pub(super) fn write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.call(&self.writes, |socket, cx| {
            socket.poll_write_vectored(cx, buffers)
        })
    }
    pub(super) fn poll_flush(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_end(cx, |socket, cx| socket.poll_flush(cx))
    }
    pub(super) fn poll_close(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_end(cx, |socket, cx| socket.poll_close(cx))
    }

    /// Polls until it need not wait: at first in any case, for it may need no room where a write does.
    fn poll_end(
        &self,
        cx: &Context<'_>,
        poll: fn(Pin<&mut dyn Socket>, &mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let call = || self.call(&self.writes, poll);
        match call() {
            Err(error)
                if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {}
            done => return Poll::Ready(done),
        }
        let readiness = &self.readiness;
        let done = ready!(readiness.poll_call(Direction::Write, POLLED, cx.waker(), call));
        Poll::Ready(done.map(|((), _)| ()))
    }

    fn call<R>(
        &self,
        waker: &Waker,
        poll: impl FnOnce(Pin<&mut dyn Socket>, &mut Context<'_>) -> Poll<io::Result<R>>,
    ) -> io::Result<R> {
        let mut socket = lock(&self.socket);
        would_block(poll(
            Pin::new(&mut **socket),
            &mut Context::from_waker(waker),
        ))
    }
}

/// A listener.
pub(super) struct InstalledListener {
    listener: Mutex<Box<dyn Accept>>,
    readiness: Arc<Readiness>,
    accepts: Waker,
}

impl InstalledListener {
    pub(super) fn new(listener: Box<dyn Accept>) -> Self {
        let readiness = Arc::new(Readiness::new());
        Self {
            listener: Mutex::new(listener),
            accepts: waiting(&readiness, Direction::Read),
            readiness,
        }
    }

    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }
    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        lock(&self.listener).local_addr()
    }
    pub(super) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut cx = Context::from_waker(&self.accepts);
        let socket = would_block(lock(&self.listener).poll_accept(&mut cx))?;
        let from = socket.peer_addr()?;
        Ok((TcpStream::installed(socket), from))
    }
}

fn waiting(readiness: &Arc<Readiness>, direction: Direction) -> Waker {
    Waker::from(Arc::new(Waiting(Arc::clone(readiness), direction)))
}

fn would_block<R>(poll: Poll<io::Result<R>>) -> io::Result<R> {
    match poll {
        Poll::Ready(done) => done,
        Poll::Pending => Err(ErrorKind::WouldBlock.into()),
    }
}

impl fmt::Debug for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installed")
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use futures_io::{AsyncRead, AsyncWrite};

    use super::*;

    /// Says something of its own to each call.
    struct Says;

    fn says<R>(kind: ErrorKind) -> io::Result<R> {
        Err(kind.into())
    }

    impl AsyncRead for Says {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(5))
        }
    }

    impl AsyncWrite for Says {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(3))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(says(ErrorKind::BrokenPipe))
        }
        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl Socket for Says {
        fn local_addr(&self) -> io::Result<SocketAddr> {
            says(ErrorKind::AddrInUse)
        }
        fn peer_addr(&self) -> io::Result<SocketAddr> {
            says(ErrorKind::NotConnected)
        }
        fn set_zero_linger(&mut self) -> io::Result<()> {
            says(ErrorKind::Unsupported)
        }
    }

    #[test]
    fn what_the_networks_socket_says_is_told_and_what_waits_would_block() {
        let socket = Installed::new(Box::new(Says));
        let (mut read, written) = ([0; 8], [0; 8]);
        let read = socket.read(&mut [IoSliceMut::new(&mut read)]);
        assert_eq!(read.unwrap(), 5);
        assert_eq!(socket.write(&[IoSlice::new(&written)]).unwrap(), 3);
        let kind = |done: io::Result<()>| done.unwrap_err().kind();
        let cx = Context::from_waker(Waker::noop());
        let flushed = socket.poll_flush(&cx).map(kind);
        assert_eq!(flushed, Poll::Ready(ErrorKind::BrokenPipe));
        assert!(socket.poll_close(&cx).is_pending());
        assert_eq!(kind(socket.set_zero_linger()), ErrorKind::Unsupported);
        assert_eq!(kind(socket.local_addr().map(drop)), ErrorKind::AddrInUse);
        assert_eq!(kind(socket.peer_addr().map(drop)), ErrorKind::NotConnected);
    }
}
