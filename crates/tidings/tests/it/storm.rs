//! Runs a program many times: on real threads and under many seeds. `tests/laws/storm.rs` is the same for
//! shuttle.

pub(crate) use tidings::spawn as beside;
use tidings_sim::{Sim, world};

use crate::both::{pool, run, watchdog};

/// Runs `body` many times, with the number of the round.
pub(crate) fn storm<F>(body: impl Fn(u64) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _watchdog = watchdog();
    for workers in [2, 4] {
        let rt = pool(workers);
        (0..150).for_each(|round| run(&rt, body(round)));
    }
    Sim::new(0).seeds(150).run(|| body(world().seed()));
}
