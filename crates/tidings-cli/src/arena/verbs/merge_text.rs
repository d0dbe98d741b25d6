//! Runs of several machines as text: for each group one panel per machine, and what the anchors say about them.

use std::fmt::Write as _;

use crate::arena::terminal::Style;
use crate::arena::units;
use crate::arena::verbs::merge::{Merged, Panels, Relation, Row};

pub(crate) fn text(merged: &Merged, style: Style) -> String {
    let mut text = format!("{}\n", style.bold("machines"));
    for machine in &merged.machines {
        let runs = machine.runs.join(", ");
        let _ = writeln!(
            text,
            "  {}  {} · {runs}",
            machine.name,
            machine.env.summary()
        );
        for warning in &machine.env.warnings {
            let _ = writeln!(text, "     {} {warning}", style.yellow("!"));
        }
    }
    let _ = if merged.anchors.is_empty() {
        writeln!(
            text,
            "{} no anchor runs on all of them: nothing relates the panels",
            style.yellow("!")
        )
    } else {
        writeln!(text, "anchors: {}", merged.anchors.join(", "))
    };
    for group in &merged.groups {
        panels(&mut text, group, merged, style);
    }
    text.push_str(&style.dim(
        "\nRates of different machines say nothing beside each other; \"of ANCHOR\" is time over that of the anchor on the\n\
         same machine, and may be set against that of another machine as far as the anchors agree about the machines.\n",
    ));
    text
}

fn panels(text: &mut String, group: &Panels, merged: &Merged, style: Style) {
    let title = format!(
        "{}/{} · {} · threads={}",
        group.workload, group.variant, group.sizes, group.threads
    );
    let _ = writeln!(text, "\n{}", style.bold(&title));
    if let Some(ratio) = group.machine_ratio() {
        let each: Vec<String> = group
            .machine_ratios
            .iter()
            .map(|(system, ratio)| format!("{system} x{}", units::digits(*ratio)))
            .collect();
        let _ = writeln!(
            text,
            "  time on B over A: x{} ({}){}",
            units::digits(ratio),
            each.join(", "),
            if group.relation() == Relation::Loose {
                style.yellow("  the anchors disagree: related loosely")
            } else {
                String::new()
            }
        );
    } else {
        let _ = writeln!(text, "  no anchor here: the panels are not related");
    }
    for (machine, rows) in merged.machines.iter().zip(&group.panels) {
        if rows.is_empty() {
            let _ = writeln!(text, "  {}  -", machine.name);
        }
        for row in rows {
            line(text, &machine.name, row, group, style);
        }
    }
}

fn line(text: &mut String, machine: &str, row: &Row, group: &Panels, style: Style) {
    let rank = row.rank.map_or(String::new(), |rank| rank.to_string());
    let _ = write!(text, "  {machine} {rank:>2} {:<18}", row.system);
    match row.ns_per_op {
        Some(median) => {
            let spread = row
                .ci95
                .map_or(String::new(), |interval| units::spread(median, interval));
            let _ = write!(
                text,
                " {:>9} {}/s {spread:>9}",
                units::rate(1e9 / median),
                group.unit
            );
        }
        None => {
            let reason = row.reason.as_deref().unwrap_or("-");
            let _ = write!(text, " {}: {reason}", style.yellow(row.state.name()));
        }
    }
    if let (Some(ratio), Some(anchor)) = (row.to_anchor, &group.anchor) {
        let _ = write!(text, "  {:>6} of {anchor}", units::digits(ratio));
        if let Some([low, high]) = row.to_anchor_ci95 {
            let _ = write!(text, " [{}..{}]", units::digits(low), units::digits(high));
        }
    }
    text.push('\n');
}
