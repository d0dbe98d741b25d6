//! A `merge` document in Markdown: one panel per machine, and what the anchors say.

use std::fmt::Write as _;

use super::super::machines::{RULE, doubt, interval, pair, relation, sentence, title};
use super::text::{cell, plain};
use crate::arena::units;
use crate::arena::verbs::merge::{Merged, Panels};

/// The whole document.
pub(in super::super) fn of_machines(merged: &Merged) -> String {
    let mut out = String::from("# Arena report of several machines\n\n");
    for machine in &merged.machines {
        let (env, runs) = (machine.env.summary(), machine.runs.join(", "));
        let _ = writeln!(
            out,
            "- {}: {} ({})",
            plain(&machine.name),
            plain(&env),
            plain(&runs)
        );
        for warning in &machine.env.warnings {
            let _ = writeln!(out, "  - {}", plain(warning));
        }
    }
    let anchors = if merged.anchors.is_empty() {
        "none: nothing relates the panels".to_owned()
    } else {
        plain(&merged.anchors.join(", "))
    };
    let _ = writeln!(out, "- anchors: {anchors}\n\n{RULE}");
    relations(&mut out, merged);
    for group in &merged.groups {
        panels(&mut out, merged, group);
    }
    out
}

fn relations(out: &mut String, merged: &Merged) {
    let [first, second] = pair(merged);
    let _ = writeln!(
        out,
        "\n## What the anchors say about the machines\n\n| time on {} over time on {} | {} | relation |\n|---|{}---|",
        cell(second),
        cell(first),
        merged
            .anchors
            .iter()
            .map(|a| cell(a))
            .collect::<Vec<_>>()
            .join(" | "),
        "---:|".repeat(merged.anchors.len().max(1))
    );
    for group in &merged.groups {
        let ratio = |anchor: &String| {
            group
                .machine_ratios
                .get(anchor)
                .map_or("-".to_owned(), |r| units::digits(*r))
        };
        let ratios: Vec<String> = merged.anchors.iter().map(ratio).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            cell(&title(group)),
            ratios.join(" | "),
            relation(group)
        );
    }
}

fn panels(out: &mut String, merged: &Merged, group: &Panels) {
    let of = group
        .anchor
        .as_deref()
        .map_or("-".to_owned(), |anchor| format!("over {}", cell(anchor)));
    let _ = writeln!(
        out,
        "\n## {}\n\n{}\n\n| machine | rank on it | system | rate | ns | 95 % | {of} | 95 % | doubts |\n|---|---:|---|---:|---:|---:|---:|---:|---|",
        plain(&title(group)),
        plain(&sentence(merged, group))
    );
    for (machine, rows) in merged.machines.iter().zip(&group.panels) {
        for row in rows {
            let or = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                cell(&machine.name),
                or(row.rank.map(|rank| rank.to_string())),
                cell(&row.system),
                or(row.ns_per_op.map(|ns| format!(
                    "{} {}/s",
                    units::rate(1e9 / ns),
                    cell(&group.unit)
                ))),
                or(row.ns_per_op.map(units::digits)),
                interval(row.ci95),
                or(row.to_anchor.map(units::digits)),
                interval(row.to_anchor_ci95),
                cell(&doubt(row))
            );
        }
        if rows.is_empty() {
            let _ = writeln!(
                out,
                "| {} | - | no system ran this cell here | - | - | - | - | - | |",
                cell(&machine.name)
            );
        }
    }
}
