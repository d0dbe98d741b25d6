//! One run from its first line to its last: the groups one after the other, within the budget, saved as they end.

use std::time::{Duration, Instant};

use crate::arena::cells::plan::{Candidate, Cell, Group, Plan};
use crate::arena::cells::size::Profile;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::paths;
use crate::arena::peers::catalog::Readiness;
use crate::arena::records::outcome;
use crate::arena::records::record::{CellRecord, Run, Store};
use crate::arena::records::saved::Saved;
use crate::arena::records::state::State;
use crate::arena::records::table;
use crate::arena::sampling::estimate;
use crate::arena::sampling::hangs::Hangs;
use crate::arena::sampling::measure::Bench;
use crate::arena::sampling::options::Options;
use crate::arena::sampling::progress::{Detail, Progress};
use crate::arena::sampling::resume::Earlier;
use crate::arena::sampling::track::{Journal, Track};
use crate::arena::statistics::figures::{self, Build, Builds};
use crate::arena::statistics::random::Random;
use crate::arena::terminal::Style;
use crate::arena::units;
use crate::cli::RunArgs;

/// What all groups of a run share.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    args: &'a RunArgs,
    options: &'a Options,
    candidates: &'a [Candidate],
    builds: Builds,
    interrupt: Interrupt,
    begin: Instant,
    style: Style,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        args: &'a RunArgs,
        options: &'a Options,
        candidates: &'a [Candidate],
        interrupt: Interrupt,
        style: Style,
    ) -> Self {
        Self {
            args,
            options,
            candidates,
            builds: builds(candidates),
            interrupt,
            begin: Instant::now(),
            style,
        }
    }

    /// Measures the plan, saves and prints. The run goes on over failing cells; it ends early only at Ctrl-C or when
    /// its files cannot be written.
    pub(crate) fn perform(
        &mut self,
        plan: &Plan,
        env: Environment,
        earlier: Option<Earlier>,
    ) -> Result<(Exit, Saved), Stop> {
        let now = jiff::Timestamp::now();
        let (mut store, mut run, mut done) = match earlier {
            Some(earlier) => {
                earlier.check_peers(&self.builds)?;
                earlier.reopen(&plan.groups, &now.to_string())?
            }
            None => {
                let id = run_id(now);
                let store = Store::create(&paths::runs()?, &id, self.args.ndjson.as_deref())?;
                let run = outcome::document(self.args, self.options, &id, &now.to_string(), env);
                (store, run, vec![None; plan.groups.len()])
            }
        };
        // The time before it was cut off counts.
        let spent = Duration::try_from_secs_f64(run.seconds).unwrap_or_default();
        self.begin = self.begin.checked_sub(spent).unwrap_or(self.begin);
        // Saved before the first group, too: a run that is killed at any time can be resumed.
        store.save(&run)?;
        let guessed = estimate::groups(plan, self.candidates, &self.options.settings);
        let mut progress = self.head(plan, &run, &guessed);
        let mut bench = Bench {
            settings: &self.options.settings,
            interrupt: &self.interrupt,
            store: &mut store,
            progress: &mut progress,
            random: Random::new(self.options.seed),
            journal: Journal {
                begin: self.begin,
                launch: 0,
                pending: Vec::new(),
            },
            noise: run.noise,
        };
        let mut trouble = None;
        let mut hangs = Hangs::default();
        let mut rest: Duration = guessed.iter().sum();
        for (index, group) in plan.groups.iter().enumerate() {
            // Its part of the time that is left, as guessed.
            let part = guessed[index].as_secs_f64() / rest.as_secs_f64();
            rest -= guessed[index];
            let before = done[index].take();
            let is_measured = before.is_none() && trouble.is_none();
            let records = if let Some(records) = before {
                records
            } else if trouble.is_some() {
                outcome::skip(group, "the run was cut off")
            } else {
                // By the group, not by what went before: a resumed run has the order it would have had.
                bench.random = Random::new(self.options.seed ^ (index as u64) << 32);
                let (mut records, stop) = self.group(&mut bench, group, part, &hangs)?;
                trouble = stop;
                let cut_off = trouble.is_some() || self.interrupt.is_asked();
                for record in &mut records {
                    record.cut_off = cut_off && record.state != State::Skipped;
                }
                if !cut_off {
                    run.sample_bytes = bench.store.bytes();
                }
                records
            };
            let lines: Vec<String> = records
                .iter()
                .map(|r| table::finished(r, self.style))
                .collect();
            bench.progress.finished(&lines, is_measured);
            for record in &records {
                hangs.note(&record.system, record.state);
            }
            run.cells.extend(records);
            run.noise = bench.noise;
            run.seconds = self.begin.elapsed().as_secs_f64();
            run.notes = outcome::notes(&run, self.options.budget.is_some());
            // Saved after every group: a run that is killed can be shown, and gone on with.
            if trouble.is_none() {
                trouble = bench.store.save(&run).err();
            }
        }
        run.cells.extend(plan.absent.iter().map(figures::absent));
        run.interrupted = self.interrupt.is_asked() || trouble.is_some();
        run.notes = outcome::notes(&run, self.options.budget.is_some());
        progress.clear();
        if trouble.is_none() {
            trouble = store.save(&run).err();
        }
        let exit = outcome::finish(self.args, &run, &store, trouble, self.interrupt.is_asked())?;
        let folder = store.folder.clone();
        Ok((exit, Saved { folder, run }))
    }

    /// Says what begins.
    fn head(&self, plan: &Plan, run: &Run, guessed: &[Duration]) -> Progress {
        let (env, id) = (&run.env, &run.id);
        let detail = match (self.args.quiet, self.args.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        let groups = plan.groups.len();
        let about: Duration = guessed.iter().sum();
        let (budget, profile) = (self.options.budget, self.args.profile);
        let progress = Progress::new(detail, self.style, budget, guessed.to_vec());
        let cells: usize = plan.groups.iter().map(|g| g.cells.len()).sum();
        let most = budget.map_or("no budget".to_owned(), |b| {
            format!("at most {}", units::clock(b))
        });
        progress.line(&self.style.bold(&format!(
            "tidings arena · {} · {} in {} · about {}, {most} · run {id}{}",
            profile.name(),
            units::counted(cells, "cell"),
            units::counted(groups, "group"),
            units::clock(about.min(budget.unwrap_or(about))),
            if run.resumed.is_empty() {
                ""
            } else {
                ", gone on with"
            },
        )));
        progress.line(&env.summary());
        // In a quick run that is what the profile is for; elsewhere it is a choice that wants to be known.
        if profile == Profile::Standard && budget.is_some_and(|budget| about > budget) {
            let warning = format!(
                "the whole plan takes about {}: within the budget cells get fewer rounds; --budget 0 has no limit",
                units::clock(about)
            );
            progress.line(&format!("{} {warning}", self.style.yellow("!")));
        }
        for warning in &env.warnings {
            progress.line(&format!("{} {warning}", self.style.yellow("!")));
        }
        progress
    }

    /// Measures one group within `part` of the budget that is left, without systems that hang. What was measured comes
    /// back also when the disk is full.
    fn group(
        &self,
        bench: &mut Bench<'_>,
        group: &Group,
        part: f64,
        hangs: &Hangs,
    ) -> Result<(Vec<CellRecord>, Option<Stop>), Stop> {
        if self.interrupt.is_asked() {
            return Ok((outcome::skip(group, "interrupted"), None));
        }
        let rest = self
            .options
            .budget
            .map(|b| b.saturating_sub(self.begin.elapsed()));
        if rest.is_some_and(|rest| rest.is_zero()) {
            let why = "the budget was used up; run with --budget 0, or fewer cells";
            return Ok((outcome::skip(group, why), None));
        }
        let deadline = rest.map(|rest| Instant::now() + rest.mul_f64(part));
        let is_tried = |cell: &&Cell| hangs.why(&cell.system).is_none();
        let mut tracks = group
            .cells
            .iter()
            .filter(is_tried)
            .map(|cell| {
                let candidate = &self.candidates[cell.peer];
                let limits = self.options.limits;
                let launch = candidate.launch(&cell.system, group.threads, limits)?;
                let guessed = estimate::cell(group, cell, self.candidates, &self.options.settings);
                Ok(Track::new(group, cell.clone(), launch, guessed))
            })
            .collect::<Result<Vec<_>, Stop>>()?;
        let mut trouble = bench.measure(group, &mut tracks, deadline).err();
        let noisy = bench.noise.is_noisy();
        let settings = &self.options.settings;
        let mut records = figures::group(group, &tracks, settings, &self.builds, noisy);
        for (record, track) in records.iter_mut().zip(&tracks) {
            let wanted = self.args.keep_logs || record.state.is_failure();
            if wanted && !track.log.is_empty() && trouble.is_none() {
                match bench.store.keep_log(&record.name(), &track.log) {
                    Ok(name) => record.log = Some(name),
                    Err(stop) => trouble = Some(stop),
                }
            }
        }
        let left_out = |cell: &Cell| {
            let why = hangs.why(&cell.system)?;
            Some(outcome::left_out(group, cell, &why))
        };
        records.extend(group.cells.iter().filter_map(left_out));
        // In the order of the plan, as `--resume` gives them back.
        records.sort_by_key(|record| group.cells.iter().position(|c| c.system == record.system));
        Ok((records, trouble))
    }
}

/// The time, so that names sort, and a few random digits, so that two runs in one second differ.
fn run_id(now: jiff::Timestamp) -> String {
    let nanos = u64::try_from(now.subsec_nanosecond()).unwrap_or(0);
    let short = Random::new(nanos ^ u64::from(std::process::id())).below(1 << 16);
    format!("{}-{short:04x}", now.strftime("%Y-%m-%dT%H-%M-%SZ"))
}

fn builds(candidates: &[Candidate]) -> Builds {
    let mut builds = Builds::new();
    for candidate in candidates {
        let Readiness::Ready(built) = &candidate.readiness else {
            continue;
        };
        for system in &candidate.entry.manifest.peer.systems {
            let peer = candidate.entry.id().to_owned();
            builds.insert(
                system.clone(),
                Build {
                    peer,
                    hash: built.hash.clone(),
                },
            );
        }
    }
    builds
}
