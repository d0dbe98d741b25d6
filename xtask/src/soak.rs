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
    let (load, histories) = ((secs * 2 / 5).max(1), (secs / 5 / 9).max(1));
    let load_secs = load.to_string();
    let env = [("TIDINGS_STRESS_SECS", load_secs.as_str())];
    run_tests(&env, LOAD, tally)?;
    // The affinity is inherited; the build has been made.
    run_tests(&env, &format!("taskset -c 0 {LOAD}"), tally)?;
    let env = [("TIDINGS_LINEAR_SECS", &*histories.to_string())];
    run_tests(&env, HISTORIES, tally)
}
