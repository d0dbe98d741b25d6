//! `tidings arena history`: one line per cell over all saved runs of this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::arena::cells::filter::Filters;
use crate::arena::cells::workload::CellId;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::machine::fingerprint;
use crate::arena::paths;
use crate::arena::records::record;
use crate::arena::records::record::CellRecord;
use crate::arena::records::saved::{self, Saved};
use crate::arena::terminal::{self, Style};
use crate::arena::units;
use crate::cli::HistoryArgs;

/// The steps of a sparkline, from slow to fast.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// So many runs are drawn, the last ones.
const SHOWN: usize = 40;

/// One cell over the runs.
struct Line {
    id: CellId,
    title: String,
    unit: String,
    /// Nanoseconds per operation, oldest first; by run, for those that have the cell.
    medians: Vec<f64>,
    /// The last interval.
    ci95: Option<[f64; 2]>,
}

pub(crate) fn history(args: &HistoryArgs) -> Result<Exit, Stop> {
    let folder = paths::runs()?;
    let all: Vec<Saved> = record::saved(&folder)
        .iter()
        .filter_map(|name| saved::at(&folder.join(name)).ok())
        .collect();
    let here = Environment::capture();
    let is_here = |saved: &&Saved| {
        fingerprint::differences(&saved.run.env, &here).is_empty()
            && saved.run.env.debug_build == here.debug_build
    };
    let runs: Vec<&Saved> = all.iter().filter(is_here).collect();
    if runs.is_empty() {
        return Err(Stop::nothing(format!(
            "no saved run of this machine ({} of others); make one with `tidings arena run`",
            all.len()
        )));
    }
    let cells = || runs.iter().flat_map(|saved| &saved.run.cells);
    let mut systems: Vec<&str> = cells().map(|cell| cell.system.as_str()).collect();
    systems.sort_unstable();
    systems.dedup();
    let filters = Filters::parse(&args.filter, &systems)?;
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for cell in cells() {
        add(&mut lines, cell, &filters);
    }
    if lines.is_empty() {
        return Err(Stop::nothing("no saved run has figures of such a cell"));
    }
    let style = Style::of_stdout();
    let others = all.len() - runs.len();
    terminal::print(&text(lines, runs.len(), others, style))?;
    Ok(Exit::Ok)
}

fn add(lines: &mut BTreeMap<String, Line>, cell: &CellRecord, filters: &Filters) {
    let Some(figure) = cell.ns_per_op else {
        return;
    };
    let Some(id) = cell.id() else {
        return;
    };
    if !filters.selects(&id, &cell.system, true) {
        return;
    }
    let line = lines.entry(cell.key()).or_insert_with(|| Line {
        title: format!(
            "{} · {} · threads={}",
            cell.name(),
            cell.sizes(),
            cell.threads
        ),
        id,
        unit: cell.unit.clone(),
        medians: Vec::new(),
        ci95: None,
    });
    line.medians.push(figure.median);
    line.ci95 = figure.ci95;
}

fn text(lines: BTreeMap<String, Line>, runs: usize, others: usize, style: Style) -> String {
    let mut lines: Vec<Line> = lines.into_values().collect();
    lines.sort_by_key(|line| line.id.order());
    let width = lines.iter().map(|l| l.title.chars().count()).max();
    let width = width.unwrap_or(0);
    let head = format!("{runs} runs of this machine, oldest first; higher is faster");
    let mut text = format!("{}\n", style.bold(&head));
    for line in &lines {
        let from = line.medians.len().saturating_sub(SHOWN);
        let shown = &line.medians[from..];
        let last = shown.last().copied().unwrap_or(f64::NAN);
        let spread = line.ci95.map_or(String::new(), |interval| {
            format!(" {}", units::spread(last, interval))
        });
        let _ = writeln!(
            text,
            "  {:<width$}  {}  {} {}/s{spread}  {}",
            line.title,
            sparkline(shown),
            units::rate(1e9 / last),
            line.unit,
            change(shown)
        );
    }
    if others > 0 {
        let _ = writeln!(
            text,
            "{others} runs of other machines or builds are left out"
        );
    }
    text
}

/// The rates, the lowest and the highest at the ends of the scale. Equal ones stand in the middle.
fn sparkline(medians: &[f64]) -> String {
    let logs: Vec<f64> = medians.iter().map(|median| -median.ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let step = |value: &f64| {
        if high - low < 0.01 {
            return STEPS[3];
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 7"
        )]
        let index = ((value - low) / (high - low) * 7.0).round() as usize;
        STEPS[index.min(7)]
    };
    logs.iter().map(step).collect()
}

/// How the last compares with the one before, as a share of time.
fn change(medians: &[f64]) -> String {
    match medians {
        [.., before, last] => {
            let percent = 100.0 * (last / before - 1.0);
            format!("{} runs, last time {percent:+.1} %", medians.len())
        }
        _ => "1 run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_rises_with_the_rate() {
        assert_eq!(sparkline(&[80.0, 40.0, 20.0, 10.0]), "▁▃▆█");
        assert_eq!(sparkline(&[10.0, 10.01]), "▄▄");
        assert_eq!(sparkline(&[10.0]), "▄");
        assert_eq!(change(&[10.0, 11.0]), "2 runs, last time +10.0 %");
        assert_eq!(change(&[10.0]), "1 run");
    }
}
