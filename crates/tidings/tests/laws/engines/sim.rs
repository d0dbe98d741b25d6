//! The simulator: one thread, and every choice from a seed, at random and by PCT.

use std::time::Duration;

use tidings::sched::Handle;
use tidings::time::sleep;
use tidings_sim::Sim;

use super::watchdog::watchdog;
use super::{Amount, drive};
use crate::dice::Dice;
use crate::plan::Row;
use crate::programs::Size;
use crate::trial::{Counts, Given, Trial};
use crate::waits::{Powers, pause};

const AMOUNT: Amount = Amount {
    quick: 300,
    short: 3_000,
    full: 100_000,
};

#[test]
fn the_simulator_runs_programs() {
    let _watchdog = watchdog();
    drive("sim", AMOUNT, |row, seed, counts| {
        // A party of a program may panic, and nobody may be left to hear.
        let mut sim = Sim::new(seed).ignores_panics();
        if seed % 8 != 0 {
            sim = sim.once();
        }
        if seed % 3 == 0 {
            sim = sim.busy(Duration::from_micros(20));
        }
        sim.run(|| program(row, seed, Counts::clone(counts)));
    });
}

/// The program of a seed, judged at its end.
async fn program(row: &'static Row, seed: u64, counts: Counts) {
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
    let homes = vec![Handle::current()];
    let (trial, parties) = Trial::start(
        row,
        Given {
            engine: "sim",
            seed,
            size,
            powers,
            homes,
        },
    );
    let aborts = trial.mortal && dice.below(3) == 0;
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
    drop(tasks);
    // Time passes when nobody has anything to do any more.
    sleep(Duration::from_secs(1)).await;
    trial.end(row, &counts);
}
