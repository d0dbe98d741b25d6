//! Runs one body on real threads and in a simulation, under a watchdog.

use std::pin::Pin;
use std::sync::mpsc;
use std::time::Duration;
use tidings::sched::{Runtime, Seeded};
use tidings_sim::Sim;

/// Seeds for each body in a simulation.
const SEEDS: u64 = 20;
/// A test that takes longer hangs, in seconds: nothing here takes one. `TIDINGS_HANG_SECS` says otherwise
/// where all is slow, as under valgrind.
const HANG: u64 = 120;

pub(crate) fn pool(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

pub(crate) fn seeded(seed: u64) -> Runtime {
    Runtime::builder().seam(Seeded::new(seed)).build().unwrap()
}

/// Ends the process, with the test's name, if it is not dropped in time.
pub(crate) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

pub(crate) fn watchdog() -> Watchdog {
    let (alive, gone) = mpsc::channel::<()>();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    std::thread::spawn(move || {
        let secs = std::env::var("TIDINGS_HANG_SECS").ok();
        let secs = secs.and_then(|secs| secs.parse().ok()).unwrap_or(HANG);
        if gone.recv_timeout(Duration::from_secs(secs)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{name} hangs");
            std::process::abort();
        }
    });
    Watchdog { _alive: alive }
}

/// Runs `body` as a task of `rt`; its panic is ours.
pub(crate) fn run<F>(rt: &Runtime, body: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    run_boxed(rt, Box::pin(body))
}

/// Of one type for most tests: what runtimes and tasks are made of is compiled once for each.
fn run_boxed<T: Send + 'static>(rt: &Runtime, body: Pin<Box<dyn Future<Output = T> + Send>>) -> T {
    rt.block_on(async {
        match tidings::spawn(body).await {
            Ok(output) => output,
            Err(error) => std::panic::resume_unwind(error.try_into_panic().unwrap()),
        }
    })
}

/// On pools of 2 and 8 workers.
pub(crate) fn on_pools<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _watchdog = watchdog();
    for workers in [2, 8] {
        run(&pool(workers), body());
    }
}

/// On the pools, and in a simulation under some seeds.
pub(crate) fn on_all<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_all_as(|sim| sim, body);
}

/// As `on_all`, of what lets tasks panic of which nobody hears.
pub(crate) fn on_all_unheard<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_all_as(Sim::ignores_panics, body);
}

fn on_all_as<F>(rules: fn(Sim) -> Sim, body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_pools(&body);
    let _watchdog = watchdog();
    // Many of them poll by hand, and a poll is to try.
    rules(Sim::new(0).seeds(SEEDS).cooperative()).run(body);
}
