//! Time against memory by unit class, and what a unit of `alive` takes.

use maud::{Markup, html};

use super::super::data::{Data, Group};
use super::super::plot::scale::Quantity;
use super::super::plot::scatter::{Scatter, Spot};
use super::super::plot::{Name, figure};
use super::super::words::{self, heads, number, scroll};
use super::scenario;
use crate::arena::records::record::CellRecord;
use crate::arena::units;

const CLASSES: &[(&str, &str)] = &[
    ("U0", "plain recursion, a floor"),
    ("U1", "every node an actor"),
    ("U2", "every node a task that waits on a channel"),
    ("U3", "every node a task whose parent awaits it"),
    ("U4", "only some nodes are units"),
];

fn class(cell: &CellRecord) -> usize {
    let label = cell.labels.get("class").map_or("", String::as_str);
    let place = CLASSES.iter().position(|(name, _)| *name == label);
    place.unwrap_or(CLASSES.len())
}

pub(super) fn extras(data: &Data) -> Markup {
    let groups = data.groups_of("skynet");
    let mut by_size: Vec<(String, Vec<&CellRecord>)> = Vec::new();
    for group in &groups {
        let first = group.first();
        let key = format!("{}, {} threads", first.sizes(), first.threads);
        let place = by_size.iter().position(|(name, _)| *name == key);
        let place = place.unwrap_or_else(|| {
            by_size.push((key, Vec::new()));
            by_size.len() - 1
        });
        by_size[place].1.extend(group.figured());
    }
    by_size.retain(|(_, cells)| !cells.is_empty());
    html! {
        @if !by_size.is_empty() {
            h3 { "Time and memory" }
            p { "Time of one tree against the peak resident memory of the whole process, its runtime included. "
                "\"A million at once\" is only true of alive: schedulers that go depth first never have a million units alive ("
                a href="#T8" { "T8" } ")." }
            div class="plots" { @for (place, (size, cells)) in by_size.iter().enumerate() {
                (figure(&scatter(place, size, cells).draw(), &html! { "skynet, " (size) ". Shape and colour: the unit class." (key(cells)) }))
            } }
        }
        (alive(data, &groups))
    }
}

fn key(cells: &[&CellRecord]) -> Markup {
    let shapes = ["●", "■", "▲", "◆", "▼", "▬"];
    html! {
        ul class="key" { @for (place, shape) in shapes.iter().enumerate() {
            @if cells.iter().any(|c| class(c) == place) {
                @let (name, words) = CLASSES.get(place).copied().unwrap_or(("other", "no class given"));
                li { span aria-hidden="true" class={ "shape c" (place) } { (shape) } (name) ": " (words) }
            }
        } }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a position on a logarithmic axis"
)]
fn scatter(place: usize, size: &str, cells: &[&CellRecord]) -> Scatter {
    let spot = |cell: &&CellRecord| {
        Some(Spot {
            label: format!("{} {}", cell.system, cell.variant),
            x: scenario(cell)?,
            y: cell.peak_rss? as f64,
            mark: class(cell),
        })
    };
    Scatter {
        name: Name::new(
            format!("skynet-{place}"),
            format!("Time against memory, skynet {size}"),
            "One mark per system and variant. The tables below have all values.",
        ),
        x: ("time of one tree, logarithmic".to_owned(), Quantity::Time),
        y: ("peak RSS, logarithmic".to_owned(), Quantity::Bytes),
        spots: cells.iter().filter_map(spot).collect(),
    }
}

/// Bytes per unit, where all leaves exist at once.
fn alive(data: &Data, groups: &[Group<'_>]) -> Markup {
    let cells: Vec<&CellRecord> = groups
        .iter()
        .filter(|g| g.first().variant == "alive")
        .flat_map(Group::figured)
        .collect();
    if cells.is_empty() {
        return html! {
            h3 { "Bytes per unit" }
            p class="muted" { "skynet/alive has no figure in this run. It is in the standard profile, or by name: "
                code { "tidings arena run skynet/alive" } "." }
        };
    }
    let caption = "skynet/alive: memory per unit";
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let per_unit = |cell: &CellRecord| cell.peak_rss.map(|rss| rss as f64 / cell.ops as f64);
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } }
            (heads(&[("system", false), ("class", false), ("size", false), ("units", true), ("peak RSS", true),
                ("bytes per unit", true), ("time of one tree", true)]))
            tbody { @for cell in &cells { tr {
                th scope="row" class="stick" { (cell.system) }
                td { (cell.labels.get("class").map_or("", String::as_str)) }
                td class="w" { (data.extent(cell)) }
                td class="n" { (cell.ops) }
                td class="n" data-v=[cell.peak_rss] { (cell.peak_rss.map_or(words::NOTHING.to_owned(), units::bytes)) }
                (number(per_unit(cell), units::digits))
                (number(scenario(cell), words::time))
            } } }
        }
    };
    html! {
        h3 { "Bytes per unit" }
        p { "Every leaf waits until all leaves exist. Peak memory of the process, runtime included, over the number of nodes." }
        (scroll(caption, &table))
    }
}
