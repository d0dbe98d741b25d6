//! `tidings arena compare`: two runs, cell by cell. The machine must be the same; with `--force`, between machines, only
//! the ratios to the reference are set against each other; with `--to`, the times in units of a cell of the same run.
//! A cell that has a figure in the first run alone fails.

use serde::Serialize;

use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::machine::fingerprint;
use crate::arena::records::record::{CellRecord, Run};
use crate::arena::records::saved::{self, Samples, Saved};
use crate::arena::records::whole;
use crate::arena::statistics::stats::{self, Level, RESAMPLES};
use crate::arena::statistics::verdict::{self, Verdict};
use crate::arena::terminal::{self, Style};
use crate::arena::verbs::compare_text;
use crate::cli::CompareArgs;

/// The peer whose changes are what a comparison is about.
const OWN: &str = "tidings";
/// Without a flag: what matters between two runs. More than within one, where rounds are paired.
pub(crate) const THRESHOLD: f64 = 0.05;

/// The document of `compare --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) schema: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) threshold: f64,
    /// The machines differ, so only ratios to the reference were compared.
    pub(crate) machines_differ: Vec<String>,
    /// The cell in units of whose time, in the same run, all were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    pub(crate) one_launch: bool,
    pub(crate) cells: Vec<Compared>,
    /// Cells with figures in A that B was not asked for, where that is no failure, and those with figures in B alone.
    pub(crate) only_a: usize,
    pub(crate) only_b: usize,
}

/// One cell in both runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compared {
    pub(crate) workload: String,
    pub(crate) variant: String,
    pub(crate) system: String,
    pub(crate) sizes: String,
    pub(crate) threads: u32,
    pub(crate) unit: String,
    /// Nanoseconds per operation; ratios to the reference when the machines differ, or to the cell of `--to`.
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    /// Time of B over time of A: above 1, B is slower.
    pub(crate) ratio: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) outcome: Outcome,
    pub(crate) note: Option<String>,
}

/// What the later run was to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that the earlier one did.
    All,
    /// Fewer cells: those that it was not asked for do not fail.
    Fewer,
}

/// What became of a cell from A to B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// It had a figure in A and has none in B.
    Fails,
    Slower,
    Faster,
    NotShown,
    Same,
    /// Its peer is another one now.
    NotCompared,
}

impl Comparison {
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.outcome == outcome).count()
    }
}

impl Outcome {
    /// In the order in which they matter.
    pub(crate) const ALL: [Self; 6] = [
        Self::Fails,
        Self::Slower,
        Self::Faster,
        Self::NotShown,
        Self::Same,
        Self::NotCompared,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::NotShown => "not shown",
            Self::Same => "same",
            Self::NotCompared => "not compared",
        }
    }

    fn is_regress(self) -> bool {
        matches!(self, Self::Fails | Self::Slower)
    }
}

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Stop> {
    let (a, b) = match (&args.a, &args.b) {
        (None, _) => saved::last_two()?,
        (Some(a), b) => (saved::open(Some(a))?, saved::open(b.as_deref())?),
    };
    let threshold = args.threshold.unwrap_or(THRESHOLD);
    let scope = if args.fewer { Scope::Fewer } else { Scope::All };
    let comparison = if let Some(unit) = &args.to {
        in_units(&a, &b, unit, threshold, scope)?
    } else {
        if !args.force {
            comparable(&a.run.env, &b.run.env)?;
        }
        of(&a, &b, threshold, scope)
    };
    let is_common = |old: &CellRecord| old.ns_per_op.is_some() && same(&b.run, old).is_some();
    if !a.run.cells.iter().any(is_common) {
        return Err(Stop::nothing(format!(
            "runs {} and {} have no cell in common",
            comparison.a, comparison.b
        )));
    }
    if args.json {
        terminal::print(&whole::json(&comparison)?)?;
    } else {
        let style = Style::of_stdout();
        terminal::print(&compare_text::text(&comparison, style))?;
    }
    let regress = comparison.cells.iter().any(|c| c.outcome.is_regress());
    let fatal = args.fail_on.is_some() && regress;
    Ok(if fatal { Exit::Regressed } else { Exit::Ok })
}

/// Refuses figures of two machines.
pub(crate) fn comparable(a: &Environment, b: &Environment) -> Result<(), Stop> {
    let mut differences = fingerprint::differences(a, b);
    if a.debug_build != b.debug_build {
        differences.push("one is a debug build".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Stop::usage(format!(
        "the runs were made on different machines ({}): their figures say nothing beside each other; \
         `compare --force` compares the ratios to the reference",
        differences.join("; ")
    )))
}

/// Tells how a run that just ended compares with a baseline.
pub(crate) fn after_run(a: &Saved, b: &Saved, json: bool, style: Style) -> Result<(), Stop> {
    // A run of some cells beside a baseline of all is what one makes while one works on those.
    let text = compare_text::text(&of(a, b, THRESHOLD, Scope::Fewer), style);
    if json {
        terminal::say(&text);
        return Ok(());
    }
    terminal::print(&format!("\n{text}"))
}

/// Compares two runs.
pub(crate) fn of(a: &Saved, b: &Saved, threshold: f64, scope: Scope) -> Comparison {
    let machines_differ = fingerprint::differences(&a.run.env, &b.run.env);
    let by_ratio = !machines_differ.is_empty();
    let samples = (a.samples(), b.samples());
    let before = |cell: &CellRecord| {
        if by_ratio {
            cell.ratio.as_ref().map(|ratio| ratio.median)
        } else {
            cell.median()
        }
    };
    let both = |old: &CellRecord, new: &CellRecord| {
        if by_ratio {
            ratios(old, new, threshold)
        } else {
            times(old, new, &samples, threshold)
        }
    };
    Comparison {
        threshold,
        machines_differ,
        ..beside(a, b, scope, before, both)
    }
}

/// Compares two runs, of any machines, by times in units of that of one cell, which both must have. Judged by the
/// medians: the intervals of four figures allow nearly everything.
fn in_units(
    a: &Saved,
    b: &Saved,
    unit: &str,
    threshold: f64,
    scope: Scope,
) -> Result<Comparison, Stop> {
    let of_unit = |saved: &Saved| {
        let mut cells = saved.run.cells.iter().filter(|cell| cell.name() == unit);
        let none = || Stop::nothing(format!("run {} has no figure of {unit}", saved.run.id));
        cells.find_map(|cell| cell.ns_per_op).ok_or_else(none)
    };
    let units = (of_unit(a)?, of_unit(b)?);
    let before = |old: &CellRecord| Some(old.ns_per_op?.median / units.0.median);
    let both = |old: &CellRecord, new: &CellRecord| {
        let (figure, after) = (old.ns_per_op?, new.ns_per_op?);
        if old.name() == unit {
            return None;
        }
        let mut row = row(old);
        row.a = before(old);
        row.b = Some(after.median / units.1.median);
        row.ratio = row.b.zip(row.a).map(|(b, a)| b / a);
        let ([a, b], [c, d]) = (units.0.range(), units.1.range());
        let ([low, high], [least, most]) = (figure.range(), after.range());
        row.ci95 = Some([(least / d) / (high / a), (most / c) / (low / b)]);
        row.outcome = judge(row.ratio.map(|ratio| [ratio; 2]), threshold);
        Some(row)
    };
    Ok(Comparison {
        threshold,
        to: Some(unit.to_owned()),
        ..beside(a, b, scope, before, both)
    })
}

/// Sets the cells of two runs beside each other. `both` compares what has figures in both. What has one only in the first
/// fails, else what breaks a cell would pass for what it does not cost; `before` is what it had.
fn beside(
    a: &Saved,
    b: &Saved,
    scope: Scope,
    before: impl Fn(&CellRecord) -> Option<f64>,
    both: impl Fn(&CellRecord, &CellRecord) -> Option<Compared>,
) -> Comparison {
    let has = |cell: &&CellRecord| cell.ns_per_op.is_some();
    let (mut cells, mut only_a) = (Vec::new(), 0);
    for old in a.run.cells.iter().filter(has) {
        match same(&b.run, old) {
            Some(new) if new.ns_per_op.is_some() => cells.extend(both(old, new)),
            None if scope == Scope::Fewer => only_a += 1,
            new => cells.push(gone(old, new, before(old))),
        }
    }
    cells.sort_by_key(|cell| cell.outcome);
    let is_new = |cell: &&CellRecord| {
        let mut old = a.run.cells.iter().filter(has);
        !old.any(|old| old.key() == cell.key())
    };
    Comparison {
        schema: "tidings.arena.compare/1",
        a: a.run.id.clone(),
        b: b.run.id.clone(),
        threshold: THRESHOLD,
        machines_differ: Vec::new(),
        to: None,
        one_launch: a.run.plan.launches == 1 || b.run.plan.launches == 1,
        only_a,
        only_b: b.run.cells.iter().filter(has).filter(is_new).count(),
        cells,
    }
}

/// What a run has of a cell of another: at the same size, or, where it did not come so far, why not.
fn same<'a>(run: &'a Run, cell: &CellRecord) -> Option<&'a CellRecord> {
    let never_ran = |other: &&CellRecord| {
        let sized = other.params.is_empty() || other.params == cell.params;
        other.threads == 0 && sized && other.name() == cell.name()
    };
    let cells = || run.cells.iter();
    cells()
        .find(|other| other.key() == cell.key())
        .or_else(|| cells().find(never_ran))
}

fn row(cell: &CellRecord) -> Compared {
    Compared {
        workload: cell.workload.clone(),
        variant: cell.variant.clone(),
        system: cell.system.clone(),
        sizes: cell.sizes(),
        threads: cell.threads,
        unit: cell.unit.clone(),
        a: None,
        b: None,
        ratio: None,
        ci95: None,
        outcome: Outcome::NotShown,
        note: None,
    }
}

/// What had a figure and has none now.
fn gone(old: &CellRecord, new: Option<&CellRecord>, before: Option<f64>) -> Compared {
    let note = new.map_or("not in this run".to_owned(), |new| {
        let reason = new.reason.as_deref().unwrap_or("-");
        format!("now {}: {reason}", new.state.name())
    });
    Compared {
        a: before,
        outcome: Outcome::Fails,
        note: Some(note),
        ..row(old)
    }
}

/// One machine: times against times.
fn times(
    old: &CellRecord,
    new: &CellRecord,
    (a, b): &(Samples, Samples),
    threshold: f64,
) -> Option<Compared> {
    let (before, after) = (old.ns_per_op?, new.ns_per_op?);
    let mut row = row(old);
    (row.a, row.b) = (Some(before.median), Some(after.median));
    row.ratio = Some(after.median / before.median);
    if old.peer != OWN && old.build_hash != new.build_hash {
        row.outcome = Outcome::NotCompared;
        row.note = Some(format!("peer {} was changed or built anew", old.peer));
        return Some(row);
    }
    let key = old.key();
    let drawn = a
        .get(&key)
        .zip(b.get(&key))
        .and_then(|(under, over)| stats::ratio_interval(over, under, Level::P95, RESAMPLES));
    // Without the samples, the widest that both intervals allow.
    let widest = || {
        let (under, over) = (before.ci95?, after.ci95?);
        Some([over[0] / under[1], over[1] / under[0]])
    };
    row.ci95 = drawn.or_else(widest);
    row.outcome = judge(row.ci95, threshold);
    Some(row)
}

/// Two machines: each cell's ratio to the reference of its own machine.
fn ratios(old: &CellRecord, new: &CellRecord, threshold: f64) -> Option<Compared> {
    let (before, after) = (old.ratio.as_ref()?, new.ratio.as_ref()?);
    if before.reference != after.reference || before.verdict == Verdict::Reference {
        return None;
    }
    let mut row = row(old);
    (row.a, row.b) = (Some(before.median), Some(after.median));
    row.ratio = Some(after.median / before.median);
    row.ci95 = before
        .ci95
        .zip(after.ci95)
        .map(|(under, over)| [over[0] / under[1], over[1] / under[0]]);
    row.outcome = judge(row.ci95, threshold);
    Some(row)
}

fn judge(ci95: Option<[f64; 2]>, threshold: f64) -> Outcome {
    match ci95.map(|ci| verdict::judge(ci, threshold, threshold)) {
        Some(Verdict::Slower) => Outcome::Slower,
        Some(Verdict::Faster) => Outcome::Faster,
        Some(Verdict::Same) => Outcome::Same,
        _ => Outcome::NotShown,
    }
}
