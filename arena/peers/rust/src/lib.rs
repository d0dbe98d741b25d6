//! The Rust pack of the arena: the workloads of `WORKLOADS.md` on tokio's multi-thread runtime
//! (its current-thread runtime where the harness asks for one thread) with the channels of tokio,
//! async-channel, flume and kanal, and on OS threads with crossbeam-channel, behind the peer
//! protocol.

pub mod cells;
pub mod flavour;
pub mod protocol;

mod chain;
mod counter;
mod fan;
mod growth;
mod net;
mod pingpong;
mod quality;
mod skynet;
mod spawn;
mod threads;
