//! What only one workload has: its curves, ladders and tables.

mod bdn;
mod counter;
mod growth;
mod net;
mod pingpong;
mod skynet;

use maud::Markup;

use super::data::Data;
use super::plot::curve::{Series, Value};
use crate::arena::records::record::CellRecord;

pub(super) use bdn::{kilobytes, rows};

/// The extras of a workload, for its page.
pub(super) fn of(data: &Data, workload: &str) -> Markup {
    match workload {
        "pingpong" => pingpong::extras(data),
        "chain" | "fan" => bdn::table(data, workload),
        "counter" => counter::extras(data),
        "growth" => growth::extras(data),
        "skynet" => skynet::extras(data),
        "net" => net::extras(data),
        _ => Markup::default(),
    }
}

/// One point of a line for a cell: its rate with the interval turned over.
pub(super) fn rate_at(x: f64, cell: &CellRecord) -> Option<Value> {
    let figure = cell.ns_per_op?;
    Some(Value {
        x,
        y: 1e9 / figure.median,
        ci: figure.ci95.map(|[low, high]| [1e9 / high, 1e9 / low]),
    })
}

/// Adds a value to the line of its system, which looks the same in all plots.
pub(super) fn push(series: &mut Vec<Series>, data: &Data, system: &str, value: Value) {
    match series.iter_mut().find(|s| s.name == system) {
        Some(line) => line.values.push(value),
        None => series.push(Series {
            name: system.to_owned(),
            mark: data
                .systems()
                .iter()
                .position(|s| *s == system)
                .unwrap_or(0),
            values: vec![value],
        }),
    }
}

/// Lines of at least two values, each in rising order.
pub(super) fn lines(mut series: Vec<Series>) -> Vec<Series> {
    series.retain(|s| s.values.len() > 1);
    for line in &mut series {
        line.values.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    series
}

/// A size as a position.
#[expect(
    clippy::cast_precision_loss,
    reason = "a position on a logarithmic axis"
)]
fn size(cell: &CellRecord, key: &str) -> Option<f64> {
    cell.params.get(key).map(|v| *v as f64)
}

/// Time of one repetition of the whole scenario, in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn scenario(cell: &CellRecord) -> Option<f64> {
    cell.ns_per_op.map(|f| f.median * cell.ops as f64)
}
