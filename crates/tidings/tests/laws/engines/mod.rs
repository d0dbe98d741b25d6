//! Who decides what happens next. Each engine runs the same programs and calls the same laws.

#[cfg(loom)]
mod loom;
#[cfg(shuttle)]
pub(crate) mod shuttle;
#[cfg(not(any(loom, shuttle)))]
mod sim;
#[cfg(not(any(loom, shuttle)))]
mod threads;
#[cfg(not(any(loom, shuttle)))]
mod watchdog;

use crate::history::lock;
use crate::plan::{Row, rows};
use crate::trial::{Counts, alone};

/// How many programs of each primitive: `quick` with `cargo test`, `short` and `full` with
/// `cargo x laws`.
#[derive(Clone, Copy)]
struct Amount {
    quick: u64,
    short: u64,
    full: u64,
}

impl Amount {
    fn programs(self) -> u64 {
        match std::env::var("TIDINGS_LAWS_FULL").as_deref() {
            Ok("1") => self.full,
            Ok(_) => self.short,
            Err(_) => self.quick,
        }
    }
}

/// Runs programs of every primitive that the page asks this engine for, and prints the tally.
///
/// `run` runs the program of one seed, perhaps many times.
fn drive(engine: &str, amount: Amount, mut run: impl FnMut(&'static Row, u64, &Counts)) {
    let _alone = alone();
    let seed: Option<u64> = std::env::var("TIDINGS_LAWS_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let filter = std::env::var("TIDINGS_LAWS_FILTER").unwrap_or_default();
    let seeds = match seed {
        Some(seed) => seed..seed + 1,
        None => 0..amount.programs(),
    };
    for row in rows() {
        let primitive = row.primitive.name;
        if !row.is_run_by(engine) || !format!("{engine}/{primitive}").contains(&filter) {
            continue;
        }
        let counts = Counts::default();
        seeds.clone().for_each(|seed| run(row, seed, &counts));
        let counts = lock(&counts);
        for law in &row.laws {
            let count = counts.get(law.name).copied().unwrap_or_default();
            let (law, programs, runs) = (law.name, count.programs, count.runs);
            // One program may have nothing that the law is about.
            assert!(
                programs > 0 || seed.is_some(),
                "{engine} has no program of {primitive} that the law `{law}` is about"
            );
            println!(
                "law {engine:<8} {primitive:<10} {law:<13} {programs:>7} programs {runs:>9} runs   ok"
            );
        }
    }
}
