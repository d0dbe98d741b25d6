//! Sockets, polled by the workers themselves.
//!
//! | file | what |
//! |---|---|
//! | `network.rs` | [`Network`]: where a runtime's sockets come from, if not from the system |

mod network;

pub use network::{Accept, Connecting, Network, Socket};
