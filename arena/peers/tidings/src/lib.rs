//! tidings as a peer of the arena: the workloads of `WORKLOADS.md` on the public default types,
//! behind the same protocol as all others.
//!
//! | file | what |
//! |---|---|
//! | `protocol.rs` | the peer protocol, as all Rust peers have it (`../shared/rust-protocol`) |
//! | `cell.rs` | what a cell is; the clock of a sample; the list of all cells |
//! | `pingpong.rs`, `pairs.rs`, `chain.rs`, `fan.rs`, `counter.rs`, `select.rs`, `skynet.rs`, `spawn.rs`, `net/` | the workloads |
//! | `growth.rs`, `quality.rs` | how cost grows; how late a task is beside one that computes |
//! | `floor.rs` | what the machine takes, without a runtime |
//! | `actors.rs` | those of actors once more, on the actor layer |
//! | `savina/` | the actor benchmarks of the Savina suite, a file each |

mod actors;
mod cell;
mod chain;
mod counter;
mod fan;
mod floor;
mod growth;
mod net;
mod pairs;
mod pingpong;
mod protocol;
mod quality;
mod savina;
mod select;
mod skynet;
mod spawn;

pub use peer_protocol::Counting;
pub use protocol::{Peer, SYSTEMS, main, speak};
