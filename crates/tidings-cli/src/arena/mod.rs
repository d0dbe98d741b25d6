//! The arena: the same workloads for every system, measured side by side.
//!
//! `catalog` finds the peers (`manifest`), `build` makes them, `plan` says which cells run at which `size`, `fit` what a short run leaves out. `measure` takes
//! the samples of a group through `track`, `peer`, `speaker` and `process`; `figures`, `stats` and `verdict` turn them into the
//! records that `record` saves, `table` prints and `report` draws. What a correct sample counts is in `workload`.

mod apt;
mod baseline;
mod best;
mod build;
mod bundle;
mod catalog;
mod clean;
mod compare;
mod compare_text;
mod conformance;
mod doctor;
mod doctor_peer;
mod environment;
mod estimate;
pub(crate) mod exit;
mod figures;
mod filter;
mod fingerprint;
mod fit;
mod guide;
mod hangs;
mod heartbeat;
mod histogram;
mod history;
mod interrupt;
mod list;
mod manifest;
mod measure;
mod merge;
mod merge_text;
mod net_table;
mod noise;
mod options;
mod outcome;
mod paced;
mod paths;
mod peer;
mod pilot;
mod plain;
mod plan;
mod proc_tree;
mod process;
mod progress;
mod protocol;
mod random;
mod ready;
mod record;
mod report;
mod resume;
mod run;
mod saved;
mod savina;
mod scaffold;
mod session;
mod setup;
mod show;
#[cfg(test)]
mod simulation;
pub(crate) mod size;
mod smoke;
mod speaker;
mod state;
mod static_binary;
mod stats;
mod table;
mod terminal;
mod track;
pub(crate) mod units;
mod verdict;
mod wire;
mod workload;

use std::process::ExitCode;

use crate::cli::{Arena, ArenaCommand, PeerCommand};

/// Carries out `tidings arena ...`.
pub(crate) fn main(arena: &Arena) -> ExitCode {
    let result = match &arena.command {
        None => guide::guide(),
        Some(ArenaCommand::List(args)) => list::list(args),
        Some(ArenaCommand::Doctor(args)) => doctor::doctor(args),
        Some(ArenaCommand::Setup(args)) => setup::setup(args),
        Some(ArenaCommand::Run(args)) => run::run(args),
        Some(ArenaCommand::Show(args)) => show::show(args),
        Some(ArenaCommand::Report(args)) => report::report(args),
        Some(ArenaCommand::Smoke(args)) => smoke::smoke(args),
        Some(ArenaCommand::Compare(args)) => compare::compare(args),
        Some(ArenaCommand::Baseline(args)) => baseline::baseline(&args.command),
        Some(ArenaCommand::History(args)) => history::history(args),
        Some(ArenaCommand::Clean(args)) => clean::clean(args),
        Some(ArenaCommand::Merge(args)) => merge::merge(args),
        Some(ArenaCommand::Bundle(args)) => bundle::bundle(args),
        Some(ArenaCommand::Peer(args)) => match &args.command {
            PeerCommand::New(args) => scaffold::new(args),
            PeerCommand::Test(args) => conformance::test(args),
        },
    };
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(stop) => {
            terminal::say(&format!("tidings arena: {stop}"));
            ExitCode::from(stop.exit as u8)
        }
    }
}
