//! `tidings arena setup`: shows what it will install and build, does it, and names what failed. The rest goes on.

use std::io::{self, IsTerminal as _};
use std::time::Instant;

use crate::arena::cells::plan::{self, Candidate};
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::heartbeat::Heartbeat;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::apt::{self, Installer, Quote};
use crate::arena::peers::build;
use crate::arena::peers::catalog::{Built, Readiness};
use crate::arena::peers::ready;
use crate::arena::terminal;
use crate::arena::units;
use crate::cli::SetupArgs;

/// What is to be done for one peer.
#[derive(Debug)]
struct Work {
    /// Index into the candidates.
    peer: usize,
    /// Debian packages that come first.
    packages: Vec<String>,
}

/// Work, and the peers asked for that nothing can be done for.
#[derive(Debug, Default)]
struct Plan {
    work: Vec<Work>,
    left_out: Vec<String>,
}

pub(crate) fn setup(args: &SetupArgs) -> Result<Exit, Stop> {
    let mut candidates = ready::look(args.peers.peers.as_deref())?;
    let chosen = choose(args, &candidates)?;
    let mut plan = Plan::default();
    for index in chosen {
        plan.add(index, &candidates[index], args)?;
    }
    let exit = |is_whole: bool| {
        if is_whole { Exit::Ok } else { Exit::CellFailed }
    };
    if plan.work.is_empty() || args.dry_run {
        return Ok(exit(plan.left_out.is_empty()));
    }
    if !args.yes && !agreed("build these?")? {
        terminal::print("nothing was built\n")?;
        return Ok(Exit::Ok);
    }
    let interrupt = Interrupt::install()?;
    let failed = perform(&plan.work, &mut candidates, &interrupt)?;
    if interrupt.is_asked() {
        return Ok(Exit::Interrupted);
    }
    summary(&plan, &failed)?;
    Ok(exit(failed.is_empty() && plan.left_out.is_empty()))
}

/// The last lines: what has scrolled away by then.
fn summary(plan: &Plan, failed: &[String]) -> Result<(), Stop> {
    let mut text = format!(
        "{} of {} built",
        plan.work.len() - failed.len(),
        plan.work.len()
    );
    for (what, peers) in [("failed", failed), ("left out", &plan.left_out)] {
        if !peers.is_empty() {
            text += &format!("; {what}: {}", peers.join(", "));
        }
    }
    terminal::print(&format!("{text}\n"))
}

impl Plan {
    /// Says what one peer needs, and takes it into the plan if it can be done.
    fn add(&mut self, peer: usize, candidate: &Candidate, args: &SetupArgs) -> Result<(), Stop> {
        let id = candidate.entry.id();
        match &candidate.readiness {
            Readiness::Ready(_) => terminal::print(&format!("ready    {id}\n"))?,
            Readiness::Blocked { reason } => {
                terminal::print(&format!("blocked  {id}: {reason}\n"))?;
            }
            Readiness::Unbuilt(built) => {
                if args.offline && !candidate.entry.manifest.peer.auto_build {
                    self.left_out.push(id.to_owned());
                    return terminal::print(&format!("left out {id}: its build may download\n"));
                }
                terminal::print(&format!("build    {id} into {}\n", built.out.display()))?;
                steps(candidate, built)?;
                self.take(peer, &[]);
            }
            Readiness::Missing { reason, fix, apt } => {
                if apt.is_empty() {
                    self.left_out.push(id.to_owned());
                    let text = format!("missing  {id}: {reason}\n         fix: {fix}\n");
                    return terminal::print(&text);
                }
                if args.offline {
                    self.left_out.push(id.to_owned());
                    return terminal::print(&format!("left out {id}: {reason}; apt downloads\n"));
                }
                terminal::print(&format!("install  {id}: {reason}\n"))?;
                terminal::print(&format!("         {}\n", bring(apt)))?;
                let refused = if !rustix::process::geteuid().is_root() {
                    Some(format!(
                        "needs root: sudo tidings arena setup {id} --yes, or {fix}"
                    ))
                } else if !args.yes && !args.dry_run {
                    Some("packages are installed only with --yes".to_owned())
                } else {
                    None
                };
                if let Some(why) = refused {
                    self.left_out.push(id.to_owned());
                    return terminal::print(&format!("         left out: {why}\n"));
                }
                for step in &candidate.entry.manifest.build {
                    terminal::print(&format!("         then {}\n", step.cmd.join(" ")))?;
                }
                downloads(candidate)?;
                self.take(peer, apt);
            }
        }
        Ok(())
    }

    fn take(&mut self, peer: usize, packages: &[String]) {
        let packages = packages.to_vec();
        self.work.push(Work { peer, packages });
    }
}

fn steps(candidate: &Candidate, built: &Built) -> Result<(), Stop> {
    for step in build::steps(&candidate.entry, built) {
        terminal::print(&format!("         {}\n", step.join(" ")))?;
    }
    downloads(candidate)
}

fn downloads(candidate: &Candidate) -> Result<(), Stop> {
    if candidate.entry.manifest.peer.auto_build || candidate.entry.manifest.build.is_empty() {
        return Ok(());
    }
    terminal::print("         this may download from the language's registry\n")
}

/// What an installation brings, in words.
fn bring(packages: &[String]) -> String {
    let named = packages.join(" ");
    match apt::quote(packages) {
        Ok(Quote::Brings(all)) if all.is_empty() => {
            format!(
                "apt-get install {named}: all of it is installed, and what was looked for is not on the path"
            )
        }
        Ok(Quote::Brings(all)) => {
            let sum = |of: fn(&apt::Package) -> u64| units::bytes(all.iter().map(of).sum());
            let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
            format!(
                "apt-get install {named}: {} packages, {} to download, {} on disk ({})",
                all.len(),
                sum(|p| p.download),
                sum(|p| p.installed),
                names.join(" ")
            )
        }
        Ok(Quote::Unknown(names)) => format!(
            "apt-get install {named}: apt does not know {}, so `apt-get update` comes first",
            names.join(", ")
        ),
        Err(why) => format!("apt-get install {named}: size unknown, {why}"),
    }
}

/// Does the work, all of it whatever fails, unless somebody asks to end; the peers that failed.
fn perform(
    work: &[Work],
    candidates: &mut [Candidate],
    interrupt: &Interrupt,
) -> Result<Vec<String>, Stop> {
    let mut installer = Installer::default();
    let mut failed = Vec::new();
    for (number, item) in (1..).zip(work) {
        if interrupt.is_asked() {
            break;
        }
        let begin = Instant::now();
        let candidate = &mut candidates[item.peer];
        let id = candidate.entry.id().to_owned();
        let place = format!("{number} of {}, peer {id}", work.len());
        let outcome = one(item, candidate, &mut installer, interrupt, &place)?;
        let text = match outcome {
            Ok(()) => format!("built    {id} in {:.1} s\n", begin.elapsed().as_secs_f64()),
            Err(why) => {
                let text = format!("failed   {id}: {why}\n");
                failed.push(id);
                text
            }
        };
        terminal::print(&text)?;
    }
    Ok(failed)
}

/// One peer: packages, then another look, then the build.
fn one(
    item: &Work,
    candidate: &mut Candidate,
    installer: &mut Installer,
    interrupt: &Interrupt,
    place: &str,
) -> Result<Result<(), String>, Stop> {
    let mut beat = None;
    let mut begins = |what: &str| {
        terminal::say(&format!("{place}: {what}"));
        beat = Some(Heartbeat::start(&format!("{place}: {what}")));
    };
    if !item.packages.is_empty() {
        if let Err(why) = installer.install(&item.packages, &mut begins) {
            return Ok(Err(why));
        }
        candidate.readiness = candidate.entry.readiness()?;
    }
    let outcome = match &candidate.readiness {
        Readiness::Ready(_) => Ok(()),
        Readiness::Unbuilt(built) => {
            let begins = |step: &[String]| begins(&step.join(" "));
            build::make(&candidate.entry, built, interrupt, begins)
        }
        Readiness::Missing { reason, .. } if item.packages.is_empty() => Err(reason.clone()),
        Readiness::Missing { reason, fix, .. } => {
            Err(format!("packages installed, yet {reason}; fix: {fix}"))
        }
        Readiness::Blocked { reason } => Err(reason.clone()),
    };
    drop(beat);
    Ok(outcome)
}

/// The candidates asked for: those named, all, or those that download nothing.
fn choose(args: &SetupArgs, candidates: &[Candidate]) -> Result<Vec<usize>, Stop> {
    plan::known(candidates, &args.systems)?;
    let is_chosen = |c: &Candidate| {
        let named = args.systems.iter().any(|name| c.is_named(name));
        let default = args.systems.is_empty() && c.entry.manifest.peer.auto_build;
        c.entry.folder.is_some() && (args.all || named || default)
    };
    let all = candidates.iter().enumerate();
    Ok(all.filter(|(_, c)| is_chosen(c)).map(|(i, _)| i).collect())
}

/// Asks the user at the terminal.
pub(crate) fn agreed(question: &str) -> Result<bool, Stop> {
    if !io::stdin().is_terminal() {
        return Err(Stop::usage(
            "nobody to ask here: pass --yes to do it, or --dry-run",
        ));
    }
    terminal::print(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|e| Stop::internal(format!("cannot read the answer: {e}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
