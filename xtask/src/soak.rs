//! `cargo x soak`: the mixed load for hours, with more workers than cores, workers that stand
//! still at random, and half of the time on a single core.

use crate::command::Tally;
use crate::engines::run_tests;

/// Eight hours, when nobody says.
pub(crate) const SECS: u32 = 8 * 60 * 60;

const LOAD: &str = "cargo test --release -p tidings --test stress -- a_mixed_load";
const HISTORIES: &str = "cargo test --release -p tidings --test linear -- linearizable \
                         --test-threads 1 --nocapture";

/// Parts of `secs`: a load on all cores, the same on one, and histories that are checked.
pub(crate) fn run(secs: u32, tally: &mut Tally) -> Result<(), String> {
    // Nine tests of histories take as long as their share, one after the other.
    let load = (secs * 2 / 5).max(1).to_string();
    let histories = (secs / 5 / 9).max(1).to_string();
    run_tests(&[("TIDINGS_STRESS_SECS", &load)], LOAD, tally)?;
    // The affinity is inherited; the build has been made.
    let on_one_core = format!("taskset -c 0 {LOAD}");
    run_tests(&[("TIDINGS_STRESS_SECS", &load)], &on_one_core, tally)?;
    run_tests(&[("TIDINGS_LINEAR_SECS", &histories)], HISTORIES, tally)
}
