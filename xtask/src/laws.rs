//! `cargo x laws`: programs of every primitive under four engines, judged by the laws.
//!
//! What is to run stands in SEMANTICS.md; a law that an engine did not report is a failure.

use std::collections::BTreeSet;

use crate::command::{Tally, read};
use crate::engines;
use crate::tidy::laws::rows;

/// Programs that have no laws: they assert (`tests/laws/storm.rs`).
const RACES: &str = "shuttle/races";

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options<'a> {
    full: bool,
    /// Part of `engine/primitive`.
    filter: &'a str,
    seed: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn read(mut arguments: &[&'a str]) -> Option<Self> {
        let mut options = Self::default();
        loop {
            arguments = match arguments {
                [] => return Some(options),
                ["--full", rest @ ..] => {
                    options.full = true;
                    rest
                }
                ["--seed", seed, rest @ ..] if seed.parse::<u64>().is_ok() => {
                    options.seed = Some(seed);
                    rest
                }
                [filter, rest @ ..] if options.filter.is_empty() && !filter.starts_with('-') => {
                    options.filter = filter;
                    rest
                }
                _ => return None,
            }
        }
    }

    fn wants(&self, engine: &str, primitive: &str) -> bool {
        format!("{engine}/{primitive}").contains(self.filter)
    }
}

/// Runs what the arguments ask for: `[--full] [--seed N] [FILTER]`.
pub(crate) fn run(arguments: &[&str], tally: &mut Tally) -> Result<(), String> {
    let options = Options::read(arguments)
        .ok_or_else(|| format!("laws takes [--full] [--seed N] [FILTER], not {arguments:?}"))?;
    let page = read("SEMANTICS.md")?;
    let mut expected = BTreeSet::new();
    for row in rows(&page) {
        let engines = row
            .engines
            .iter()
            .filter(|engine| options.wants(engine, row.primitive));
        for engine in engines {
            expected.extend(
                row.laws
                    .iter()
                    .map(|law| format!("{engine} {} {law}", row.primitive)),
            );
        }
    }
    let races = RACES.contains(options.filter);
    if expected.is_empty() && !races {
        return Err(format!("nothing to run is called `{}`", options.filter));
    }
    let mut failures = Vec::new();
    for (build, of_build) in engines::LAWS {
        let runs = |line: &String| {
            of_build
                .iter()
                .any(|engine| line.starts_with(&format!("{engine} ")))
        };
        if expected.iter().any(runs) || races && of_build.contains(&"shuttle") {
            let full = if options.full { "1" } else { "0" };
            let mut env = vec![
                ("TIDINGS_LAWS_FULL", full),
                ("TIDINGS_LAWS_FILTER", options.filter),
            ];
            env.extend(options.seed.map(|seed| ("TIDINGS_LAWS_SEED", seed)));
            failures.extend(build(&env, options.full, tally).err());
        }
    }
    println!();
    tally.laws.iter().for_each(|line| println!("{line}"));
    let reported: BTreeSet<_> = tally
        .laws
        .iter()
        .filter_map(|line| reported(line))
        .collect();
    failures.extend(
        expected
            .difference(&reported)
            .map(|line| format!("no word of: {line}")),
    );
    let (laws, programs) = (
        tally.laws.len(),
        tally.laws.iter().map(|line| programs(line)).sum::<u64>(),
    );
    println!("{laws} laws of primitives under engines, held of {programs} programs");
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

/// `engine primitive law` of a line of an engine that has found nothing.
fn reported(line: &str) -> Option<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let ["law", engine, primitive, law, .., "ok"] = words[..] else {
        return None;
    };
    Some(format!("{engine} {primitive} {law}"))
}

fn programs(line: &str) -> u64 {
    let number = line.split_whitespace().nth(4);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Options, programs, reported};

    #[test]
    fn arguments_come_in_any_order() {
        let options = Options {
            full: true,
            filter: "loom/watch",
            seed: Some("7"),
        };
        assert_eq!(
            Options::read(&["--seed", "7", "loom/watch", "--full"]),
            Some(options)
        );
        assert_eq!(Options::read(&[]), Some(Options::default()));
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--fast"], &["a", "b"]] {
            assert_eq!(Options::read(wrong), None);
        }
    }

    #[test]
    fn a_filter_is_a_part_of_engine_and_primitive() {
        let options = |filter| Options {
            filter,
            ..Options::default()
        };
        assert!(options("").wants("loom", "watch"));
        assert!(options("watch").wants("loom", "watch"));
        assert!(options("loom/").wants("loom", "watch"));
        assert!(!options("seeded/watch").wants("loom", "watch"));
    }

    #[test]
    fn the_lines_of_engines_are_read() {
        let line = "law seeded   watch      order            2000 programs      2000 runs   ok";
        assert_eq!(reported(line).as_deref(), Some("seeded watch order"));
        assert_eq!(programs(line), 2000);
        assert_eq!(reported("law seeded watch order FAILED"), None);
    }
}
