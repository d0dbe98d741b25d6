//! actix: an actor lives on one arbiter, which is a thread with a tokio runtime of its own.
//! The system's arbiter is the first of `threads`. Actors that talk to each other share one.

mod chain;
mod counter;
mod echo;
mod fan;
mod pingpong;
mod savina;
mod skynet;
mod spawn;

use crate::cells::{Cell, Cells, Counts, Fault, Outcome, Params, Sample, Stopwatch};
use crate::census;
use actix::{Arbiter, ArbiterHandle, System, SystemRunner};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

/// The arbiters of a system.
struct Stage {
    handles: Vec<ArbiterHandle>,
    others: Vec<Arbiter>,
}

impl Stage {
    /// Belongs to the system made last on this thread.
    fn new(threads: i64) -> Self {
        let others: Vec<Arbiter> = (1..threads).map(|_| Arbiter::new()).collect();
        let handles = std::iter::once(System::current().arbiter().clone())
            .chain(others.iter().map(Arbiter::handle))
            .collect();
        Self { handles, others }
    }

    /// The arbiter for the i-th of several.
    fn at(&self, i: i64) -> &ArbiterHandle {
        &self.handles[i as usize % self.handles.len()]
    }

    /// Runs on the arbiter for the i-th of several.
    fn run(&self, i: i64, start: impl FnOnce() + Send + 'static) {
        assert!(self.at(i).spawn_fn(start), "the arbiter lives");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for arbiter in self.others.drain(..) {
            arbiter.stop();
            let _ = arbiter.join();
        }
    }
}

fn make(params: Params) -> (SystemRunner, Rc<Stage>) {
    let system = System::new();
    (system, Rc::new(Stage::new(params.threads)))
}

/// Runs the driver. In a box, so that actix's and tokio's loops are compiled once and not for each cell.
fn drive<T>(system: &SystemRunner, driver: impl Future<Output = T>) -> T {
    let driver: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(driver);
    system.block_on(driver)
}

/// Times all of a scenario. Its driver is on the system's arbiter.
fn repeat<S, F>(params: Params, scenario: S) -> Sample
where
    S: Fn(Rc<Stage>) -> F + 'static,
    F: Future<Output = Result<Counts, Fault>>,
{
    let (system, stage) = make(params);
    Box::new(move |inner| {
        drive(&system, async {
            let mut total = Counts::default();
            let watch = Stopwatch::start();
            for _ in 0..inner {
                total += scenario(Rc::clone(&stage)).await?;
            }
            Ok((watch.stop(), total))
        })
    })
}

/// For a scenario that times a part of itself.
fn repeat_timed<S, F>(params: Params, scenario: S) -> Sample
where
    S: Fn(Rc<Stage>) -> F + 'static,
    F: Future<Output = Outcome>,
{
    let (system, stage) = make(params);
    Box::new(move |inner| {
        drive(&system, async {
            let (mut time, mut total) = (Duration::ZERO, Counts::default());
            for _ in 0..inner {
                let (elapsed, counts) = scenario(Rc::clone(&stage)).await?;
                time += elapsed;
                total += counts;
            }
            Ok((time, total))
        })
    })
}

/// Counts the nodes of a tree in a pass that is not timed, then times the tree.
fn repeat_tree<S, F>(params: Params, tree: S) -> Result<Sample, Fault>
where
    S: Fn(Rc<Stage>) -> F + 'static,
    F: Future<Output = Result<i64, Fault>>,
{
    let (system, stage) = make(params);
    let nodes = census::of(|| drive(&system, tree(Rc::clone(&stage))))?;
    Ok(Box::new(move |inner| {
        drive(&system, async {
            let mut total = Counts::default();
            let watch = Stopwatch::start();
            for _ in 0..inner {
                total += Counts {
                    msgs: nodes,
                    units: nodes,
                    check: tree(Rc::clone(&stage)).await?,
                };
            }
            Ok((watch.stop(), total))
        })
    }))
}

fn lost() -> Fault {
    Fault::bug("an actor was lost")
}

pub(crate) fn kind(threads: usize) -> String {
    format!("arbiters: {threads}")
}

pub(crate) fn cells() -> Cells {
    let mut cells = Cells::from([
        ("pingpong/tell", (|p| pingpong::tell(p, 1)) as Cell),
        ("pingpong/tell-w100", |p| pingpong::tell(p, 100)),
        ("pingpong/tell-w1000", |p| pingpong::tell(p, 1000)),
        ("pingpong/call", echo::call),
        ("chain/struct", chain::cell),
        ("fan/struct", fan::cell),
        ("counter/send", counter::unbounded),
        ("counter/bounded-1024", counter::bounded),
        ("counter/ask-each", counter::ask_each),
        ("skynet/tree", |p| skynet::cell(p, false)),
        ("skynet/alive", |p| skynet::cell(p, true)),
        ("spawn/detached", spawn::detached),
        ("spawn/joined", spawn::joined),
        ("net/local", echo::net),
    ]);
    cells.extend(crate::savina::cells::<savina::Actix>());
    cells
}
