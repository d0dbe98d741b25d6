//! Latency: percentile curves of paced samples, and what a closed loop would have said.

use maud::{Markup, html};

use super::super::record::CellRecord;
use super::data::{Data, Histogram};
use super::plot::curve::{Curve, Series, Value};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};
use super::words::{self, heads, number, scroll};

/// Percentiles that are shown.
const SHOWN: &[f64] = &[0.5, 0.9, 0.99, 0.999, 1.0];

/// The least value of a bucket, by the rule of `arena/PROTOCOL.md`: exact below 64, then 32 steps per power of two.
#[expect(clippy::cast_precision_loss, reason = "a bucket is 3 % wide")]
fn value(bucket: u64) -> f64 {
    if bucket < 64 {
        return bucket as f64;
    }
    let (power, step) = (bucket / 32 - 1, bucket % 32 + 32);
    step as f64 * 2_f64.powi(i32::try_from(power).unwrap_or(60).min(60))
}

/// The value that the share `q` of all counts does not exceed.
#[expect(clippy::cast_precision_loss, reason = "counts of one run")]
fn percentile(histogram: &Histogram, q: f64) -> Option<f64> {
    let total: u64 = histogram.iter().map(|[_, count]| count).sum();
    let mut seen = 0;
    histogram.iter().find_map(|[bucket, count]| {
        seen += count;
        (*count > 0 && seen as f64 >= q * total as f64).then(|| value(*bucket))
    })
}

fn add(sum: &mut Histogram, other: &Histogram) {
    for [bucket, count] in other {
        match sum.binary_search_by_key(bucket, |[b, _]| *b) {
            Ok(place) => sum[place][1] += count,
            Err(place) => sum.insert(place, [*bucket, *count]),
        }
    }
}

/// The histograms of one cell at one rate, all samples together.
struct Measured<'a> {
    cell: &'a CellRecord,
    rate: Option<f64>,
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
                    rate: sample.rate,
                    paced: Vec::new(),
                    service: Vec::new(),
                });
                list.len() - 1
            });
            add(&mut list[place].paced, &sample.hist);
            add(&mut list[place].service, &sample.hist_service);
        }
    }
    list
}

/// A line over 1/(1-q), so that each further nine is one step.
fn series(name: String, mark: usize, histogram: &Histogram) -> Option<Series> {
    let mut values = Vec::new();
    for place in 0..40 {
        let x = 10_f64.powf(f64::from(place) / 10.0);
        if let Some(y) = percentile(histogram, 1.0 - 1.0 / x).filter(|y| *y > 0.0) {
            values.push(Value { x, y, ci: None });
        }
    }
    (values.len() > 1).then_some(Series { name, mark, values })
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
    let mut names: Vec<String> = measured.iter().map(|m| m.cell.name()).collect();
    names.dedup();
    html! {
        div class="plots" { @for (place, name) in names.iter().enumerate() {
            (figure(&curve(place, name, measured).draw(), &html! { (name) ": from the intended start, and service time from the actual one." }))
        } }
    }
}

/// The lines of one cell: latencies at each rate, then service times.
fn curve(place: usize, name: &str, measured: &[Measured<'_>]) -> Curve {
    let mut lines = Vec::new();
    for is_service in [false, true] {
        // Shapes and colours of service times begin where those of latencies end.
        let (first, what) = if is_service {
            (4, "service time")
        } else {
            (0, "latency")
        };
        let of = measured.iter().filter(|m| m.cell.name() == name);
        for (mark, m) in (first..).zip(of) {
            let histogram = if is_service { &m.service } else { &m.paced };
            let words = m
                .rate
                .map_or(what.to_owned(), |r| format!("{what} at {r:.0}/s"));
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
            format!("Latency of {name}"),
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
        let count: u64 = histogram.iter().map(|[_, count]| count).sum();
        html! {
            @if count > 0 { tr {
                th scope="row" class="stick" { (m.cell.name()) }
                td class="w" { (what) }
                (number(m.rate, |r| format!("{r:.0}")))
                td class="n" { (count) }
                @for q in SHOWN { (number(percentile(histogram, *q), words::time)) }
            } }
        }
    };
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } "; buckets are 3 % wide" }
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

    /// The rule of the protocol, as peers have it.
    fn bucket(v: u64) -> u64 {
        let e = 63 - u64::from((v | 63).leading_zeros());
        (e - 5) * 32 + (v >> (e - 5))
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "small values")]
    fn buckets_are_read_as_they_are_written() {
        for v in [0, 1, 63, 64, 65, 127, 128, 1000, 4096, 123_456_789] {
            let low = value(bucket(v));
            assert!(
                low <= v as f64 && (v as f64) <= low * 1.032 + 1.0,
                "{v}: {low}"
            );
        }
        let rising: Vec<f64> = (0..1000).map(value).collect();
        assert!(rising.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn percentiles_are_those_of_the_counts() {
        let mut histogram = vec![[10, 90]];
        add(&mut histogram, &vec![[50, 9], [60, 1]]);
        add(&mut histogram, &vec![[10, 0]]);
        assert_eq!(percentile(&histogram, 0.5), Some(10.0));
        assert_eq!(percentile(&histogram, 0.95), Some(50.0));
        assert_eq!(percentile(&histogram, 1.0), Some(60.0));
        assert_eq!(percentile(&Vec::new(), 0.5), None);
        let line = series("a".to_owned(), 0, &histogram).expect("values");
        assert!(
            line.values
                .windows(2)
                .all(|w| w[0].x < w[1].x && w[0].y <= w[1].y)
        );
    }
}
