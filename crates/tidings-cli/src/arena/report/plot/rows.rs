//! What dot plot and ratio plot share: labelled rows under headings, and a logarithmic axis below them.

use maud::{Markup, html};

use super::scale::{Log, Quantity};
use super::{fit, line, px, text};

pub(super) const WIDTH: f64 = 500.0;
pub(super) const LABELS: f64 = 152.0;
const ROW: f64 = 21.0;
const HEADING: f64 = 22.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 44.0;

/// Where the rows are.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Headings with their baselines.
    pub(super) headings: Vec<(f64, String)>,
    /// The middle of each row, in the order of groups and rows.
    pub(super) middles: Vec<f64>,
    /// Where the axis is.
    pub(super) base: f64,
}

impl Rows {
    /// Stacks groups of rows: name of each group (empty for none) and number of its rows.
    pub(super) fn stack(groups: &[(String, usize)]) -> Self {
        let mut y = TOP;
        let mut rows = Self {
            headings: Vec::new(),
            middles: Vec::new(),
            base: 0.0,
        };
        for (name, size) in groups {
            if !name.is_empty() {
                y += HEADING;
                rows.headings.push((y - 7.0, name.clone()));
            }
            for _ in 0..*size {
                rows.middles.push(y + ROW / 2.0);
                y += ROW;
            }
        }
        rows.base = y + 2.0;
        rows
    }

    pub(super) fn height(&self) -> f64 {
        self.base + BOTTOM
    }

    /// Headings, and a thin line in each row for the eye.
    pub(super) fn frame(&self, labels: &[String], right: f64) -> Markup {
        html! {
            @for (y, name) in &self.headings {
                (text("head", (0.0, *y), &fit(name, WIDTH)))
            }
            @for (y, label) in self.middles.iter().zip(labels) {
                (line("grid", (LABELS, *y), (right, *y)))
                (text("label", (LABELS - 8.0, y + 4.0), &fit(label, LABELS - 8.0)))
            }
        }
    }

    /// The axis with its ticks and title.
    pub(super) fn axis(
        &self,
        axis: &Log,
        quantity: Quantity,
        from: f64,
        to: f64,
        title: &str,
    ) -> Markup {
        html! {
            @for tick in axis.ticks(quantity, 46.0) {
                @let x = axis.at(tick);
                (line("grid", (x, TOP), (x, self.base)))
                (line("axis", (x, self.base), (x, self.base + 4.0)))
                (text("tick", (x, self.base + 17.0), &quantity.write(tick)))
            }
            (line("axis", (from, self.base), (to, self.base)))
            (text("title", (f64::midpoint(from, to), self.base + 36.0), title))
        }
    }
}

/// An interval: a line with ends.
pub(super) fn whisker(class: &str, y: f64, from: f64, to: f64) -> Markup {
    html! {
        path class=(class) d={
            "M" (px(from)) " " (px(y - 4.0)) "v8M" (px(from)) " " (px(y))
            "H" (px(to)) "M" (px(to)) " " (px(y - 4.0)) "v8"
        } {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap_and_stay_above_the_axis() {
        let rows = Rows::stack(&[("a".to_owned(), 2), (String::new(), 1), ("b".to_owned(), 3)]);
        assert_eq!((rows.middles.len(), rows.headings.len()), (6, 2));
        assert!(rows.middles.windows(2).all(|w| w[1] - w[0] >= ROW));
        assert!(rows.middles.iter().all(|y| *y < rows.base));
        assert!(rows.base < rows.height());
        assert!(rows.headings[1].0 > rows.middles[2] && rows.headings[1].0 < rows.middles[3]);
    }
}
