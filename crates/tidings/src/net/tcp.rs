//! TCP: the system's sockets, or those of an installed network.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{self, Shutdown, SocketAddr};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd as Borrowed};
#[cfg(windows)]
use std::os::windows::io::{AsSocket, BorrowedSocket as Borrowed};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{Domain, SockRef, Type};

use super::accept::{Accepting, Listen};
use super::driver;
use super::installed::{Installed, InstalledListener};
use super::io::Io;
use super::lookup::{self, ToSocketAddrs, lookup_host};
use super::network::Socket;
use super::readiness::{Direction, POLLED, Readiness};
use super::ready::Ready;
use super::stream::{self, Bytes, async_bytes};
use crate::primitive::Mutex;
use crate::sched;

/// A connection.
///
/// Reads and writes by the traits of `futures-io`, which `futures::io::AsyncReadExt` and
/// `AsyncWriteExt` make methods of; so does `&TcpStream`, one task at a time in each direction.
/// A read or write tries at once, and waits only if it must; what waits is dropped without a
/// trace. Dropping the stream closes it.
///
/// ```
/// use futures::io::{AsyncReadExt, AsyncWriteExt};
/// use tidings::net::{TcpListener, TcpStream};
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
/// let at = listener.local_addr().unwrap();
/// tidings::spawn(async move {
///     let (mut stream, _) = listener.accept().await?;
///     stream.write_all(b"hello").await
/// });
/// let mut stream = TcpStream::connect(at).await.unwrap();
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "hello");
/// # });
/// ```
#[derive(Debug)]
pub struct TcpStream(Stream);

#[derive(Debug)]
enum Stream {
    System(Io<mio::net::TcpStream>),
    Installed(Installed),
}

impl TcpStream {
    /// Connects; polled by the runtime of this thread from then on, wherever it goes.
    ///
    /// A name is [looked up](super::lookup_host), and the addresses that it has are tried one after another. Dropping
    /// the wait gives the connection up.
    ///
    /// ```
    /// use tidings::net::{TcpListener, TcpStream};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let port = listener.local_addr().unwrap().port();
    /// let stream = TcpStream::connect(("localhost", port)).await.unwrap();
    /// assert_eq!(stream.peer_addr().unwrap().port(), port);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As std's, [`ConnectionRefused`](ErrorKind::ConnectionRefused) for one; of several addresses that of the last. On
    /// a runtime under a seam without a network, [`Unsupported`](ErrorKind::Unsupported).
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn connect(to: impl ToSocketAddrs) -> io::Result<Self> {
        let mut failed = None;
        for address in lookup_host(to).await? {
            match Self::connect_to(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(lookup::none))
    }

    async fn connect_to(to: SocketAddr) -> io::Result<Self> {
        let installed = sched::runtime()
            .network()
            .map(|network| network.connect(to));
        if let Some(connecting) = installed {
            return Ok(Self::installed(connecting.await?));
        }
        let io = Io::with(&driver()?, mio::net::TcpStream::connect(to)?)?;
        let stream = io.get_ref();
        poll_fn(|cx| {
            let call = || is_connected(stream);
            io.readiness()
                .poll_call(Direction::Write, POLLED, cx.waker(), call)
        })
        .await?;
        Ok(Self(Stream::System(io)))
    }

    /// Takes over a stream of std's.
    ///
    /// # Errors
    /// As [`Io::new`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn from_std(stream: net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let stream = mio::net::TcpStream::from_std(stream);
        Ok(Self(Stream::System(Io::with(&driver()?, stream)?)))
    }

    /// Std's stream, which does not block.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) of a stream of an installed [`Network`](super::Network): it is lost.
    pub fn into_std(self) -> io::Result<net::TcpStream> {
        match self.0 {
            Stream::System(io) => Ok(io.into_inner().into()),
            Stream::Installed(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// The descriptor, to ask and to configure it: `socket2::SockRef` knows every option. What is read and written
    /// must be by this stream.
    ///
    /// ```
    /// use socket2::{SockRef, TcpKeepalive};
    /// use std::time::Duration;
    /// # use tidings::net::{TcpListener, TcpStream};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    /// # let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    /// let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(60));
    /// let descriptor = stream.descriptor().unwrap();
    /// SockRef::from(&descriptor).set_tcp_keepalive(&keepalive).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) of a stream of an installed [`Network`](super::Network), which has none.
    pub fn descriptor(&self) -> io::Result<Borrowed<'_>> {
        match &self.0 {
            Stream::System(io) => Ok(borrowed(io.get_ref())),
            Stream::Installed(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Reads what comes next without taking it: as a read, it waits until there is something, and 0 is the end. Any number
    /// of tasks may, beside the one that reads.
    ///
    /// # Errors
    /// As std's; [`Unsupported`](ErrorKind::Unsupported) of a stream of an installed [`Network`](super::Network).
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Stream::System(io) = &self.0 else {
            return Err(ErrorKind::Unsupported.into());
        };
        loop {
            io.readable().await;
            match io.try_io(Direction::Read, |stream| stream.peek(buffer)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                peeked => return peeked,
            }
        }
    }

    pub(super) fn installed(socket: Box<dyn Socket>) -> Self {
        Self(Stream::Installed(Installed::new(socket)))
    }

    /// The address of this end.
    ///
    /// # Errors
    /// As std's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Stream::System(io) => io.get_ref().local_addr(),
            Stream::Installed(socket) => socket.local_addr(),
        }
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// As std's.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Stream::System(io) => io.get_ref().peer_addr(),
            Stream::Installed(socket) => socket.peer_addr(),
        }
    }

    /// Sends small writes at once (`true`) or gathers them (`false`, the system's default).
    /// An installed network has nothing to set.
    ///
    /// # Errors
    /// As std's.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match &self.0 {
            Stream::System(io) => io.get_ref().set_nodelay(nodelay),
            Stream::Installed(_) => Ok(()),
        }
    }

    /// Dropping the stream from here on gives up what was written and has not arrived, at once; the
    /// other end hears of a reset. Otherwise the system goes on sending it for minutes, also when
    /// nobody waits for what it may bring about any more.
    ///
    /// ```
    /// # use tidings::net::{TcpListener, TcpStream};
    /// use futures::io::AsyncReadExt;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    /// # let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    /// # let (mut other, _) = listener.accept().await.unwrap();
    /// stream.set_zero_linger().unwrap();
    /// drop(stream);
    /// let error = other.read(&mut [0]).await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As the system's.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        match &self.0 {
            Stream::System(io) => SockRef::from(io.get_ref()).set_linger(Some(Duration::ZERO)),
            Stream::Installed(socket) => socket.set_zero_linger(),
        }
    }

    /// Waits until a read is worth a try: an event.
    ///
    /// ```
    /// # use tidings::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// use tidings::Event;
    ///
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    /// # let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    /// let mut buffer = [0; 64];
    /// let nothing = stream.try_read(&mut buffer).unwrap_err();
    /// assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    /// assert!(stream.readable().timeout(Duration::from_millis(5)).await.is_err());
    /// # });
    /// ```
    pub fn readable(&self) -> Ready<'_> {
        Ready::new(self.readiness(), Direction::Read)
    }

    /// Waits until a write is worth a try: an event.
    pub fn writable(&self) -> Ready<'_> {
        Ready::new(self.readiness(), Direction::Write)
    }
}

#[cfg(unix)]
fn borrowed(socket: &impl AsFd) -> Borrowed<'_> {
    socket.as_fd()
}

#[cfg(windows)]
fn borrowed(socket: &impl AsSocket) -> Borrowed<'_> {
    socket.as_socket()
}

/// Has the connection come about?
fn is_connected(stream: &mio::net::TcpStream) -> io::Result<()> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Err(error) if error.kind() == ErrorKind::NotConnected => Err(ErrorKind::WouldBlock.into()),
        done => done.map(|_| ()),
    }
}

impl Bytes for TcpStream {
    fn readiness(&self) -> &Readiness {
        match &self.0 {
            Stream::System(io) => io.readiness(),
            Stream::Installed(socket) => socket.readiness(),
        }
    }
    /// On Windows there is an edge only after a call that would have waited.
    fn short_is_last(&self, _: Direction) -> bool {
        cfg!(unix) && matches!(self.0, Stream::System(_))
    }
    #[inline]
    fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &self.0 {
            Stream::System(io) => stream::read(io.get_ref(), buffers),
            Stream::Installed(socket) => socket.read(buffers),
        }
    }
    #[inline]
    fn write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.0 {
            Stream::System(io) => stream::write(io.get_ref(), buffers),
            Stream::Installed(socket) => socket.write(buffers),
        }
    }
    #[inline]
    fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.0 {
            Stream::System(_) => Poll::Ready(Ok(())),
            Stream::Installed(socket) => socket.poll_flush(cx),
        }
    }
    fn poll_close(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.0 {
            Stream::System(io) => Poll::Ready(match io.get_ref().shutdown(Shutdown::Write) {
                // The peer has broken it off before.
                Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
                done => done,
            }),
            Stream::Installed(socket) => socket.poll_close(cx),
        }
    }
}

async_bytes!(TcpStream);

/// Takes connections.
///
/// ```
/// use tidings::net::{TcpListener, TcpStream};
/// use tidings::{CancellationToken, select};
///
/// # async fn serve(_: TcpStream) {}
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let stop = CancellationToken::new();
/// # stop.cancel();
/// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
/// loop {
///     select! {
///         () = stop.cancelled() => break,
///         accepted = listener.accept() => {
///             let (stream, _) = accepted.unwrap();
///             tidings::spawn(serve(stream));
///         }
///     }
/// }
/// # });
/// ```
pub struct TcpListener {
    listener: Listener,
    returned: Mutex<VecDeque<(TcpStream, SocketAddr)>>,
}

enum Listener {
    System(Io<mio::net::TcpListener>),
    Installed(InstalledListener),
}

/// Connections that wait to be accepted. With 128, as std has, the others of a thousand that connect
/// at once try again after a second.
const BACKLOG: i32 = 4096;

fn listen(at: SocketAddr) -> io::Result<mio::net::TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    // On Windows it would let others have the address at the same time.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(mio::net::TcpListener::from_std(socket.into()))
}

impl TcpListener {
    /// Listens at this address; port 0 is any that is free. On Unix the address may be one that
    /// was listened at until just before (`SO_REUSEADDR`). Up to 4096 connections wait to be
    /// accepted, or as many as the system allows.
    ///
    /// It does not wait, so it asks nobody for the addresses of a name: [`lookup_host`] does. Of several it takes the
    /// first that can be had.
    ///
    /// # Errors
    /// As std's, [`AddrInUse`](ErrorKind::AddrInUse) for one; [`InvalidInput`](ErrorKind::InvalidInput) of a name; on a
    /// runtime under a seam without a network, [`Unsupported`](ErrorKind::Unsupported).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn bind(at: impl ToSocketAddrs) -> io::Result<Self> {
        let runtime = sched::runtime();
        let listener = lookup::first_of(lookup::known(&at)?, |at| {
            Ok(match runtime.network() {
                Some(network) => Listener::Installed(InstalledListener::new(network.bind(at)?)),
                None => Listener::System(Io::with(&runtime.driver()?, listen(at)?)?),
            })
        })?;
        Ok(Self::of(listener))
    }

    /// Takes over a listener of std's, with the options that its maker has set.
    ///
    /// # Errors
    /// As [`Io::new`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn from_std(listener: net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let io = Io::with(&driver()?, mio::net::TcpListener::from_std(listener))?;
        Ok(Self::of(Listener::System(io)))
    }

    fn of(listener: Listener) -> Self {
        Self {
            listener,
            returned: Mutex::default(),
        }
    }

    /// Waits for the next connection: an event, which gives it with its peer's address.
    ///
    /// A connection that was taken for a wait that is dropped, or loses a choice, is the next
    /// one's.
    ///
    /// # Errors
    /// As std's. That of a connection which broke off before it was accepted says nothing of the
    /// next one; too many open descriptors are an error until some are closed.
    ///
    /// ```
    /// use tidings::net::{TcpListener, TcpStream};
    /// use tidings::{CancellationToken, select};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    /// let at = listener.local_addr().unwrap();
    /// let stop = CancellationToken::new();
    /// let client = tidings::spawn(TcpStream::connect(at));
    /// let peer = select! {
    ///     accepted = listener.accept() => accepted.unwrap().1,
    ///     () = stop.cancelled() => return,
    /// };
    /// assert_eq!(client.await.unwrap().unwrap().local_addr().unwrap(), peer);
    /// # });
    /// ```
    pub fn accept(&self) -> Accepting<'_, (TcpStream, SocketAddr)> {
        Accepting::new(self)
    }

    /// As [`TcpStream::descriptor`].
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) of a listener of an installed [`Network`](super::Network).
    pub fn descriptor(&self) -> io::Result<Borrowed<'_>> {
        match &self.listener {
            Listener::System(io) => Ok(borrowed(io.get_ref())),
            Listener::Installed(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As std's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.listener {
            Listener::System(io) => io.get_ref().local_addr(),
            Listener::Installed(listener) => listener.local_addr(),
        }
    }
}

impl Listen<(TcpStream, SocketAddr)> for TcpListener {
    fn readiness(&self) -> &Readiness {
        match &self.listener {
            Listener::System(io) => io.readiness(),
            Listener::Installed(listener) => listener.readiness(),
        }
    }
    fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.listener {
            Listener::System(io) => {
                let (stream, from) = io.get_ref().accept()?;
                let stream = Io::with(io.driver(), stream)?;
                Ok((TcpStream(Stream::System(stream)), from))
            }
            Listener::Installed(listener) => listener.accept(),
        }
    }
    fn returned(&self) -> &Mutex<VecDeque<(TcpStream, SocketAddr)>> {
        &self.returned
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener")
            .field("at", &self.local_addr())
            .finish()
    }
}
