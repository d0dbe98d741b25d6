//! The cluster, on an engine in memory and on NATS.

mod cluster;
mod conformance;
mod counter;
#[cfg(feature = "nats")]
mod on_nats;
mod queue;
#[cfg(feature = "nats")]
mod server;
