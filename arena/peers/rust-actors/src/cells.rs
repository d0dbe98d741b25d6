//! What a cell is, and which system has which.

use crate::{on_actix, on_kameo, on_may, on_ractor, on_rayon};
use std::collections::BTreeMap;

pub use peer_protocol::{Counts, Fault, Outcome, Params, Stopwatch};

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
