//! `tidings arena` alone: what it is, what to type, and how things stand.

use crate::arena::exit::{Exit, Stop};
use crate::arena::paths;
use crate::arena::peers::catalog::Readiness;
use crate::arena::peers::ready;
use crate::arena::records::record;
use crate::arena::terminal::{self, Style};

const GUIDE: &str = "\
The same workloads for tidings and for other systems, counted, checked and timed side by side on this machine.

  tidings arena run                     the headline cells, within two minutes
  tidings arena run 'pingpong/*@go,tidings'   all variants of one workload, two systems
  tidings arena run --profile standard  everything at the seeds' own sizes (long)
  tidings arena smoke                   only: is every answer right?
  tidings arena list                    every workload, variant and system
  tidings arena doctor                  is this machine fit for measuring, what is missing?
  tidings arena setup rust              build a peer that has to download its libraries
  tidings arena show                    the tables of the last run
  tidings arena run --resume RUN        go on with a run that was cut off
  tidings arena compare RUN             the last run against an earlier one, cell by cell
  tidings arena peer new go DIR         begin a peer for another system; `peer test DIR` checks it

A filter is workload[/variant][@system], with globs and commas. Every command has --help.
";

pub(crate) fn guide() -> Result<Exit, Stop> {
    let style = Style::of_stdout();
    let candidates = ready::look(None)?;
    let mut ready_systems = Vec::new();
    let mut to_build = Vec::new();
    let mut missing = Vec::new();
    let mut blocked = Vec::new();
    for candidate in &candidates {
        let peer = &candidate.entry.manifest.peer;
        match &candidate.readiness {
            Readiness::Ready(_) => ready_systems.extend(peer.systems.iter().map(String::as_str)),
            Readiness::Unbuilt(_) if peer.auto_build => {
                to_build.push(format!("{} (the first run builds it)", peer.id));
            }
            Readiness::Unbuilt(_) => {
                to_build.push(format!("{} ({})", peer.id, candidate.entry.setup_command()));
            }
            Readiness::Missing { reason, fix, .. } => {
                missing.push(format!("{} ({reason}; fix: {fix})", peer.id));
            }
            Readiness::Blocked { .. } => blocked.extend(peer.systems.iter().map(String::as_str)),
        }
    }
    let mut text = format!("{}\n{GUIDE}\n", style.bold("tidings arena"));
    let mut line = |name: &str, list: &str| {
        if !list.is_empty() {
            text += &format!("{name:<10}{list}\n");
        }
    };
    line("ready", &ready_systems.join(", "));
    line("to build", &to_build.join(", "));
    line("missing", &missing.join(", "));
    line("blocked", &blocked.join(", "));
    let last = record::saved(&paths::runs()?).pop();
    line("last run", last.as_deref().unwrap_or("none yet"));
    terminal::print(&text)?;
    Ok(Exit::Ok)
}
