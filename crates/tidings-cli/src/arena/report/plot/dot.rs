//! The dot plot: medians with their intervals on a logarithmic axis, grouped by kind.

use maud::{Markup, html};

use super::rows::{LABELS, Rows, WIDTH, whisker};
use super::scale::{Log, Quantity};
use super::{Name, mark, svg, text};

/// Where the axis ends and the column of figures begins.
const RIGHT: f64 = WIDTH - 74.0;

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) label: String,
    pub(crate) median: f64,
    /// The interval; without one, `range` is drawn.
    pub(crate) ci: Option<[f64; 2]>,
    pub(crate) range: [f64; 2],
    /// A doubt: not steady, noisy, few samples.
    pub(crate) hollow: bool,
    pub(crate) reference: bool,
    /// Written at the right.
    pub(crate) note: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) dots: Vec<Dot>,
}

/// The plot.
#[derive(Clone, Debug)]
pub(crate) struct DotPlot {
    pub(crate) name: Name,
    pub(crate) axis: String,
    pub(crate) quantity: Quantity,
    pub(crate) kinds: Vec<Kind>,
}

/// Where one figure is drawn.
#[derive(Clone, Copy, Debug)]
struct Place {
    x: f64,
    y: f64,
    whisker: [f64; 2],
}

impl DotPlot {
    fn dots(&self) -> impl Iterator<Item = &Dot> {
        self.kinds.iter().flat_map(|k| &k.dots)
    }

    fn axis(&self) -> Option<Log> {
        let values = self.dots().flat_map(|d| [d.median, ends(d)[0], ends(d)[1]]);
        Log::over(values, 2.0, LABELS, RIGHT)
    }

    fn rows(&self) -> Rows {
        let groups: Vec<(String, usize)> = self
            .kinds
            .iter()
            .map(|k| (k.name.clone(), k.dots.len()))
            .collect();
        Rows::stack(&groups)
    }

    fn places(&self, axis: &Log, rows: &Rows) -> Vec<Place> {
        let place = |(dot, y): (&Dot, &f64)| Place {
            x: axis.at(dot.median),
            y: *y,
            whisker: ends(dot).map(|v| axis.at(v)),
        };
        self.dots().zip(&rows.middles).map(place).collect()
    }

    /// Draws it; nothing when there is no figure.
    pub(crate) fn draw(&self) -> Markup {
        let Some(axis) = self.axis() else {
            return Markup::default();
        };
        let rows = self.rows();
        let labels: Vec<String> = self.dots().map(|d| d.label.clone()).collect();
        let body = html! {
            (rows.frame(&labels, RIGHT))
            (rows.axis(&axis, self.quantity, LABELS, RIGHT, &self.axis))
            @for (dot, place) in self.dots().zip(self.places(&axis, &rows)) {
                (whisker(if dot.ci.is_some() { "ci" } else { "ci range" }, place.y, place.whisker[0], place.whisker[1]))
                (mark(if dot.reference { 3 } else { 0 }, dot.hollow, (place.x, place.y), 4.4))
                (text("note", (WIDTH, place.y + 4.0), &dot.note))
            }
        };
        svg(&self.name, WIDTH, rows.height(), "dots", &body)
    }
}

fn ends(dot: &Dot) -> [f64; 2] {
    dot.ci.unwrap_or(dot.range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(median: f64, ci: Option<[f64; 2]>) -> Dot {
        Dot {
            label: "x".to_owned(),
            median,
            ci,
            range: [median * 0.5, median * 3.0],
            hollow: false,
            reference: false,
            note: String::new(),
        }
    }

    fn plot(dots: Vec<Dot>) -> DotPlot {
        DotPlot {
            name: Name::new("p", "title", "what"),
            axis: "ns".to_owned(),
            quantity: Quantity::Time,
            kinds: vec![Kind {
                name: "a kind".to_owned(),
                dots,
            }],
        }
    }

    #[test]
    fn dots_are_in_order_and_inside_their_intervals() {
        let plot = plot(vec![
            dot(35.0, Some([30.0, 41.0])),
            dot(90.0, Some([89.0, 93.0])),
            dot(2200.0, None),
        ]);
        let (axis, rows) = (plot.axis().expect("an axis"), plot.rows());
        let places = plot.places(&axis, &rows);
        assert_eq!(places.len(), 3);
        assert!(
            places
                .windows(2)
                .all(|w| w[0].x < w[1].x && w[0].y < w[1].y)
        );
        for place in &places {
            let [low, high] = place.whisker;
            assert!(low < place.x && place.x < high, "{place:?}");
            assert!(low >= LABELS && high <= RIGHT, "{place:?}");
        }
        let range = places[2].whisker[1] - places[2].whisker[0];
        let expected = axis.at(6600.0) - axis.at(1100.0);
        assert!(
            (range - expected).abs() < 1e-9,
            "the range where no interval is"
        );
    }

    #[test]
    fn the_drawing_names_itself_and_an_empty_plot_is_nothing() {
        let drawn = plot(vec![dot(10.0, None)]).draw().into_string();
        assert!(drawn.contains("<title id=\"p-t\">title</title>"), "{drawn}");
        assert!(drawn.contains("ci range"), "{drawn}");
        assert_eq!(plot(Vec::new()).draw().into_string(), "");
    }
}
