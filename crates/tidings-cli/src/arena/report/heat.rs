//! The heat map: every system against every cell of every workload.

use maud::{Markup, html};

use super::data::{Data, Group};
use super::words::{self, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::statistics::verdict::Verdict;
use crate::arena::units;

/// One row: a group that ran, or a variant that nobody could run.
enum Row<'a> {
    Ran(Group<'a>),
    Absent(&'a str, &'a str),
}

impl Row<'_> {
    fn workload(&self) -> &str {
        match self {
            Self::Ran(group) => &group.first().workload,
            Self::Absent(workload, _) => workload,
        }
    }
}

fn rows(data: &Data) -> Vec<Row<'_>> {
    let groups = data.groups();
    let mut rows = Vec::new();
    for name in data.workloads() {
        for group in groups.iter().filter(|g| g.first().workload == name) {
            if !group.first().variant.starts_with("original:") {
                rows.push(Row::Ran(group.clone()));
            }
        }
        let mut told: Vec<&str> = Vec::new();
        for cell in data
            .run
            .cells
            .iter()
            .filter(|c| c.workload == name && c.threads == 0)
        {
            let ran = groups
                .iter()
                .any(|g| g.first().workload == name && g.first().variant == cell.variant);
            let is_original = cell.variant.starts_with("original:");
            if !ran && !is_original && !told.contains(&cell.variant.as_str()) {
                told.push(&cell.variant);
                rows.push(Row::Absent(&cell.workload, &cell.variant));
            }
        }
    }
    rows
}

/// The record of a system in a row, measured or not.
fn find<'a>(data: &'a Data, row: &Row<'a>, system: &str) -> Option<&'a CellRecord> {
    let (workload, variant, params) = match row {
        Row::Ran(group) => {
            if let Some(cell) = group.of(system) {
                return Some(cell);
            }
            let first = group.first();
            (&*first.workload, &*first.variant, Some(&first.params))
        }
        Row::Absent(workload, variant) => (*workload, *variant, None),
    };
    data.run.cells.iter().find(|c| {
        c.threads == 0
            && (&*c.workload, &*c.variant, &*c.system) == (workload, variant, system)
            && (c.params.is_empty() || params.is_none_or(|p| *p == c.params))
    })
}

/// The class of a ratio: its colour.
fn shade(cell: &CellRecord) -> &'static str {
    let Some(ratio) = &cell.ratio else {
        return "ns";
    };
    match (ratio.verdict, ratio.median) {
        (Verdict::Reference, _) => "refcell",
        (Verdict::NotShown, _) => "ns",
        (Verdict::Same, _) => "eq",
        (Verdict::Faster, m) if m > 1.0 / 1.5 => "l1",
        (Verdict::Faster, m) if m > 1.0 / 3.0 => "l2",
        (Verdict::Faster, _) => "l3",
        (Verdict::Slower, m) if m < 1.5 => "w1",
        (Verdict::Slower, m) if m < 3.0 => "w2",
        (Verdict::Slower, m) if m < 10.0 => "w3",
        (Verdict::Slower, _) => "w4",
    }
}

pub(super) fn map(data: &Data) -> Markup {
    let systems = data.systems();
    let rows = rows(data);
    let reference = &data.run.plan.reference;
    let caption = "Rate of each system in each cell, and its time against the reference";
    let table = html! {
        table class="heat" {
            caption { b { "Rate" } ", and below it the time against " (reference) ". Scroll sideways for more systems." }
            thead { tr {
                th scope="col" class="stick" { "cell" }
                @for system in &systems { th scope="col" class="n" { (system) } }
            } }
            tbody {
                @for (place, row) in rows.iter().enumerate() {
                    @if place == 0 || rows[place - 1].workload() != row.workload() {
                        tr { th scope="rowgroup" class="part stick" { (row.workload()) } td class="none" colspan=(systems.len()) {} }
                    }
                    tr {
                        (head(row))
                        @for system in &systems { (field(data, row, system)) }
                    }
                }
            }
        }
    };
    html! { (key()) (scroll(caption, &table)) }
}

fn head(row: &Row<'_>) -> Markup {
    html! {
        th scope="row" class="stick" {
            @match row {
                Row::Ran(group) => {
                    @let title = group.title();
                    @let (name, rest) = title.split_once(" · ").unwrap_or((&title, ""));
                    a href={ "#" (group.anchor()) } { (name.split_once('/').map_or(name, |(_, v)| v)) }
                    br; small { (rest) }
                },
                Row::Absent(_, variant) => (variant),
            }
        }
    }
}

fn field(data: &Data, row: &Row<'_>, system: &str) -> Markup {
    let Some(cell) = find(data, row, system) else {
        return html! { td class="none" title="this system has no such cell in this run" { (words::NOTHING) } };
    };
    let Some(rate) = cell.rate else {
        let reason = cell.reason.as_deref().unwrap_or("no reason was recorded");
        return html! { td class="none" title=(reason) { (cell.state.name()) } };
    };
    let hatch = match row {
        Row::Ran(group) => group.differs(cell, &data.run.plan.reference),
        Row::Absent(..) => false,
    };
    let doubts = words::doubts(cell);
    html! {
        td class={ (shade(cell)) (if hatch { " hatch" } else { "" }) } title=(words::labels(cell)) {
            b { (units::rate(rate)) @if !doubts.is_empty() { "*" } }
            @if let Some(ratio) = &cell.ratio { (words::brief(ratio)) }
            @if hatch { " ≠" }
        }
    }
}

fn key() -> Markup {
    html! {
        ul class="key" aria-label="Key of the heat map" {
            li { i class="l3" {} i class="l2" {} i class="l1" {} "▲ faster than the reference (beyond 3×, 1.5×, 3 %)" }
            li { i class="eq" {} "= the same within 3 %" }
            li { i class="ns" {} "? not shown" }
            li { i class="w1" {} i class="w2" {} i class="w3" {} i class="w4" {} "▼ slower (beyond 3 %, 1.5×, 3×, 10×)" }
            li { i class="ns hatch" {} "≠ of another kind (mailbox, class, message..) than the reference" }
            li { "* not settled, noisy, few samples, not ranked, or other threads: see its table" }
            li { "a word (missing, blocked..): no figure; the reasons are below" }
        }
    }
}
