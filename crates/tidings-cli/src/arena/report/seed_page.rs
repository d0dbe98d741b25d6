//! The seed documents' figures as printed, beside those of this run, with their errata.

use maud::{Markup, html};

use super::data::{Data, Group};
use super::extras::scenario;
use super::seeds::{DOCUMENTS, ERRATA, Printed, printed};
use super::words::{self, heads, scroll};

/// The page: all figures, then all errata.
pub(super) fn page(data: &Data) -> Markup {
    let all: Vec<Printed> = printed().collect();
    html! {
        p { "The workloads come from five documents chosen by others. Their figures are repeated here as printed, greyed: another machine, another year, "
            "other versions, and often another unit. They are not to be compared with ours; they tell what the documents claimed, and what to check." }
        ul { @for (number, name) in DOCUMENTS { li { strong { "Seed " (number) } ": " (name) "." } } }
        (table(data, "Figures of the seed documents, as printed", &all))
        h3 { "Errata" }
        p { "What the programs and texts behind those figures really do, read in their sources, and what the arena does about it. None is copied silently." }
        (errata())
    }
}

/// The figures of one workload, for its page.
pub(super) fn beside(data: &Data, workload: &str) -> Markup {
    let own: Vec<Printed> = printed().filter(|p| p.workload == workload).collect();
    if own.is_empty() {
        return Markup::default();
    }
    html! {
        h3 { "Beside the seed's figures" }
        p class="seed" { "As printed in the seed documents: other machine, other year. See " a href="#seeds" { "all figures and errata" } "." }
        (table(data, &format!("Seed figures of {workload}, as printed"), &own))
    }
}

fn table(data: &Data, caption: &str, rows: &[Printed]) -> Markup {
    let table = html! {
        table class="data" {
            caption { b { (caption) } " (other machine, other year), and what this run has" }
            (heads(&[("program", false), ("seed", false), ("as printed", false), ("errata", false), ("this run, this machine", false)]))
            tbody { @for row in rows { tr {
                th scope="row" class="stick seed" { (row.program) }
                td class="seed" { (row.seed) }
                td class="seed w" { (row.figure) }
                td class="w" { @for erratum in &row.errata { a href={ "#" (erratum) } { (erratum) } " " } }
                td class="long" { (ours(data, row)) }
            } } }
        }
    };
    scroll(caption, &table)
}

/// What this run has for a seed's figure: the reference, and the same system, or one of ours like it, if it is here.
fn ours(data: &Data, row: &Printed) -> Markup {
    let reference = data.run.plan.reference.as_str();
    let is_same = |system: &str| {
        let lower = system.to_lowercase();
        row.systems.iter().any(|name| *name == lower)
    };
    let wanted: Vec<&str> = data
        .systems()
        .into_iter()
        .filter(|system| *system == reference || is_same(system))
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for variant in &row.variants {
        for system in &wanted {
            if let Some(line) = own(data, row.workload, variant, system) {
                lines.push(line);
            }
        }
    }
    html! {
        @if row.variants.is_empty() {
            span class="muted" { "which row is whose is not in our notes; see the first samples on the page of counter" }
        } @else if lines.is_empty() { span class="muted" { "no such cell in this run" } }
        @for (index, line) in lines.iter().enumerate() { @if index > 0 { br; } (line) }
    }
}

/// `tidings give: 25.5 M msg/s (p=2 n=100000 w=1)`, at the largest size; or why there is none.
fn own(data: &Data, workload: &str, variant: &str, system: &str) -> Option<String> {
    let groups = data.groups_of(workload);
    let of_variant = groups.iter().filter(|g| g.first().variant == variant);
    let measured = of_variant
        .flat_map(Group::figured)
        .filter(|c| c.system == system)
        .max_by_key(|c| (c.ops, c.threads));
    if let Some(cell) = measured {
        let figure = match workload {
            "skynet" | "chain" | "fan" => words::time(scenario(cell)?),
            _ => words::rate(cell)?,
        };
        let extent = data.extent(cell);
        return Some(format!("{system} {variant}: {figure} ({extent})"));
    }
    let known = data
        .run
        .cells
        .iter()
        .find(|c| (&*c.workload, &*c.variant, &*c.system) == (workload, variant, system))?;
    let reason = known.reason.as_deref().unwrap_or_default();
    Some(format!(
        "{system} {variant}: {} ({reason})",
        known.state.name()
    ))
}

fn errata() -> Markup {
    let caption = "Errata of the seed documents";
    let table = html! {
        table class="data" {
            caption { (caption) }
            (heads(&[("", false), ("where", false), ("what the source really does", false), ("what the arena does", false)]))
            tbody { @for erratum in ERRATA { tr {
                th scope="row" class="stick" id=(erratum.id) { (erratum.id) }
                td { (erratum.place) }
                td class="long" { (erratum.finding) }
                td class="long" { (erratum.here) }
            } } }
        }
    };
    scroll(caption, &table)
}
