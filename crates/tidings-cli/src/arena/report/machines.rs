//! The page of a `merge` document: runs of several machines in panels of their own, and what relates them.
//!
//! Nothing is ranked across machines. Where anchors ran on all of them, and agree about the machines, the ratios to an anchor
//! stand beside each other; absolute figures never do.

use maud::{Markup, html};

use super::data::slug;
use super::page::{Page, around};
use super::plot::dot::{Dot, DotPlot, Kind};
use super::plot::ratio::{Ratio, RatioPlot};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};
use super::words::{NOTHING, counted, heads, number, scroll};
use super::{about, environment};
use crate::arena::cells::size;
use crate::arena::records::state::State;
use crate::arena::statistics::verdict::MARGIN;
use crate::arena::units;
use crate::arena::verbs::merge::{Machine, Merged, Panels, Relation, Row};

/// What is said wherever panels meet.
pub(super) const RULE: &str = "Rates of different machines say nothing beside each other, and no rank crosses from one to \
    another. A ratio to an anchor is time over that of the anchor on the same machine; it may be set against that of another \
    machine as far as the anchors agree about the machines.";

/// The whole document.
pub(super) fn document(merged: &Merged) -> String {
    let mut pages = vec![Page::new("overview", "Overview", None, overview(merged))];
    let mut names: Vec<&str> = merged.groups.iter().map(|g| g.workload.as_str()).collect();
    names.dedup();
    for (index, name) in names.into_iter().enumerate() {
        let part = (index == 0).then_some("Workloads");
        let id = format!("w-{}", slug(name));
        pages.push(Page::new(&id, name, part, workload(merged, name)));
    }
    let behind = Some("Behind the figures");
    let machines = html! { @for machine in &merged.machines {
        h3 { "Machine " (machine.name) }
        p { "Runs: " (machine.runs.join(", ")) }
        (environment::machine(&machine.env))
    } };
    pages.push(Page::new("environment", "Environment", behind, machines));
    let lead = html! { "The same message passing workloads on several machines, each in panels of its own." };
    around("Arena report of several machines", &lead, &pages, &html! {})
}

fn overview(merged: &Merged) -> Markup {
    let related = merged.groups.iter().filter(|g| is_related(g)).count();
    let (class, verdict) = match related {
        0 => ("bad", "Nothing relates the panels."),
        n if n == merged.groups.len() => ("good", "The anchors relate all panels."),
        _ => ("warn", "The anchors relate some of the panels."),
    };
    html! {
        div class={ "banner " (class) } role="note" {
            p { strong { (verdict) } }
            ul {
                li { "Anchors, systems with figures on every machine: "
                    (if merged.anchors.is_empty() { "none".to_owned() } else { merged.anchors.join(", ") }) "." }
                li { "Related: " (related) " of " (counted(merged.groups.len(), "cell")) "." }
                li { (RULE) }
            }
        }
        h3 { "Machines" }
        (machines(merged))
        h3 id="relation" { "What the anchors say about the machines" }
        (relations(merged))
    }
}

/// Whether ratios to the anchor may be set beside each other.
pub(super) fn is_related(group: &Panels) -> bool {
    matches!(group.relation(), Relation::Single | Relation::Agreed)
}

/// The relation of a group in words.
pub(super) fn relation(group: &Panels) -> &'static str {
    match group.relation() {
        Relation::None => "no anchor: not related",
        Relation::Single => "one anchor: related, not checked by a second",
        Relation::Agreed => "the anchors agree: related",
        Relation::Loose => "the anchors disagree: related loosely, no ratios beside each other",
    }
}

fn machines(merged: &Merged) -> Markup {
    let caption = "Machines and the runs made on them";
    let table = html! {
        table class="data" {
            caption { (caption) }
            (heads(&[("machine", false), ("what it is", false), ("runs", false), ("warnings", false)]))
            tbody { @for machine in &merged.machines { tr {
                th scope="row" class="stick" { (machine.name) }
                td { (machine.env.summary()) }
                td { (machine.runs.join(", ")) }
                td { (if machine.env.warnings.is_empty() { NOTHING.to_owned() } else { machine.env.warnings.join("; ") }) }
            } } }
        }
    };
    scroll(caption, &table)
}

/// The names of the first two machines, which the anchors compare.
pub(super) fn pair(merged: &Merged) -> [&str; 2] {
    let name = |index: usize| merged.machines.get(index).map_or("", |m| m.name.as_str());
    [name(0), name(1)]
}

fn relations(merged: &Merged) -> Markup {
    let [first, second] = pair(merged);
    let caption = format!("Time on {second} over time on {first}, by anchor");
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } }
            thead { tr {
                th scope="col" class="stick" { "cell" }
                @for anchor in &merged.anchors { th scope="col" class="n" { (anchor) } }
                th scope="col" class="n" { "in the middle" }
                th scope="col" { "relation" }
            } }
            tbody { @for group in &merged.groups { tr {
                th scope="row" class="stick" { a href={ "#" (anchor(group)) } { (title(group)) } }
                @for anchor in &merged.anchors { (number(group.machine_ratios.get(anchor).copied(), factor)) }
                (number(group.machine_ratio(), factor))
                td class="w" { (relation(group)) }
            } } }
        }
    };
    scroll(&caption, &table)
}

fn factor(value: f64) -> String {
    format!("{}×", units::digits(value))
}

pub(super) fn title(of: &Panels) -> String {
    size::title(&of.workload, &of.variant, &of.sizes, of.threads)
}

fn anchor(group: &Panels) -> String {
    slug(&format!("g-{}", title(group)))
}

fn workload(merged: &Merged, name: &str) -> Markup {
    html! {
        (about::text(name))
        @for group in merged.groups.iter().filter(|g| g.workload == name) { (section(merged, group)) }
    }
}

fn section(merged: &Merged, group: &Panels) -> Markup {
    let id = anchor(group);
    let panels = || merged.machines.iter().zip(&group.panels);
    let ratios = ratios(merged, group);
    html! {
        article aria-labelledby=(id) {
            h3 id=(id) { (title(group)) }
            p { (sentence(merged, group)) }
            div class="plots" {
                @for (machine, rows) in panels() {
                    @let plot = dots(machine, rows, group);
                    @if plot.kinds.iter().any(|kind| !kind.dots.is_empty()) {
                        (figure(&plot.draw(), &html! { "Machine " (machine.name) " alone: median time per " (group.unit)
                            " with its 95 % interval, on an axis of its own. Diamond: the anchor. Hollow: a figure with a doubt." }))
                    }
                }
                @if let Some(ratios) = ratios {
                    (figure(&ratios.draw(), &html! { "Time over that of the anchor on the same machine, which is all that may be set beside each "
                        "other. Left of 1: faster than the anchor. Band: ±" (format!("{:.0} %", 100.0 * MARGIN)) "." }))
                }
            }
            (table(merged, group))
        }
    }
}

/// What the anchors of a group say.
pub(super) fn sentence(merged: &Merged, group: &Panels) -> String {
    let [first, second] = pair(merged);
    let Some(ratio) = group.machine_ratio() else {
        return format!("{}.", capital(relation(group)));
    };
    let each: Vec<String> = group
        .machine_ratios
        .iter()
        .map(|(system, ratio)| format!("{system} {}", factor(*ratio)))
        .collect();
    format!(
        "Time on {second} over time on {first}: {} ({}). {}.",
        factor(ratio),
        each.join(", "),
        capital(relation(group))
    )
}

fn capital(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

fn dots(machine: &Machine, rows: &[Row], group: &Panels) -> DotPlot {
    let dot = |row: &Row| {
        let median = row.ns_per_op?;
        Some(Dot {
            label: row.system.clone(),
            median,
            ci: row.ci95,
            range: [median; 2],
            hollow: row.state != State::Ok,
            reference: Some(&row.system) == group.anchor.as_ref(),
            note: format!("{}/s", units::rate(1e9 / median)),
        })
    };
    DotPlot {
        name: Name::new(
            format!("dot-{}-{}", machine.name, anchor(group)),
            format!(
                "Time per {} on machine {}: {}",
                group.unit,
                machine.name,
                title(group)
            ),
            "Medians with intervals on a logarithmic axis of this machine alone. The table below has all values.",
        ),
        axis: format!("time per {} on {}, logarithmic", group.unit, machine.name),
        quantity: Quantity::Time,
        kinds: vec![Kind {
            name: format!("machine {}", machine.name),
            dots: rows.iter().filter_map(dot).collect(),
        }],
    }
}

/// The ratios to the anchor on all machines, where the anchors permit it.
fn ratios(merged: &Merged, group: &Panels) -> Option<RatioPlot> {
    let reference = group.anchor.as_ref().filter(|_| is_related(group))?;
    let of = |row: &Row| {
        let median = row.to_anchor.filter(|_| row.system != *reference)?;
        Some(Ratio {
            label: row.system.clone(),
            median,
            ci: row.to_anchor_ci95,
            shown: row.state == State::Ok,
            reference: false,
            note: factor(median),
        })
    };
    let machines = merged.machines.iter().zip(&group.panels);
    let kinds: Vec<(String, Vec<Ratio>)> = machines
        .map(|(machine, rows)| {
            let list = rows.iter().filter_map(of).collect();
            (format!("machine {}", machine.name), list)
        })
        .filter(|(_, list): &(String, Vec<Ratio>)| !list.is_empty())
        .collect();
    (!kinds.is_empty()).then(|| RatioPlot {
        name: Name::new(
            format!("ratio-{}", anchor(group)),
            format!("Against {reference} on the same machine: {}", title(group)),
            "Ratios of time to the anchor of the same machine, with intervals, on a logarithmic axis.",
        ),
        axis: format!("time over that of {reference} on the same machine"),
        margin: MARGIN,
        kinds,
    })
}

fn table(merged: &Merged, group: &Panels) -> Markup {
    let caption = format!("{}: one panel per machine", title(group));
    let of = group.anchor.as_deref().unwrap_or("an anchor");
    let of = format!("over {of}");
    let table = html! {
        table class="data" {
            caption { (caption) }
            (heads(&[("system", false), ("rank on it", true), ("rate", true), ("ns", true), ("95 % interval", true),
                (&of, true), ("95 % interval", true), ("doubts", false), ("labels", false)]))
            @for (machine, rows) in merged.machines.iter().zip(&group.panels) { tbody {
                tr { th scope="rowgroup" class="part stick" { "machine " (machine.name) } td colspan="8" {
                    @if rows.is_empty() { "no system ran this cell here" }
                } }
                @for row in rows { (line(row)) }
            } }
        }
    };
    scroll(&caption, &table)
}

fn line(row: &Row) -> Markup {
    let labels: Vec<String> = row.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    html! { tr {
        th scope="row" class="stick" { (row.system) }
        (number(row.rank.map(f64::from), |rank| format!("{rank:.0}")))
        (number(row.ns_per_op.map(|ns| 1e9 / ns), units::rate))
        (number(row.ns_per_op, units::digits))
        td class="n" { (interval(row.ci95)) }
        (number(row.to_anchor, factor))
        td class="n" { (interval(row.to_anchor_ci95)) }
        td class="w" { (doubt(row)) }
        td class="w" { (labels.join(" ")) }
    } }
}

pub(super) fn interval(ci: Option<[f64; 2]>) -> String {
    ci.map_or(NOTHING.to_owned(), |[low, high]| {
        format!("{}..{}", units::digits(low), units::digits(high))
    })
}

/// Why a row has no figure, or one with a doubt.
pub(super) fn doubt(row: &Row) -> String {
    match (row.state, &row.reason) {
        (State::Ok, _) => String::new(),
        (state, Some(reason)) => format!("{}: {reason}", state.name()),
        (state, None) => state.name().to_owned(),
    }
}
