//! Scaling: rates over thread counts, where several ran.

use maud::{Markup, html};

use super::data::{Data, Group, slug};
use super::extras::{curves, rate_at};
use super::plot::curve::Curve;
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
    let curves = drawn(data);
    html! {
        p { "Rate over worker threads, one plot for each cell that ran with several counts. A system that has one thread whatever it is asked for "
            "(see the column threads of its table) stays level." }
        div class="plots" { @for curve in &curves {
            (figure(&curve.draw(), &html! { (curve.name.title) ": rate with its 95 % interval." }))
        } }
    }
}

fn drawn(data: &Data) -> Vec<Curve> {
    let groups = data.groups();
    let figured = groups.iter().flat_map(Group::figured);
    let values = figured.filter_map(|cell| {
        let title = format!("{}/{} {}", cell.workload, cell.variant, cell.sizes());
        let value = rate_at(f64::from(cell.threads), cell)?;
        Some(((title, cell.unit.as_str()), cell.system.as_str(), value))
    });
    let curves = curves(data, values).into_iter();
    let curves = curves.map(|((title, unit), series)| Curve {
        name: Name::new(
            slug(&format!("scaling-{title}")),
            title,
            "Rate over worker threads, one line per system.",
        ),
        x: ("threads".to_owned(), Quantity::Count),
        y: (format!("{unit}/s"), Quantity::Rate),
        ticks: Vec::new(),
        series,
    });
    curves.collect()
}
