//! How the pages write a cell: its figures, its doubts, its comparison, its sources.

use maud::{Markup, html};

use super::data::Data;
use crate::arena::records::record::{CellRecord, Figure};
use crate::arena::records::state::State;
use crate::arena::records::table;
use crate::arena::statistics::verdict::{Ratio, Verdict};
use crate::arena::units;
pub(super) use crate::arena::units::counted;

/// Stands where there is nothing to say.
pub(super) const NOTHING: &str = "-";

/// A figure with its unit, chosen by its size.
pub(super) fn time(ns: f64) -> String {
    for (limit, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "µs")] {
        if ns >= limit {
            return format!("{} {unit}", units::digits(ns / limit));
        }
    }
    format!("{} ns", units::digits(ns))
}

/// `28.5 M msg/s`.
pub(super) fn rate(cell: &CellRecord) -> Option<String> {
    cell.rate
        .map(|rate| format!("{} {}/s", units::rate(rate), cell.unit))
}

/// Half the interval in percent, `~` where it is wider than the run aimed for; or the range.
pub(super) fn spread(figure: &Figure) -> String {
    figure.spread().unwrap_or_else(|| {
        let (low, high) = (units::digits(figure.min), units::digits(figure.max));
        format!("{low}..{high} (range)")
    })
}

/// `2.55× slower`, with a sign that needs no colour.
pub(super) fn brief(ratio: &Ratio) -> String {
    let way = if ratio.median < 1.0 {
        1.0 / ratio.median
    } else {
        ratio.median
    };
    let factor = units::digits(way);
    match ratio.verdict {
        Verdict::Reference => "reference".to_owned(),
        Verdict::Faster => format!("▲ {factor}× faster"),
        Verdict::Slower => format!("▼ {factor}× slower"),
        Verdict::Same => format!("= {factor}×"),
        Verdict::NotShown if ratio.median < 1.0 => format!("? {factor}× faster"),
        Verdict::NotShown => format!("? {factor}× slower"),
    }
}

/// The comparison in full, as the terminal writes it.
pub(super) fn full(ratio: &Ratio) -> String {
    table::compare(ratio)
}

/// `mailbox=unbounded reply=carried`.
pub(super) fn labels(cell: &CellRecord) -> String {
    let labels = cell
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}

/// The doubts about a cell: its state if it is not `ok`, and threads other than asked for.
pub(super) fn doubts(cell: &CellRecord) -> Vec<String> {
    let mut doubts = Vec::new();
    if cell.state != State::Ok {
        doubts.push(cell.state.name().to_owned());
    }
    if let Some(threads) = cell
        .peer_threads
        .filter(|t| *t != cell.threads && cell.threads > 0)
    {
        doubts.push(format!("threads={threads}"));
    }
    if !cell.ranked {
        doubts.push("not ranked".to_owned());
    }
    doubts
}

/// The doubts as marks.
pub(super) fn states(cell: &CellRecord) -> Markup {
    html! { @for doubt in doubts(cell) { span class="state" title=[cell.reason.as_deref()] { (doubt) } " " } }
}

/// The folder of a peer's sources, as a link where the report knows one. Only plain names become part of an address.
pub(super) fn source(data: &Data, peer: &str) -> Markup {
    let plain = !peer.is_empty()
        && peer
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let path = format!("arena/peers/{peer}");
    html! {
        @match (data.source(peer), plain) {
            (Some(address), true) => a href=(address) { (path) },
            (None, true) => code { (path) },
            _ => (if peer.is_empty() { NOTHING } else { peer }),
        }
    }
}

/// A cell of a table that holds a number: what is shown, and what it is sorted by.
pub(super) fn number(value: Option<f64>, shown: impl FnOnce(f64) -> String) -> Markup {
    html! {
        @match value {
            Some(value) => td class="n" data-v=(value) { (shown(value)) },
            None => td class="n" { (NOTHING) },
        }
    }
}

/// A table in a box of its own that scrolls; `caption` says what it is.
pub(super) fn scroll(caption: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="region" aria-label=(caption) { (table) } }
}

/// Heads of columns: words, and whether the column holds numbers. The first one stays when the table scrolls.
pub(super) fn heads(columns: &[(&str, bool)]) -> Markup {
    html! {
        thead { tr {
            @for (index, (name, number)) in columns.iter().enumerate() {
                th scope="col" class={ (if *number { "n" } else { "" }) (if index == 0 { " stick" } else { "" }) } { (name) }
            }
        } }
    }
}

/// Words for a shell: quoted where they must be.
pub(super) fn shell(words: &[String]) -> String {
    let quote = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_commands_are_written_for_people() {
        assert_eq!(time(35.1), "35.1 ns");
        assert_eq!(time(2_500.0), "2.50 µs");
        assert_eq!(time(66e6), "66.0 ms");
        let words = ["tidings", "run", "pingpong/*@go", "it's"].map(str::to_owned);
        assert_eq!(shell(&words), "tidings run 'pingpong/*@go' 'it'\\''s'");
        assert_eq!(counted(1, "cell"), "1 cell");
        assert_eq!(counted(0, "cell"), "0 cells");
    }
}
