//! Scaling: rates over thread counts, where several ran.

use maud::{Markup, html};

use super::data::{Data, slug};
use super::extras::{push, rate_at};
use super::plot::curve::{Curve, Series};
use super::plot::scale::Quantity;
use super::plot::{Name, figure};

pub(super) fn page(data: &Data) -> Markup {
    let counts = data.thread_counts();
    if counts.len() < 2 {
        let one = counts.first().copied().unwrap_or(0);
        return html! {
            p class="muted" { "All cells ran with one thread count (" (one) "), so there is nothing to draw. Several counts give cells of their own: "
                code { "tidings arena run --threads 1,all" } ". This machine has " (data.run.env.cores) " cores." }
        };
    }
    let curves = curves(data);
    html! {
        p { "Rate over worker threads, one plot for each cell that ran with several counts. A system that has one thread whatever it is asked for "
            "(see the column threads of its table) stays level." }
        div class="plots" { @for curve in &curves {
            (figure(&curve.draw(), &html! { (curve.name.title) ": rate with its 95 % interval." }))
        } }
    }
}

fn curves(data: &Data) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for group in data.groups() {
        let first = group.first();
        let title = format!("{}/{} {}", first.workload, first.variant, first.sizes());
        let place = curves.iter().position(|c| c.name.title == title);
        let place = place.unwrap_or_else(|| {
            curves.push(Curve {
                name: Name::new(
                    slug(&format!("scaling-{title}")),
                    title,
                    "Rate over worker threads, one line per system.",
                ),
                x: ("threads".to_owned(), Quantity::Count),
                y: (format!("{}/s", first.unit), Quantity::Rate),
                ticks: Vec::new(),
                series: Vec::new(),
            });
            curves.len() - 1
        });
        for cell in group.figured() {
            if let Some(value) = rate_at(f64::from(cell.threads), cell) {
                push(&mut curves[place].series, data, &cell.system, value);
            }
        }
    }
    for curve in &mut curves {
        let series: Vec<Series> = std::mem::take(&mut curve.series);
        curve.series = super::extras::lines(series);
    }
    curves.retain(|c| !c.series.is_empty());
    curves
}
