//! Scenarios on a tokio runtime: multi-thread, or current-thread for one thread.

pub(crate) mod echo;
mod tally;

pub(crate) use tally::Tally;

use crate::cells::{Counts, Fault, Outcome, Sample, Stopwatch};
use crate::census;
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

pub(crate) fn runtime(threads: i64) -> Result<Runtime, Fault> {
    let runtime = match threads {
        1 => Builder::new_current_thread().enable_time().build(),
        _ => Builder::new_multi_thread()
            .worker_threads(threads as usize)
            .enable_time()
            .build(),
    };
    runtime.map_err(|e| Fault::Limit(e.to_string()))
}

/// Runs a future in a task, so that waking the main thread is not measured. In a box, so that tokio's
/// task and `block_on` are compiled once and not for each cell.
fn in_task<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    let future: Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>> = Box::pin(future);
    runtime.block_on(async { tokio::spawn(future).await.map_err(Fault::bug)? })
}

/// Times all of a scenario.
pub(crate) fn repeat<S, F>(threads: i64, scenario: S) -> Result<Sample, Fault>
where
    S: Fn() -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let runtime = runtime(threads)?;
    Ok(repeat_on(runtime, scenario))
}

fn repeat_on<S, F>(runtime: Runtime, scenario: S) -> Sample
where
    S: Fn() -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    Box::new(move |inner| {
        let scenario = scenario.clone();
        in_task(&runtime, async move {
            let mut total = Counts::default();
            let watch = Stopwatch::start();
            for _ in 0..inner {
                total += scenario().await?;
            }
            Ok((watch.stop(), total))
        })
    })
}

/// For a scenario that times a part of itself.
pub(crate) fn repeat_timed<S, F>(threads: i64, scenario: S) -> Result<Sample, Fault>
where
    S: Fn() -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let runtime = runtime(threads)?;
    Ok(Box::new(move |inner| {
        let scenario = scenario.clone();
        in_task(&runtime, async move {
            let (mut time, mut total) = (Duration::ZERO, Counts::default());
            for _ in 0..inner {
                let (elapsed, counts) = scenario().await?;
                time += elapsed;
                total += counts;
            }
            Ok((time, total))
        })
    }))
}

/// Counts the nodes of a tree in a pass that is not timed, then times the tree.
pub(crate) fn repeat_tree<S, F>(threads: i64, tree: S) -> Result<Sample, Fault>
where
    S: Fn() -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Result<i64, Fault>> + Send + 'static,
{
    let runtime = runtime(threads)?;
    let nodes = census::of(|| in_task(&runtime, tree()))?;
    Ok(repeat_on(runtime, move || {
        let sum = tree();
        async move {
            Ok(Counts {
                msgs: nodes,
                units: nodes,
                check: sum.await?,
            })
        }
    }))
}
