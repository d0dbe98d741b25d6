//! One thread, and a scheduler whose every choice comes from a seed, through its seam.

use std::time::Duration;

use tidings::sched::{Choice, Runtime, Seam, Seeded};

use super::watchdog::watchdog;
use super::{Amount, drive};
use crate::dice::Dice;
use crate::programs::Size;
use crate::trial::{Given, Trial};
use crate::waits::{Powers, pause};

const AMOUNT: Amount = Amount {
    quick: 300,
    short: 3_000,
    full: 100_000,
};

/// A seam without anybody outside: if nothing can run, somebody was not woken.
struct Alone(Seeded);

impl Seam for Alone {
    fn choose(&mut self, choice: Choice, n: usize) -> usize {
        self.0.choose(choice, n)
    }
    fn now(&mut self) -> Duration {
        self.0.now()
    }
    fn idle(&mut self, next: Option<Duration>) -> bool {
        assert!(
            next.is_some(),
            "the law `close-wakes` is broken: nothing can run any more"
        );
        self.0.idle(next)
    }
}

#[test]
fn the_seeded_scheduler_runs_programs() {
    let _watchdog = watchdog();
    drive("seeded", AMOUNT, |row, seed, counts| {
        let rt = Runtime::builder()
            .seam(Alone(Seeded::new(seed)))
            .build()
            .unwrap();
        let mut dice = Dice(!seed);
        let size = Size {
            parties: 2 + dice.below(4),
            acts: 1 + dice.below(6),
        };
        let powers = Powers {
            strange: 20,
            timers: true,
            dies: dice.below(4) == 0,
            ..Powers::default()
        };
        let homes = vec![rt.handle()];
        let (trial, parties) = Trial::start(
            row,
            Given {
                engine: "seeded",
                seed,
                size,
                powers,
                homes,
            },
        );
        let aborts = trial.mortal && dice.below(3) == 0;
        rt.block_on(async {
            let mut tasks: Vec<_> = parties.into_iter().map(tidings::spawn).collect();
            if aborts {
                for _ in 0..dice.below(10) {
                    pause().await;
                }
                let victim = dice.below(tasks.len() as u64);
                tasks[usize::try_from(victim).unwrap()].abort();
            }
            for task in &mut tasks {
                super::threads::end_of(task.join().await);
            }
        });
        drop(rt);
        trial.end(row, counts);
    });
}
