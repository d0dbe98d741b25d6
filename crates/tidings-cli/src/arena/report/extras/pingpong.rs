//! The batch curve and the pairs sweep.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::curve::Curve;
use super::super::plot::scale::Quantity;
use super::super::plot::{Name, figure};
use super::{curves, rate_at, size};
use crate::arena::records::record::CellRecord;

pub(super) fn extras(data: &Data) -> Markup {
    let pairs = pairs(data);
    html! {
        (batch(data))
        @if !pairs.is_empty() {
            h3 { "Pairs" }
            p { "Messages per second of all pairs together, over the number of pairs. Sizes may differ in n as well: the tables tell." }
            div class="plots" { @for (variant, curve) in pairs {
                (figure(&curve.draw(), &html! { "pingpong/" (variant) ": rate with its 95 % interval." }))
            } }
        }
    }
}

/// The cells with the most threads.
fn cells(data: &Data) -> impl Iterator<Item = &CellRecord> {
    let threads = data.thread_counts().last().copied();
    let cells = data.run.cells.iter();
    cells.filter(move |c| c.workload == "pingpong" && Some(c.threads) == threads)
}

/// Messages per second over the number of pairs, by variant.
fn pairs(data: &Data) -> Vec<(&str, Curve)> {
    let swept = cells(data).filter(|c| !c.variant.starts_with("batch-"));
    let values = swept.filter_map(|cell| {
        let value = rate_at(size(cell, "p")?, cell)?;
        Some((cell.variant.as_str(), cell.system.as_str(), value))
    });
    let drawn = curves(data, values).into_iter().map(|(variant, series)| {
        let curve = Curve {
            name: Name::new(
                format!("pairs-{variant}"),
                format!("Pairs of pingpong/{variant}"),
                "Messages per second over the number of pairs, one line per system.",
            ),
            x: ("pairs".to_owned(), Quantity::Count),
            y: ("msg/s".to_owned(), Quantity::Rate),
            ticks: Vec::new(),
            series,
        };
        (variant, curve)
    });
    drawn.collect()
}

/// Messages per second over the messages a task handles in one turn: the curve of the 50 million post.
fn batch(data: &Data) -> Markup {
    let values = cells(data).filter_map(|cell| {
        let batch = cell.variant.strip_prefix("batch-")?.parse().ok()?;
        Some(((), cell.system.as_str(), rate_at(batch, cell)?))
    });
    let Some(((), series)) = curves(data, values).pop() else {
        return html! {
            h3 { "Batch curve" }
            p class="muted" { "No system ran two of the variants batch-1, -5, -20, -100. They are in the standard profile, "
                "or by name: " code { "tidings arena run 'pingpong/batch-*'" } "." }
        };
    };
    let curve = Curve {
        name: Name::new(
            "batch",
            "Batch curve",
            "Messages per second over the messages a task handles in one turn.",
        ),
        x: ("messages a turn, at most".to_owned(), Quantity::Count),
        y: ("msg/s".to_owned(), Quantity::Rate),
        ticks: Vec::new(),
        series,
    };
    html! {
        h3 { "Batch curve" }
        p { "Window 1000, with the number of messages that a task may handle in one turn limited to 1, 5, 20 and 100. "
            "The post of 50 million messages per second swept the same setting of its dispatcher (throughput)." }
        (figure(&curve.draw(), &html! { "Messages per second with the 95 % interval." }))
    }
}
