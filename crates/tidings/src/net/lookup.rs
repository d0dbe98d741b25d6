//! Names to addresses.

use std::io::{self, ErrorKind};
use std::net::{self, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use self::sealed::{Host, ToHost};
use crate::sched;

/// Where to: a host and its port, `"example.org:443"` or `("localhost", 80)`; or an address, `"127.0.0.1:80"` or
/// `([127, 0, 0, 1], 80)`.
///
/// As std's trait of this name, which asks the system by itself; nobody else implements this one.
pub trait ToSocketAddrs: ToHost {}

impl<T: ToHost + ?Sized> ToSocketAddrs for T {}

mod sealed {
    use std::io;
    use std::net::SocketAddr;

    #[derive(Debug)]
    pub enum Host {
        At(Vec<SocketAddr>),
        Named(String, u16),
    }

    pub trait ToHost {
        fn to_host(&self) -> io::Result<Host>;
    }
}

/// The addresses of a name and a port: of `"example.org:443"`, of `("localhost", 80)`.
///
/// Asks the system's resolver, which blocks, on a [blocking thread](crate::spawn_blocking), or the installed
/// [`Network`](super::Network); an address needs neither. Dropping the wait leaves the resolver to itself, whose answer is
/// dropped.
///
/// # Errors
/// What the resolver says; a name without an address is one. On a runtime under a seam without a network,
/// [`Unsupported`](ErrorKind::Unsupported).
///
/// # Panics
/// Outside of a runtime, if it has to ask.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let found = tidings::net::lookup_host(("localhost", 80)).await.unwrap();
/// assert!(found.iter().all(|address| address.ip().is_loopback()));
/// # });
/// ```
pub async fn lookup_host(name: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = match name.to_host()? {
        Host::At(addresses) => return Ok(addresses),
        Host::Named(host, port) => (host, port),
    };
    let runtime = sched::runtime();
    if let Some(network) = runtime.network() {
        let found = network.lookup(&host)?.into_iter();
        return Ok(found.map(|ip| SocketAddr::new(ip, port)).collect());
    }
    runtime.may_ask_the_system()?;
    drop(runtime);
    let resolved = crate::spawn_blocking(move || {
        let found = net::ToSocketAddrs::to_socket_addrs(&(&*host, port));
        found.map(Iterator::collect)
    });
    resolved
        .await
        .unwrap_or_else(|end| Err(io::Error::other(end)))
}

/// What `does` gives of the first address that it can be done with, or the error of the last.
pub(super) fn first_of<T>(
    addresses: Vec<SocketAddr>,
    does: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut failed = None;
    let mut all = addresses.into_iter().map(does);
    let done = all.find_map(|done| done.map_err(|error| failed = Some(error)).ok());
    done.ok_or_else(|| failed.unwrap_or_else(none))
}

/// There is no address to try.
pub(super) fn none() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "a name without an address")
}

/// The addresses, where nobody has to be asked for them.
pub(super) fn known(at: &impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match at.to_host()? {
        Host::At(addresses) => Ok(addresses),
        Host::Named(host, _) => Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("{host} is a name, and no address: `lookup_host` asks for those that it has"),
        )),
    }
}

impl ToHost for str {
    fn to_host(&self) -> io::Result<Host> {
        if let Ok(address) = self.parse() {
            return Ok(Host::At(vec![address]));
        }
        let wrong = |why| io::Error::new(ErrorKind::InvalidInput, why);
        let (host, port) = self
            .rsplit_once(':')
            .ok_or_else(|| wrong("an address without a port"))?;
        let port = port.parse().map_err(|_| wrong("no port's number"))?;
        (host, port).to_host()
    }
}

impl ToHost for (&str, u16) {
    fn to_host(&self) -> io::Result<Host> {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => (ip, port).to_host(),
            Err(_) => Ok(Host::Named(host.to_owned(), port)),
        }
    }
}

impl ToHost for String {
    fn to_host(&self) -> io::Result<Host> {
        self.as_str().to_host()
    }
}

impl ToHost for (String, u16) {
    fn to_host(&self) -> io::Result<Host> {
        (self.0.as_str(), self.1).to_host()
    }
}

impl<T: ToHost + ?Sized> ToHost for &T {
    fn to_host(&self) -> io::Result<Host> {
        (**self).to_host()
    }
}

macro_rules! addresses {
    ($($type:ty),*) => {$(
        impl ToHost for $type {
            fn to_host(&self) -> io::Result<Host> {
                Ok(Host::At(vec![(*self).into()]))
            }
        }
    )*};
}

addresses!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16),
    ([u8; 4], u16),
    ([u8; 16], u16),
    ([u16; 8], u16)
);

impl ToHost for [SocketAddr] {
    fn to_host(&self) -> io::Result<Host> {
        Ok(Host::At(self.to_vec()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::Future;
    use std::net::Ipv6Addr;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn an_address_is_there_at_once_and_without_a_runtime_however_it_is_written() {
        fn now(name: impl ToSocketAddrs) -> SocketAddr {
            let mut cx = Context::from_waker(Waker::noop());
            match pin!(lookup_host(name)).poll(&mut cx) {
                Poll::Ready(Ok(addresses)) => addresses[0],
                other => panic!("{other:?}"),
            }
        }
        let address = SocketAddr::from(([127, 0, 0, 1], 7));
        assert_eq!(now("127.0.0.1:7"), address);
        assert_eq!(now("127.0.0.1:7".to_owned()), address);
        assert_eq!(now(("127.0.0.1", 7)), address);
        assert_eq!(now(("127.0.0.1".to_owned(), 7)), address);
        assert_eq!(now((address.ip(), 7)), address);
        assert_eq!(now(address), address);
        assert_eq!(now(([127, 0, 0, 1], 7)), address);
        let other = SocketAddr::from((Ipv6Addr::LOCALHOST, 7));
        assert_eq!(now("[::1]:7"), other);
        assert_eq!(now(("::1", 7)), other);
    }
}
