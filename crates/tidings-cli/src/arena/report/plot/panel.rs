//! A panel: one cell's samples in a small plot. Many stand beside each other, each with an axis of its own.
//!
//! Strip plots (samples by round, launches apart) and warm-up series (samples from the first call) are panels.

use maud::{Markup, html};

use super::scale::{Log, Quantity, count};
use super::{Name, fit, line, mark, px, svg, text};

const WIDTH: f64 = 232.0;
const HEIGHT: f64 = 112.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 26.0;
const BASE: f64 = 90.0;

/// One sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Its place along the panel, counted from 0.
    pub(crate) place: usize,
    pub(crate) value: f64,
    /// Shape and colour: the launch, or the phase.
    pub(crate) mark: usize,
    pub(crate) hollow: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) name: Name,
    /// Written above.
    pub(crate) head: String,
    pub(crate) points: Vec<Point>,
    pub(crate) median: Option<f64>,
    pub(crate) band: Option<[f64; 2]>,
    /// A vertical line before this place, with a word.
    pub(crate) flag: Option<(usize, &'static str)>,
    /// What is counted along the panel.
    pub(crate) along: &'static str,
}

impl Panel {
    fn vertical(&self) -> Option<Log> {
        let values = self.points.iter().map(|p| p.value);
        Log::over(values.chain(self.median), 1.25, BASE, TOP)
    }

    fn last(&self) -> usize {
        self.points.iter().map(|p| p.place).max().unwrap_or(0)
    }

    /// The middle of a place.
    fn across(&self, place: usize) -> f64 {
        let step = (RIGHT - LEFT - 10.0) / count(self.last().max(1));
        LEFT + 5.0 + step * count(place)
    }

    pub(crate) fn draw(&self) -> Markup {
        let Some(axis) = self.vertical() else {
            return Markup::default();
        };
        let size = if self.points.len() > 60 { 1.7 } else { 2.4 };
        let body = html! {
            // Bold letters are wider than those that `fit` counts.
            (text("head", (2.0, 14.0), &fit(&self.head, WIDTH * 0.86)))
            @if let Some(band) = self.band {
                @let (top, base) = (axis.at(band[1]), axis.at(band[0]));
                rect class="band" x=(px(LEFT)) y=(px(top)) width=(px(RIGHT - LEFT)) height=(px((base - top).max(1.0))) {}
            }
            @for tick in axis.ticks(Quantity::Time, 20.0) {
                (line("grid", (LEFT, axis.at(tick)), (RIGHT, axis.at(tick))))
                (text("label small", (LEFT - 5.0, axis.at(tick) + 3.5), &Quantity::Time.write(tick)))
            }
            @if let Some(median) = self.median {
                (line("one", (LEFT, axis.at(median)), (RIGHT, axis.at(median))))
            }
            (line("axis", (LEFT, BASE), (RIGHT, BASE)))
            (line("axis", (LEFT, TOP), (LEFT, BASE)))
            @if let Some((place, word)) = self.flag {
                @let x = self.across(place) - 2.5;
                (line("flag", (x, TOP - 4.0), (x, BASE)))
                (text(if x > WIDTH / 2.0 { "label small" } else { "start small" },
                    (if x > WIDTH / 2.0 { x - 3.0 } else { x + 3.0 }, TOP), word))
            }
            @for point in &self.points {
                (mark(point.mark, point.hollow, (self.across(point.place), axis.at(point.value)), size))
            }
            (text("start small", (LEFT, BASE + 14.0), "1"))
            (text("tick small", (f64::midpoint(LEFT, RIGHT), BASE + 14.0), self.along))
            @if self.last() > 0 {
                (text("label small", (RIGHT, BASE + 14.0), &(self.last() + 1).to_string()))
            }
        };
        svg(&self.name, WIDTH, HEIGHT, "panel", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(values: &[f64]) -> Panel {
        let point = |(place, value): (usize, &f64)| Point {
            place,
            value: *value,
            mark: 0,
            hollow: false,
        };
        Panel {
            name: Name::new("s", "t", "d"),
            head: "go".to_owned(),
            points: values.iter().enumerate().map(point).collect(),
            median: Some(10.0),
            band: Some([9.0, 11.0]),
            flag: Some((2, "steady")),
            along: "round",
        }
    }

    #[test]
    fn time_runs_to_the_right_and_slow_is_up() {
        let panel = panel(&[30.0, 12.0, 10.0, 9.5]);
        let axis = panel.vertical().expect("values");
        assert!(axis.at(30.0) < axis.at(12.0), "slower is higher");
        let places: Vec<f64> = (0..4).map(|p| panel.across(p)).collect();
        assert!(places.is_sorted());
        assert!(places[0] >= LEFT && places[3] <= RIGHT);
        assert!(
            axis.at(11.0) < axis.at(10.0) && axis.at(10.0) < axis.at(9.0),
            "the band covers"
        );
    }

    #[test]
    fn a_single_sample_and_none_are_drawn_or_not() {
        assert!(panel(&[5.0]).draw().into_string().contains("circle"));
        let mut empty = panel(&[]);
        empty.median = None;
        assert_eq!(empty.draw().into_string(), "");
    }
}
