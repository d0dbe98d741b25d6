//! `cargo x mutants --engine NAME [--missing | FILTER]`: what one engine kills by itself, whatever the
//! others do; `all`: each of them. Each such run fills cells of `docs/trust/engines.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::{ENGINES, Program};
use super::entry::Entry;
use super::reach::{self, Reach};
use super::{SWITCH, Session, in_parallel, table};
use crate::command::today;

const PAGE: &str = "docs/trust/engines.md";

/// What a cell says.
const KILLED: &str = "killed";
const PASSES: &str = "-";
const NEVER_THERE: &str = ".";
const NOT_ASKED: &str = "?";

/// Runs one engine, or all, on the mutants that are meant. `missing`: those that it was not asked about.
/// `Err`: it kills none of many.
pub(super) fn alone(
    entries: &[Entry],
    engine: &str,
    missing: bool,
    filter: &str,
) -> Result<ExitCode, String> {
    let rows = Mutex::new(known(entries));
    let mut session = Session::new(entries)?;
    let mut idle = Vec::new();
    let columns: Vec<usize> = (0..ENGINES.len())
        .filter(|&column| engine == "all" || ENGINES[column].name == engine)
        .collect();
    if columns.is_empty() {
        return Err(format!("there is no engine `{engine}`"));
    }
    for column in columns {
        let name = ENGINES[column].name;
        let is_missing = |entry: &Entry| {
            let rows = rows.lock();
            let cell = |rows: &Rows| rows.get(&entry.name).map(|cells| cells[column].clone());
            rows.ok()
                .and_then(|rows| cell(&rows))
                .is_none_or(|cell| cell == NOT_ASKED)
        };
        let meant: Vec<usize> = (0..entries.len())
            .filter(|&n| entries[n].is_meant(filter) && (!missing || is_missing(&entries[n])))
            .collect();
        if meant.is_empty() {
            continue;
        }
        let fingerprint = session.tree.fingerprint.clone();
        let program = session.built(name)?;
        let reach = Reach::learn(program, name, &fingerprint)?;
        let killed = AtomicUsize::new(0);
        in_parallel(&meant, |&n| {
            let cell = ask(program, &reach, &entries[n], n + 1)?;
            killed.fetch_add(usize::from(cell == KILLED), Ordering::Relaxed);
            let mut rows = rows.lock().map_err(|error| error.to_string())?;
            let cells = rows.entry(entries[n].name.clone());
            let cells = cells.or_insert_with(|| vec![NOT_ASKED.to_owned(); ENGINES.len()]);
            cell.clone_into(&mut cells[column]);
            table::write(PAGE, &page(entries, &rows, &today()))?;
            Ok(())
        })?;
        let (killed, all) = (killed.into_inner(), meant.len());
        println!("{name} alone kills {killed} of {all}");
        if killed == 0 && !missing {
            idle.push(name);
        }
    }
    // Also if nothing was missing.
    let rows = rows.into_inner().map_err(|error| error.to_string())?;
    table::write(PAGE, &page(entries, &rows, &today()))?;
    match &idle[..] {
        [] => Ok(ExitCode::SUCCESS),
        idle => Err(format!("mutants: {} kills nothing", idle.join(", "))),
    }
}

/// What an engine says of a mutant.
fn ask(
    program: &Program,
    reach: &Reach,
    entry: &Entry,
    number: usize,
) -> Result<&'static str, String> {
    let switch = number.to_string();
    let mut cell = NEVER_THERE;
    for tests in reach.batches(number, &entry.file) {
        if !tests.is_empty() {
            cell = PASSES;
        }
        let failure = reach::failure(program, &tests, (SWITCH, &switch))?;
        if let Some(how) = failure {
            println!("{:<34} killed by {how}", entry.name);
            return Ok(KILLED);
        }
    }
    println!("{:<34} {cell}", entry.name);
    Ok(cell)
}

type Rows = BTreeMap<String, Vec<String>>;

/// What the page says of the entries as they are: a cell for each engine.
fn known(entries: &[Entry]) -> Rows {
    let mut rows = table::read(PAGE);
    rows.retain(|name, cells| {
        let entry = entries.iter().find(|entry| entry.name == *name);
        let is_it = cells.pop() == entry.map(Entry::id);
        // There may be another engine by now.
        cells.resize(ENGINES.len(), NOT_ASKED.to_owned());
        is_it
    });
    rows
}

fn page(entries: &[Entry], rows: &Rows, date: &str) -> String {
    let (asked, all) = (rows.len(), entries.len());
    let mut text = format!(
        "# What each engine kills by itself\n\n\
         `cargo x mutants` stops at the first engine that kills a mutant, the cheap ones first. Here each \
         is asked by\nitself, by `cargo x mutants --engine NAME [FILTER]` (`all`: each of them), which \
         writes this page (last on {date}, of {asked} of {all} seeded bugs: one that has come or changed since it was asked about is not on it). Of an engine those\ntests are run that come to the code in question, which is \
         looked at in one run of each.\n`-`: they pass; `.`: there are none; `?`: not asked. Engines that \
         work with real threads may kill by chance, or not:\n`stress` runs each of its tests for one second.\n\n\
         | engine | asked | come there | kills | in actors and links | none else asked does |\n\
         |---|--:|--:|--:|--:|--:|\n"
    );
    let second: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry.is_of_actors_or_links())
        .map(|entry| &*entry.name)
        .collect();
    for (column, engine) in ENGINES.iter().enumerate() {
        let count = |word: &str| rows.values().filter(|cells| cells[column] == word).count();
        let of_second = |counts: &dyn Fn(&str) -> bool| {
            let mine = rows.iter().filter(|(name, _)| second.contains(&***name));
            mine.filter(|(_, cells)| counts(&cells[column])).count()
        };
        let killed = count(KILLED);
        let there = killed + count(PASSES);
        let alone = |cells: &&Vec<String>| {
            cells[column] == KILLED && cells.iter().filter(|cell| *cell == KILLED).count() == 1
        };
        let _ = writeln!(
            text,
            "| {} | {} | {there} | {killed} | {} of {} | {} |",
            engine.name,
            there + count(NEVER_THERE),
            of_second(&|cell| cell == KILLED),
            of_second(&|cell| cell != NOT_ASKED),
            rows.values().filter(alone).count()
        );
    }
    text += "\n| mutant |";
    for engine in ENGINES {
        let _ = write!(text, " {} |", engine.name);
    }
    text += &format!(" id |\n|---|{}---|\n", "---|".repeat(ENGINES.len()));
    for entry in entries {
        if let Some(cells) = rows.get(&entry.name) {
            let mut cells = cells.clone();
            cells.push(entry.id());
            text += &table::row(&entry.name, &cells);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ENGINES, KILLED, NEVER_THERE, NOT_ASKED, PASSES, page};
    use crate::mutants::entry;

    #[test]
    fn the_page_has_a_cell_for_each_engine_and_counts_them() {
        let entries = entry::all().unwrap();
        let row = |words: &[&str]| {
            let mut cells: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            cells.resize(ENGINES.len(), NOT_ASKED.to_owned());
            cells
        };
        let second = entries.iter().find(|entry| entry.is_of_actors_or_links());
        let second = second.unwrap();
        let rows = [
            (entries[0].name.clone(), row(&[KILLED, PASSES, NEVER_THERE])),
            (entries[1].name.clone(), row(&[KILLED, KILLED])),
            (second.name.clone(), row(&[NEVER_THERE, KILLED])),
        ]
        .into();
        let text = page(&entries, &rows, "some day");
        let counts = [
            "3 | 2 | 2 | 0 of 1 | 1",
            "3 | 3 | 2 | 1 of 1 | 1",
            "1 | 0 | 0 | 0 of 0 | 0",
            "0 | 0 | 0 | 0 of 0 | 0",
        ];
        for (engine, counts) in ENGINES.iter().zip(counts) {
            let line = format!("| {} | {counts} |\n", engine.name);
            assert!(text.contains(&line), "{line} is not in {text}");
        }
        assert!(text.contains("killed | - | . | ?"), "{text}");
    }
}
