//! `cargo x mutants --generated [--missing] [--near] [--only PART] [--by PROGRAMS] [FILE..]`: what cargo-mutants
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
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::{ENGINES, Program};
use super::reach::{self, Reach};
use super::{PARALLEL, append, in_parallel};
use crate::command::{Tally, target};
use copies::{Copies, SWITCH};
use list::Mutant;
use page::Fate;

/// The parts whose mutants have all been killed or argued: what is run when no file is named.
const THROUGH: &[&str] = &[
    "event/",
    "channel/",
    "sync/",
    "cancel.rs",
    "scope/",
    "task/",
];
/// Cheapest first.
const PROGRAMS: &[&str] = &["it", "unit", "upstream", "linear", "sim", "memory", "loom"];
/// What was seen of a mutant: by its id, how it ended and the test that killed it.
type Seen = BTreeMap<String, (String, String)>;

/// The verb. `Err`: a survivor without an argument, or an argument without a survivor.
pub(super) fn run(options: &[&str], tally: &mut Tally) -> Result<ExitCode, String> {
    let (mut missing, mut near, mut only, mut filters) = (false, false, "", options);
    let mut by = PROGRAMS.to_vec();
    let filters = loop {
        filters = match filters {
            ["--missing", rest @ ..] => {
                missing = true;
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
    let filters = if filters.is_empty() { THROUGH } else { filters };
    let mutants = list::all(filters)?;
    if mutants.is_empty() {
        return Err("no mutant is meant".to_owned());
    }
    let copies = Copies::build(&mutants)?;
    let seen = read();
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
    if !numbers.is_empty() {
        let programs = programs(&copies, &by)?;
        let next = AtomicUsize::new(0);
        in_parallel(PARALLEL, || {
            while let Some(&n) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                kill(&mutants[n], n, &copies, &programs, &seen, near)?;
            }
            Ok(())
        })?;
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

/// The test programs with all mutants in them, and their tests by the functions they call.
fn programs(
    copies: &Copies,
    names: &[&str],
) -> Result<Vec<(&'static str, Program, Reach)>, String> {
    let mut programs = Vec::new();
    for name in names {
        let engine = ENGINES.iter().find(|engine| engine.name == *name);
        let engine = engine.ok_or_else(|| format!("there is no engine `{name}`"))?;
        let name = engine.name;
        let program = engine.build(&copies.tree)?;
        let reach = Reach::learn(&program, name, &copies.tree.fingerprint)?;
        programs.push((name, program, reach));
    }
    Ok(programs)
}

/// Runs the tests that call the mutant's function until one fails, and notes what became of it.
fn kill(
    mutant: &Mutant,
    n: usize,
    copies: &Copies,
    programs: &[(&str, Program, Reach)],
    seen: &Seen,
    near: bool,
) -> Result<(), String> {
    let switch = (n + 1).to_string();
    let function = copies.function(n).unwrap_or(0);
    // The test that killed it the last time, then all.
    let known = seen.get(&mutant.id).into_iter().filter_map(|(name, test)| {
        let program = programs.iter().find(|(program, ..)| program == name)?;
        Some((program, vec![program.2.named(test)?]))
    });
    let all = programs.iter().flat_map(|program| {
        let mut batches = program.2.batches(function, &mutant.file);
        if near {
            batches.pop();
        }
        batches.into_iter().map(move |tests| (program, tests))
    });
    let fingerprint = &copies.tree.fingerprint;
    let tried = if near {
        near_to(fingerprint)
    } else {
        fingerprint.clone()
    };
    let mut end = (SURVIVES.to_owned(), tried);
    let mut run = 0;
    for ((name, program, _), tests) in known.chain(all) {
        run += tests.len();
        if let Some(test) = reach::failure(program, &tests, (SWITCH, &switch))? {
            end = ((*name).to_owned(), test);
            break;
        }
    }
    if end.0 == SURVIVES {
        println!("{}: SURVIVES {run} tests", mutant.name);
    }
    note(mutant, &end)
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
