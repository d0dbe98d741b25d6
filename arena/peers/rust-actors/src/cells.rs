//! What a cell is, and which system has which.

use crate::{on_actix, on_kameo, on_may, on_ractor, on_rayon};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

/// The numbers of a `prep` command; one that was not sent is 0.
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case, reason = "the names of the protocol")]
pub struct Params {
    pub threads: i64,
    pub p: i64,
    pub n: i64,
    pub w: i64,
    pub P: i64,
    pub A: i64,
    pub N: i64,
    pub M: i64,
    pub S: i64,
}

/// What one repetition, or the sum of several, really did.
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

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Fault {
    Unsupported(String),
    Limit(String),
    Bug(String),
}

impl Fault {
    pub(crate) fn bug(why: impl ToString) -> Self {
        Self::Bug(why.to_string())
    }
}

/// The time of the timed parts, and what was done in them.
pub type Outcome = Result<(Duration, Counts), Fault>;

/// Does so many repetitions, each with its own creation.
pub type Sample = Box<dyn FnMut(i64) -> Outcome>;

/// Checks the parameters and makes what is not timed.
pub type Cell = fn(Params) -> Result<Sample, Fault>;
pub type Cells = BTreeMap<&'static str, Cell>;

/// A library of this peer.
pub struct System {
    /// Its name, as a system and as a package.
    pub name: &'static str,
    pub cells: fn() -> Cells,
    /// What its tasks run on: a package, and how it is set up for so many threads.
    pub(crate) on: (&'static str, fn(usize) -> String),
}

pub const SYSTEMS: [System; 5] = [
    System {
        name: "ractor",
        cells: on_ractor::cells,
        on: ("tokio", on_tokio_kind),
    },
    System {
        name: "kameo",
        cells: on_kameo::cells,
        on: ("tokio", on_tokio_kind),
    },
    System {
        name: "actix",
        cells: on_actix::cells,
        on: ("actix-rt", on_actix::kind),
    },
    System {
        name: "may",
        cells: on_may::cells,
        on: ("generator", on_may::kind),
    },
    System {
        name: "rayon",
        cells: on_rayon::cells,
        on: ("rayon-core", |_| "a pool of its own".into()),
    },
];

fn on_tokio_kind(threads: usize) -> String {
    match threads {
        1 => "current_thread".into(),
        _ => "multi_thread".into(),
    }
}
