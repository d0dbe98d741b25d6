//! From peers on disk to candidates of a run: looked at, and built where that needs no download.

use std::path::Path;

use crate::arena::cells::plan::{self, Candidate, Plan, Request};
use crate::arena::exit::Stop;
use crate::arena::machine::environment;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::build;
use crate::arena::peers::catalog::{self, Entry, Readiness};
use crate::arena::records::state::State;

/// Looks at all peers without building any.
pub(crate) fn look(peers: Option<&Path>) -> Result<Vec<Candidate>, Stop> {
    catalog::load(peers)?
        .into_iter()
        .map(|entry| {
            Ok(Candidate {
                readiness: entry.readiness()?,
                entry,
            })
        })
        .collect()
}

/// The plan of what is asked for, with the peers built that it needs and that build by themselves, until somebody asks
/// to end.
pub(crate) fn plan(
    candidates: &mut [Candidate],
    request: &Request<'_>,
    interrupt: &Interrupt,
    tell: impl Fn(&str),
) -> Result<Plan, Stop> {
    // A plan now, so that what is wrong with what was asked for is said before anything is built.
    let first = plan::make(candidates, request)?;
    if let Some(system) = request.required.iter().find(|system| !first.has(system)) {
        return Err(Stop::usage(format!(
            "--require {system}: the filter leaves out all of its cells"
        )));
    }
    let waits = |entry: &Entry| {
        let mut absent = first.absent.iter();
        absent.any(|a| a.state == State::Missing && a.peer == entry.id())
    };
    build_by_itself(candidates, waits, interrupt, tell);
    plan::make(candidates, request)
}

/// Builds the peers that are needed, not built, and need no download. Tells what it does.
fn build_by_itself(
    candidates: &mut [Candidate],
    needed: impl Fn(&Entry) -> bool,
    interrupt: &Interrupt,
    tell: impl Fn(&str),
) {
    for candidate in candidates {
        if interrupt.is_asked() {
            return;
        }
        let Readiness::Unbuilt(built) = &candidate.readiness else {
            continue;
        };
        if !candidate.entry.manifest.peer.auto_build || !needed(&candidate.entry) {
            continue;
        }
        let id = candidate.entry.id();
        for step in build::steps(&candidate.entry, built) {
            tell(&format!("building peer {id}: {}", step.join(" ")));
        }
        candidate.readiness = match build::make(&candidate.entry, built, interrupt, |_| ()) {
            Ok(()) => Readiness::Ready(built.clone()),
            Err(reason) => {
                tell(&format!("peer {id} does not build: {reason}"));
                let reason = reason.lines().next().unwrap_or_default();
                Readiness::Missing {
                    reason: format!("does not build: {reason}"),
                    fix: candidate.entry.setup_command(),
                    apt: Vec::new(),
                }
            }
        };
    }
}

/// Reads `--threads 1,all`.
pub(crate) fn threads(text: &str) -> Result<Vec<u32>, Stop> {
    const MOST: u32 = 1024;
    let mut list = Vec::new();
    for word in text.split(',').map(str::trim) {
        let count = match word {
            "all" => Some(environment::cores()),
            word => word.parse::<u32>().ok().filter(|n| (1..=MOST).contains(n)),
        };
        let count = count.ok_or_else(|| {
            Stop::usage(format!(
                "--threads {word:?}: write numbers from 1 to {MOST} and `all`"
            ))
        })?;
        if !list.contains(&count) {
            list.push(count);
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbers_and_all() {
        assert_eq!(threads("1").expect("valid"), [1]);
        assert_eq!(threads("3,3,7").expect("valid"), [3, 7]);
        assert_eq!(threads("all").expect("valid"), [environment::cores()]);
        for bad in ["0", "", "x", "1,", "99999"] {
            assert!(threads(bad).is_err(), "{bad}");
        }
    }
}
