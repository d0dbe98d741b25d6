//! Two quantities of each cell against each other: time and memory. Shapes tell the class.

use maud::{Markup, html};

use super::scale::{Log, Quantity};
use super::{Name, fit, line, mark, svg, text};

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 24.0;
const BASE: f64 = HEIGHT - 46.0;
/// Labels are kept so far apart.
const LINE: f64 = 12.0;

#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) label: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) mark: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    pub(crate) name: Name,
    pub(crate) x: (String, Quantity),
    pub(crate) y: (String, Quantity),
    pub(crate) spots: Vec<Spot>,
}

impl Scatter {
    fn axes(&self) -> Option<(Log, Log)> {
        Some((
            Log::over(self.spots.iter().map(|s| s.x), 3.0, LEFT, RIGHT - 60.0)?,
            Log::over(self.spots.iter().map(|s| s.y), 3.0, BASE, TOP)?,
        ))
    }

    /// Where the labels go: beside their spots, moved down where one is in the way.
    fn labels(&self, across: &Log, up: &Log) -> Vec<(f64, f64)> {
        let mut order: Vec<usize> = (0..self.spots.len()).collect();
        order.sort_by(|a, b| up.at(self.spots[*a].y).total_cmp(&up.at(self.spots[*b].y)));
        let mut places = vec![(0.0, 0.0); self.spots.len()];
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for index in order {
            let spot = &self.spots[index];
            let x = across.at(spot.x) + 9.0;
            let mut y = up.at(spot.y) + 4.0;
            while let Some(other) = taken
                .iter()
                .find(|(ox, oy)| (ox - x).abs() < 120.0 && (oy - y).abs() < LINE - 0.01)
            {
                y = other.1 + LINE;
            }
            taken.push((x, y));
            places[index] = (x, y);
        }
        places
    }

    pub(crate) fn draw(&self) -> Markup {
        let Some((across, up)) = self.axes() else {
            return Markup::default();
        };
        let body = html! {
            @for tick in across.ticks(self.x.1, 56.0) {
                (line("grid", (across.at(tick), TOP), (across.at(tick), BASE)))
                (text("tick", (across.at(tick), BASE + 17.0), &self.x.1.write(tick)))
            }
            @for tick in up.ticks(self.y.1, 26.0) {
                (line("grid", (LEFT, up.at(tick)), (RIGHT, up.at(tick))))
                (text("label small", (LEFT - 5.0, up.at(tick) + 4.0), &self.y.1.write(tick)))
            }
            (line("axis", (LEFT, BASE), (RIGHT, BASE)))
            (line("axis", (LEFT, TOP), (LEFT, BASE)))
            (text("title", (f64::midpoint(LEFT, RIGHT), BASE + 36.0), &self.x.0))
            (text("start muted", (2.0, 13.0), &self.y.0))
            @for (spot, label) in self.spots.iter().zip(self.labels(&across, &up)) {
                (mark(spot.mark, false, (across.at(spot.x), up.at(spot.y)), 4.0))
                @let room = (WIDTH - label.0).max(40.0);
                (text("start small", label, &fit(&spot.label, room)))
            }
        };
        svg(&self.name, WIDTH, HEIGHT, "scatter", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_keep_their_order_and_labels_do_not_cover_each_other() {
        let spot = |x, y| Spot {
            label: "system".to_owned(),
            x,
            y,
            mark: 1,
        };
        let scatter = Scatter {
            name: Name::new("s", "t", "d"),
            x: ("time".to_owned(), Quantity::Time),
            y: ("memory".to_owned(), Quantity::Bytes),
            spots: vec![
                spot(1e6, 1e7),
                spot(1.01e6, 1e7),
                spot(1.02e6, 1.01e7),
                spot(5e8, 2e9),
            ],
        };
        let (across, up) = scatter.axes().expect("spots");
        assert!(across.at(1e6) < across.at(5e8));
        assert!(up.at(1e7) > up.at(2e9));
        let labels = scatter.labels(&across, &up);
        for (i, a) in labels.iter().enumerate() {
            for b in &labels[i + 1..] {
                assert!(
                    (a.0 - b.0).abs() >= 120.0 || (a.1 - b.1).abs() >= LINE - 0.02,
                    "{labels:?}"
                );
            }
        }
    }
}
