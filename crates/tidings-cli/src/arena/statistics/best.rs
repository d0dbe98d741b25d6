//! A run as one Markdown table, a line for each cell: the reference, the best of the others, and how far it is from
//! what the machine itself takes, where the run has `floor/*` too.

use std::fmt::Write as _;

use crate::arena::records::record::{CellRecord, Run};
use crate::arena::statistics::verdict::Verdict;
use crate::arena::units;

/// What the machine takes for the least that an operation of these can be, under `floor/`: between tasks something
/// atomic, over a socket a system call.
fn floor_of(cell: &CellRecord) -> Option<&'static str> {
    match cell.workload.as_str() {
        "floor" | "quality" | "savina" => None,
        "net" if cell.variant != "local" => Some("syscall"),
        _ => Some("atomic"),
    }
}

/// The table, with a line above it that says how to read it.
pub(crate) fn markdown(run: &Run) -> String {
    let reference = &run.plan.reference;
    let floors: Vec<(&str, f64)> = run
        .cells
        .iter()
        .filter(|cell| cell.workload == "floor")
        .filter_map(|cell| Some((cell.variant.as_str(), cell.median()?)))
        .collect();
    let mut text = format!(
        "Run {}, {} profile. ns an operation, and the time of the best other system over that of {reference}, with its \
         95 % interval; **bold**: the other is faster; `?`: a difference is not shown.",
        run.id, run.plan.profile
    );
    if !floors.is_empty() {
        let told = |(name, ns): &(&str, f64)| format!("`{name}` {}", units::digits(*ns));
        let told: Vec<String> = floors.iter().map(told).collect();
        let _ = write!(
            text,
            " Floor: how often that takes what the same machine took in this run for {} ns.",
            told.join(", ")
        );
    }
    let _ = writeln!(
        text,
        "\n\n| cell | {reference}, ns | best other | ratio | 95 % | floor |\n|---|--:|---|--:|--:|--:|"
    );
    for group in run.groups() {
        let ours = group.iter().find(|cell| cell.system == *reference);
        if let Some((ours, ns)) = ours.and_then(|ours| Some((*ours, ours.median()?))) {
            line(&mut text, &group, ours, ns, &floors);
        }
    }
    text
}

fn line(
    text: &mut String,
    group: &[&CellRecord],
    ours: &CellRecord,
    ns: f64,
    floors: &[(&str, f64)],
) {
    // Our own other systems are no peers of one of ours.
    let is_own = |cell: &CellRecord| cell.origin == "own";
    let is_peer = |cell: &CellRecord| cell.system != ours.system && !(is_own(cell) && is_own(ours));
    let best = group
        .iter()
        .filter(|cell| cell.ranked && is_peer(cell))
        .filter_map(|cell| Some((cell, cell.median()?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    let (mut other, mut ratio, mut interval) = ("none".to_owned(), String::new(), String::new());
    if let Some((cell, _)) = best {
        other.clone_from(&cell.system);
        if let Some(found) = &cell.ratio {
            let figure = units::digits(found.median);
            ratio = match found.verdict {
                Verdict::Faster => format!("**{figure}**"),
                Verdict::NotShown => format!("{figure}?"),
                _ => figure,
            };
            interval = found.ci95.map_or(interval, |[low, high]| {
                format!("{} to {}", units::digits(low), units::digits(high))
            });
        }
    } else if !ours.ranked {
        "not ranked".clone_into(&mut other);
    }
    let floor = floors
        .iter()
        .find(|(name, _)| floor_of(ours) == Some(name))
        .map_or(String::new(), |(name, floor)| {
            format!("{} {name}", units::digits(ns / floor))
        });
    let _ = writeln!(
        text,
        "| {} | {} | {other} | {ratio} | {interval} | {floor} |",
        ours.title(),
        units::digits(ns)
    );
}
