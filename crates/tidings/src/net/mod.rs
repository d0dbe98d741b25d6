//! Sockets, polled by the workers themselves.
//!
//! A socket belongs to the runtime on whose thread it was made: its workers poll it. Used from
//! another executor or thread it works as well, at the price of a wake-up across threads.
//! When that runtime has ended, calls that do not have to wait go on, and those that do, or did,
//! are an error.
//!
//! There is no thread for it: a worker with nothing to do waits in the poller (epoll, kqueue),
//! and runs what it hears of itself. On Unix only; the feature `net` is on by default.

// | file | what |
// |---|---|
// | `tcp.rs`, `unix.rs` | streams and listeners |
// | `io.rs` | `Io`: any descriptor |
// | `lookup.rs` | `lookup_host`: names to addresses |
// | `stream.rs` | reading and writing by the traits of `futures-io`; halves |
// | `ready.rs`, `accept.rs` | the events: a socket is ready, a connection has come |
// | `readiness.rs` | what is known of a socket, and who waits for it |
// | `driver.rs` | the poller; who waits in it, `sched/sockets.rs` decides |
// | `network.rs`, `installed.rs` | `Network`: where a runtime's sockets come from, if not from the system |

mod accept;
mod driver;
mod installed;
mod io;
mod lookup;
mod network;
mod readiness;
mod ready;
mod stream;
mod tcp;
mod unix;

pub use accept::Accepting;
pub(crate) use driver::Driver;
pub use io::Io;
pub use lookup::{ToSocketAddrs, lookup_host};
pub use network::{Accept, Connecting, Network, Socket};
pub use readiness::Direction;
pub use ready::Ready;
pub use stream::{ReadHalf, WriteHalf};
pub use tcp::{TcpListener, TcpStream};
pub use unix::{UnixListener, UnixStream};

use crate::primitive::Arc;
use crate::sched;

/// The poller of this thread's runtime.
#[track_caller]
fn driver() -> std::io::Result<Arc<Driver>> {
    sched::runtime().driver()
}

/// As `driver`, for sockets that an installed network does not have.
#[track_caller]
fn system() -> std::io::Result<Arc<Driver>> {
    let runtime = sched::runtime();
    match runtime.network() {
        Some(_) => Err(std::io::ErrorKind::Unsupported.into()),
        None => runtime.driver(),
    }
}
