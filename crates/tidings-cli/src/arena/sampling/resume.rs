//! `run --resume`: what a run that was cut off has, and whether it may be gone on with here.

use std::path::PathBuf;

use clap::Parser as _;

use crate::arena::cells::plan::Group;
use crate::arena::exit::Stop;
use crate::arena::machine::environment::Environment;
use crate::arena::machine::fingerprint;
use crate::arena::paths;
use crate::arena::records::record::{self, CellRecord, Held, Run, Store};
use crate::arena::records::state::State;
use crate::arena::sampling::hangs::Hangs;
use crate::arena::sampling::options;
use crate::arena::statistics::figures::Builds;
use crate::cli::{ArenaCommand, Cli, Command, RunArgs};

/// A run to go on with.
#[derive(Debug)]
pub(crate) struct Earlier {
    folder: PathBuf,
    /// From the first look at it on, so that nobody else goes on with it meanwhile.
    samples: Held,
    run: Run,
    /// The arguments it was begun with; how it is told is that of now.
    pub(crate) args: RunArgs,
}

/// For each group of a plan the records that it has already, if it is done.
pub(crate) type Done = Vec<Option<Vec<CellRecord>>>;

/// Reads a run that was cut off. `now` has nothing but what bears on the telling: clap refuses the rest beside --resume.
pub(crate) fn open(name: &str, now: &RunArgs) -> Result<Earlier, Stop> {
    let folder = record::find(&paths::runs()?, Some(name))?;
    let Some(samples) = record::hold(&folder)? else {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        return Err(Stop::usage(format!(
            "run {name} is still going on, in another process"
        )));
    };
    let run = record::read(&folder)?;
    let id = &run.id;
    if !run.interrupted {
        return Err(Stop::usage(format!(
            "run {id} came to its end: there is nothing to resume"
        )));
    }
    let command = match Cli::try_parse_from(&run.command).map(|cli| cli.command) {
        Ok(Command::Arena(arena)) => arena.command,
        _ => None,
    };
    let Some(ArenaCommand::Run(begun)) = command else {
        return Err(Stop::usage(format!(
            "run {id} was begun by a command that this version does not know: {}",
            run.command.join(" ")
        )));
    };
    let mut args = *begun;
    args.json = now.json;
    args.ndjson.clone_from(&now.ndjson);
    (args.quiet, args.verbose) = (now.quiet, now.verbose);
    args.keep_logs |= now.keep_logs;
    args.baseline.clone_from(&now.baseline);
    let peers = now.peers.peers.clone().or_else(|| run.plan.peers.clone());
    args.peers.peers = peers.or(args.peers.peers);
    Ok(Earlier {
        folder,
        samples,
        run,
        args,
    })
}

impl Earlier {
    /// Refuses to mix figures of another machine, another tidings or other settings into the run.
    pub(crate) fn check(&self, env: &Environment, options: &options::Options) -> Result<(), Stop> {
        let plan = &self.run.plan;
        let mut differs: Vec<String> = fingerprint::differences(&self.run.env, env)
            .into_iter()
            .map(|difference| format!("another machine: {difference}"))
            .collect();
        if self.run.env.build != env.build || self.run.env.debug_build != env.debug_build {
            differs.push("tidings was built anew since".to_owned());
        }
        if plan.threads != options.threads {
            let (then, now) = (&plan.threads, &options.threads);
            differs.push(format!("threads {then:?} and {now:?}"));
        }
        if plan.mem_cap != options.limits.mem_cap {
            differs.push("another memory cap".to_owned());
        }
        self.refuse(&differs)
    }

    /// Refuses peers that changed since cells of theirs were measured.
    pub(crate) fn check_peers(&self, builds: &Builds) -> Result<(), Stop> {
        let mut differs = Vec::new();
        for cell in self.kept() {
            let same = builds
                .get(&cell.system)
                .is_some_and(|build| Some(&build.hash) == cell.build_hash.as_ref());
            let text = format!("peer {} changed since", cell.peer);
            if !same && !differs.contains(&text) {
                differs.push(text);
            }
        }
        self.refuse(&differs)
    }

    fn refuse(&self, differs: &[String]) -> Result<(), Stop> {
        if differs.is_empty() {
            return Ok(());
        }
        Err(Stop::usage(format!(
            "run {} cannot be gone on with: {}",
            self.run.id,
            differs.join("; ")
        )))
    }

    /// Cells that need not be measured again.
    fn kept(&self) -> impl Iterator<Item = &CellRecord> {
        let cells = self.run.cells.iter();
        cells.filter(|c| c.threads > 0 && c.state != State::Skipped && !c.cut_off)
    }

    /// The records of a group all of whose cells were measured, but for those of systems that hang.
    fn group(&self, group: &Group, hangs: &Hangs) -> Option<Vec<CellRecord>> {
        let find = |system: &str| {
            let name = format!("{}@{system}", group.id);
            let key = record::key(&name, &group.params, group.threads);
            let is_it = |cell: &&CellRecord| cell.key() == key;
            let left_out = || {
                hangs.why(system)?;
                self.run.cells.iter().find(is_it)
            };
            self.kept().find(is_it).or_else(left_out).cloned()
        };
        group.cells.iter().map(|cell| find(&cell.system)).collect()
    }

    /// Opens the run's files again: its document without cells, and the records of each group of the plan that is done.
    /// Samples of other groups go, for those are measured anew.
    pub(crate) fn reopen(self, groups: &[Group], now: &str) -> Result<(Store, Run, Done), Stop> {
        let mut hangs = Hangs::default();
        for cell in self.kept() {
            hangs.note(&cell.system, cell.state);
        }
        let done: Done = groups.iter().map(|g| self.group(g, &hangs)).collect();
        let bytes = self.run.sample_bytes;
        let store = Store::reopen(
            self.folder,
            self.samples,
            bytes,
            self.args.ndjson.as_deref(),
        )?;
        let mut run = self.run;
        run.resumed.push(now.to_owned());
        run.interrupted = true;
        run.cells.clear();
        Ok((store, run, done))
    }
}
