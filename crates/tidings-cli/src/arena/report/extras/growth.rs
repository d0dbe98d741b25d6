//! How the cost of an operation grows with what is there: a curve for each variant.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::curve::{Curve, Value};
use super::super::plot::scale::Quantity;
use super::super::plot::{Name, figure};
use super::{curves, size};

pub(super) fn extras(data: &Data) -> Markup {
    let cells = data.run.cells.iter().filter(|c| c.workload == "growth");
    let values = cells.filter_map(|cell| {
        let figure = cell.ns_per_op?;
        let value = Value {
            x: size(cell, "k")?,
            y: figure.median,
            ci: figure.ci95,
        };
        let title = format!("growth/{}, {} threads", cell.variant, cell.threads);
        Some((title, cell.system.as_str(), value))
    });
    let drawn = curves(data, values).into_iter().enumerate();
    let drawn: Vec<Curve> = drawn
        .map(|(place, (title, series))| Curve {
            name: Name::new(
                format!("growth-{place}"),
                title,
                "Nanoseconds of an operation over what is there, one line per system.",
            ),
            x: ("k, of which so many are there".to_owned(), Quantity::Count),
            y: ("ns/op".to_owned(), Quantity::Time),
            ticks: Vec::new(),
            series,
        })
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
