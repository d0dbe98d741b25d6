//! Warm-up: every cell's first process from its first call on, and where it is steady.

use maud::{Markup, html};

use super::data::{Data, steady_at};
use super::plot::Name;
use super::plot::panel::{Panel, Point};
use super::words::{self, counted, heads, number, scroll};
use crate::arena::records::record::{CellRecord, SampleRecord};
use crate::arena::units;

/// The time line of a cell.
struct Line<'a> {
    cell: &'a CellRecord,
    panel: Panel,
    samples: usize,
    first: f64,
    steady: Option<usize>,
}

pub(super) fn page(data: &Data) -> Markup {
    let mut lines: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
    for name in data.workloads() {
        let cells = data.groups_of(name);
        let cells = cells.iter().flat_map(super::data::Group::figured);
        let of: Vec<Line<'_>> = cells.filter_map(|cell| line(data, cell)).collect();
        if !of.is_empty() {
            lines.push((name, of));
        }
    }
    html! {
        p { "The samples of each cell's first process, from the first call: the pilot, in which the size of a sample is found, the warm-up, and the rounds. "
            "Virtual machines may take long to settle, or never do, so nothing is assumed: the whole series is kept and drawn. "
            "Steady: the medians of the last two windows of four samples differ by less than "
            (format!("{:.0} %", 100.0 * data.run.plan.target_ci)) ", and the last eight show no trend (Mann-Kendall, 5 %)." }
        @if lines.is_empty() {
            p class="muted" { "No samples could be read: samples.ndjson stands beside run.json in the run's folder." }
        } @else {
            (table(data, &lines))
            ul class="key" {
                li { span aria-hidden="true" class="shape c1" { "■" } "pilot" }
                li { span aria-hidden="true" class="shape c2" { "▲" } "warm-up" }
                li { span aria-hidden="true" class="shape c0" { "●" } "round: the figures" }
                li { "dotted line: steady from here" }
            }
            @for (name, lines) in &lines {
                details {
                    summary { (name) ": " (counted(lines.len(), "cell")) }
                    div class="panels" { @for line in lines { (line.panel.draw()) } }
                }
            }
        }
    }
}

fn line<'a>(data: &Data, cell: &'a CellRecord) -> Option<Line<'a>> {
    let samples = data.first_launch(cell);
    let values: Vec<f64> = samples.iter().map(|s| s.per_op(cell.ops)).collect();
    let first = *values.first()?;
    let steady = steady_at(&values, data.run.plan.target_ci);
    let point = |(place, sample): (usize, &&SampleRecord)| Point {
        place,
        value: values[place],
        mark: match &*sample.phase {
            "pilot" => 1,
            "warm" => 2,
            _ => 0,
        },
        hollow: sample.noisy,
    };
    let told = steady.map_or_else(
        || "never steady".to_owned(),
        |at| format!("steady after {at} samples"),
    );
    let panel = Panel {
        name: Name::new(
            super::data::slug(&format!(
                "warm-{}-{}-t{}",
                cell.name(),
                cell.sizes(),
                cell.threads
            )),
            format!("Warm-up of {}", data.title(cell)),
            format!("{} samples from the first call; {told}.", values.len()),
        ),
        head: format!("{} {} {}", cell.system, cell.variant, data.extent(cell)),
        points: samples.iter().enumerate().map(point).collect(),
        median: cell.median(),
        band: None,
        flag: steady.map(|at| (at - 1, "steady")),
        along: "sample",
    };
    Some(Line {
        cell,
        panel,
        samples: values.len(),
        first,
        steady,
    })
}

fn table(data: &Data, lines: &[(&str, Vec<Line<'_>>)]) -> Markup {
    let caption = "First call and steady state";
    let table = html! {
        table class="data sorts filters" {
            caption { b { (caption) } ", first process of each cell; time per operation" }
            (heads(&[("system", false), ("cell", false), ("first call", true), ("steady", true), ("first over steady", true),
                ("samples", true), ("steady after", true), ("start-up", true)]))
            tbody { @for line in lines.iter().flat_map(|(_, lines)| lines) {
                @let median = line.cell.median();
                tr {
                    th scope="row" class="stick" { (line.cell.system) }
                    td class="w" { (line.cell.workload) "/" (line.cell.variant) " " (data.extent(line.cell)) }
                    (number(Some(line.first), words::time))
                    (number(median, words::time))
                    (number(median.map(|m| line.first / m), |v| format!("{}×", units::digits(v))))
                    td class="n" { (line.samples) }
                    @match line.steady { Some(at) => td class="n" data-v=(at) { (at) " samples" }, None => td class="n" data-v="1e9" { "never" } }
                    (number(line.cell.startup_ms, |ms| words::time(ms * 1e6)))
                }
            } }
        }
    };
    scroll(caption, &table)
}
