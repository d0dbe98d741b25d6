//! A chart as a picture.

use std::fmt::Write as _;

use crate::chart::{Chart, Step};

const LEFT: usize = 90;
const COLUMN: usize = 170;
const TOP: usize = 60;
const ROW: usize = 28;

impl Chart {
    /// The chart as an SVG document, which needs nothing else.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let end = self.end.as_deref().unwrap_or_default();
        let width = LEFT + self.lanes.len() * COLUMN + 160;
        let height = TOP + (self.rows.len() + 2) * ROW + end.lines().count() * 16;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, monospace\" \
             font-size=\"11\">\n{STYLE}"
        );
        let x = |lane: usize| LEFT + lane * COLUMN;
        let y = |row: usize| TOP + row * ROW;
        let bottom = y(self.rows.len());
        for (lane, column) in self.lanes.iter().enumerate() {
            let (x, top) = (x(lane), y(column.from).saturating_sub(ROW / 2));
            let name = escaped(&column.name);
            let _ = writeln!(
                svg,
                "<line class=\"life\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>"
            );
            let _ = writeln!(svg, "<text class=\"name\" x=\"{x}\" y=\"24\">{name}</text>");
        }
        let mut time = None;
        for (index, row) in self.rows.iter().enumerate() {
            let at = y(index);
            if time != Some(row.time) {
                let _ = writeln!(
                    svg,
                    "<text class=\"time\" x=\"4\" y=\"{at}\">{:?}</text>",
                    row.time
                );
                time = Some(row.time);
            }
            let label = escaped(&row.label);
            let title = format!("<title>{index}: {label} {}</title>", escaped(&row.line));
            let (class, from, to, start) = match row.step {
                Step::Arrow { from, to, sent } => ("message", from, to, sent.unwrap_or(index)),
                Step::Start { from, to } => ("start", from, to, index),
                Step::Release { from, to } => ("release", from, to, index),
                Step::Alone(lane) => {
                    let x = x(lane);
                    let _ = writeln!(
                        svg,
                        "<circle cx=\"{x}\" cy=\"{at}\" r=\"3\">{title}</circle>"
                    );
                    let _ = writeln!(
                        svg,
                        "<text class=\"quiet\" x=\"{}\" y=\"{}\">{label}</text>",
                        x + 6,
                        at + 4
                    );
                    continue;
                }
            };
            let (x1, x2, y1) = (x(from), x(to), y(start));
            if from == to {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x1}\" cy=\"{at}\" r=\"4\" class=\"{class}\">{title}</circle>"
                );
            } else {
                let _ = writeln!(
                    svg,
                    "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{at}\" \
                     marker-end=\"url(#head)\">{title}</line>"
                );
            }
            let (middle, above) = (usize::midpoint(x1, x2), usize::midpoint(y1, at) - 4);
            let _ = writeln!(
                svg,
                "<text class=\"label\" x=\"{middle}\" y=\"{above}\">{label}</text>"
            );
            let right = x(self.lanes.len()) - COLUMN / 2;
            let _ = writeln!(
                svg,
                "<text class=\"quiet\" x=\"{right}\" y=\"{}\">{}</text>",
                at + 4,
                escaped(&row.line)
            );
        }
        for (index, line) in end.lines().enumerate() {
            let at = bottom + ROW + index * 16;
            let _ = writeln!(
                svg,
                "<text class=\"end\" x=\"{LEFT}\" y=\"{at}\">{}</text>",
                escaped(line)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

const STYLE: &str = "<style>
svg { background: #fff; fill: #222 }
line { stroke: #222 }
.life { stroke: #bbb }
.message { stroke: #14588c; stroke-width: 1.5 }
.start { stroke: #999; stroke-dasharray: 2 3 }
.release { stroke: #8c5a14; stroke-dasharray: 5 3 }
.name { font-weight: bold; text-anchor: middle }
.label { text-anchor: middle; fill: #14588c }
.quiet, .time { fill: #777 }
.end { fill: #b00020; font-weight: bold }
</style>
<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\"/></marker></defs>
";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
