//! Latency: percentile curves of paced samples, and what a closed loop would have said.

use maud::{Markup, html};

use super::data::Data;
use super::plot::curve::{Curve, Series, Value};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};
use super::words::{self, heads, number, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::statistics::histogram::{Bucket, Histogram};

/// Percentiles that are shown, of a million.
const SHOWN: &[u32] = &[500_000, 900_000, 990_000, 999_000, 1_000_000];

/// The histograms of one cell at one rate, all samples together.
struct Measured<'a> {
    cell: &'a CellRecord,
    /// Tells the cell from all others.
    title: String,
    rate: Option<u64>,
    paced: Histogram,
    service: Histogram,
}

fn measured(data: &Data) -> Vec<Measured<'_>> {
    let mut list: Vec<Measured<'_>> = Vec::new();
    for cell in &data.run.cells {
        for sample in data.of(cell) {
            if sample.hist.is_empty() && sample.hist_service.is_empty() {
                continue;
            }
            let found = list
                .iter()
                .position(|m| std::ptr::eq(m.cell, cell) && m.rate == sample.rate);
            let place = found.unwrap_or_else(|| {
                list.push(Measured {
                    cell,
                    title: data.title(cell),
                    rate: sample.rate,
                    paced: Histogram::default(),
                    service: Histogram::default(),
                });
                list.len() - 1
            });
            list[place].paced.merge(&read(&sample.hist));
            list[place].service.merge(&read(&sample.hist_service));
        }
    }
    list
}

/// What the run kept: it was read when the peer sent it, so what cannot be read is not of this arena.
fn read(buckets: &[Bucket]) -> Histogram {
    Histogram::read(buckets).unwrap_or_default()
}

/// A line over 1/(1-q), so that each further nine is one step.
fn series(name: String, mark: usize, histogram: &Histogram) -> Option<Series> {
    let mut values = Vec::new();
    for place in 0..40 {
        let x = 10_f64.powf(f64::from(place) / 10.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a million"
        )]
        let y = shown(histogram.quantile((1e6 * (1.0 - 1.0 / x)).round() as u32));
        if y > 0.0 {
            values.push(Value { x, y, ci: None });
        }
    }
    (values.len() > 1).then_some(Series { name, mark, values })
}

#[expect(clippy::cast_precision_loss, reason = "a bucket is 3 % wide")]
fn shown(value: u64) -> f64 {
    value as f64
}

pub(super) fn page(data: &Data) -> Markup {
    let measured = measured(data);
    html! {
        p { "Throughput and latency are different questions. A closed loop has one request outstanding per client, so a stall of the system "
            "stops the clock's work too: its percentiles are service times (" a href="#T14" { "T14" } "). Latency is taken from a paced load: "
            "requests leave on a fixed schedule, and each is timed from the moment it should have left." }
        @if measured.is_empty() {
            p class="muted" { "This run has no histograms. They come from net/paced, of systems whose peer has the capability hist: "
                code { "tidings arena run net/paced" } "." }
        } @else { (plots(&measured)) (table(&measured)) }
    }
}

fn plots(measured: &[Measured<'_>]) -> Markup {
    // Those of one cell stand together.
    let cells = measured.chunk_by(|a, b| std::ptr::eq(a.cell, b.cell));
    html! {
        div class="plots" { @for (place, cell) in cells.enumerate() {
            (figure(&curve(place, cell).draw(), &html! { (cell[0].title) ": from the intended start, and service time from the actual one." }))
        } }
    }
}

/// The lines of one cell: latencies at each rate, then service times.
fn curve(place: usize, cell: &[Measured<'_>]) -> Curve {
    let mut lines = Vec::new();
    for is_service in [false, true] {
        // Shapes and colours of service times begin where those of latencies end.
        let (first, what) = if is_service {
            (4, "service time")
        } else {
            (0, "latency")
        };
        for (mark, m) in (first..).zip(cell) {
            let histogram = if is_service { &m.service } else { &m.paced };
            let words = m
                .rate
                .map_or(what.to_owned(), |r| format!("{what} at {r}/s"));
            lines.extend(series(words, mark, histogram));
        }
    }
    let ticks = [
        (2.0, "50 %"),
        (10.0, "90 %"),
        (100.0, "99 %"),
        (1000.0, "99.9 %"),
    ];
    Curve {
        name: Name::new(
            format!("latency-{place}"),
            format!("Latency of {}", cell[0].title),
            "Latency over percentiles, each further nine one step. The table has the values.",
        ),
        x: ("percentile".to_owned(), Quantity::Count),
        y: ("latency".to_owned(), Quantity::Time),
        ticks: ticks
            .iter()
            .map(|(x, words)| (*x, (*words).to_owned()))
            .collect(),
        series: lines,
    }
}

fn table(measured: &[Measured<'_>]) -> Markup {
    let caption = "Percentiles";
    let row = |m: &Measured<'_>, what: &str, histogram: &Histogram| {
        let count = histogram.count();
        html! {
            @if count > 0 { tr {
                th scope="row" class="stick" { (m.title) }
                td class="w" { (what) }
                (number(m.rate.map(shown), |r| format!("{r:.0}")))
                td class="n" { (count) }
                @for q in SHOWN { (number(Some(shown(histogram.quantile(*q))), words::time)) }
            } }
        }
    };
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } "; each the upper edge of a bucket, at most 3 % too high" }
            (heads(&[("cell", false), ("kind", false), ("requests/s", true), ("count", true), ("p50", true), ("p90", true),
                ("p99", true), ("p99.9", true), ("max", true)]))
            tbody { @for m in measured { (row(m, "latency", &m.paced)) (row(m, "service time", &m.service)) } }
        }
    };
    scroll(caption, &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_to_the_upper_edge_of_its_last_bucket() {
        let mut histogram = read(&[[10, 90]]);
        histogram.merge(&read(&[[50, 9], [64, 1]]));
        let line = series("a".to_owned(), 0, &histogram).expect("values");
        let rises = |w: &[Value]| w[0].x < w[1].x && w[0].y <= w[1].y;
        assert!(line.values.windows(2).all(rises));
        let ends = [&line.values[0], &line.values[39]].map(|value| value.y);
        assert_eq!(ends.map(f64::to_bits), [10.0, 65.0].map(f64::to_bits));
        assert!(series("b".to_owned(), 0, &read(&[])).is_none());
    }
}
