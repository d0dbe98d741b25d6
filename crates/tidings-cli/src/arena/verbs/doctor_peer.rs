//! `tidings arena doctor SYSTEM..`: one peer looked at closely. Every need, its version, its build, and what it says of
//! itself when it is started. Builds and installs nothing.

use crate::arena::cells::plan::Candidate;
use crate::arena::exit::Stop;
use crate::arena::machine::environment;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::catalog::{Entry, Readiness};
use crate::arena::peers::peer::{Leave, Limits, Peer};
use crate::arena::plain;
use crate::arena::verbs::doctor::Check;

/// The checks of one peer.
pub(crate) fn checks(candidate: &Candidate, limits: Limits) -> Result<Vec<Check>, Stop> {
    let entry = &candidate.entry;
    let name = |what: &str| format!("{} {what}", entry.id());
    let mut checks = Vec::new();
    if let Readiness::Blocked { reason } = &candidate.readiness {
        let mut check = Check::new(name("runs here"), false, reason.clone(), None);
        check.blocked = true;
        return Ok(vec![check]);
    }
    for need in &entry.manifest.needs {
        let what = name(&format!("needs {}", need.cmd.join(" ")));
        checks.push(match entry.probe(&need.cmd) {
            Ok(text) => {
                let first = text.lines().map(str::trim).find(|line| !line.is_empty());
                Check::new(what, true, first.unwrap_or("there").to_owned(), None)
            }
            Err(reason) => Check::new(what, false, reason, Some(need.fix.clone())),
        });
    }
    match &candidate.readiness {
        Readiness::Missing { reason, fix, .. } => {
            checks.push(Check::new(
                name("is ready"),
                false,
                reason.clone(),
                Some(fix.clone()),
            ));
        }
        Readiness::Unbuilt(built) => {
            let found = format!("not built, toolchain {}", built.toolchain);
            let fix = Some(entry.setup_command());
            checks.push(Check::new(name("is built"), false, found, fix));
        }
        Readiness::Ready(built) => {
            let place = match &entry.folder {
                Some(_) if !entry.manifest.build.is_empty() => built.out.display().to_string(),
                _ => "nothing to build".to_owned(),
            };
            let found = format!(
                "{place}, toolchain {}, hash {}",
                built.toolchain, built.hash
            );
            checks.push(Check::new(name("is built"), true, found, None));
            for system in &entry.manifest.peer.systems {
                checks.push(started(entry, system, candidate, limits)?);
            }
        }
        Readiness::Blocked { .. } => {}
    }
    Ok(checks)
}

/// Starts one system and reads its hello.
fn started(
    entry: &Entry,
    system: &str,
    candidate: &Candidate,
    limits: Limits,
) -> Result<Check, Stop> {
    let name = format!("{} says hello as {system}", entry.id());
    let launch = candidate.launch(system, environment::cores(), limits)?;
    let mut peer = match Peer::start(&launch, &Interrupt::default()) {
        Ok(peer) => peer,
        Err((failure, log)) => {
            let last = plain::lines(&log).pop().unwrap_or_default();
            let found = format!("{}: {} {last}", failure.state.name(), failure.reason);
            let fix = Some(format!("tidings arena peer test {}", folder(entry)));
            return Ok(Check::new(name, false, found, fix));
        }
    };
    let hello = peer.hello().clone();
    let startup = peer.startup();
    let _ = peer.leave(Leave::Quit);
    let cells = entry.manifest.cell.iter();
    let absent: Vec<&str> = cells
        .filter(|cell| cell.systems.iter().any(|s| s == system) && cell.blocked.is_none())
        .filter(|cell| !hello.cells.contains(&cell.id))
        .map(|cell| cell.id.as_str())
        .collect();
    let mut found = format!(
        "version {} on {}, {} threads, clock steps of {} ns, {} cells, up in {startup:.0?}",
        hello.version,
        hello.runtime,
        hello.threads,
        hello.clock_ns,
        hello.cells.len()
    );
    if !hello.flags.is_empty() {
        found += &format!(", flags {}", hello.flags);
    }
    if !absent.is_empty() {
        found += &format!("; in its manifest, not in its hello: {}", absent.join(", "));
    }
    Ok(Check::new(name, absent.is_empty(), found, None))
}

fn folder(entry: &Entry) -> String {
    let folder = entry.folder.as_ref();
    folder.map_or_else(String::new, |folder| folder.display().to_string())
}
