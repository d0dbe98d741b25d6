//! shuttle: many schedules, drawn at random and by PCT, of programs of a few parties.
//!
//! Every atomic is sequentially consistent here; what weaker orderings allow is loom's to find.

use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use super::{Amount, drive};
use crate::dice::Dice;
use crate::programs::Size;
use crate::trial::{Given, Trial};
use crate::waits::Powers;

const AMOUNT: Amount = Amount {
    quick: 60,
    short: 200,
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
            let (trial, parties) = Trial::start(
                row,
                Given {
                    engine: "shuttle",
                    seed,
                    size,
                    powers,
                    spawner: None,
                },
            );
            let run = |party| thread::spawn(move || shuttle::future::block_on(party));
            let threads: Vec<_> = parties.into_iter().map(run).collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
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
