//! The races of `tests/it` under shuttle: a program runs many times, with schedules that are drawn.
//!
//! It has a runtime of its own, and what it starts `beside` itself has one of three, a thread each.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use tidings::JoinHandle;
use tidings::sched::{Handle, Runtime};

use crate::engines::shuttle::{Drawn, Homes};
use crate::history::lock;
use crate::trial::alone;

/// Rounds with `cargo test`, with `cargo x laws`, and in full; half at random, half by PCT.
const ROUNDS: [u64; 3] = [12, 42, 420];
/// Of each round.
const SCHEDULES: usize = 10;

/// Of the program that runs: one at a time does.
static HOMES: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

/// Spawns a task on one of the runtimes.
pub(crate) fn beside<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let homes = lock(&HOMES).clone();
    let n = shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..homes.len());
    homes[n].spawn(task)
}

/// Says in which round it went wrong.
struct Round(u64);

impl Drop for Round {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("round {}", self.0);
        }
    }
}

/// Runs `body` many times, with the number of the round.
pub(crate) fn storm<F>(body: impl Fn(u64) -> F + Send + Sync + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let filter = std::env::var("TIDINGS_LAWS_FILTER").unwrap_or_default();
    if !"shuttle/races".contains(&filter) {
        return;
    }
    let rounds = match std::env::var("TIDINGS_LAWS_FULL").as_deref() {
        Ok("1") => ROUNDS[2],
        Ok(_) => ROUNDS[1],
        Err(_) => ROUNDS[0],
    };
    let _alone = alone();
    let body = Arc::new(body);
    for round in 0..rounds {
        let _round = Round(round);
        let body = Arc::clone(&body);
        let run = move || {
            let homes = Homes::new(2);
            let here = Runtime::builder()
                .seam(Drawn(Duration::ZERO))
                .build()
                .unwrap();
            let mut all = homes.handles.clone();
            all.push(here.handle());
            *lock(&HOMES) = all;
            here.block_on(body(round));
            lock(&HOMES).clear();
            drop(here);
            homes.end();
        };
        let mut config = Config::new();
        config.stack_size = 1 << 18;
        config.silence_warnings = true;
        if round % 2 == 0 {
            let scheduler = RandomScheduler::new_from_seed(round, SCHEDULES);
            Runner::new(scheduler, config).run(run);
        } else {
            let scheduler = PctScheduler::new_from_seed(round, 3, SCHEDULES);
            Runner::new(scheduler, config).run(run);
        }
    }
}
