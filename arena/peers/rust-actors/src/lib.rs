//! Actors and coroutines of Rust in the arena: the workloads of `WORKLOADS.md` on ractor, kameo,
//! actix and may, and rayon's recursion as the floor of skynet, behind the peer protocol.

pub mod cells;
pub mod protocol;

mod census;
mod on_actix;
mod on_kameo;
mod on_may;
mod on_ractor;
mod on_rayon;
mod on_tokio;
mod savina;
mod sizes;
