//! The document around a run's cells, and how the run ends: what is printed, saved and returned.

use crate::arena::cells::plan::{self, Group};
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::records::record::{CellRecord, PlanRecord, Run, SCHEMA, Store};
use crate::arena::records::state::State;
use crate::arena::records::table;
use crate::arena::records::whole;
use crate::arena::sampling::noise::Tally;
use crate::arena::sampling::options::Options;
use crate::arena::statistics::figures;
use crate::arena::terminal::{self, Style};
use crate::arena::units;
use crate::cli::RunArgs;

/// The records of a group that was planned and did not run.
pub(crate) fn skip(group: &Group, why: &str) -> Vec<CellRecord> {
    let record = |cell| skipped(group, cell, why);
    group.cells.iter().map(record).collect()
}

/// The record of a cell that was planned and did not run.
fn skipped(group: &Group, cell: &plan::Cell, why: &str) -> CellRecord {
    let mut record = figures::absent(&plan::Absent {
        id: group.id.clone(),
        system: cell.system.clone(),
        peer: String::new(),
        labels: cell.labels.clone(),
        origin: cell.origin.clone(),
        state: State::Skipped,
        reason: why.to_owned(),
        fix: None,
        requested: cell.requested,
    });
    record.params.clone_from(&group.params);
    record
}

/// The record of a cell that is left out of its group for good: it stands in the group's table, and `--resume` keeps it.
pub(crate) fn left_out(group: &Group, cell: &plan::Cell, why: &str) -> CellRecord {
    CellRecord {
        threads: group.threads,
        ..skipped(group, cell, why)
    }
}

/// The document of a run that begins.
pub(crate) fn document(
    args: &RunArgs,
    options: &Options,
    id: &str,
    started: &str,
    env: Environment,
) -> Run {
    let settings = &options.settings;
    Run {
        schema: SCHEMA.to_owned(),
        id: id.to_owned(),
        started: started.to_owned(),
        seconds: 0.0,
        interrupted: true,
        sample_bytes: 0,
        command: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        plan: PlanRecord {
            profile: args.profile.name().to_owned(),
            filters: args.filter.clone(),
            reference: settings.reference.clone(),
            threads: options.threads.clone(),
            budget_seconds: options.budget.map(|b| b.as_secs_f64()),
            target_ci: settings.target_ci,
            min_rounds: settings.min_rounds,
            max_rounds: settings.max_rounds,
            launches: settings.launches,
            order_seed: options.seed,
            timeout_seconds: options.limits.timeout.as_secs_f64(),
            mem_cap: options.limits.mem_cap,
            alloc: settings.alloc,
            peers: args
                .peers
                .peers
                .as_ref()
                .and_then(|p| p.canonicalize().ok()),
        },
        env,
        noise: Tally::default(),
        resumed: Vec::new(),
        notes: Vec::new(),
        cells: Vec::new(),
    }
}

/// What is to be said of the run as a whole.
pub(crate) fn notes(run: &Run, budget: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if run.noise.is_noisy() {
        notes.push(format!(
            "noisy machine: {} of {} samples, others took {:.0} % of the CPUs; verdicts need twice the margin",
            run.noise.noisy,
            run.noise.samples,
            100.0 * run.noise.foreign_share()
        ));
    }
    if run.interrupted {
        notes.push(format!(
            "the run was interrupted: what is here was measured before; go on: tidings arena run --resume {}",
            run.id
        ));
    }
    if !run.resumed.is_empty() {
        notes.push(format!(
            "cut off and gone on with at {}: the groups before and after met the machine in different states",
            run.resumed.join(", ")
        ));
    }
    let wide = run
        .cells
        .iter()
        .filter(|c| c.ns_per_op.is_some_and(|f| !f.precise))
        .count();
    if budget && wide > 0 {
        let more = if run.plan.launches == 1 {
            "more time with --budget 0"
        } else {
            "more time with --budget 0, more processes with --launches"
        };
        notes.push(format!(
            "{} did not reach ±{:.0} % (marked ~): {more}",
            units::counted(wide, "cell"),
            100.0 * run.plan.target_ci
        ));
    }
    notes
}

/// Prints the result and tells the exit code.
pub(crate) fn finish(
    args: &RunArgs,
    run: &Run,
    store: &Store,
    trouble: Option<Stop>,
    interrupted: bool,
) -> Result<Exit, Stop> {
    if args.json {
        terminal::print(&whole::json(run)?)?;
        let style = Style::of_stderr();
        if !args.quiet {
            terminal::say(&table::report(run, terminal::width(), style));
        }
    } else {
        let style = Style::of_stdout();
        let text = table::report(run, terminal::width(), style);
        terminal::print(&format!("\n{text}"))?;
    }
    if let Some(stop) = trouble {
        return Err(stop);
    }
    let saved = format!(
        "saved in {}\nshow again: tidings arena show {}",
        store.folder.display(),
        run.id
    );
    if args.json {
        terminal::say(&saved);
    } else {
        terminal::print(&format!(
            "{saved}
"
        ))?;
    }
    let failed = |c: &CellRecord| match c.state {
        State::Missing | State::Blocked | State::Limited | State::Skipped => c.requested,
        // The manifest promised the cell and the peer refused it; a limit of the manifest is no failure.
        State::Unsupported => c.threads > 0,
        state => state.is_failure(),
    };
    if interrupted {
        Ok(Exit::Interrupted)
    } else if run.cells.iter().any(failed) {
        Ok(Exit::CellFailed)
    } else if run.cells.iter().all(|c| c.ns_per_op.is_none()) {
        Ok(Exit::NothingRan)
    } else {
        Ok(Exit::Ok)
    }
}
