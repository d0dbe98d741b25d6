//! The tables of a run in the terminal: problems first, then where the reference loses, then every group.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::arena::records::net_table;
use crate::arena::records::record::{CellRecord, Figure, Run};
use crate::arena::records::state::State;
use crate::arena::records::versions;
use crate::arena::statistics::verdict::{Ratio, Verdict};
use crate::arena::terminal::Style;
use crate::arena::units;

/// Below this width a table leaves out the time per operation: the rate says the same.
const WIDE: u16 = 100;
/// From this width on it has room for CPU time and memory.
const WIDER: u16 = 120;

/// So many cells with the same doubt are told one by one.
const FEW: usize = 3;

/// The whole report.
pub(crate) fn report(run: &Run, width: u16, style: Style) -> String {
    let mut text = String::new();
    problems(&mut text, run, style);
    losses(&mut text, run, style);
    // A group in which nothing ran is told among the problems.
    for group in run
        .groups()
        .iter()
        .filter(|g| g.iter().any(|c| c.ns_per_op.is_some()))
    {
        text.push('\n');
        table(&mut text, group, width, style);
        net_table::lines(&mut text, group, width);
    }
    versions::lines(&mut text, run, width, style);
    legend(&mut text, run, style);
    text
}

fn problems(text: &mut String, run: &Run, style: Style) {
    let mut failed: Vec<&CellRecord> = run.cells.iter().filter(|c| c.state != State::Ok).collect();
    failed.sort_by_key(|c| !c.state.is_failure());
    if failed.is_empty() && run.env.warnings.is_empty() && run.notes.is_empty() {
        return;
    }
    let _ = writeln!(text, "{}", style.bold("Problems"));
    for warning in run.notes.iter().chain(&run.env.warnings) {
        let _ = writeln!(text, "  {} {warning}", style.yellow("!"));
    }
    // Doubts about figures that stand in the tables, where they are many: the tables mark each.
    for state in [
        State::Noisy,
        State::Unsteady,
        State::Slow,
        State::Superlinear,
    ] {
        let count = failed.iter().filter(|c| c.state == state).count();
        if count > FEW {
            let name = state.name();
            let mark = name.to_uppercase();
            let _ = writeln!(
                text,
                "  {} {count} cells, marked {mark}",
                style.yellow(name)
            );
            failed.retain(|c| c.state != state);
        }
    }
    skipped(text, &mut failed, style);
    blocked_elsewhere(text, &mut failed, style);
    not_built(text, &mut failed, style);
    // Cells with the same trouble (a missing toolchain has many) share a line.
    let mut told = BTreeSet::new();
    for cell in &failed {
        let key = (
            cell.state.name(),
            cell.reason.clone(),
            cell.system.clone(),
            cell.fix.clone(),
        );
        if !told.insert(key) {
            continue;
        }
        let same: Vec<&&CellRecord> = failed
            .iter()
            .filter(|c| (c.state, &c.reason, &c.system) == (cell.state, &cell.reason, &cell.system))
            .collect();
        let state = if cell.state.is_failure() {
            style.red(cell.state.name())
        } else {
            style.yellow(cell.state.name())
        };
        let name = if same.len() == 1 {
            cell.name()
        } else {
            format!("{} ({} cells)", cell.system, same.len())
        };
        let _ = writeln!(
            text,
            "  {state} {name}: {}",
            cell.reason.as_deref().unwrap_or("-")
        );
        if let Some(fix) = &cell.fix {
            let _ = writeln!(text, "      fix: {fix}");
        }
        if let Some(log) = cell.log.as_ref().filter(|_| cell.state.is_failure()) {
            let _ = writeln!(text, "      log: {log}");
        }
    }
}

/// Many cells that were skipped for one reason share a line.
fn skipped(text: &mut String, failed: &mut Vec<&CellRecord>, style: Style) {
    let is_skipped = |cell: &CellRecord| cell.state == State::Skipped;
    let mut of_reason: BTreeMap<Option<String>, Vec<&CellRecord>> = BTreeMap::new();
    for cell in failed.iter().filter(|cell| is_skipped(cell)) {
        of_reason.entry(cell.reason.clone()).or_default().push(cell);
    }
    of_reason.retain(|_, cells| cells.len() > FEW);
    for (reason, cells) in &of_reason {
        let names: BTreeSet<String> = cells
            .iter()
            .map(|cell| format!("{}/{}", cell.workload, cell.variant))
            .collect();
        let names: Vec<String> = names.into_iter().collect();
        let _ = writeln!(
            text,
            "  {} {} cells of {}: {}",
            style.yellow(State::Skipped.name()),
            cells.len(),
            names.join(", "),
            reason.as_deref().unwrap_or("no reason is known")
        );
    }
    failed.retain(|cell| !(is_skipped(cell) && of_reason.contains_key(&cell.reason)));
}

/// Systems that no machine of this kind can run: one line for all of them, unless one was asked for by name.
fn blocked_elsewhere(text: &mut String, failed: &mut Vec<&CellRecord>, style: Style) {
    let is_one = |c: &CellRecord| c.state == State::Blocked && !c.requested && c.peer != "tidings";
    let blocked: Vec<&CellRecord> = failed.iter().copied().filter(|c| is_one(c)).collect();
    if blocked.len() > FEW {
        let systems: BTreeSet<&str> = blocked.iter().map(|c| c.system.as_str()).collect();
        let word = style.yellow(State::Blocked.name());
        let _ = writeln!(
            text,
            "  {word} {} cells of {} systems that cannot run on this kind of machine: `tidings arena list` says why",
            blocked.len(),
            systems.len()
        );
        failed.retain(|c| !is_one(c));
    }
}

/// Systems that nobody asked for and nobody has built: one line for all of them.
fn not_built(text: &mut String, failed: &mut Vec<&CellRecord>, style: Style) {
    let is_one = |c: &CellRecord| {
        let unbuilt = c.state == State::Missing && c.reason.as_deref() == Some("not built");
        unbuilt && !c.requested
    };
    let unbuilt: Vec<&CellRecord> = failed.iter().copied().filter(|c| is_one(c)).collect();
    let systems: BTreeSet<&str> = unbuilt.iter().map(|c| c.system.as_str()).collect();
    if systems.len() > FEW {
        let _ = writeln!(
            text,
            "  {} {} cells of {} systems that are not built: {}\n      fix: tidings arena setup --all",
            style.yellow(State::Missing.name()),
            unbuilt.len(),
            systems.len(),
            systems.into_iter().collect::<Vec<_>>().join(", ")
        );
        failed.retain(|c| !is_one(c));
    }
}

fn losses(text: &mut String, run: &Run, style: Style) {
    let reference = &run.plan.reference;
    let verdicts: Vec<Verdict> = run.cells.iter().filter_map(CellRecord::verdict).collect();
    if verdicts.is_empty() {
        return;
    }
    let heading = style.bold(&format!("Where {reference} is slower"));
    let _ = writeln!(text, "\n{heading}: {}", in_how_many(&verdicts));
    let is_lost = |cell: &&CellRecord| cell.verdict() == Some(Verdict::Faster);
    for cell in run.cells.iter().filter(is_lost) {
        let ratio = cell.ratio.as_ref().map(compare).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {}  {} is {}",
            cell.title(),
            cell.system,
            style.red(&ratio)
        );
    }
}

/// `in 1 of 6 comparisons, 2 not shown either way`: where the reference loses.
pub(crate) fn in_how_many(verdicts: &[Verdict]) -> String {
    let with = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    let lost = match with(Verdict::Faster) {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    let mut text = format!("in {lost} of {} comparisons", verdicts.len());
    match with(Verdict::NotShown) {
        0 => {}
        count => text += &format!(", {count} not shown either way"),
    }
    text
}

/// `2.55x slower [2.41..2.70]`, seen from the cell.
pub(crate) fn compare(ratio: &Ratio) -> String {
    if ratio.verdict == Verdict::Reference {
        return "1 (reference)".to_owned();
    }
    let turned = ratio.median < 1.0;
    let way = |value: f64| if turned { 1.0 / value } else { value };
    let factor = units::digits(way(ratio.median));
    let interval = ratio.ci95.map_or(String::new(), |[low, high]| {
        let (low, high) = if turned {
            (way(high), way(low))
        } else {
            (low, high)
        };
        format!(" [{}..{}]", units::digits(low), units::digits(high))
    });
    let word = match ratio.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        _ if turned => "faster? not shown",
        _ => "slower? not shown",
    };
    format!("{factor}x {word}{interval}")
}

fn spread(figure: &Figure) -> String {
    figure.spread().unwrap_or_else(|| {
        let (low, high) = (1e9 / figure.max, 1e9 / figure.min);
        format!("{}..{}", units::rate(low), units::rate(high))
    })
}

fn table(text: &mut String, group: &[&CellRecord], width: u16, style: Style) {
    let (wide, wider) = (width >= WIDE, width >= WIDER);
    let mut rows: Vec<&CellRecord> = group.to_vec();
    rows.sort_by(|a, b| a.by_speed(b));
    let unit = &rows[0].unit;
    let reference = rows.iter().find_map(|c| Some(&c.ratio.as_ref()?.reference));
    let mut head = vec!["#".to_owned(), "system".to_owned(), format!("{unit}/s")];
    if wide {
        head.push(format!("ns/{unit}"));
    }
    head.push("95 %".to_owned());
    head.push(reference.map_or_else(|| "ratio".to_owned(), |r| format!("against {r}")));
    head.push(format!("B/{unit}"));
    if wider {
        head.extend(["CPU ns".to_owned(), "peak RSS".to_owned()]);
    }
    head.push("labels, state".to_owned());

    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table.set_header(head);
    for cell in &rows {
        table.add_row(row(cell, wide, wider));
    }
    let right: &[usize] = if wide {
        &[0, 2, 3, 4, 6, 7, 8]
    } else {
        &[0, 2, 3, 5]
    };
    let right = if wide && !wider { &right[..5] } else { right };
    for index in right.iter().copied() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let _ = writeln!(text, "{}", style.bold(&rows[0].title()));
    for line in table.lines() {
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}

fn row(cell: &CellRecord, wide: bool, wider: bool) -> Vec<Cell> {
    let mut notes: Vec<String> = cell
        .labels
        .iter()
        .filter(|(key, _)| *key != "window")
        .map(|(key, value)| match key.as_str() {
            "processes" | "connections" | "client" => format!("{key}={value}"),
            _ => value.clone(),
        })
        .collect();
    if let Some(threads) = cell
        .peer_threads
        .filter(|t| *t != cell.threads && cell.threads > 0)
    {
        notes.push(format!("threads={threads}"));
    }
    if cell.state != State::Ok {
        notes.push(cell.state.name().to_uppercase());
    }
    let figure = cell.ns_per_op.as_ref();
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mut row = vec![
        cell.rank.map_or(String::new(), |r| r.to_string()),
        cell.system.clone(),
        or_dash(cell.rate.map(units::rate)),
    ];
    if wide {
        row.push(or_dash(figure.map(|f| units::digits(f.median))));
    }
    row.push(or_dash(figure.map(spread)));
    row.push(or_dash(cell.ratio.as_ref().map(compare)));
    row.push(or_dash(cell.alloc.map(|a| units::digits(a.bytes_per_op))));
    if wider {
        row.push(or_dash(
            cell.cpu_ns_per_op
                .filter(|_| figure.is_some())
                .map(units::digits),
        ));
        row.push(or_dash(
            cell.peak_rss.filter(|_| figure.is_some()).map(units::bytes),
        ));
    }
    row.push(notes.join(" "));
    row.into_iter().map(Cell::new).collect()
}

fn legend(text: &mut String, run: &Run, style: Style) {
    if !run.cells.iter().any(|c| c.ns_per_op.is_some()) {
        return;
    }
    let noise = run.noise;
    let mut lines = vec![
        "#: rank, a tie shares it · 95 %: interval of the median, ~ wider than aimed,".to_owned(),
        "a..b: range of few samples · against: time over the reference, paired by round,"
            .to_owned(),
        "with its 95 % interval; within 3 % is the same".to_owned(),
        format!(
            "{} samples, {} noisy, {} repeated · others took {:.1} % of the CPUs",
            noise.samples,
            noise.noisy,
            noise.repeated,
            100.0 * noise.foreign_share()
        ),
    ];
    if run.plan.launches == 1 {
        lines.push("one launch: variance between processes not seen".to_owned());
    }
    text.push('\n');
    for line in lines {
        let _ = writeln!(text, "{}", style.dim(&line));
    }
}

/// One line per cell when its group is over.
pub(crate) fn finished(cell: &CellRecord, style: Style) -> String {
    let name = format!("{}/{}", cell.workload, cell.variant);
    let head = format!("  {name:<22} {:<18}", cell.system);
    match (&cell.ns_per_op, cell.rate) {
        (Some(figure), Some(rate)) => {
            let ratio = cell.ratio.as_ref().map(compare).unwrap_or_default();
            let state = match cell.state {
                State::Ok => String::new(),
                state => format!("  {}", style.yellow(state.name())),
            };
            let speed = format!("{:>9} {}/s", units::rate(rate), cell.unit);
            format!("{head} {speed:<16} {:>10}  {ratio}{state}", spread(figure))
        }
        _ => {
            let state = if cell.state.is_failure() {
                style.red(cell.state.name())
            } else {
                style.yellow(cell.state.name())
            };
            format!("{head} {state}: {}", cell.reason.as_deref().unwrap_or("-"))
        }
    }
}
