//! What the Rust peers of the arena share: the protocol (`PROTOCOL.md`), what of the workload `net` is the same on every
//! runtime, and an allocator that counts.
//!
//! A peer makes a `Hello`, implements `Peer`, and calls `serve`. `trial` is the other side, for its tests.

mod alloc;
mod histogram;
pub mod net;
mod serve;
pub mod trial;
mod words;

pub use alloc::{Counting, Stopwatch};
pub use histogram::Histogram;
pub use serve::{Hello, Peer, Sampled, answer, argument, serve, speak, system, version};
pub use words::Words;

use std::net::SocketAddr;
use std::ops::AddAssign;
use std::time::Duration;

/// Which of two processes this one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The cell has one process, or nobody said.
    #[default]
    None,
    Server,
    /// Of the server there.
    Client(SocketAddr),
}

/// The numbers and the role of a `prep` command; a number that was not sent is 0.
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case, reason = "the names of the protocol")]
pub struct Params {
    pub threads: i64,
    pub p: i64,
    pub n: i64,
    pub w: i64,
    pub batch: i64,
    pub P: i64,
    pub A: i64,
    pub N: i64,
    pub M: i64,
    pub S: i64,
    pub k: i64,
    pub role: Role,
}

/// What one repetition, or the sum of several, really did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub msgs: i64,
    pub units: i64,
    pub check: i64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.msgs += other.msgs;
        self.units += other.units;
        self.check += other.check;
    }
}

/// The time of the timed parts, and what was done in them.
pub type Outcome = Result<(Duration, Counts), Fault>;

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Fault {
    Unsupported(String),
    Limit(String),
    Bug(String),
}

impl Fault {
    pub fn bug(why: impl ToString) -> Self {
        Self::Bug(why.to_string())
    }
}

/// Errors of libraries: none of them is expected.
impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::bug(error)
    }
}

/// Refuses sizes below 1 or above the third.
pub fn within(sizes: &[(&str, i64, i64)]) -> Result<(), Fault> {
    match sizes
        .iter()
        .find(|(_, value, max)| !(1..=*max).contains(value))
    {
        Some((name, value, max)) => Err(Fault::Limit(format!(
            "{name}={value}: this peer takes 1 to {max}"
        ))),
        None => Ok(()),
    }
}

/// Threads for a runtime where the harness says nothing: what tokio would take.
pub fn default_threads() -> usize {
    let asked = std::env::var("TOKIO_WORKER_THREADS").ok();
    let asked = asked.and_then(|threads| threads.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
