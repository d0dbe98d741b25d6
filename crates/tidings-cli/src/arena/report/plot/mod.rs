//! Plots as inline SVG: small functions, one file per kind. Positions are computed apart from the drawing, and tested.
//!
//! Colours, strokes and fonts are classes of `report.css`, so that one plot serves light, dark and paper.

pub(crate) mod curve;
pub(crate) mod diagram;
pub(crate) mod dot;
pub(crate) mod panel;
pub(crate) mod ratio;
mod rows;
pub(crate) mod scale;
pub(crate) mod scatter;
pub(crate) mod slope;

use maud::{Markup, html};

/// What a plot is called, for people who see it and people who do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Name {
    /// Unique in the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What it shows, in a sentence or two.
    pub(crate) desc: String,
}

impl Name {
    pub(crate) fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        desc: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            desc: desc.into(),
        }
    }
}

/// A position in SVG units, with one digit after the point where it needs one.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The element around a plot.
fn svg(name: &Name, width: f64, height: f64, class: &str, body: &Markup) -> Markup {
    let (title, desc) = (format!("{}-t", name.id), format!("{}-d", name.id));
    html! {
        svg class={ "plot " (class) } viewBox={ "0 0 " (px(width)) " " (px(height)) }
            role="img" aria-labelledby={ (title) " " (desc) } {
            title id=(title) { (name.title) }
            desc id=(desc) { (name.desc) }
            (body)
        }
    }
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) {} }
}

/// Text at a place; `class` holds its anchor.
fn text(class: &str, at: (f64, f64), words: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) { (words) } }
}

/// A mark whose shape tells as much as its colour: shape and colour number `index`.
fn mark(index: usize, hollow: bool, (x, y): (f64, f64), size: f64) -> Markup {
    let class = format!("m c{}{}", index % 8, if hollow { " hollow" } else { "" });
    let points = |list: &[(f64, f64)]| {
        let points = list
            .iter()
            .map(|(dx, dy)| format!("{},{}", px(x + dx * size), px(y + dy * size)));
        points.collect::<Vec<_>>().join(" ")
    };
    let polygon = |list: &[(f64, f64)]| html! { polygon class=(class) points=(points(list)) {} };
    match index % 8 {
        0 => html! { circle class=(class) cx=(px(x)) cy=(px(y)) r=(px(size)) {} },
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        3 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
        5 => polygon(&[(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)]),
        6 => polygon(&[(-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)]),
        _ => polygon(&[
            (0.0, -1.3),
            (0.4, -0.4),
            (1.3, 0.0),
            (0.4, 0.4),
            (0.0, 1.3),
            (-0.4, 0.4),
            (-1.3, 0.0),
            (-0.4, -0.4),
        ]),
    }
}

/// Words that fit into `room` SVG units at 12 units a line, cut with an ellipsis.
fn fit(words: &str, room: f64) -> String {
    let most = room / 6.6;
    if scale::count(words.chars().count()) <= most {
        return words.to_owned();
    }
    let mut text = String::new();
    for c in words.chars() {
        if scale::count(text.chars().count()) + 1.0 >= most {
            break;
        }
        text.push(c);
    }
    text + "…"
}

/// A plot with its caption.
pub(crate) fn figure(plot: &Markup, caption: &Markup) -> Markup {
    html! { figure { (plot) figcaption { (caption) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_written_short() {
        assert_eq!(px(12.0), "12");
        assert_eq!(px(12.34), "12.3");
        assert_eq!(px(-0.04), "-0");
    }

    #[test]
    fn marks_differ_in_shape() {
        let drawn: Vec<String> = (0..8)
            .map(|i| mark(i, false, (10.0, 10.0), 4.0).into_string())
            .collect();
        for (i, a) in drawn.iter().enumerate() {
            for b in &drawn[i + 1..] {
                assert_ne!(a, b);
            }
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(fit("tidings", 150.0), "tidings");
        let cut = fit("a-system-with-a-name-that-is-too-long", 100.0);
        assert!(cut.ends_with('…') && cut.chars().count() <= 16, "{cut}");
    }
}
