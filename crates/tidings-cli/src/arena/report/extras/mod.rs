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

/// Values of systems by plot: a line for each system, which looks the same in all plots, in rising order. Lines of one
/// value, and plots without a line, are left out.
pub(super) fn curves<'a, K: PartialEq>(
    data: &Data,
    values: impl IntoIterator<Item = (K, &'a str, Value)>,
) -> Vec<(K, Vec<Series>)> {
    let systems = data.systems();
    let mut curves: Vec<(K, Vec<Series>)> = Vec::new();
    for (plot, system, value) in values {
        let place = curves.iter().position(|(known, _)| *known == plot);
        let place = place.unwrap_or_else(|| {
            curves.push((plot, Vec::new()));
            curves.len() - 1
        });
        let lines = &mut curves[place].1;
        match lines.iter_mut().find(|line| line.name == system) {
            Some(line) => line.values.push(value),
            None => lines.push(Series {
                name: system.to_owned(),
                mark: systems.iter().position(|s| *s == system).unwrap_or(0),
                values: vec![value],
            }),
        }
    }
    for (_, lines) in &mut curves {
        lines.retain(|line| line.values.len() > 1);
        for line in lines {
            line.values.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
    }
    curves.retain(|(_, lines)| !lines.is_empty());
    curves
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
