//! Cells without a figure or with a doubt: state, reason, and what would help. Those with the same trouble share a row.

use maud::{Markup, html};

use super::data::Data;
use super::words::{counted, heads, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::records::state::State;

/// Cells of one system with the same trouble.
struct Trouble<'a> {
    first: &'a CellRecord,
    cells: Vec<&'a CellRecord>,
}

fn troubles(data: &Data) -> Vec<Trouble<'_>> {
    let mut list: Vec<Trouble<'_>> = Vec::new();
    for cell in data.run.cells.iter().filter(|c| c.state != State::Ok) {
        let same = |t: &&mut Trouble<'_>| {
            let a = t.first;
            (a.state, &a.reason, &a.system, &a.fix)
                == (cell.state, &cell.reason, &cell.system, &cell.fix)
        };
        match list.iter_mut().find(same) {
            Some(trouble) => trouble.cells.push(cell),
            None => list.push(Trouble {
                first: cell,
                cells: vec![cell],
            }),
        }
    }
    // What a peer did wrong first, then what could not run, then doubts about figures.
    list.sort_by_key(|t| (!t.first.state.is_failure(), t.first.state.has_figures()));
    list
}

pub(super) fn list(data: &Data) -> Markup {
    let troubles = troubles(data);
    let (doubtful, failed): (Vec<_>, Vec<_>) = troubles
        .into_iter()
        .partition(|t| t.first.state.has_figures());
    html! {
        h3 id="failures" { "Failures, and what would fix them" }
        @if failed.is_empty() {
            p { "None: every cell of this run has a figure." }
        } @else {
            (table("Cells without a figure", &failed))
        }
        @if !doubtful.is_empty() {
            h3 { "Figures with a doubt" }
            p { "Checked and timed, but marked: " em { "slow" } " had time for few samples, " em { "unsteady" }
                " had not settled when the warm-up ended, " em { "noisy" } " shared the machine, "
                em { "superlinear" } " would have another figure at another size: its time grows faster than the work." }
            details {
                summary { (counted(doubtful.iter().map(|t| t.cells.len()).sum(), "figure")) " with a doubt" }
                (table("Figures with a doubt", &doubtful))
            }
        }
    }
}

fn table(caption: &str, troubles: &[Trouble<'_>]) -> Markup {
    let table = html! {
        table class="data sorts" {
            caption { (caption) }
            (heads(&[("system", false), ("state", false), ("cells", false), ("reason", false), ("fix", false), ("log", false)]))
            tbody {
                @for trouble in troubles {
                    @let cell = trouble.first;
                    tr {
                        th scope="row" class="stick" { (cell.system) }
                        td { span class="state" { (cell.state.name()) } }
                        td class="long" { (names(&trouble.cells)) }
                        td class="long" { (cell.reason.as_deref().unwrap_or("no reason was recorded")) }
                        td { @if let Some(fix) = &cell.fix { code { (fix) } } }
                        td { @if let Some(log) = &cell.log { code { (log) } } }
                    }
                }
            }
        }
    };
    scroll(caption, &table)
}

/// `pingpong/tell, give; chain/struct`.
fn names(cells: &[&CellRecord]) -> String {
    let mut by_workload: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in cells {
        let place = by_workload.iter().position(|(w, _)| *w == cell.workload);
        let place = place.unwrap_or_else(|| {
            by_workload.push((&cell.workload, Vec::new()));
            by_workload.len() - 1
        });
        if !by_workload[place].1.contains(&cell.variant.as_str()) {
            by_workload[place].1.push(&cell.variant);
        }
    }
    let written = by_workload
        .iter()
        .map(|(w, variants)| format!("{w}/{}", variants.join(", ")));
    written.collect::<Vec<_>>().join("; ")
}
