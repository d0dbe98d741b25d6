//! The ladder over n: the five rows of the seed, with the cold start in a column of its own.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::curve::Curve;
use super::super::plot::scale::Quantity;
use super::super::plot::{Name, figure};
use super::super::words::{heads, number, scroll};
use super::{curves, rate_at, size};
use crate::arena::units;

pub(super) fn extras(data: &Data) -> Markup {
    let cells = data.run.cells.iter().filter(|c| c.workload == "counter");
    let values = cells.filter_map(|cell| {
        let producers = cell.params.get("P").copied().unwrap_or(0);
        let title = format!(
            "counter/{}, P={producers}, {} threads",
            cell.variant, cell.threads
        );
        let value = rate_at(size(cell, "n")?, cell)?;
        Some((title, cell.system.as_str(), value))
    });
    let drawn = curves(data, values).into_iter().enumerate();
    let drawn: Vec<Curve> = drawn
        .map(|(place, (title, series))| Curve {
            name: Name::new(
                format!("ladder-{place}"),
                title,
                "Messages per second over the additions of each producer, one line per system.",
            ),
            x: ("n, additions of each producer".to_owned(), Quantity::Count),
            y: ("msg/s".to_owned(), Quantity::Rate),
            ticks: Vec::new(),
            series,
        })
        .collect();
    html! {
        h3 { "Ladder over n" }
        @if drawn.is_empty() {
            p class="muted" { "One size only. The five sizes of the seed are in the standard profile, or: "
                code { "tidings arena run counter/send --size counter.n=300,3000,30000,300000,3000000" } "." }
        } @else {
            div class="plots" { @for curve in &drawn {
                (figure(&curve.draw(), &html! { (curve.name.title) ": messages per second, steady, with the 95 % interval." }))
            } }
        }
        p { "Steady state and cold start are different figures: the first sample of a fresh process pays for loading and "
            "compiling. The seed's rows at n = 300 are cold starts (" a href="#T6" { "T6" } ")." }
        (cold(data))
    }
}

fn cold(data: &Data) -> Markup {
    let caption = "Counter: first sample of the process, and steady";
    let table = html! {
        table class="data sorts filters" {
            caption { b { (caption) } }
            (heads(&[("system", false), ("variant", false), ("size", false), ("first sample, msg/s", true),
                ("steady, msg/s", true), ("steady over first", true), ("mailbox", false)]))
            tbody {
                @for group in data.groups_of("counter") { @for cell in group.figured() {
                    @let figure = cell.ns_per_op;
                    tr {
                        th scope="row" class="stick" { (cell.system) }
                        td class="w" { (cell.variant) }
                        td class="w" { (data.extent(cell)) }
                        (number(figure.map(|f| 1e9 / f.first), units::rate))
                        (number(cell.rate, units::rate))
                        (number(figure.map(|f| f.first / f.median), |v| format!("{}×", units::digits(v))))
                        td { (cell.labels.get("mailbox").map_or("", String::as_str)) }
                    }
                } }
            }
        }
    };
    scroll(caption, &table)
}
