//! `report.md`: the run's figures in the layouts of the seed documents, so that it can be laid beside them.

mod machines;
mod seeds;
mod text;

use std::fmt::Write as _;

use super::data::Data;
use super::seeds::ERRATA;
use super::{baseline, words};
use crate::arena::records::table;
use crate::arena::statistics::verdict::Verdict;
use crate::arena::verbs::compare::Outcome;
pub(super) use machines::of_machines;
use text::{cell, plain};

/// The whole document.
pub(super) fn document(data: &Data) -> String {
    let mut out = String::new();
    head(&mut out, data);
    losses(&mut out, data);
    against(&mut out, data);
    seeds::pingpong(&mut out, data);
    seeds::net(&mut out, data);
    seeds::benchmark_dot_net(&mut out, data);
    seeds::counter(&mut out, data);
    seeds::skynet(&mut out, data);
    others(&mut out, data);
    failures(&mut out, data);
    errata(&mut out);
    out
}

fn head(out: &mut String, data: &Data) {
    let run = &data.run;
    let _ = writeln!(out, "# Arena report {}\n", plain(&run.id));
    let _ = writeln!(out, "- {}", plain(&run.env.summary()));
    let _ = writeln!(
        out,
        "- {} profile, {:.0} s, {} launches, {} of {} samples noisy{}",
        plain(&run.plan.profile),
        run.seconds,
        run.plan.launches,
        run.noise.noisy,
        run.noise.samples,
        if run.interrupted { ", interrupted" } else { "" }
    );
    for warning in run
        .notes
        .iter()
        .chain(&run.env.warnings)
        .chain(&data.trouble)
    {
        let _ = writeln!(out, "- {}", plain(warning));
    }
    out.push_str(
        "\nThe layouts are those of the seed documents, so that the two can be laid beside each other; the units are the arena's: one message is one send \
         (T1 to T3 below say where the seeds count otherwise). All figures are medians in the steady state. \
         The authors of tidings wrote every peer.\n",
    );
}

fn losses(out: &mut String, data: &Data) {
    let reference = plain(&data.run.plan.reference);
    let _ = writeln!(out, "\n## Where {reference} loses\n");
    let (mut lost, mut verdicts) = (Vec::new(), Vec::new());
    for group in data.groups() {
        for of in group.figured() {
            let (Some(ratio), Some(verdict)) = (&of.ratio, of.verdict()) else {
                continue;
            };
            verdicts.push(verdict);
            if verdict == Verdict::Faster {
                lost.push((
                    ratio.median,
                    group.title(),
                    of.system.clone(),
                    words::full(ratio),
                ));
            }
        }
    }
    lost.sort_by(|a, b| a.0.total_cmp(&b.0));
    let _ = writeln!(out, "Slower {}.", table::in_how_many(&verdicts));
    if lost.is_empty() {
        return;
    }
    out.push('\n');
    let _ = writeln!(
        out,
        "| cell | system | against {reference} |\n|---|---|---|"
    );
    for (_, title, system, ratio) in lost {
        let _ = writeln!(out, "| {} | {} | {ratio} |", cell(&title), cell(&system));
    }
}

/// The run against a baseline, if it was compared.
fn against(out: &mut String, data: &Data) {
    let Some(against) = &data.baseline else {
        return;
    };
    let _ = writeln!(out, "\n## Against baseline {}\n", plain(&against.name));
    for note in against.notes() {
        let _ = writeln!(out, "- {}", plain(&note));
    }
    let counts = Outcome::ALL.map(|o| format!("{} {}", against.comparison.count(o), o.name()));
    let _ = writeln!(
        out,
        "\n{}.\n\n| cell | sizes | verdict | before | after | after over before | 95 % | why |\n|---|---|---|---:|---:|---:|---:|---|",
        counts.join(", ")
    );
    for of in against.cells() {
        let time = |ns: Option<f64>| ns.map_or(words::NOTHING.to_owned(), words::time);
        let _ = writeln!(
            out,
            "| {} | {} threads={} | {} | {} | {} | {} | {} | {} |",
            cell(&baseline::name(of)),
            cell(&of.sizes),
            of.threads,
            of.outcome.name(),
            time(of.a),
            time(of.b),
            of.ratio
                .map_or(words::NOTHING.to_owned(), |r| format!("{r:.3}")),
            baseline::interval(of),
            cell(of.note.as_deref().unwrap_or_default())
        );
    }
}

/// Workloads that no seed has.
fn others(out: &mut String, data: &Data) {
    let seeded = ["pingpong", "net", "chain", "fan", "counter", "skynet"];
    for name in data.workloads() {
        let groups = data.groups_of(name);
        if seeded.contains(&name) || !groups.iter().any(super::data::Group::has_figures) {
            continue;
        }
        let _ = writeln!(out, "\n## Not of the seeds: {}\n", plain(name));
        out.push_str("| cell | system | rate | 95 % |\n|---|---|---:|---:|\n");
        for group in &groups {
            for of in group.figured() {
                let spread = of.ns_per_op.as_ref().map(words::spread).unwrap_or_default();
                let rate = words::rate(of).unwrap_or_default();
                let (title, system) = (cell(&group.title()), cell(&of.system));
                let _ = writeln!(out, "| {title} | {system} | {} | {spread} |", cell(&rate));
            }
        }
    }
}

fn failures(out: &mut String, data: &Data) {
    let mut rows: Vec<String> = Vec::new();
    for of in data.run.cells.iter().filter(|c| c.ns_per_op.is_none()) {
        rows.push(format!(
            "| {} | {} | {} | {} |",
            cell(&of.name()),
            of.state.name(),
            cell(of.reason.as_deref().unwrap_or("-")),
            cell(of.fix.as_deref().unwrap_or(""))
        ));
    }
    rows.dedup();
    if rows.is_empty() {
        return;
    }
    out.push_str(
        "\n## Cells without a figure\n\n| cell | state | reason | fix |\n|---|---|---|---|\n",
    );
    for row in rows {
        out.push_str(&row);
        out.push('\n');
    }
}

fn errata(out: &mut String) {
    out.push_str("\n## Errata of the seed documents\n\n| # | where | what the source really does | what the arena does |\n|---|---|---|---|\n");
    for erratum in ERRATA {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            erratum.id,
            cell(erratum.place),
            cell(erratum.finding),
            cell(erratum.here)
        );
    }
}
