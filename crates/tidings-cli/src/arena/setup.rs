//! `tidings arena setup`: builds peers into the cache, after showing what it will do.

use std::io::{self, IsTerminal as _};
use std::time::Instant;

use super::catalog::{Built, Readiness};
use super::exit::{Exit, Stop};
use super::plan::{self, Candidate};
use super::terminal;
use super::{build, ready};
use crate::cli::SetupArgs;

pub(crate) fn setup(args: &SetupArgs) -> Result<Exit, Stop> {
    let candidates = ready::look(args.peers.peers.as_deref())?;
    let chosen = choose(args, &candidates)?;
    let mut todo: Vec<(&Candidate, &Built)> = Vec::new();
    let mut missing = false;
    for candidate in chosen {
        let id = candidate.entry.id();
        match &candidate.readiness {
            Readiness::Ready(_) => terminal::print(&format!("ready    {id}\n"))?,
            Readiness::Missing { reason, fix } => {
                missing = true;
                terminal::print(&format!("missing  {id}: {reason}\n         fix: {fix}\n"))?;
            }
            Readiness::Unbuilt(built) => {
                terminal::print(&format!("build    {id} into {}\n", built.out.display()))?;
                for step in build::steps(&candidate.entry, built) {
                    terminal::print(&format!("         {}\n", step.join(" ")))?;
                }
                if !candidate.entry.manifest.peer.auto_build {
                    terminal::print("         this may download from the language's registry\n")?;
                }
                todo.push((candidate, built));
            }
        }
    }
    let absent = if missing { Exit::CellFailed } else { Exit::Ok };
    if todo.is_empty() || args.dry_run {
        return Ok(absent);
    }
    if !args.yes && !agreed()? {
        terminal::print("nothing was built\n")?;
        return Ok(Exit::Ok);
    }
    let mut failed = false;
    for (candidate, built) in todo {
        let id = candidate.entry.id();
        let begin = Instant::now();
        match build::make(&candidate.entry, built) {
            Ok(()) => {
                let seconds = begin.elapsed().as_secs_f64();
                terminal::print(&format!("built    {id} in {seconds:.1} s\n"))?;
            }
            Err(reason) => {
                failed = true;
                terminal::print(&format!("failed   {id}: {reason}\n"))?;
            }
        }
    }
    Ok(if failed { Exit::CellFailed } else { absent })
}

fn choose<'a>(args: &SetupArgs, candidates: &'a [Candidate]) -> Result<Vec<&'a Candidate>, Stop> {
    for name in &args.systems {
        if !candidates.iter().any(|c| is_named(c, name)) {
            let mut names = plan::systems(candidates);
            names.extend(candidates.iter().map(|c| c.entry.id()));
            names.sort_unstable();
            names.dedup();
            return Err(Stop::usage(format!(
                "unknown system {name:?}; there are {}",
                names.join(", ")
            )));
        }
    }
    let chosen = candidates.iter().filter(|c| {
        let named = args.systems.iter().any(|name| is_named(c, name));
        let default = args.systems.is_empty() && c.entry.manifest.peer.auto_build;
        c.entry.folder.is_some() && (args.all || named || default)
    });
    Ok(chosen.collect())
}

fn is_named(candidate: &Candidate, name: &str) -> bool {
    candidate.entry.id() == name
        || candidate
            .entry
            .manifest
            .peer
            .systems
            .iter()
            .any(|s| s == name)
}

fn agreed() -> Result<bool, Stop> {
    if !io::stdin().is_terminal() {
        return Err(Stop::usage(
            "nobody to ask here: pass --yes to build, or --dry-run",
        ));
    }
    terminal::print("build these? [y/N] ")?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|e| Stop::internal(format!("cannot read the answer: {e}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
