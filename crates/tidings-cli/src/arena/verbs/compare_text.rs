//! A comparison of two runs as text: what got worse first, then what got better, then the rest.

use std::fmt::Write as _;

use crate::arena::terminal::Style;
use crate::arena::units;
use crate::arena::verbs::compare::{Compared, Comparison, Outcome};

pub(crate) fn text(comparison: &Comparison, style: Style) -> String {
    let mut text = format!(
        "{}\n",
        style.bold(&format!(
            "compare · A is run {} · B is run {} · what matters: {:.1} %",
            comparison.a,
            comparison.b,
            100.0 * comparison.threshold
        ))
    );
    let by_ratio = comparison.to.is_some() || !comparison.machines_differ.is_empty();
    if let Some(unit) = &comparison.to {
        let _ = writeln!(text, "  times in units of that of {unit} in the same run");
    } else if by_ratio {
        let _ = writeln!(
            text,
            "{} different machines ({}): ratios to the reference, not times",
            style.yellow("!"),
            comparison.machines_differ.join("; ")
        );
    }
    if comparison.one_launch {
        let _ = writeln!(
            text,
            "{} one launch: variance between processes not seen; --launches 3 shows it",
            style.yellow("!")
        );
    }
    for cell in &comparison.cells {
        line(&mut text, cell, by_ratio, style);
    }
    let mut counts: Vec<String> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcome, comparison.count(outcome)))
        .filter(|(_, count)| *count > 0)
        .map(|(outcome, count)| format!("{count} {}", outcome.name()))
        .collect();
    let only = [("A", comparison.only_a), ("B", comparison.only_b)];
    counts.extend(only.map(|(run, count)| format!("only in {run} {count}")));
    let _ = writeln!(text, "{}", counts.join(" · "));
    text
}

fn line(text: &mut String, cell: &Compared, by_ratio: bool, style: Style) {
    let word = format!("{:<12}", cell.outcome.name());
    let word = match cell.outcome {
        Outcome::Fails | Outcome::Slower => style.red(&word),
        Outcome::Faster => style.green(&word),
        Outcome::NotShown | Outcome::NotCompared => style.dim(&word),
        Outcome::Same => word,
    };
    let _ = write!(
        text,
        "  {word} {}/{}@{} · {} · threads={}",
        cell.workload, cell.variant, cell.system, cell.sizes, cell.threads
    );
    if let (Some(a), Some(b)) = (cell.a, cell.b) {
        let _ = if by_ratio {
            write!(text, "  {}x to {}x", units::digits(a), units::digits(b))
        } else {
            let (a, b) = (units::rate(1e9 / a), units::rate(1e9 / b));
            write!(text, "  {a} to {b} {}/s", cell.unit)
        };
    }
    if let Some(ratio) = cell.ratio {
        let _ = write!(text, "  time x{}", units::digits(ratio));
    }
    if let Some([low, high]) = cell.ci95 {
        let _ = write!(text, " [{}..{}]", units::digits(low), units::digits(high));
    }
    if let Some(note) = &cell.note {
        let _ = write!(text, "  {note}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Style, text};

    #[test]
    fn what_compares_nothing_says_so_in_whole_lines() {
        let comparison = Comparison {
            schema: "tidings.arena.compare/1",
            a: "then".to_owned(),
            b: "now".to_owned(),
            threshold: 0.05,
            machines_differ: Vec::new(),
            to: None,
            one_launch: false,
            cells: Vec::new(),
            only_a: 6,
            only_b: 1,
        };
        let text = text(&comparison, Style::of_stdout());
        assert_eq!(text.lines().last(), Some("only in A 6 · only in B 1"));
    }
}
