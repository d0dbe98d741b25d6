//! The comparison with a baseline. Whoever makes one (`arena compare`) hands over a `Comparison`; this page draws it.

use maud::{Markup, html};

use super::plot::slope::{Change, Slope, SlopePlot};
use super::plot::{Name, figure};
use super::words::{self, heads, number, scroll};

/// One cell before and after, in nanoseconds per operation.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) cell: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Interval of after over before.
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) change: Change,
}

/// This run against another.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// What the other is called.
    pub(crate) baseline: String,
    /// What keeps the two from being compared in full, in words.
    pub(crate) notes: Vec<String>,
    pub(crate) cells: Vec<Compared>,
}

pub(super) fn page(comparison: Option<&Comparison>) -> Markup {
    let Some(comparison) = comparison else {
        return html! {
            p class="muted" { "This run was not compared with another. Two runs of the same machine are compared by "
                code { "tidings arena compare" } "." }
        };
    };
    let with = |change: Change| comparison.cells.iter().filter(move |c| c.change == change);
    let plot = SlopePlot {
        name: Name::new(
            "slopes",
            format!("This run against {}", comparison.baseline),
            "One line per cell from the baseline to this run, on a logarithmic axis. The table has all values.",
        ),
        before: comparison.baseline.clone(),
        after: "this run".to_owned(),
        slopes: comparison
            .cells
            .iter()
            .map(|c| Slope {
                label: c.cell.clone(),
                before: c.before,
                after: c.after,
                change: c.change,
            })
            .collect(),
    };
    html! {
        @for note in &comparison.notes { p { (note) } }
        ul class="tally" {
            @for change in [Change::Regressed, Change::Improved, Change::Same, Change::NotShown] {
                li { b { (with(change).count()) } (change.word()) }
            }
        }
        (figure(&plot.draw(), &html! { "Time per operation in " (comparison.baseline) " and in this run. Triangle down and thick: improved; "
            "triangle up and dashed: regressed; hollow: not shown." }))
        (table(comparison))
    }
}

fn table(comparison: &Comparison) -> Markup {
    let caption = format!("Against {}", comparison.baseline);
    let mut cells: Vec<&Compared> = comparison.cells.iter().collect();
    cells.sort_by(|a, b| (b.after / b.before).total_cmp(&(a.after / a.before)));
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } }
            (heads(&[("cell", false), ("verdict", false), ("before", true), ("after", true), ("after over before", true), ("95 % interval", true)]))
            tbody { @for cell in cells { tr {
                th scope="row" class="stick" { (cell.cell) }
                td class="w" { (cell.change.word()) }
                (number(Some(cell.before), words::time)) (number(Some(cell.after), words::time))
                (number(Some(cell.after / cell.before), |v| format!("{v:.3}")))
                td class="n" { (cell.ci95.map_or(words::NOTHING.to_owned(), |[low, high]| format!("{low:.3}..{high:.3}"))) }
            } } }
        }
    };
    scroll(&caption, &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_drawn_and_its_absence_said() {
        let cell = |name: &str, after, change| Compared {
            cell: name.to_owned(),
            before: 10.0,
            after,
            ci95: Some([after / 11.0, after / 9.0]),
            change,
        };
        let comparison = Comparison {
            baseline: "main".to_owned(),
            notes: vec!["another kernel".to_owned()],
            cells: vec![
                cell("pingpong/tell@go", 20.0, Change::Regressed),
                cell("fan/struct@go", 5.0, Change::Improved),
            ],
        };
        let page = page(Some(&comparison)).into_string();
        assert!(
            page.contains("regressed") && page.contains("another kernel") && page.contains("<svg")
        );
        let (worse, better) = (page.rfind("pingpong/tell@go"), page.rfind("fan/struct@go"));
        assert!(worse < better, "what got worse comes first");
        assert!(super::page(None).into_string().contains("was not compared"));
    }
}
