//! Names to addresses.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

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
/// Outside of a runtime.
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
    let resolved = crate::spawn_blocking(move || name.to_socket_addrs().map(Iterator::collect));
    resolved
        .await
        .unwrap_or_else(|end| Err(io::Error::other(end)))
}
