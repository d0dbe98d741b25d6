//! The batch curve and the pairs sweep.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::curve::Curve;
use super::super::plot::scale::Quantity;
use super::super::plot::{Name, figure};
use super::{lines, push, rate_at, size};

pub(super) fn extras(data: &Data) -> Markup {
    let mut pairs = Vec::new();
    let mut variants: Vec<&str> = Vec::new();
    for cell in data.run.cells.iter().filter(|c| c.workload == "pingpong") {
        if !variants.contains(&cell.variant.as_str()) && !cell.variant.starts_with("batch-") {
            variants.push(&cell.variant);
        }
    }
    for variant in variants {
        if let Some(curve) = sweep(data, variant) {
            pairs.push(curve);
        }
    }
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

/// Messages per second over the number of pairs.
fn sweep(data: &Data, variant: &str) -> Option<(String, Curve)> {
    let mut series = Vec::new();
    let threads = data.thread_counts().last().copied();
    let cells =
        data.run.cells.iter().filter(|c| {
            c.workload == "pingpong" && c.variant == variant && Some(c.threads) == threads
        });
    for cell in cells {
        if let Some(value) = size(cell, "p").and_then(|p| rate_at(p, cell)) {
            push(&mut series, data, &cell.system, value);
        }
    }
    let series = lines(series);
    (!series.is_empty()).then(|| {
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
        (variant.to_owned(), curve)
    })
}

/// Messages per second over the messages a task handles in one turn: the curve of the 50 million post.
fn batch(data: &Data) -> Markup {
    let mut series = Vec::new();
    let threads = data.thread_counts().last().copied();
    let cells = data.run.cells.iter();
    for cell in cells.filter(|c| c.workload == "pingpong" && Some(c.threads) == threads) {
        let batch = cell
            .variant
            .strip_prefix("batch-")
            .and_then(|b| b.parse().ok());
        if let Some(value) = batch.and_then(|b| rate_at(b, cell)) {
            push(&mut series, data, &cell.system, value);
        }
    }
    let series = lines(series);
    if series.is_empty() {
        return html! {
            h3 { "Batch curve" }
            p class="muted" { "No system ran two of the variants batch-1, -5, -20, -100. They are in the standard profile, "
                "or by name: " code { "tidings arena run 'pingpong/batch-*'" } "." }
        };
    }
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
