//! Diagrams of workloads: boxes and arrows.

use maud::{Markup, html};

use super::{Name, px, svg, text};

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 104.0;
const HALF: (f64, f64) = (38.0, 13.0);

/// From one box to another, `shift` below their middle, with words above or below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    from: usize,
    to: usize,
    shift: f64,
    words: &'static str,
}

impl Arrow {
    pub(crate) const fn new(from: usize, to: usize, shift: f64, words: &'static str) -> Self {
        Self {
            from,
            to,
            shift,
            words,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Diagram {
    pub(crate) words: &'static str,
    /// Middles and names.
    pub(crate) boxes: &'static [(f64, f64, &'static str)],
    pub(crate) arrows: &'static [Arrow],
    /// Below all.
    pub(crate) note: &'static str,
}

impl Diagram {
    /// Where an arrow begins and ends: at the sides of its boxes that face each other.
    fn ends(&self, arrow: &Arrow) -> [(f64, f64); 2] {
        let (from, to) = (self.boxes[arrow.from], self.boxes[arrow.to]);
        let side = if to.0 > from.0 { HALF.0 } else { -HALF.0 };
        [
            (from.0 + side, from.1 + arrow.shift),
            (to.0 - side, to.1 + arrow.shift),
        ]
    }

    pub(crate) fn draw(&self, workload: &str) -> Markup {
        let name = Name::new(
            format!("diagram-{workload}"),
            format!("Diagram of {workload}"),
            self.words,
        );
        let body = html! {
            @for arrow in self.arrows {
                @let [from, to] = self.ends(arrow);
                @let back = if to.0 > from.0 { -7.0 } else { 7.0 };
                line class="arrow" x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0 + back * 0.6)) y2=(px(to.1)) {}
                polygon class="tip" points={
                    (px(to.0)) "," (px(to.1)) " " (px(to.0 + back)) "," (px(to.1 - 4.0)) " " (px(to.0 + back)) "," (px(to.1 + 4.0))
                } {}
                @if !arrow.words.is_empty() {
                    @let y = f64::midpoint(from.1, to.1) + if arrow.shift > 0.0 { 14.0 } else { -6.0 };
                    (text("mid small", (f64::midpoint(from.0, to.0), y), arrow.words))
                }
            }
            @for (x, y, words) in self.boxes {
                rect class="box" x=(px(x - HALF.0)) y=(px(y - HALF.1)) width=(px(2.0 * HALF.0)) height=(px(2.0 * HALF.1)) rx="2" {}
                (text("mid", (*x, y + 4.0), words))
            }
            (text("mid small", (WIDTH / 2.0, HEIGHT - 6.0), self.note))
        };
        svg(&name, WIDTH, HEIGHT, "boxes", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_touch_the_sides_of_their_boxes() {
        const ARROWS: &[Arrow] = &[Arrow::new(0, 1, -5.0, ""), Arrow::new(1, 0, 5.0, "")];
        let diagram = Diagram {
            words: "",
            boxes: &[(60.0, 40.0, "a"), (240.0, 40.0, "b")],
            arrows: ARROWS,
            note: "",
        };
        let [from, to] = diagram.ends(&diagram.arrows[0]);
        assert_eq!((from, to), ((98.0, 35.0), (202.0, 35.0)));
        let [from, to] = diagram.ends(&diagram.arrows[1]);
        assert_eq!((from, to), ((202.0, 45.0), (98.0, 45.0)));
    }
}
