//! The full table of a group: every figure, every label, and where the peer's source is.

use maud::{Markup, html};

use super::data::{Data, Group};
use super::words::{self, NOTHING, number, scroll};
use crate::arena::records::record::CellRecord;
use crate::arena::units;

pub(super) fn full(data: &Data, group: &Group<'_>) -> Markup {
    let unit = &group.first().unit;
    let ns = format!("ns/{unit}");
    let rate = format!("{unit}/s");
    let bytes = format!("B/{unit}");
    let count = format!("allocs/{unit}");
    let cpu = format!("CPU ns/{unit}");
    let columns = [
        ("system", false),
        ("rank", true),
        (&*rate, true),
        (&*ns, true),
        ("95 % interval", true),
        ("", true),
        ("against the reference", false),
        ("mean", true),
        ("sd", true),
        ("min", true),
        ("max", true),
        ("first", true),
        (&*bytes, true),
        (&*count, true),
        (&*cpu, true),
        ("cores", true),
        ("peak RSS", true),
        ("samples", true),
        ("outliers", true),
        ("state", false),
        ("labels", false),
        ("threads", true),
        ("version", false),
        ("origin", false),
        ("source", false),
        ("build", false),
    ];
    let title = group.title();
    let table = html! {
        table class="data sorts" {
            caption { b { (title) } }
            (words::heads(&columns))
            tbody { @for cell in &group.cells { (row(data, cell)) } }
        }
    };
    scroll(&title, &table)
}

fn row(data: &Data, cell: &CellRecord) -> Markup {
    let figure = cell.ns_per_op;
    let digits = |value: Option<f64>| number(value, units::digits);
    let of = |field: fn(crate::arena::records::record::Figure) -> f64| figure.map(field);
    let with_figure = |value: Option<f64>| value.filter(|_| figure.is_some());
    #[expect(
        clippy::cast_precision_loss,
        reason = "sorted by, and shown with three digits"
    )]
    let rss = cell.peak_rss.map(|b| b as f64);
    let outliers = cell.outliers;
    html! {
        tr class=[(cell.system == data.run.plan.reference).then_some("ref")] {
            th scope="row" class="stick" { (cell.system) }
            (number(cell.rank.map(f64::from), |r| format!("{r:.0}")))
            (number(cell.rate, units::rate))
            (digits(of(|f| f.median)))
            td class="n" { (figure.map_or(NOTHING.to_owned(), |f| f.ci95.map_or("few samples".to_owned(),
                |[low, high]| format!("{}..{}", units::digits(low), units::digits(high))))) }
            td class="n" { (figure.as_ref().map_or(NOTHING.to_owned(), words::spread)) }
            td class="w" data-v=[cell.ratio.as_ref().map(|r| r.median)] { (cell.ratio.as_ref().map_or(NOTHING.to_owned(), words::full)) }
            (digits(of(|f| f.mean))) (digits(of(|f| f.sd))) (digits(of(|f| f.min))) (digits(of(|f| f.max))) (digits(of(|f| f.first)))
            (digits(cell.alloc.map(|a| a.bytes_per_op))) (digits(cell.alloc.map(|a| a.count_per_op)))
            (digits(with_figure(cell.cpu_ns_per_op))) (digits(with_figure(cell.cores_used)))
            (number(with_figure(rss), |_| cell.peak_rss.map(units::bytes).unwrap_or_default()))
            td class="n" data-v=(cell.n_samples) {
                (cell.n_samples) @if cell.launches > 1 { " in " (cell.launches) }
            }
            td class="n" data-v=(outliers.mild + outliers.severe) title={ (format!("{:.0} %", 100.0 * outliers.variance_share)) " of the variance" } {
                (outliers.mild) " mild, " (outliers.severe) " severe"
            }
            td { (words::states(cell)) @if !cell.elision_tested && figure.is_some() { span class="state" { "elision not tested" } } }
            td class="w" { (words::labels(cell)) }
            td class="n" { (cell.peer_threads.unwrap_or(cell.threads)) }
            td class="w" title=[cell.flags.as_deref()] { (cell.version.as_deref().unwrap_or(NOTHING)) }
            td class="w" { (cell.origin) }
            td class="w" { (words::source(data, &cell.peer)) }
            td class="w" { @match &cell.build_hash { Some(hash) => code { (hash) }, None => (NOTHING) } }
        }
    }
}
