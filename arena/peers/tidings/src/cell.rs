//! What a cell is, how a sample is timed, and which cells there are.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use peer_protocol::net::Paced;
pub(crate) use peer_protocol::{Counts, Fault, Outcome, Params, Role, Stopwatch, within};
use tidings::Runtime;

use crate::{chain, counter, fan, growth, net, pingpong, quality, savina, select, skynet, spawn};

pub(crate) type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Does `inner` repetitions and says how long the timed parts took.
pub(crate) enum Sample {
    /// In one task of the runtime that `prep` made, so that waking the main thread is not timed.
    Task(Box<dyn Fn(i64) -> Running>),
    /// On the main thread, which is on no runtime.
    Thread(Box<dyn Fn(i64) -> Outcome>),
    /// By clients that are connected.
    Clients(Box<dyn Driver>),
    /// In another process: this one serves there.
    Server(SocketAddr),
}

/// Clients that are connected, whatever they are connected by.
pub(crate) trait Driver {
    /// How long that took.
    fn ready(&self) -> Duration;

    fn run(&mut self, inner: i64) -> Outcome;

    /// Requests on a schedule: so many a second, for so many seconds.
    fn paced(&mut self, rate: i64, secs: i64) -> Result<Paced, Fault>;
}

/// A cell: what is not timed (`make`, on the runtime's main thread), and the runtime it wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) make: Make,
    /// Operations per turn of a task, if not the default.
    pub(crate) budget: Option<u32>,
    /// What makes the clients of another process, if they have no runtime of ours.
    pub(crate) outside: Option<Outside>,
}

pub(crate) type Make = fn(Params, &Runtime) -> Result<Sample, Fault>;
pub(crate) type Outside = fn(SocketAddr, Params) -> Result<Box<dyn Driver>, Fault>;

impl Cell {
    /// One on the default runtime.
    pub(crate) fn of(make: Make) -> Self {
        Self {
            make,
            budget: None,
            outside: None,
        }
    }
}

pub(crate) type Cells = BTreeMap<&'static str, Cell>;

/// A runtime as any user gets it, with the number of workers asked for.
pub(crate) fn runtime(threads: i64, budget: Option<u32>) -> Result<Runtime, Fault> {
    within(&[("threads", threads, 1024)])?;
    let builder = Runtime::builder().workers(threads as usize);
    let builder = match budget {
        Some(budget) => builder.budget(budget),
        None => builder,
    };
    builder
        .build()
        .map_err(|e| Fault::Limit(format!("threads={threads}: {e}")))
}

/// Times a scenario that has no part outside the timed region.
pub(crate) fn repeat<S, F>(scenario: S) -> Sample
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

/// The same with a runtime made and ended in every repetition.
pub(crate) fn repeat_cold<S, F>(threads: i64, scenario: S) -> Sample
where
    S: Fn() -> F + Send + Sync + Copy + 'static,
    F: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    Sample::Thread(Box::new(move |inner| {
        let mut total = Counts::default();
        let watch = Stopwatch::start();
        for _ in 0..inner {
            let runtime = runtime(threads, None)?;
            total += runtime.block_on(runtime.spawn(scenario()))??;
            drop(runtime);
        }
        Ok((watch.stop(), total))
    }))
}

/// Refuses sizes whose check value, `times * n*(n-1)/2`, does not fit 62 bits.
pub(crate) fn sums_fit(times: i64, n: i64) -> Result<(), Fault> {
    let sum = i128::from(times) * i128::from(n) * i128::from(n - 1) / 2;
    if sum < 1 << 62 {
        Ok(())
    } else {
        Err(Fault::Limit(format!(
            "{times} times the sum to {n} does not fit 62 bits"
        )))
    }
}

/// Cells on the default runtime.
pub(crate) fn plain<const N: usize>(cells: [(&'static str, Make); N]) -> Cells {
    cells
        .into_iter()
        .map(|(name, make)| (name, Cell::of(make)))
        .collect()
}

/// All cells.
pub(crate) fn all() -> Cells {
    let workloads = [
        pingpong::cells(),
        net::cells(),
        chain::cells(),
        fan::cells(),
        counter::cells(),
        select::cells(),
        skynet::cells(),
        spawn::cells(),
        growth::cells(),
        quality::cells(),
        savina::cells(),
    ];
    workloads.into_iter().flatten().collect()
}
