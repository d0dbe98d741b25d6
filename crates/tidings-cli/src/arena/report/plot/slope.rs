//! The slope plot: each cell before and after, one line each.

use maud::{Markup, html};

use super::scale::{Log, Quantity};
use super::{Name, fit, line, mark, svg, text};
use crate::arena::verbs::compare::Outcome;

const WIDTH: f64 = 500.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = WIDTH - 170.0;
const TOP: f64 = 30.0;
const LINE: f64 = 14.0;

#[derive(Clone, Debug)]
pub(crate) struct Slope {
    pub(crate) label: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) struct SlopePlot {
    pub(crate) name: Name,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) slopes: Vec<Slope>,
}

impl SlopePlot {
    fn base(&self) -> f64 {
        TOP + 40.0 + LINE * super::scale::count(self.slopes.len())
    }

    fn axis(&self) -> Option<Log> {
        let values = self.slopes.iter().flat_map(|s| [s.before, s.after]);
        Log::over(values, 2.0, self.base(), TOP)
    }

    /// The baselines of the labels at the right: at their ends, but never over each other.
    fn labels(&self, axis: &Log) -> Vec<f64> {
        let mut order: Vec<usize> = (0..self.slopes.len()).collect();
        let end = |index: usize| axis.at(self.slopes[index].after) + 4.0;
        order.sort_by(|a, b| end(*a).total_cmp(&end(*b)));
        let mut places = vec![0.0; self.slopes.len()];
        let mut free = f64::NEG_INFINITY;
        for index in order {
            places[index] = end(index).max(free);
            free = places[index] + LINE;
        }
        places
    }

    pub(crate) fn draw(&self) -> Markup {
        let Some(axis) = self.axis() else {
            return Markup::default();
        };
        let labels = self.labels(&axis);
        let lowest = labels.iter().copied().fold(self.base(), f64::max);
        let body = html! {
            (text("head end", (LEFT, 14.0), &fit(&self.before, LEFT)))
            (text("head", (RIGHT, 14.0), &fit(&self.after, WIDTH - RIGHT)))
            (line("axis", (LEFT, TOP), (LEFT, self.base())))
            (line("axis", (RIGHT, TOP), (RIGHT, self.base())))
            @for tick in axis.ticks(Quantity::Time, 24.0) {
                (text("label", (LEFT - 8.0, axis.at(tick) + 4.0), &Quantity::Time.write(tick)))
                (line("axis", (LEFT - 4.0, axis.at(tick)), (LEFT, axis.at(tick))))
            }
            @for (slope, y) in self.slopes.iter().zip(&labels) {
                @let (from, to) = ((LEFT, axis.at(slope.before)), (RIGHT, axis.at(slope.after)));
                @let (class, shape) = match slope.outcome {
                    Outcome::Faster => ("slope improved", 4),
                    Outcome::Slower => ("slope regressed", 2),
                    _ => ("slope", 0),
                };
                (line(class, from, to))
                (mark(shape, slope.outcome == Outcome::NotShown, to, 3.6))
                (text("start small", (RIGHT + 10.0, *y), &fit(&slope.label, WIDTH - RIGHT)))
            }
        };
        svg(&self.name, WIDTH, lowest + 14.0, "slopes", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_fall_when_the_time_falls_and_labels_are_apart() {
        let slope = |before, after, outcome| Slope {
            label: "pingpong/tell@go".to_owned(),
            before,
            after,
            outcome,
        };
        let plot = SlopePlot {
            name: Name::new("s", "t", "d"),
            before: "main".to_owned(),
            after: "this run".to_owned(),
            slopes: vec![
                slope(100.0, 50.0, Outcome::Faster),
                slope(50.0, 51.0, Outcome::Same),
                slope(50.0, 52.0, Outcome::NotShown),
                slope(20.0, 40.0, Outcome::Slower),
            ],
        };
        let axis = plot.axis().expect("slopes");
        assert!(axis.at(100.0) < axis.at(50.0), "slow is up");
        let mut labels = plot.labels(&axis);
        labels.sort_by(f64::total_cmp);
        assert!(
            labels.windows(2).all(|w| w[1] - w[0] >= LINE - 1e-9),
            "{labels:?}"
        );
        assert!(plot.draw().into_string().contains("slope regressed"));
    }
}
