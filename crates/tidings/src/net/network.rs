//! The door through which a simulation gives a runtime its sockets.
//!
//! Installed by [`Builder::network`](crate::sched::Builder::network). A runtime without one goes
//! to the operating system, and neither boxes its sockets nor asks here.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

/// The future of [`Network::connect`].
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Where a runtime's TCP sockets come from, in place of the operating system.
///
/// After [`Builder::network`](crate::sched::Builder::network) the TCP sockets made inside of that
/// runtime come from here; the program is the same.
///
/// ```
/// use std::{io, net::SocketAddr, sync::Arc};
/// use tidings::net::{Accept, Connecting, Network, TcpStream};
///
/// /// A cable that is not plugged in.
/// struct Unplugged;
///
/// impl Network for Unplugged {
///     fn connect(&self, _: SocketAddr) -> Connecting {
///         Box::pin(async { Err(io::ErrorKind::NetworkUnreachable.into()) })
///     }
///     fn bind(&self, _: SocketAddr) -> io::Result<Box<dyn Accept>> {
///         Err(io::ErrorKind::AddrNotAvailable.into())
///     }
/// }
///
/// let rt = tidings::Runtime::builder().network(Arc::new(Unplugged)).build().unwrap();
/// let refused = rt.block_on(TcpStream::connect(([10, 0, 0, 1], 80))).unwrap_err();
/// assert_eq!(refused.kind(), io::ErrorKind::NetworkUnreachable);
/// ```
pub trait Network: Send + Sync + 'static {
    /// A stream to `to`. The future may be dropped at any time: then there is no stream.
    fn connect(&self, to: SocketAddr) -> Connecting;

    /// A listener at `at`, whose port may be 0 for any.
    ///
    /// # Errors
    /// If the address is taken, or is none of this machine's.
    fn bind(&self, at: SocketAddr) -> io::Result<Box<dyn Accept>>;

    /// The addresses of a name, for [`lookup_host`](super::lookup_host).
    ///
    /// # Errors
    /// If there is no such name; [`Unsupported`](io::ErrorKind::Unsupported), unless a network says otherwise.
    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let why = format!("this network resolves no names: {name}");
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}

/// A stream of a [`Network`].
///
/// Each direction remembers the waker of its last pending poll, and wakes it when it can go on.
///
/// A [`WriteHalf`](super::WriteHalf) that is dropped polls the close once, and nobody hears of what it says: where that is
/// pending, the other end hears nothing before both halves are gone, unless the socket goes on with the close by itself.
pub trait Socket: AsyncRead + AsyncWrite + Send + Unpin {
    /// The address of this end.
    ///
    /// # Errors
    /// As the system's.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// The address of the other end.
    ///
    /// # Errors
    /// As the system's.
    fn peer_addr(&self) -> io::Result<SocketAddr>;

    /// As [`TcpStream::set_zero_linger`](super::TcpStream::set_zero_linger); a network that sends
    /// nothing after the drop has nothing to do.
    ///
    /// # Errors
    /// As the system's.
    fn set_zero_linger(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listener of a [`Network`].
pub trait Accept: Send {
    /// The next stream that came in. Remembers the waker of its last pending poll.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Socket>>>;

    /// Where it listens.
    ///
    /// # Errors
    /// As the system's.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}
