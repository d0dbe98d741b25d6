//! `cargo x mutants --generated [--missing|--survivors] [--near] [--only PART] [--by PROGRAMS] [FILE..]`: what cargo-mutants
//! makes of the files; against these programs only, if some are named (`it,unit`).
//!
//! It changes the code mechanically (a body for a default value, `<` for `<=`). It would build the
//! library and its tests anew for each change, a minute every time; so it only makes the list
//! (`list.rs`), one build holds all changes (`copies.rs`), and each is run against those tests that
//! call its function (`../reach.rs`). What survives needs an argument in `generated.txt`, and an
//! argument needs a survivor. `.cargo/mutants.toml` says what is left out.

mod copies;
mod list;
mod page;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use super::engine::{ENGINES, FEATURED, Program};
use super::reach::{self, Reach};
use super::{SWITCH, append, in_parallel};
use crate::command::{Tally, target};
use copies::Copies;
use list::Mutant;
use page::Fate;

/// What is run when no file is named: all.
const ALL: &[&str] = &[""];
/// Cheapest first.
const PROGRAMS: &[&str] = &[
    "it",
    "unit",
    "upstream",
    "linear",
    "sim",
    "memory",
    "unit-features",
    "features",
    "tokio",
    "links",
    "links-unit",
    "loom",
];
/// What was seen of a mutant: by its id, how it ended and the test that killed it.
type Seen = BTreeMap<String, (String, String)>;

/// The verb. `Err`: a survivor without an argument, or an argument without a survivor.
pub(super) fn run(options: &[&str], tally: &mut Tally) -> Result<ExitCode, String> {
    let (mut missing, mut survivors, mut near) = (false, false, false);
    let (mut only, mut filters) = ("", options);
    let mut by = PROGRAMS.to_vec();
    let filters = loop {
        filters = match filters {
            ["--missing", rest @ ..] => {
                missing = true;
                rest
            }
            ["--survivors", rest @ ..] => {
                (missing, survivors) = (true, true);
                rest
            }
            ["--near", rest @ ..] => {
                near = true;
                rest
            }
            ["--only", part, rest @ ..] => {
                only = part;
                rest
            }
            ["--by", names, rest @ ..] => {
                by = names.split(',').collect();
                rest
            }
            [flag, ..] if flag.starts_with('-') => {
                return Err(format!("mutants --generated: what is `{flag}`?"));
            }
            files => break files,
        };
    };
    let filters = if filters.is_empty() { ALL } else { filters };
    let mutants = list::all(filters)?;
    if mutants.is_empty() {
        return Err("no mutant is meant".to_owned());
    }
    let seen = read();
    // Those that were killed are not even built: quick, but what was learnt of the tests is of this tree alone.
    let is_killed = |n: &usize| {
        let end = seen.get(&mutants[*n].id);
        survivors && end.is_some_and(|(program, _)| program != SURVIVES)
    };
    let left_out = (0..mutants.len()).filter(is_killed).collect();
    let copies = Copies::build(&mutants, &left_out)?;
    let is_known = |n: &usize| {
        copies.unviable.contains(n)
            || copies.fixed.contains(n)
            || missing && is_seen(&seen, &mutants[*n], &copies, near)
    };
    let numbers: Vec<usize> = (0..mutants.len())
        .filter(|n| !is_known(n) && mutants[*n].name.contains(only))
        .collect();
    println!(
        "{} mutants, {} of them to run",
        mutants.len(),
        numbers.len()
    );
    let left = kill_all(&mutants, numbers, &copies, &by, &seen, near)?;
    let fingerprint = &copies.tree.fingerprint;
    let tried = if near {
        near_to(fingerprint)
    } else {
        fingerprint.clone()
    };
    for n in left {
        println!("{}: SURVIVES", mutants[n].name);
        note(&mutants[n], &(SURVIVES.to_owned(), tried.clone()))?;
    }
    let seen = read();
    let fates = mutants.iter().enumerate().map(|(n, mutant)| {
        let fate = if copies.unviable.contains(&n) {
            Fate::Unviable
        } else if copies.fixed.contains(&n) {
            Fate::Fixed
        } else {
            match seen.get(&mutant.id) {
                Some((program, _)) if program != SURVIVES => Fate::Killed,
                _ => Fate::Survived,
            }
        };
        (mutant, fate)
    });
    let fates: Vec<(&Mutant, Fate)> = fates.collect();
    let problems = page::write(&fates, filters)?;
    problems.iter().for_each(|problem| println!("{problem}"));
    let killed = fates.iter().filter(|(_, fate)| *fate == Fate::Killed);
    tally.count_these(killed.count(), problems.len());
    match problems.len() {
        0 => Ok(ExitCode::SUCCESS),
        n => Err(format!("mutants --generated: {n} problems")),
    }
}

/// Stands for the program that killed it; the tests that did not are in the place of the test.
const SURVIVES: &str = "survives";

/// Has it been killed, or has it survived these very tests? Or those nearest to it, if no more is
/// asked for.
fn is_seen(seen: &Seen, mutant: &Mutant, copies: &Copies, near: bool) -> bool {
    seen.get(&mutant.id).is_some_and(|(program, test)| {
        program != SURVIVES
            || *test == copies.tree.fingerprint
            || near && *test == near_to(&copies.tree.fingerprint)
    })
}

fn near_to(fingerprint: &str) -> String {
    format!("near {fingerprint}")
}

/// Runs these mutants against one program after the other, each of which is built when there is a mutant left
/// for it; gives those that none kills.
fn kill_all(
    mutants: &[Mutant],
    numbers: Vec<usize>,
    copies: &Copies,
    names: &[&str],
    seen: &Seen,
    near: bool,
) -> Result<Vec<usize>, String> {
    let mut left = numbers;
    for name in names {
        if left.is_empty() {
            break;
        }
        let mut engines = ENGINES.iter().chain(FEATURED);
        let engine = engines.find(|engine| engine.name == *name);
        let engine = engine.ok_or_else(|| format!("there is no engine `{name}`"))?;
        let program = engine.build(&copies.tree)?;
        let reach = Reach::learn(&program, engine.name, &copies.tree.fingerprint)?;
        let survivors = Mutex::new(Vec::new());
        in_parallel(&left, |&n| {
            match killer(&mutants[n], n, copies, (name, &program, &reach), seen, near)? {
                Some(test) => note(&mutants[n], &((*name).to_owned(), test))?,
                None => survivors.lock().map_err(|e| e.to_string())?.push(n),
            }
            Ok(())
        })?;
        left = survivors.into_inner().map_err(|e| e.to_string())?;
        left.sort_unstable();
        println!("{} mutants have survived {name}", left.len());
    }
    Ok(left)
}

/// Runs the program's tests that call the mutant's function until one fails: which?
fn killer(
    mutant: &Mutant,
    n: usize,
    copies: &Copies,
    (name, program, reach): (&str, &Program, &Reach),
    seen: &Seen,
    near: bool,
) -> Result<Option<String>, String> {
    let switch = (n + 1).to_string();
    let function = copies.function(n).unwrap_or(0);
    // The test that killed it the last time, then all.
    let known = seen.get(&mutant.id).filter(|(known, _)| known == name);
    let known = known.and_then(|(_, test)| Some(vec![reach.named(test)?]));
    let mut batches = reach.batches(function, &mutant.file);
    if near {
        batches.pop();
    }
    for tests in known.into_iter().chain(batches) {
        if let Some(test) = reach::failure(program, &tests, (SWITCH, &switch))? {
            return Ok(Some(test));
        }
    }
    Ok(None)
}

/// What earlier sessions have seen; the last one counts.
fn read() -> Seen {
    let text = std::fs::read_to_string(memory()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let (seen, name) = line.rsplit_once('\t')?;
        let mut cells = seen.split('\t').map(str::to_owned);
        let id = format!("{} {name}", cells.next()?);
        Some((id, (cells.next()?, cells.next()?)))
    });
    lines.collect()
}

/// Each at once: a session may be cut off.
fn note(mutant: &Mutant, (program, test): &(String, String)) -> Result<(), String> {
    let (function, name) = mutant.id.split_once(' ').unwrap_or_default();
    append(
        &memory(),
        &format!("{function}\t{program}\t{test}\t{name}\n"),
    )
}

fn memory() -> PathBuf {
    PathBuf::from(target("mutants")).join("generated-seen")
}
