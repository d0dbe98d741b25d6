//! chain and fan with the columns of the seed's tables: Mean, Error, StdDev, Median, collections, Allocated.

use maud::{Markup, html};

use super::super::data::Data;
use super::super::plot::scale::count;
use super::super::words::{self, NOTHING, heads, number, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::statistics::stats;

/// One row: times are of a whole scenario, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) cell: &'a CellRecord,
    pub(crate) mean: f64,
    /// Half of the 99.9 % interval of the mean; absent with fewer than six samples.
    pub(crate) error: Option<f64>,
    pub(crate) sd: f64,
    pub(crate) median: f64,
    /// Collections per 1000 operations, by generation.
    pub(crate) collections: Vec<f64>,
    pub(crate) allocated: Option<f64>,
}

/// The rows of one workload, in the order of its groups.
pub(crate) fn rows<'a>(data: &'a Data, workload: &str) -> Vec<Row<'a>> {
    let mut list = Vec::new();
    for group in data.groups_of(workload) {
        list.extend(group.figured().filter_map(|cell| row(data, cell)));
    }
    list
}

fn row<'a>(data: &Data, cell: &'a CellRecord) -> Option<Row<'a>> {
    let figure = cell.ns_per_op?;
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    let ops = cell.ops as f64;
    let error = (cell.n_samples >= stats::MIN_FOR_INTERVAL).then(|| {
        let n = count(cell.n_samples);
        student_9995(n - 1.0) * figure.sd / n.sqrt() * ops
    });
    Some(Row {
        cell,
        mean: figure.mean * ops,
        error,
        sd: figure.sd * ops,
        median: figure.median * ops,
        collections: collections(data, cell),
        allocated: cell.alloc.map(|a| a.bytes_per_op * ops),
    })
}

fn collections(data: &Data, cell: &CellRecord) -> Vec<f64> {
    let mut sums: Vec<u64> = Vec::new();
    let mut repetitions = 0;
    for sample in data.of(cell).into_iter().filter(|s| s.is_round()) {
        repetitions += sample.inner;
        sums.resize(sums.len().max(sample.gc.len()), 0);
        for (sum, count) in sums.iter_mut().zip(&sample.gc) {
            *sum += u64::from(*count);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    let per_thousand = |sum: u64| 1000.0 * sum as f64 / repetitions as f64;
    sums.into_iter().map(per_thousand).collect()
}

/// The quantile 0.9995 of Student's t, by the expansion of Cornish and Fisher; within 1 % from 5 degrees of freedom on.
fn student_9995(freedom: f64) -> f64 {
    let z: f64 = 3.290_527;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
        (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5)
            - 1920.0 * z.powi(3)
            - 945.0 * z)
            / 92_160.0,
    ];
    let series = terms
        .iter()
        .rev()
        .fold(0.0, |sum, term| (sum + term) / freedom);
    z + series
}

/// Bytes as BenchmarkDotNet writes them.
pub(crate) fn kilobytes(bytes: f64) -> String {
    for (limit, unit) in [(1024.0 * 1024.0, "MB"), (1024.0, "KB")] {
        if bytes >= limit {
            return format!("{:.2} {unit}", bytes / limit);
        }
    }
    format!("{bytes:.0} B")
}

pub(super) fn table(data: &Data, workload: &str) -> Markup {
    let rows = rows(data, workload);
    if rows.is_empty() {
        return Markup::default();
    }
    let generations = rows.iter().map(|r| r.collections.len()).max().unwrap_or(0);
    let names: Vec<String> = (0..generations).map(|g| format!("Gen{g}")).collect();
    let mut columns = vec![
        ("Method", false),
        ("Size", false),
        ("Mean", true),
        ("Error", true),
        ("StdDev", true),
        ("Median", true),
    ];
    columns.extend(names.iter().map(|n| (n.as_str(), true)));
    columns.push(("Allocated", true));
    let caption = format!("{workload} with the columns of BenchmarkDotNet");
    let time = |value: f64| number(Some(value), words::time);
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } }
            (heads(&columns))
            tbody { @for row in &rows { tr {
                th scope="row" class="stick" { (row.cell.system) " " (row.cell.variant) }
                td class="w" { (data.extent(row.cell)) }
                (time(row.mean)) (number(row.error, words::time)) (time(row.sd)) (time(row.median))
                @for generation in 0..generations {
                    (number(row.collections.get(generation).copied(), |c| format!("{c:.4}")))
                }
                (number(row.allocated, kilobytes))
            } } }
        }
    };
    html! {
        h3 { "As BenchmarkDotNet would print it" }
        p { "Times of one whole scenario. Error: half of the 99.9 % interval of the mean (" (NOTHING) " with fewer than six samples). "
            "Gen: collections per 1000 scenarios, where the runtime reports them. Allocated: per scenario, freed or not, from a sample of its own; "
            (NOTHING) " where the runtime has no exact count. Unlike BenchmarkDotNet, no outlier is removed." }
        (scroll(&caption, &table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        for (freedom, table) in [(5.0, 6.869), (11.0, 4.437), (30.0, 3.646), (120.0, 3.373)] {
            let value = student_9995(freedom);
            assert!((value / table - 1.0).abs() < 0.01, "{freedom}: {value}");
        }
    }

    #[test]
    fn sizes_of_memory_are_those_of_the_seed() {
        assert_eq!(kilobytes(640.0), "640 B");
        assert_eq!(kilobytes(1536.0), "1.50 KB");
        assert_eq!(kilobytes(4.6 * 1024.0 * 1024.0), "4.60 MB");
    }
}
