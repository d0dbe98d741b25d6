//! The page of one workload: what it is, then its cells, each as plots and a table.

use maud::{Markup, html};

use super::data::{Data, Group};
use super::plot::dot::{Dot, DotPlot, Kind};
use super::plot::panel::{Panel, Point};
use super::plot::ratio::{Ratio, RatioPlot};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};
use super::{about, extras, seed_page, table, words};
use crate::arena::records::record::{CellRecord, SampleRecord};
use crate::arena::records::state::State;
use crate::arena::statistics::verdict::{MARGIN, Verdict};
use crate::arena::units;

pub(super) fn page(data: &Data, name: &str) -> Markup {
    let groups = data.groups_of(name);
    let ran: Vec<&Group<'_>> = groups.iter().filter(|g| g.has_figures()).collect();
    html! {
        (about::text(name))
        @if ran.is_empty() {
            p { "No cell of this workload has a figure in this run: " a href="#failures" { "why" } "." }
        } @else if ran.len() > 1 {
            p { "Cells of this run; figures are compared only inside one of them." }
            ul class="groups" { @for group in &ran { li { a href={ "#" (group.anchor()) } { (group.title()) } } } }
        }
        (extras::of(data, name))
        @for group in &ran { (section(data, group)) }
        @for group in groups.iter().filter(|g| !g.has_figures()) {
            h3 id=(group.anchor()) { (group.title()) }
            p { "No system has a figure here." }
            (table::full(data, group))
        }
        (seed_page::beside(data, name))
    }
}

fn section(data: &Data, group: &Group<'_>) -> Markup {
    let anchor = group.anchor();
    let kinds = kinds(group);
    let unit = &group.first().unit;
    let strips = strips(data, group);
    html! {
        article aria-labelledby=(anchor) {
            h3 id=(anchor) { (group.title()) }
            div class="plots" {
                (figure(&dots(data, group, &kinds).draw(), &html! {
                    "Median time per " (unit) " with its 95 % interval; dashed: the range, where samples are too few for one. "
                    "Diamond: the reference. Hollow: a figure with a doubt."
                }))
                @let ratios = ratios(group, &kinds);
                @if !ratios.kinds.is_empty() {
                    (figure(&ratios.draw(), &html! {
                        "Time over the reference's time in the same round, with the 95 % interval. Left of 1: faster than the reference. "
                        "Band: ±3 %, which counts as the same. Hollow: not shown."
                    }))
                }
            }
            @if !strips.is_empty() {
                details {
                    summary { "Every sample, by round" }
                    p class="muted" { "Time per " (unit) " in each round; shape and colour tell the launch. Line: median of all; band: its 95 % interval. "
                        "Each panel has a logarithmic axis of its own. Hollow: a noisy sample." }
                    div class="panels" { @for strip in strips { (strip.draw()) } }
                }
            }
            (table::full(data, group))
        }
    }
}

/// The systems of a group by kind, the kind with the fastest first.
fn kinds<'a>(group: &Group<'a>) -> Vec<(String, Vec<&'a CellRecord>)> {
    let mut kinds: Vec<(String, Vec<_>)> = Vec::new();
    for cell in group.figured() {
        let kind = group.kind(cell);
        match kinds.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, cells)) => cells.push(cell),
            None => kinds.push((kind, vec![cell])),
        }
    }
    kinds
}

type Kinds<'a> = [(String, Vec<&'a CellRecord>)];

fn dots(data: &Data, group: &Group<'_>, kinds: &Kinds<'_>) -> DotPlot {
    let unit = &group.first().unit;
    let dot = |cell: &&CellRecord| {
        let figure = cell.ns_per_op?;
        Some(Dot {
            label: cell.system.clone(),
            median: figure.median,
            ci: figure.ci95,
            range: [figure.min, figure.max],
            hollow: cell.state != State::Ok,
            reference: cell.system == data.run.plan.reference,
            note: format!("{}/s", cell.rate.map(units::rate).unwrap_or_default()),
        })
    };
    let fastest = group.figured().next().map_or("", |c| &c.system);
    DotPlot {
        name: Name::new(
            format!("dot-{}", group.anchor()),
            format!("Time per {unit}: {}", group.title()),
            format!(
                "Medians with intervals on a logarithmic axis. Fastest: {fastest}. The table below has all values."
            ),
        ),
        axis: format!("time per {unit}, logarithmic; left is faster"),
        quantity: Quantity::Time,
        kinds: kinds
            .iter()
            .map(|(name, cells)| Kind {
                name: name.clone(),
                dots: cells.iter().filter_map(dot).collect(),
            })
            .collect(),
    }
}

fn ratios(group: &Group<'_>, kinds: &Kinds<'_>) -> RatioPlot {
    let mut reference = String::new();
    let mut rows = Vec::new();
    for (name, cells) in kinds {
        let mut list = Vec::new();
        for cell in cells {
            if let Some(ratio) = &cell.ratio {
                ratio.reference.clone_into(&mut reference);
                list.push(Ratio {
                    label: cell.system.clone(),
                    median: ratio.median,
                    ci: ratio.ci95,
                    shown: ratio.verdict != Verdict::NotShown,
                    reference: ratio.verdict == Verdict::Reference,
                    note: words::brief(ratio),
                });
            }
        }
        if !list.is_empty() {
            rows.push((name.clone(), list));
        }
    }
    RatioPlot {
        name: Name::new(
            format!("ratio-{}", group.anchor()),
            format!("Against {reference}: {}", group.title()),
            "Ratios of time with intervals on a logarithmic axis; the band of 3 % counts as the same.",
        ),
        axis: format!("time over that of {reference}, logarithmic"),
        margin: MARGIN,
        kinds: rows,
    }
}

fn strips(data: &Data, group: &Group<'_>) -> Vec<Panel> {
    let panel = |(place, cell): (usize, &CellRecord)| {
        let rounds = data.rounds(cell);
        if rounds.is_empty() {
            return None;
        }
        let point = |sample: &&SampleRecord| Point {
            place: sample.round,
            value: sample.per_op(cell.ops),
            mark: sample.launch as usize,
            hollow: sample.noisy,
        };
        Some(Panel {
            name: Name::new(
                format!("strip-{}-{place}", group.anchor()),
                format!("Samples of {}", data.title(cell)),
                format!("{} samples by round.", rounds.len()),
            ),
            head: cell.system.clone(),
            points: rounds.iter().map(point).collect(),
            median: cell.median(),
            band: cell.ns_per_op.and_then(|f| f.ci95),
            flag: None,
            along: "round",
        })
    };
    group.figured().enumerate().filter_map(panel).collect()
}
