//! What a cell is, and which system has which.

use crate::{chain, counter, fan, growth, net, pingpong, quality, skynet, spawn, threads};
use std::collections::BTreeMap;
use std::pin::Pin;

pub use peer_protocol::{Counts, Fault, Outcome, Params, Stopwatch, within};

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
            let watch = Stopwatch::start();
            for _ in 0..inner {
                total += scenario().await?;
            }
            Ok((watch.stop(), total))
        })
    }))
}

/// The same on threads.
pub fn repeat_on_threads(scenario: impl Fn() -> Result<Counts, Fault> + 'static) -> Sample {
    Sample::Thread(Box::new(move |inner| {
        let mut total = Counts::default();
        let watch = Stopwatch::start();
        for _ in 0..inner {
            total += scenario()?;
        }
        Ok((watch.stop(), total))
    }))
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
        cells.extend(growth::cells(library));
        cells.extend(quality::cells(library));
    }
    Some(cells)
}
