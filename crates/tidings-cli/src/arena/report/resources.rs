//! Resources: CPU time, cores, allocation, memory, and what starting a process takes.

use maud::{Markup, html};

use super::data::Data;
use super::plot::dot::{Dot, DotPlot, Kind};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};
use super::words::{self, heads, number, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::statistics::stats;
use crate::arena::units;

pub(super) fn page(data: &Data) -> Markup {
    html! {
        p { "Read from outside by the harness, the same for all: CPU time of the process and its descendants over all rounds, the cores that "
            "it amounts to (a runtime that spins shows up here), and the peak of resident memory. Allocation is counted by the peer itself, "
            "in a sample that is never timed; a system without an exact count has none." }
        (startup(data))
        (table(data))
    }
}

/// Start-up by system: one value per cell, since each cell has a fresh process.
fn startup(data: &Data) -> Markup {
    let mut dots = Vec::new();
    for system in data.systems() {
        let of = data.run.cells.iter().filter(|c| c.system == system);
        let values: Vec<f64> = of.filter_map(|c| c.startup_ms).map(|ms| ms * 1e6).collect();
        if values.is_empty() {
            continue;
        }
        let launches = [values.clone()];
        let median = stats::median(&values);
        dots.push(Dot {
            label: system.to_owned(),
            median,
            ci: stats::interval(&launches, stats::Level::P95, stats::RESAMPLES_ROUGH),
            range: [
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(0.0, f64::max),
            ],
            hollow: false,
            reference: system == data.run.plan.reference,
            note: words::time(median),
        });
    }
    dots.sort_by(|a, b| a.median.total_cmp(&b.median));
    if dots.is_empty() {
        return Markup::default();
    }
    let plot = DotPlot {
        name: Name::new(
            "start-up",
            "Start-up by system",
            "From the start of the process to its first line, median over all cells of a system.",
        ),
        axis: "from process start to first line, logarithmic".to_owned(),
        quantity: Quantity::Time,
        kinds: vec![Kind {
            name: String::new(),
            dots,
        }],
    };
    html! {
        h3 { "Start-up" }
        (figure(&plot.draw(), &html! { "From the start of the process to its first line: median over the cells of a system, with the 95 % interval or the range. Not part of any other figure." }))
    }
}

fn table(data: &Data) -> Markup {
    let caption = "Resources by cell";
    let groups = data.groups();
    let table = html! {
        table class="data sorts filters" {
            caption { b { (caption) } ", per operation of the workload" }
            (heads(&[("system", false), ("cell", false), ("threads", true), ("time", true), ("CPU time", true), ("cores", true),
                ("bytes", true), ("allocations", true), ("peak RSS", true), ("start-up", true), ("collections", false)]))
            tbody { @for cell in groups.iter().flat_map(super::data::Group::figured) { (row(data, cell)) } }
        }
    };
    html! { h3 { "By cell" } (scroll(caption, &table)) }
}

fn row(data: &Data, cell: &CellRecord) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "sorted by")]
    let rss = cell.peak_rss.map(|b| b as f64);
    let collections: Vec<String> = cell.gc.iter().map(u64::to_string).collect();
    html! {
        tr {
            th scope="row" class="stick" { (cell.system) }
            td class="w" { (cell.workload) "/" (cell.variant) " " (data.extent(cell)) }
            td class="n" { (cell.peer_threads.unwrap_or(cell.threads)) }
            (number(cell.median(), words::time))
            (number(cell.cpu_ns_per_op, words::time))
            (number(cell.cores_used, units::digits))
            (number(cell.alloc.map(|a| a.bytes_per_op), units::digits))
            (number(cell.alloc.map(|a| a.count_per_op), units::digits))
            (number(rss, |_| cell.peak_rss.map(units::bytes).unwrap_or_default()))
            (number(cell.startup_ms, |ms| words::time(ms * 1e6)))
            td class="w" { (if collections.is_empty() { words::NOTHING.to_owned() } else { collections.join(" + ") }) }
        }
    }
}
