//! The arena: the same workloads for every system, measured side by side.
//!
//! | folder | what |
//! |---|---|
//! | `verbs` | one file for each verb of the command line |
//! | `machine` | the machine that measures, and the person in front of it |
//! | `peers` | `catalog` finds them (`manifest`), `build` makes them, `peer`, `speaker` and `process` run them |
//! | `cells` | what a correct sample counts (`workload`), which cells run at which `size` (`plan`), what a short run leaves out (`fit`) |
//! | `sampling` | `measure` takes the samples of a group, each system's through `track` |
//! | `statistics` | `figures`, `stats` and `verdict` make of them what is told |
//! | `records` | `record` saves it, `table` prints it |
//! | `report` | a page that draws it |

pub(crate) mod cells;
pub(crate) mod exit;
mod machine;
mod paths;
mod peers;
mod plain;
mod records;
mod report;
mod sampling;
mod statistics;
mod terminal;
pub(crate) mod units;
mod verbs;

use std::process::ExitCode;

use crate::cli::{Arena, ArenaCommand, PeerCommand};

/// Carries out `tidings arena ...`.
pub(crate) fn main(arena: &Arena) -> ExitCode {
    if arena.no_color {
        terminal::without_colour();
    }
    let result = match &arena.command {
        None => verbs::guide::guide(),
        Some(ArenaCommand::List(args)) => verbs::list::list(args),
        Some(ArenaCommand::Doctor(args)) => verbs::doctor::doctor(args),
        Some(ArenaCommand::Setup(args)) => verbs::setup::setup(args),
        Some(ArenaCommand::Run(args)) => verbs::run::run(args),
        Some(ArenaCommand::Show(args)) => verbs::show::show(args),
        Some(ArenaCommand::Report(args)) => report::report(args),
        Some(ArenaCommand::Smoke(args)) => verbs::smoke::smoke(args),
        Some(ArenaCommand::Compare(args)) => verbs::compare::compare(args),
        Some(ArenaCommand::Baseline(args)) => verbs::baseline::baseline(&args.command),
        Some(ArenaCommand::History(args)) => verbs::history::history(args),
        Some(ArenaCommand::Clean(args)) => verbs::clean::clean(args),
        Some(ArenaCommand::Merge(args)) => verbs::merge::merge(args),
        Some(ArenaCommand::Bundle(args)) => verbs::bundle::bundle(args),
        Some(ArenaCommand::Peer(args)) => match &args.command {
            PeerCommand::New(args) => verbs::scaffold::new(args),
            PeerCommand::Test(args) => verbs::conformance::test(args),
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
