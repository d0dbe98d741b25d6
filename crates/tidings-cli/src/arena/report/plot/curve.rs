//! Lines over a size: batch, pairs, ladder, threads, percentiles. Both axes are logarithmic.

use maud::{Markup, html};

use super::scale::{Log, Quantity, count};
use super::{Name, fit, line, mark, px, svg, text};

const WIDTH: f64 = 500.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 24.0;
const BASE: f64 = 220.0;
const LEGEND: f64 = BASE + 56.0;
const COLUMNS: usize = 3;

/// One value of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ci: Option<[f64; 2]>,
}

#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Shape and colour.
    pub(crate) mark: usize,
    pub(crate) values: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: Name,
    pub(crate) x: (String, Quantity),
    pub(crate) y: (String, Quantity),
    /// Ticks of the horizontal axis with their words; without any, round values.
    pub(crate) ticks: Vec<(f64, String)>,
    pub(crate) series: Vec<Series>,
}

impl Curve {
    fn values(&self) -> impl Iterator<Item = &Value> {
        self.series.iter().flat_map(|s| &s.values)
    }

    fn axes(&self) -> Option<(Log, Log)> {
        let across = Log::over(self.values().map(|v| v.x), 1.5, LEFT, RIGHT)?;
        let heights = self
            .values()
            .flat_map(|v| [v.y, v.ci.map_or(v.y, |c| c[0]), v.ci.map_or(v.y, |c| c[1])]);
        Some((across, Log::over(heights, 2.0, BASE, TOP)?))
    }

    /// The values where a tick stands: the sizes that were measured, if they are few.
    fn measured(&self) -> Vec<(f64, String)> {
        if !self.ticks.is_empty() {
            return self.ticks.clone();
        }
        let mut sizes: Vec<f64> = self.values().map(|v| v.x).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes.into_iter().map(|x| (x, self.x.1.write(x))).collect()
    }

    pub(crate) fn draw(&self) -> Markup {
        let Some((across, up)) = self.axes() else {
            return Markup::default();
        };
        let legend_rows = self.series.len().div_ceil(COLUMNS);
        let body = html! {
            @for tick in up.ticks(self.y.1, 24.0) {
                (line("grid", (LEFT, up.at(tick)), (RIGHT, up.at(tick))))
                (text("label", (LEFT - 6.0, up.at(tick) + 4.0), &self.y.1.write(tick)))
            }
            @for (x, words) in self.measured() {
                (line("grid", (across.at(x), TOP), (across.at(x), BASE)))
                (text("tick", (across.at(x), BASE + 17.0), &words))
            }
            (line("axis", (LEFT, BASE), (RIGHT, BASE)))
            (line("axis", (LEFT, TOP), (LEFT, BASE)))
            (text("title", (f64::midpoint(LEFT, RIGHT), BASE + 36.0), &self.x.0))
            (text("start muted", (2.0, 13.0), &self.y.0))
            @for (index, series) in self.series.iter().enumerate() {
                @let size = if series.values.len() > 20 { 2.0 } else { 3.6 };
                @let points: Vec<String> = series.values.iter()
                    .map(|v| format!("{},{}", px(across.at(v.x)), px(up.at(v.y)))).collect();
                polyline class={ "l c" (series.mark % 8) } points=(points.join(" ")) {}
                @for value in &series.values {
                    @let x = across.at(value.x);
                    @if let Some(ci) = value.ci {
                        (line("ci", (x, up.at(ci[0])), (x, up.at(ci[1]))))
                    }
                    (mark(series.mark, false, (x, up.at(value.y)), size))
                }
                @let (column, row) = (index % COLUMNS, index / COLUMNS);
                @let (left, y) = (8.0 + count(column) * (WIDTH / 3.0), LEGEND + count(row) * 18.0);
                (mark(series.mark, false, (left, y - 4.0), 3.6))
                (text("start", (left + 10.0, y), &fit(&series.name, WIDTH / 3.0 - 14.0)))
            }
        };
        let height = LEGEND + count(legend_rows) * 18.0;
        svg(&self.name, WIDTH, height, "curve", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_sizes_are_right_and_larger_values_up() {
        let value = |x, y| Value {
            x,
            y,
            ci: Some([y * 0.9, y * 1.2]),
        };
        let curve = Curve {
            name: Name::new("c", "t", "d"),
            x: ("batch".to_owned(), Quantity::Count),
            y: ("msg/s".to_owned(), Quantity::Rate),
            ticks: Vec::new(),
            series: vec![Series {
                name: "go".to_owned(),
                mark: 1,
                values: vec![value(1.0, 1e6), value(5.0, 4e6), value(20.0, 5e6)],
            }],
        };
        let (across, up) = curve.axes().expect("values");
        assert!(across.at(1.0) < across.at(5.0) && across.at(5.0) < across.at(20.0));
        assert!(up.at(5e6) < up.at(4e6) && up.at(4e6) < up.at(1e6));
        for value in curve.values() {
            let ci = value.ci.expect("given");
            assert!(up.at(ci[1]) < up.at(value.y) && up.at(value.y) < up.at(ci[0]));
            assert!((TOP..=BASE).contains(&up.at(ci[1])));
        }
        let words: Vec<String> = curve.measured().into_iter().map(|(_, w)| w).collect();
        assert_eq!(words, ["1", "5", "20"]);
        assert!(curve.draw().into_string().contains("polyline"));
    }
}
