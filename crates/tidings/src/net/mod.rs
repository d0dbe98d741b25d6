//! Sockets, polled by the workers themselves.
//!
//! A socket belongs to the runtime on whose thread it was made: its workers poll it. Used from
//! another executor or thread it works as well, at the price of a wake-up across threads.
//! When that runtime has ended, calls that do not have to wait go on, and those that do, or did,
//! are an error.
//!
//! There is no thread for it: a worker with nothing to do waits in the poller (epoll, kqueue, IOCP),
//! and runs what it hears of itself. On Unix and Windows; the feature `net` is on by default. Unix sockets and
//! descriptors of the user's (`Io`) are there on Unix only.
//!
//! Streams are read and written by the traits of `futures-io`: `read`, `write_all` and others are methods of
//! `AsyncReadExt` and `AsyncWriteExt`, from `futures::io` (`futures = "0.3"`).
//!
//! # Reading beside other events
//! A read is a future, and no event. What stands in a choice is that there is something to read; `try_read` takes it:
//!
//! ```
//! use std::io::{self, ErrorKind, Write};
//! use tidings::{Receiver, net::TcpStream, select};
//!
//! /// Takes in lines until the peer ends, and hands out what others send.
//! async fn serve(stream: TcpStream, news: Receiver<String>) -> io::Result<Vec<u8>> {
//!     let (mut come, mut buffer) = (Vec::new(), [0; 4096]);
//!     loop {
//!         select! {
//!             () = stream.readable() => match stream.try_read(&mut buffer) {
//!                 Ok(0) => return Ok(come),
//!                 Ok(n) => come.extend_from_slice(&buffer[..n]),
//!                 // It was not so, after all.
//!                 Err(error) if error.kind() == ErrorKind::WouldBlock => {}
//!                 Err(error) => return Err(error),
//!             },
//!             line = news.recv() => match line {
//!                 Ok(line) => futures::io::AsyncWriteExt::write_all(&mut &stream, line.as_bytes()).await?,
//!                 Err(_) => return Ok(come),
//!             }
//!         }
//!     }
//! }
//! # tidings::Runtime::new().unwrap().block_on(async {
//! let listener = tidings::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! let at = listener.local_addr().unwrap();
//! let peer = std::thread::spawn(move || std::net::TcpStream::connect(at)?.write_all(b"hello"));
//! let (stream, _) = listener.accept().await.unwrap();
//! let (_tx, news) = tidings::unbounded();
//! assert_eq!(serve(stream, news).await.unwrap(), b"hello");
//! peer.join().unwrap().unwrap();
//! # });
//! ```

// | file | what |
// |---|---|
// | `tcp.rs`, `unix.rs` | streams and listeners |
// | `io.rs`, `descriptor.rs` | `Io`: what the poller watches; any descriptor of the user's |
// | `lookup.rs` | `lookup_host`: names to addresses |
// | `stream.rs` | reading and writing by the traits of `futures-io`; halves |
// | `ready.rs`, `accept.rs` | the events: a socket is ready, a connection has come |
// | `readiness.rs` | what is known of a socket, and who waits for it |
// | `driver.rs` | the poller; who waits in it, `sched/sockets.rs` decides |
// | `network.rs`, `installed.rs` | `Network`: where a runtime's sockets come from, if not from the system |

mod accept;
#[cfg(unix)]
mod descriptor;
mod driver;
mod installed;
#[cfg_attr(
    windows,
    expect(unreachable_pub, dead_code, reason = "on Unix it is public")
)]
mod io;
mod lookup;
mod network;
mod readiness;
mod ready;
mod stream;
mod tcp;
#[cfg(unix)]
mod unix;

pub use accept::Accepting;
pub(crate) use driver::Driver;
#[cfg(unix)]
pub use io::Io;
pub use lookup::{ToSocketAddrs, lookup_host};
pub use network::{Accept, Connecting, Network, Socket};
pub use readiness::Direction;
pub use ready::Ready;
pub use stream::{ReadHalf, WriteHalf};
pub use tcp::{TcpListener, TcpStream};
#[cfg(unix)]
pub use unix::{UnixListener, UnixStream};

use crate::primitive::Arc;
use crate::sched;

/// The poller of this thread's runtime.
#[track_caller]
fn driver() -> std::io::Result<Arc<Driver>> {
    sched::runtime().driver()
}

/// As `driver`, for sockets that an installed network does not have.
#[cfg(unix)]
#[track_caller]
fn system() -> std::io::Result<Arc<Driver>> {
    let runtime = sched::runtime();
    match runtime.network() {
        Some(_) => Err(std::io::ErrorKind::Unsupported.into()),
        None => runtime.driver(),
    }
}
