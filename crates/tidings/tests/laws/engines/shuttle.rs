//! shuttle: many schedules, drawn at random and by PCT, of programs of a few parties.
//!
//! Every atomic is sequentially consistent here; what weaker orderings allow is loom's to find.

use std::sync::Arc;
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};
use tidings::sched::{Choice, Handle, Runtime, Seam};

use super::{Amount, drive};
use crate::dice::Dice;
use crate::programs::Size;
use crate::trial::{Given, Trial};
use crate::waits::Powers;

const AMOUNT: Amount = Amount {
    quick: 60,
    short: 100,
    full: 2_000,
};

#[test]
fn shuttle_draws_schedules() {
    // Half of them at random, half by PCT.
    let schedules = 50;
    drive("shuttle", AMOUNT, |row, seed, counts| {
        let counts = Arc::clone(counts);
        let body = move || {
            let mut dice = Dice(!seed);
            let size = Size {
                parties: 2 + dice.below(3),
                acts: 1 + dice.below(3),
            };
            let powers = Powers {
                strange: 3,
                blocks: true,
                ..Powers::default()
            };
            let homes = Homes::new(if row.primitive.needs_a_home() { 2 } else { 0 });
            let (trial, parties) = Trial::start(
                row,
                Given {
                    engine: "shuttle",
                    seed,
                    size,
                    powers,
                    homes: homes.handles.clone(),
                },
            );
            let run = |party| thread::spawn(move || shuttle::future::block_on(party));
            let threads: Vec<_> = parties.into_iter().map(run).collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            homes.end();
            trial.end(row, &counts);
        };
        let mut config = Config::new();
        config.stack_size = 1 << 18;
        config.silence_warnings = true;
        if seed % 2 == 0 {
            let scheduler = RandomScheduler::new_from_seed(seed, schedules);
            Runner::new(scheduler, config).run(body);
        } else {
            let scheduler = PctScheduler::new_from_seed(seed, 3, schedules);
            Runner::new(scheduler, config).run(body);
        }
    });
}

/// The choices of a runtime, drawn as the schedule is. Its time jumps when it has nothing to do.
pub(crate) struct Drawn(pub(crate) Duration);

impl Seam for Drawn {
    fn choose(&mut self, _: Choice, n: usize) -> usize {
        shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..n)
    }
    fn now(&mut self) -> Duration {
        self.0
    }
    fn idle(&mut self, next: Option<Duration>) -> bool {
        self.0 = self.0.max(next.unwrap_or_default());
        next.is_some()
    }
}

/// Runtimes for the actors and tasks of a program, a thread each.
pub(crate) struct Homes {
    pub(crate) handles: Vec<Handle>,
    threads: Vec<thread::JoinHandle<()>>,
    over: tidings::Sender<()>,
}

impl Homes {
    pub(crate) fn new(n: usize) -> Self {
        let (over, ends) = tidings::unbounded();
        let (mut handles, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let seam = Drawn(Duration::ZERO);
            let home = Runtime::builder().seam(seam).build().unwrap();
            handles.push(home.handle());
            let ends = ends.clone();
            threads.push(thread::spawn(move || {
                let _ = home.block_on(async { ends.recv().await });
            }));
        }
        Self {
            handles,
            threads,
            over,
        }
    }

    pub(crate) fn end(self) {
        drop(self.over);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}
