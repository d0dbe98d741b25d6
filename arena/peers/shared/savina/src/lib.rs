//! The Savina actor benchmarks (Imam and Sarkar, AGERE! 2014) as a workload of the arena: the sizes,
//! the computations that the actors of every Rust peer do, and what a correct run counts.
//!
//! The harness takes the list and the counts from here, the peers the computations. What differs
//! from the originals, and why, is said in `SAVINA.md` beside `WORKLOADS.md`.
//!
//! | file | what |
//! |---|---|
//! | `table.rs` | the thirty, with their sizes |
//! | `expected.rs`, `networks.rs` | what a correct run counts, computed without actors |
//! | `random.rs`, `share.rs` | the pseudo-random numbers; how actors' counts are added up |
//! | all others | computations |

mod apsp;
mod bank;
mod expected;
mod filter;
mod float;
mod grid;
mod list;
mod matrix;
mod networks;
mod pi;
mod primes;
mod quadrant;
mod queens;
mod random;
mod share;
mod sort;
mod table;
mod tree;

pub use apsp::{Block, Graph};
pub use bank::{Transfer, Transfers};
pub use filter::{Coefficients, Delay, Fir, simulations};
pub use float::{attos, colour, fingerprint, item, logistic, relaxed, start_of, theta, trapezoids};
pub use grid::{Grid, Search};
pub use list::SortedList;
pub use matrix::{Leaf, Matrices, Part};
pub use pi::{Fixed, term, terms};
pub use primes::{Filter, Verdict};
pub use quadrant::{Point, Points, Quadrant};
pub use queens::{place, solve};
pub use random::{PseudoRandom, busy_wait};
pub use share::Share;
pub use sort::{Split, quicksort, split, values};
pub use table::{ALL, Benchmark, Bound, Step};
pub use tree::{Grant, Growth};

use std::ops::AddAssign;

/// The sizes of a benchmark, by the keys of the protocol; `n` is what grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(non_snake_case, reason = "the names of the protocol")]
pub struct Sizes {
    pub n: i64,
    pub w: i64,
    pub P: i64,
    pub A: i64,
    pub N: i64,
    pub M: i64,
    pub S: i64,
}

impl Sizes {
    /// Sizes by their keys, with 0 for one that is not given.
    pub fn of(given: impl Fn(&str) -> i64) -> Self {
        Self {
            n: given("n"),
            w: given("w"),
            P: given("P"),
            A: given("A"),
            N: given("N"),
            M: given("M"),
            S: given("S"),
        }
    }
}

/// What one repetition does: work in the unit of the benchmark, actors, and the check value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub msgs: i64,
    pub units: i64,
    pub check: i64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.msgs += other.msgs;
        self.units += other.units;
        self.check += other.check;
    }
}

/// A benchmark by its name.
pub fn benchmark(id: &str) -> Option<&'static Benchmark> {
    ALL.iter().find(|one| one.id == id)
}
