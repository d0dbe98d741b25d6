//! The cluster, on an engine in memory and on NATS.

mod behind;
mod cluster;
mod conformance;
mod counter;
mod groups;
mod hindered;
mod intercept;
#[cfg(feature = "nats")]
mod jwt;
mod leaving;
mod names;
#[cfg(feature = "nats")]
mod on_nats;
#[cfg(unix)]
mod operation;
mod pool;
mod queue;
#[cfg(feature = "nats")]
mod secure;
#[cfg(feature = "nats")]
mod server;
mod wrapped;
