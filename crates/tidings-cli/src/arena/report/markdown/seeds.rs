//! One section per seed document, in the layout of its own program or text.

use std::fmt::Write as _;

use super::super::data::{Data, Group};
use super::super::extras::{self, kilobytes, scenario};
use super::super::words;
use super::text::{cell, code};
use crate::arena::records::record::CellRecord;

/// Names of variants in the seeds' programs.
const HOPAC: &[(&str, &str)] = &[
    ("tell", "MbSend"),
    ("give", "ChGive"),
    ("send", "ChSend"),
    ("give-send", "ChGiSe"),
    ("send-give", "ChSeGi"),
    ("call", "CallGI"),
    ("call-send", "CallSI"),
    ("call-nack", "CallCh"),
];

fn printed(variant: &str) -> &str {
    let known = HOPAC.iter().find(|(ours, _)| *ours == variant);
    known.map_or(variant, |(_, theirs)| theirs)
}

fn seconds(cell: &CellRecord) -> f64 {
    scenario(cell).unwrap_or(0.0) / 1e9
}

/// The cells of a workload with figures: reference first, then by system, in the order of variants.
fn figured<'a>(data: &'a Data, workload: &str) -> Vec<(&'a str, Vec<&'a CellRecord>)> {
    let groups = data.groups_of(workload);
    let mut list = Vec::new();
    for system in data.systems() {
        let cells: Vec<&CellRecord> = groups
            .iter()
            .flat_map(Group::figured)
            .filter(|c| c.system == system)
            .collect();
        if !cells.is_empty() {
            list.push((system, cells));
        }
    }
    list
}

/// Where nothing of a workload has a figure, the section says so.
fn nothing(out: &mut String, list: &[(&str, Vec<&CellRecord>)]) -> bool {
    if list.is_empty() {
        out.push_str("No cell of it has a figure in this run.\n");
    }
    list.is_empty()
}

/// `MbSend:     400000 -  28500000 msgs/s - 0.014040s`, as Hopac's program prints, but with the true rate.
pub(super) fn pingpong(out: &mut String, data: &Data) {
    out.push_str("\n## Seed 000: pingpong\n\n");
    let list = figured(data, "pingpong");
    if nothing(out, &list) {
        return;
    }
    out.push_str(
        "As Hopac's PingPong prints: variant, messages, messages per second, seconds. Hopac's own rates are twice the true ones (T1); these are not.\n",
    );
    for (system, cells) in list {
        let _ = writeln!(out, "\n```text\n{}", code(system));
        for of in cells {
            let _ = writeln!(
                out,
                "{}: {:>10} - {:>9.0} msgs/s - {:.6}s    ({}, {}, threads={})",
                code(printed(&of.variant)),
                of.ops,
                of.rate.unwrap_or(0.0),
                seconds(of),
                code(&of.variant),
                code(&of.sizes()),
                of.threads
            );
        }
        out.push_str("```\n");
    }
}

/// `- System` and `   - **12642** req/sec`, then the raw `N= M=` blocks, as the seed's text has them.
pub(super) fn net(out: &mut String, data: &Data) {
    out.push_str("\n## Seed 001: net\n\n");
    let list = figured(data, "net");
    if nothing(out, &list) {
        return;
    }
    out.push_str("### Test Result\n\n");
    for (system, cells) in &list {
        for of in cells {
            let rate = of.rate.unwrap_or(0.0);
            let labels = cell(&words::labels(of));
            let _ = writeln!(
                out,
                "- {} ({}, {}, {labels})\n  - **{rate:.0}** req/sec",
                cell(system),
                cell(&of.variant),
                cell(&data.extent(of))
            );
        }
    }
    out.push_str("\n### Raw Data\n");
    for (system, cells) in &list {
        for of in cells {
            let size = |key: &str| of.params.get(key).copied().unwrap_or(0);
            let whole = seconds(of);
            let minutes = (whole / 60.0).floor();
            let _ = writeln!(
                out,
                "\n#### {} {}\n\nN={} M={} threads={}\n\n```text\nTest:  00:{minutes:02.0}:{:010.7}\n```",
                cell(system),
                cell(&of.variant),
                size("N"),
                size("M"),
                of.threads,
                whole - 60.0 * minutes
            );
        }
    }
}

/// The tables of BenchmarkDotNet for Sequential (chain) and Parallel (fan).
pub(super) fn benchmark_dot_net(out: &mut String, data: &Data) {
    out.push_str("\n## Seed 002: chain (Sequential) and fan (Parallel)\n");
    for (workload, name, key, column) in [
        ("chain", "Sequential", "A", "ActorCount"),
        ("fan", "Parallel", "N", "MessageCount"),
    ] {
        let _ = writeln!(out, "\n### {name}\n");
        let rows = extras::rows(data, workload);
        if rows.is_empty() {
            out.push_str("No cell of it has a figure in this run.\n");
            continue;
        }
        let generations = rows
            .iter()
            .map(|r| r.collections.len())
            .max()
            .unwrap_or(0)
            .max(3);
        let names: Vec<String> = (0..generations).map(|g| format!("Gen{g}")).collect();
        let _ = writeln!(
            out,
            "| Method | {column} | Threads | Mean | Error | StdDev | Median | {} | Allocated |",
            names.join(" | ")
        );
        let _ = writeln!(
            out,
            "|---|---:|---:|---:|---:|---:|---:|{}---:|",
            "---:|".repeat(generations)
        );
        for row in rows {
            let collections: Vec<String> = (0..generations)
                .map(|g| {
                    row.collections
                        .get(g)
                        .map_or("-".to_owned(), |c| format!("{c:.4}"))
                })
                .collect();
            let _ = writeln!(
                out,
                "| {} {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                cell(&row.cell.system),
                cell(&row.cell.variant),
                row.cell.params.get(key).copied().unwrap_or(0),
                row.cell.threads,
                words::time(row.mean),
                row.error.map_or("-".to_owned(), words::time),
                words::time(row.sd),
                words::time(row.median),
                collections.join(" | "),
                row.allocated.map_or("-".to_owned(), kilobytes)
            );
        }
    }
    out.push_str("\nError is half of the 99.9 % interval of the mean. Outliers are not removed. Allocated: - where the runtime has no exact count.\n");
}

/// `8 *  3000000 msgs =>  4720000 msgs/s`, as the seed's programs print, with the cold start beside it.
pub(super) fn counter(out: &mut String, data: &Data) {
    out.push_str("\n## Seed 003: counter\n\n");
    let list = figured(data, "counter");
    if nothing(out, &list) {
        return;
    }
    out.push_str("Producers, additions of each, messages per second in the steady state; then those of the first sample of the process (the seed's rows at n = 300 are such, T6).\n");
    for (system, cells) in list {
        let _ = writeln!(out, "\n```text\n{}", code(system));
        for of in cells {
            let size = |key: &str| of.params.get(key).copied().unwrap_or(0);
            let first = of.ns_per_op.map_or(0.0, |f| 1e9 / f.first);
            let mailbox = of.labels.get("mailbox").map_or("", String::as_str);
            let _ = writeln!(
                out,
                "{}: {} * {:>8} msgs => {:>8.0} msgs/s    (first {first:.0} msgs/s; threads={}; {})",
                code(&of.variant),
                size("P"),
                size("n"),
                of.rate.unwrap_or(0.0),
                of.threads,
                code(mailbox)
            );
        }
        out.push_str("```\n");
    }
}

/// `- Go: 979 ms.`, one line a language, by class and size.
pub(super) fn skynet(out: &mut String, data: &Data) {
    out.push_str("\n## Seed 004: skynet\n\n");
    let groups = data.groups_of("skynet");
    if !groups.iter().any(Group::has_figures) {
        out.push_str("No cell of it has a figure in this run.\n");
        return;
    }
    out.push_str("One tree, in milliseconds. Figures of different unit classes are not to be compared (T7).\n");
    for group in groups.iter().filter(|g| g.has_figures()) {
        let _ = writeln!(out, "\n### {}\n", cell(&group.title()));
        for of in group.figured() {
            let class = of.labels.get("class").map_or("no class", String::as_str);
            let memory = of
                .peak_rss
                .map_or("-".to_owned(), crate::arena::units::bytes);
            let ms = scenario(of).unwrap_or(0.0) / 1e6;
            let ms = if ms < 10.0 {
                format!("{ms:.1}")
            } else {
                format!("{ms:.0}")
            };
            let _ = writeln!(
                out,
                "- {}: {ms} ms. ({}, {memory} peak)",
                cell(&of.system),
                cell(class)
            );
        }
    }
}
