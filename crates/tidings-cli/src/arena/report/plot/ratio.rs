//! The ratio plot: time over the reference's time, with its interval, beside the band that counts as the same.

use maud::{Markup, html};

use super::rows::{LABELS, Rows, WIDTH, whisker};
use super::scale::{Log, Quantity};
use super::{Name, line, mark, px, svg, text};

/// Where the axis ends and the column of words begins.
const RIGHT: f64 = WIDTH - 118.0;

/// One comparison.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    pub(crate) label: String,
    pub(crate) median: f64,
    pub(crate) ci: Option<[f64; 2]>,
    /// The interval shows a difference, or that there is none.
    pub(crate) shown: bool,
    pub(crate) reference: bool,
    pub(crate) note: String,
}

#[derive(Clone, Debug)]
pub(crate) struct RatioPlot {
    pub(crate) name: Name,
    pub(crate) axis: String,
    /// Below this share a difference does not matter.
    pub(crate) margin: f64,
    /// Kinds and their rows, as in the dot plot beside it.
    pub(crate) kinds: Vec<(String, Vec<Ratio>)>,
}

impl RatioPlot {
    fn ratios(&self) -> impl Iterator<Item = &Ratio> {
        self.kinds.iter().flat_map(|(_, ratios)| ratios)
    }

    /// The axis always shows the band.
    fn axis(&self) -> Option<Log> {
        self.ratios().next()?;
        let values = self.ratios().flat_map(|r| {
            [
                r.median,
                r.ci.map_or(r.median, |c| c[0]),
                r.ci.map_or(r.median, |c| c[1]),
            ]
        });
        let band = [1.0 / (1.0 + self.margin), 1.0 + self.margin];
        Log::over(values.chain(band), 1.5, LABELS, RIGHT)
    }

    pub(crate) fn draw(&self) -> Markup {
        let Some(axis) = self.axis() else {
            return Markup::default();
        };
        let groups: Vec<(String, usize)> = self
            .kinds
            .iter()
            .map(|(n, r)| (n.clone(), r.len()))
            .collect();
        let rows = Rows::stack(&groups);
        let labels: Vec<String> = self.ratios().map(|r| r.label.clone()).collect();
        let (low, high) = (
            axis.at(1.0 / (1.0 + self.margin)),
            axis.at(1.0 + self.margin),
        );
        let body = html! {
            rect class="band" x=(px(low)) y="4" width=(px(high - low)) height=(px(rows.base - 4.0)) {}
            (rows.frame(&labels, RIGHT))
            (rows.axis(&axis, Quantity::Factor, LABELS, RIGHT, &self.axis))
            (line("one", (axis.at(1.0), 4.0), (axis.at(1.0), rows.base)))
            @for (ratio, y) in self.ratios().zip(&rows.middles) {
                @if let Some(ci) = ratio.ci.filter(|_| !ratio.reference) {
                    (whisker("ci", *y, axis.at(ci[0]), axis.at(ci[1])))
                }
                (mark(if ratio.reference { 3 } else { 0 }, !ratio.shown, (axis.at(ratio.median), *y), 4.4))
                (text("note", (WIDTH, y + 4.0), &ratio.note))
            }
        };
        svg(&self.name, WIDTH, rows.height(), "ratios", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(ratios: &[(f64, Option<[f64; 2]>)]) -> RatioPlot {
        let row = |(median, ci): &(f64, Option<[f64; 2]>)| Ratio {
            label: "x".to_owned(),
            median: *median,
            ci: *ci,
            shown: true,
            reference: false,
            note: String::new(),
        };
        RatioPlot {
            name: Name::new("r", "t", "d"),
            axis: "time over the reference".to_owned(),
            margin: 0.03,
            kinds: vec![(String::new(), ratios.iter().map(row).collect())],
        }
    }

    #[test]
    fn the_band_is_on_the_axis_even_when_all_are_far_from_it() {
        let axis = plot(&[(20.0, None), (35.0, Some([30.0, 40.0]))])
            .axis()
            .expect("rows");
        let (low, one, high) = (axis.at(1.0 / 1.03), axis.at(1.0), axis.at(1.03));
        assert!(LABELS < low && low < one && one < high && high < RIGHT);
        assert!(((one - low) - (high - one)).abs() < 1e-9, "even in factors");
        assert!(axis.at(20.0) < axis.at(35.0));
        assert!(axis.at(40.0) <= RIGHT);
    }

    #[test]
    fn faster_than_the_reference_is_left_of_one() {
        assert_eq!(plot(&[]).draw().into_string(), "");
        let plot = plot(&[(0.7, Some([0.6, 0.8]))]);
        let axis = plot.axis().expect("rows");
        assert!(axis.at(0.8) < axis.at(1.0));
        assert!(plot.draw().into_string().contains("class=\"band\""));
    }
}
