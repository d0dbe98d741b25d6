//! The comparison with a baseline, as `arena compare` makes it: drawn, and as a table.

use maud::{Markup, html};

use super::plot::slope::{Slope, SlopePlot};
use super::plot::{Name, figure};
use super::words::{self, heads, number, scroll};
use crate::arena::verbs::compare::{Compared, Comparison, Outcome};

/// More lines than these in one plot tell nothing apart.
const DRAWN: usize = 40;

/// This run against another.
#[derive(Debug)]
pub(crate) struct Against {
    /// What the other is called.
    pub(crate) name: String,
    pub(crate) comparison: Comparison,
}

impl Against {
    /// What is to be known of the comparison as a whole.
    pub(super) fn notes(&self) -> Vec<String> {
        let c = &self.comparison;
        let mut notes = vec![format!(
            "Baseline {} is run {}. Peers that were changed or built anew since are not compared. A difference below {:.0} % does not matter.",
            self.name,
            c.a,
            100.0 * c.threshold
        )];
        if c.one_launch {
            notes.push(
                "One of the two has one launch: variance between processes is not seen.".to_owned(),
            );
        }
        for (count, place) in [(c.only_a, "the baseline"), (c.only_b, "this run")] {
            if count > 0 {
                notes.push(format!(
                    "Only in {place}: {}.",
                    words::counted(count, "cell")
                ));
            }
        }
        notes
    }

    /// The cells, what grew the most first; those without two figures before all.
    pub(super) fn cells(&self) -> Vec<&Compared> {
        let mut cells: Vec<&Compared> = self.comparison.cells.iter().collect();
        let growth = |cell: &Compared| cell.ratio.unwrap_or(f64::INFINITY);
        cells.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
        cells
    }
}

/// `pingpong/tell@go`.
pub(super) fn name(cell: &Compared) -> String {
    format!("{}/{}@{}", cell.workload, cell.variant, cell.system)
}

/// The interval of after over before.
pub(super) fn interval(cell: &Compared) -> String {
    cell.ci95.map_or(words::NOTHING.to_owned(), |[low, high]| {
        format!("{low:.3}..{high:.3}")
    })
}

pub(super) fn page(against: Option<&Against>) -> Markup {
    let Some(against) = against else {
        return html! {
            p class="muted" { "This run was not compared with another. " code { "tidings arena report --baseline NAME" }
                " compares it with a saved baseline, " code { "tidings arena compare" } " any two runs of one machine." }
        };
    };
    let slopes = slopes(against);
    let of = &against.comparison;
    html! {
        @for note in against.notes() { p { (note) } }
        ul class="tally" {
            @for outcome in Outcome::ALL {
                @let count = of.count(outcome);
                @if count > 0 || outcome < Outcome::NotCompared { li { b { (count) } (outcome.name()) } }
            }
        }
        @if !slopes.slopes.is_empty() {
            (figure(&slopes.draw(), &html! { "Time per operation in " (against.name) " and in this run"
                @if of.cells.len() > DRAWN { ", the " (DRAWN) " cells that changed the most" }
                ". Triangle down and thick: faster; triangle up and dashed: slower; hollow: not shown." }))
        }
        (table(against))
    }
}

fn slopes(against: &Against) -> SlopePlot {
    let slope = |cell: &&Compared| {
        (cell.outcome != Outcome::NotCompared).then_some(())?;
        Some(Slope {
            label: name(cell),
            before: cell.a?,
            after: cell.b?,
            outcome: cell.outcome,
        })
    };
    let mut slopes: Vec<Slope> = against.cells().iter().filter_map(slope).collect();
    let change = |slope: &Slope| (slope.after / slope.before).ln().abs();
    slopes.sort_by(|a, b| change(b).total_cmp(&change(a)));
    slopes.truncate(DRAWN);
    SlopePlot {
        name: Name::new(
            "slopes",
            format!("This run against {}", against.name),
            "One line per cell from the baseline to this run, on a logarithmic axis. The table has all values.",
        ),
        before: against.name.clone(),
        after: "this run".to_owned(),
        slopes,
    }
}

fn table(against: &Against) -> Markup {
    let caption = format!("Against {}", against.name);
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } }
            (heads(&[("cell", false), ("sizes", false), ("verdict", false), ("before", true), ("after", true),
                ("after over before", true), ("95 % interval", true), ("why", false)]))
            tbody { @for cell in against.cells() { tr {
                th scope="row" class="stick" { (name(cell)) }
                td class="w" { (cell.sizes) " threads=" (cell.threads) }
                td class="w" { (cell.outcome.name()) }
                (number(cell.a, words::time)) (number(cell.b, words::time))
                (number(cell.ratio, |v| format!("{v:.3}")))
                td class="n" { (interval(cell)) }
                td class="w" { (cell.note.as_deref().unwrap_or_default()) }
            } } }
        }
    };
    scroll(&caption, &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(workload: &str, after: Option<f64>, outcome: Outcome) -> Compared {
        Compared {
            workload: workload.to_owned(),
            variant: "x".to_owned(),
            system: "go".to_owned(),
            sizes: "n=1".to_owned(),
            threads: 2,
            unit: "msg".to_owned(),
            a: Some(10.0),
            b: after,
            ratio: after.map(|after| after / 10.0),
            ci95: after.map(|after| [after / 11.0, after / 9.0]),
            outcome,
            note: after
                .is_none()
                .then(|| "now crash: exited with 7".to_owned()),
        }
    }

    #[test]
    fn a_comparison_is_drawn_and_its_absence_said() {
        let against = Against {
            name: "main".to_owned(),
            comparison: Comparison {
                schema: "tidings.arena.compare/1",
                a: "then".to_owned(),
                b: "now".to_owned(),
                threshold: 0.05,
                machines_differ: Vec::new(),
                to: None,
                one_launch: true,
                cells: vec![
                    cell("fan", Some(5.0), Outcome::Faster),
                    cell("pingpong", Some(20.0), Outcome::Slower),
                    cell("chain", None, Outcome::Fails),
                ],
                only_a: 1,
                only_b: 0,
            },
        };
        let page = page(Some(&against)).into_string();
        for words in [
            "<b>1</b>slower",
            "run then",
            "one launch",
            "Only in the baseline: 1 cell.",
            "slope regressed",
            "exited with 7",
        ] {
            assert!(
                page.to_lowercase().contains(&words.to_lowercase()),
                "{words}: {page}"
            );
        }
        let at = |cell: &str| page.rfind(cell).expect("in the table");
        assert!(at("chain/x@go") < at("pingpong/x@go"), "failures first");
        assert!(at("pingpong/x@go") < at("fan/x@go"), "then what got worse");
        assert!(super::page(None).into_string().contains("was not compared"));
    }
}
