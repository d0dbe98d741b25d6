//! The first page: what ran, how far it can be trusted, where the reference loses, and everything that failed.

use maud::{Markup, html};

use super::data::{Data, Group};
use super::words::{self, counted, heads, scroll};
use super::{heat, problems};
use crate::arena::records::record::CellRecord;
use crate::arena::records::state::State;
use crate::arena::statistics::verdict::Verdict;
use crate::arena::units;

/// Tables of so many rows stand open between the others.
const FEW: usize = 12;

pub(super) fn page(data: &Data) -> Markup {
    html! {
        (facts(data))
        (banner(data))
        (comparisons(data))
        h3 id="heat" { "All cells at a glance" }
        (heat::map(data))
        (problems::list(data))
    }
}

fn facts(data: &Data) -> Markup {
    let run = &data.run;
    let figures = run.cells.iter().filter(|c| c.ns_per_op.is_some()).count();
    let systems = data.systems().len();
    html! {
        dl class="facts" {
            dt { "Run" } dd { (run.id) ", " (run.plan.profile) " profile, " (format!("{:.0} s", run.seconds)) ", began " (started(&run.started)) }
            dt { "Machine" } dd { (run.env.summary()) }
            dt { "Versions" } dd { "tidings " (run.env.tidings) @if let Some(git) = &run.env.git { " (" (git) ")" } }
            dt { "Extent" } dd {
                (counted(data.workloads().len(), "workload")) ", " (counted(systems, "system")) ", "
                (counted(run.cells.len(), "cell")) ", " (figures) " of them with a figure"
            }
            dt { "Reference" } dd { (run.plan.reference) ": all ratios are against it, paired round by round" }
        }
    }
}

/// `2026-11-21 15:31:59 UTC`: nobody needs its nanoseconds.
fn started(time: &str) -> String {
    let seconds = time.split_once('.').map_or(time, |(seconds, _)| seconds);
    format!(
        "{} UTC",
        seconds.trim_end_matches('Z').replacen('T', " ", 1)
    )
}

/// How far the run can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trust {
    Good,
    Careful,
    Unfit,
}

/// What the banner counts.
struct Counts {
    figures: usize,
    precise: usize,
    /// Figures with a doubt.
    doubtful: usize,
    /// Cells whose peer did something wrong.
    failed: usize,
}

fn counts(data: &Data) -> Counts {
    let count = |is: &dyn Fn(&CellRecord) -> bool| {
        let cells = data.run.cells.iter();
        cells.filter(|cell| is(cell)).count()
    };
    Counts {
        figures: count(&|cell| cell.ns_per_op.is_some()),
        precise: count(&|cell| cell.ns_per_op.is_some_and(|figure| figure.precise)),
        doubtful: count(&|cell| cell.ns_per_op.is_some() && cell.state != State::Ok),
        failed: count(&|cell| cell.state.is_failure()),
    }
}

fn trust(data: &Data, counts: &Counts) -> Trust {
    let run = &data.run;
    if run.env.debug_build || run.interrupted || run.noise.is_noisy() {
        Trust::Unfit
    } else if counts.figures == 0
        || counts.precise < counts.figures
        || counts.doubtful + counts.failed > 0
        || run.plan.launches < 2
        || !run.env.warnings.is_empty()
        || !data.trouble.is_empty()
    {
        Trust::Careful
    } else {
        Trust::Good
    }
}

fn banner(data: &Data) -> Markup {
    let run = &data.run;
    let counts = counts(data);
    let (class, verdict) = match trust(data, &counts) {
        Trust::Good => (
            "good",
            "Validity: sound. No reservation was found by the harness.",
        ),
        Trust::Careful => ("warn", "Validity: read with care. What limits this run:"),
        Trust::Unfit => (
            "bad",
            "Validity: not fit for claims. What is wrong with this run:",
        ),
    };
    let noise = run.noise;
    html! {
        div class={ "banner " (class) } role="note" {
            p { strong { (verdict) } }
            ul {
                @if run.interrupted { li { "The run was interrupted: what is here was measured before." } }
                li {
                    "Noise: " (noise.noisy) " of " (counted(usize::try_from(noise.samples).unwrap_or(usize::MAX), "sample"))
                    " noisy, " (noise.repeated) " repeated; other work took "
                    (format!("{:.1} %", 100.0 * noise.foreign_share())) " of the CPUs."
                    @if noise.is_noisy() { " Verdicts need twice the margin." }
                }
                li {
                    "Launches: " (run.plan.launches) " per cell"
                    @if run.plan.launches < 2 { "; the variance between processes is not seen" } "."
                }
                li {
                    "Precision: " (counts.precise) " of " (counted(counts.figures, "figure")) " reached ±"
                    (format!("{:.0} %", 100.0 * run.plan.target_ci)) " (95 % interval)"
                    @if counts.precise < counts.figures { "; the others are marked ~" } "."
                }
                @if counts.failed > 0 { li { "Failures: " (counted(counts.failed, "cell")) " failed." } }
                @if counts.doubtful > 0 {
                    li { "Doubts: " (counted(counts.doubtful, "figure")) " marked slow, unsteady, noisy or superlinear." }
                }
                @for note in run.env.warnings.iter().chain(run.notes.iter().filter(|n| !is_said(n))).chain(&data.trouble) { li { (note) } }
            }
        }
    }
}

/// Whether a note of the run says what the banner says in lines of its own.
fn is_said(note: &str) -> bool {
    note.starts_with("noisy machine")
        || note.starts_with("the run was interrupted")
        || note.contains("cells did not reach ±")
}

/// One comparison with its group.
struct Compared<'a> {
    group: Group<'a>,
    cell: &'a CellRecord,
    verdict: Verdict,
    median: f64,
}

fn compared(data: &Data) -> Vec<Compared<'_>> {
    let mut list = Vec::new();
    for group in data.groups() {
        for cell in group.figured() {
            if let (Some(ratio), Some(verdict)) = (&cell.ratio, cell.verdict()) {
                list.push(Compared {
                    group: group.clone(),
                    cell,
                    verdict,
                    median: ratio.median,
                });
            }
        }
    }
    // The worst for the reference first.
    list.sort_by(|a, b| a.median.total_cmp(&b.median));
    list
}

fn comparisons(data: &Data) -> Markup {
    let reference = &data.run.plan.reference;
    let all = compared(data);
    let with = |verdicts: &[Verdict]| -> Vec<&Compared<'_>> {
        all.iter()
            .filter(|c| verdicts.contains(&c.verdict))
            .collect()
    };
    let (lost, unsure) = (with(&[Verdict::Faster]), with(&[Verdict::NotShown]));
    let (same, won) = (with(&[Verdict::Same]), with(&[Verdict::Slower]));
    let close: Vec<&Compared<'_>> = unsure.iter().chain(&same).copied().collect();
    if all.is_empty() {
        return html! {
            h3 id="losses" { "Where " (reference) " loses" }
            p { "Nothing was compared: the reference, or everything else, has no figure in this run." }
        };
    }
    html! {
        h3 id="losses" { "Where " (reference) " loses" }
        ul class="tally" {
            li class="lost" { b { (lost.len()) } "lost: another is faster" }
            li { b { (unsure.len()) } "not shown either way" }
            li { b { (same.len()) } "the same within 3 %" }
            li class="won" { b { (won.len()) } "won: another is slower" }
        }
        @if lost.is_empty() {
            p { "In none of " (counted(all.len(), "comparison")) " is another system shown to be faster than " (reference)
                @if !unsure.is_empty() { "; " (unsure.len()) " of them show neither" }
                ". That holds for this machine, these sizes and these peers, all of which were written by the authors of tidings: "
                a href="#method" { "method and bias" } "." }
        } @else {
            (list(data, "Another system is faster than the reference", &lost))
        }
        @if !close.is_empty() {
            @let caption = "The interval allows both, or shows that the difference is below 3 %";
            @if close.len() <= FEW {
                h3 { "Not shown, or the same" }
                (list(data, caption, &close))
            } @else {
                details {
                    summary { "Not shown, or the same: " (counted(close.len(), "comparison")) }
                    (list(data, caption, &close))
                }
            }
        }
        @if !won.is_empty() {
            details {
                summary { "Where " (reference) " wins: " (counted(won.len(), "comparison")) }
                (list(data, "Another system is slower than the reference", &won))
            }
        }
    }
}

fn list(data: &Data, caption: &str, rows: &[&Compared<'_>]) -> Markup {
    let reference = &data.run.plan.reference;
    let table = html! {
        table class="data sorts" {
            caption { (caption) }
            (heads(&[("cell", false), ("system", false), ("against the reference, 95 % interval", false),
                ("rate", true), ("rate of the reference", true), ("unlike in", false), ("doubts", false)]))
            tbody {
                @for row in rows {
                    @let cell = row.cell;
                    tr {
                        th scope="row" class="stick" { a href={ "#" (row.group.anchor()) } { (row.group.title()) } }
                        td class="w" { (cell.system) }
                        td class="w" data-v=(row.median) { (cell.ratio.as_ref().map(words::full).unwrap_or_default()) }
                        (words::number(cell.rate, units::rate))
                        (words::number(row.group.of(reference).and_then(|c| c.rate), units::rate))
                        td class="w" { (unlike(&row.group, cell, reference)) }
                        td class="w" { (words::states(cell)) }
                    }
                }
            }
        }
    };
    scroll(caption, &table)
}

/// The labels in which a cell and the reference differ, where both have them.
fn unlike(group: &Group<'_>, cell: &CellRecord, reference: &str) -> String {
    let Some(reference) = group.of(reference) else {
        return String::new();
    };
    let differing = cell.labels.iter().filter_map(|(key, value)| {
        let other = reference.labels.get(key).filter(|other| *other != value)?;
        Some(format!("{key}: {value}, reference {other}"))
    });
    differing.collect::<Vec<_>>().join("; ")
}
