//! What a cell is, and which system has which.

use crate::{chain, counter, fan, net, pingpong, skynet, spawn, threads};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// The numbers of a `prep` command; one that was not sent is 0.
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case, reason = "the names of the protocol")]
pub struct Params {
    pub threads: i64,
    pub p: i64,
    pub n: i64,
    pub w: i64,
    pub P: i64,
    pub A: i64,
    pub N: i64,
    pub M: i64,
    pub S: i64,
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

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Fault {
    Unsupported(String),
    Limit(String),
    Bug(String),
}

impl From<tokio::task::JoinError> for Fault {
    fn from(e: tokio::task::JoinError) -> Self {
        Self::Bug(e.to_string())
    }
}

pub type Outcome = Result<(Duration, Counts), Fault>;
pub type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Does `inner` repetitions and says how long the timed parts took.
pub enum Sample {
    /// In a task of the runtime, so that waking the main thread is not part of it.
    Task(Box<dyn Fn(i64) -> Running>),
    /// On the calling thread.
    Thread(Box<dyn Fn(i64) -> Outcome>),
}

/// Checks the parameters and makes what is not timed; runs inside the runtime.
pub type Cell = fn(Params) -> Result<Sample, Fault>;
pub type Cells = BTreeMap<&'static str, Cell>;

/// Times a scenario that has no part outside the timed region.
pub fn repeat<S, F>(scenario: S) -> Sample
where
    S: Fn() -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Result<Counts, Fault>> + Send,
{
    Sample::Task(Box::new(move |inner| {
        let scenario = scenario.clone();
        Box::pin(async move {
            let mut total = Counts::default();
            let start = Instant::now();
            for _ in 0..inner {
                total += scenario().await?;
            }
            Ok((start.elapsed(), total))
        })
    }))
}

/// The same on threads.
pub fn repeat_on_threads(scenario: impl Fn() -> Result<Counts, Fault> + 'static) -> Sample {
    Sample::Thread(Box::new(move |inner| {
        let mut total = Counts::default();
        let start = Instant::now();
        for _ in 0..inner {
            total += scenario()?;
        }
        Ok((start.elapsed(), total))
    }))
}

/// Refuses sizes below 1 or above `max`.
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

/// The libraries of this pack, by the name of their system.
pub const LIBRARIES: [&str; 5] = ["tokio", "async-channel", "flume", "kanal", "crossbeam"];

/// The cells of a system; `None` if there is no such system.
pub fn cells(system: &str) -> Option<Cells> {
    let (library, bulk) = match system.strip_suffix("-mimalloc") {
        Some("crossbeam") => return None,
        Some(library) => (library, true),
        None => (system, false),
    };
    if !LIBRARIES.contains(&library) {
        return None;
    }
    if library == "crossbeam" {
        return Some(threads::cells());
    }
    let mut cells = Cells::new();
    cells.extend(chain::cells(library));
    cells.extend(skynet::cells(library));
    cells.extend(spawn::cells(library));
    // An allocator of its own matters for the others only where tokio allocates per call.
    if !bulk || library == "tokio" {
        cells.extend(pingpong::cells(library));
        cells.extend(fan::cells(library));
        cells.extend(counter::cells(library));
        cells.extend(net::cells(library));
    }
    Some(cells)
}
