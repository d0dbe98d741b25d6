//! Names to addresses.

use std::any::Any;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The addresses of a name and a port: of `"example.org:443"`, of `("localhost", 80)`.
///
/// Asks the system's resolver, which blocks, on a [blocking thread](crate::spawn_blocking); an address needs
/// none. Dropping the wait leaves the resolver to itself, whose answer is dropped. Asks the system under an installed
/// [`Network`](super::Network), too.
///
/// # Errors
/// What the resolver says; a name without an address is one.
///
/// # Panics
/// Outside of a runtime, for a name.
///
/// ```
/// use tidings::net::{TcpListener, TcpStream, lookup_host};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
/// let port = listener.local_addr().unwrap().port();
/// let mut last = None;
/// for address in lookup_host(("localhost", port)).await.unwrap() {
///     last = Some(TcpStream::connect(address).await);
///     if last.as_ref().is_some_and(|stream| stream.is_ok()) {
///         break;
///     }
/// }
/// last.unwrap().unwrap();
/// # });
/// ```
pub async fn lookup_host(name: impl ToSocketAddrs + Send + 'static) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = address(&name) {
        return Ok(vec![address]);
    }
    let resolved = crate::spawn_blocking(move || name.to_socket_addrs().map(Iterator::collect));
    resolved
        .await
        .unwrap_or_else(|end| Err(io::Error::other(end)))
}

/// What is an address and no name, of the types in which both are written.
fn address(name: &dyn Any) -> Option<SocketAddr> {
    fn text(text: &dyn Any) -> Option<&str> {
        let owned = text.downcast_ref().map(String::as_str);
        owned.or_else(|| text.downcast_ref::<&'static str>().copied())
    }
    if let Some(both) = text(name) {
        return both.parse().ok();
    }
    let owned = name.downcast_ref::<(String, u16)>();
    let owned = owned.map(|(host, port)| (host.as_str(), *port));
    if let Some((host, port)) = owned.or_else(|| name.downcast_ref().copied()) {
        return Some((host.parse::<IpAddr>().ok()?, port).into());
    }
    let pair = name.downcast_ref::<(IpAddr, u16)>();
    pair.map(|pair| (*pair).into())
        .or_else(|| name.downcast_ref().copied())
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
        fn now(name: impl ToSocketAddrs + Send + 'static) -> SocketAddr {
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
        let other = SocketAddr::from((Ipv6Addr::LOCALHOST, 7));
        assert_eq!(now("[::1]:7"), other);
        assert_eq!(now(("::1", 7)), other);
    }
}
