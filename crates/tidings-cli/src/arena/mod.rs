//! The arena: the same workloads for every system, measured side by side.
//!
//! `catalog` finds the peers (`manifest`), `build` makes them, `plan` says which cells run at which `size`. `measure` takes
//! the samples of a group through `track`, `peer`, `speaker` and `process`; `figures`, `stats` and `verdict` turn them into the
//! records that `record` saves and `table` prints. What a correct sample counts is in `workload`.

mod build;
mod catalog;
mod doctor;
mod environment;
mod exit;
mod figures;
mod filter;
mod guide;
mod histogram;
mod interrupt;
mod list;
mod manifest;
mod measure;
mod net_table;
mod noise;
mod options;
mod outcome;
mod paced;
mod paths;
mod peer;
mod pilot;
mod plan;
mod proc_tree;
mod process;
mod progress;
mod protocol;
mod random;
mod ready;
mod record;
mod run;
mod session;
mod setup;
mod show;
pub(crate) mod size;
mod smoke;
mod speaker;
mod state;
mod stats;
mod table;
mod terminal;
mod track;
pub(crate) mod units;
mod verdict;
mod wire;
mod workload;

use std::process::ExitCode;

use crate::cli::{Arena, ArenaCommand};

/// Carries out `tidings arena ...`.
pub(crate) fn main(arena: &Arena) -> ExitCode {
    let result = match &arena.command {
        None => guide::guide(),
        Some(ArenaCommand::List(args)) => list::list(args),
        Some(ArenaCommand::Doctor(args)) => doctor::doctor(args),
        Some(ArenaCommand::Setup(args)) => setup::setup(args),
        Some(ArenaCommand::Run(args)) => run::run(args),
        Some(ArenaCommand::Show(args)) => show::show(args),
        Some(ArenaCommand::Smoke(args)) => smoke::smoke(args),
    };
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(stop) => {
            terminal::say(&format!("tidings arena: {stop}"));
            ExitCode::from(stop.exit as u8)
        }
    }
}
