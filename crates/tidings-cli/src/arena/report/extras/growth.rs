//! How the cost of an operation grows with what is there: a curve for each variant.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::curve::{Curve, Series, Value};
use super::super::plot::scale::Quantity;
use super::super::plot::{Name, figure};
use super::{lines, push, size};

pub(super) fn extras(data: &Data) -> Markup {
    let mut curves: Vec<(String, Vec<Series>)> = Vec::new();
    for cell in data.run.cells.iter().filter(|c| c.workload == "growth") {
        let (Some(k), Some(figure)) = (size(cell, "k"), cell.ns_per_op) else {
            continue;
        };
        let value = Value {
            x: k,
            y: figure.median,
            ci: figure.ci95,
        };
        let title = format!("growth/{}, {} threads", cell.variant, cell.threads);
        let place = curves.iter().position(|(name, _)| *name == title);
        let place = place.unwrap_or_else(|| {
            curves.push((title, Vec::new()));
            curves.len() - 1
        });
        push(&mut curves[place].1, data, &cell.system, value);
    }
    let drawn: Vec<Curve> = curves
        .into_iter()
        .enumerate()
        .map(|(place, (title, series))| Curve {
            name: Name::new(
                format!("growth-{place}"),
                title,
                "Nanoseconds of an operation over what is there, one line per system.",
            ),
            x: ("k, of which so many are there".to_owned(), Quantity::Count),
            y: ("ns/op".to_owned(), Quantity::Time),
            ticks: Vec::new(),
            series: lines(series),
        })
        .filter(|curve| !curve.series.is_empty())
        .collect();
    html! {
        h3 { "Growth" }
        @if drawn.is_empty() {
            p class="muted" { "One size only, so there is nothing to draw. Each profile but the smoke test has several." }
        } @else {
            p { "A level line is an operation whose cost does not depend on how much is there; for branches, whose cost is a "
                "part for each, it is a line of slope 1." }
            div class="plots" { @for curve in &drawn {
                (figure(&curve.draw(), &html! { (curve.name.title) ": time of an operation, with the 95 % interval." }))
            } }
        }
    }
}
