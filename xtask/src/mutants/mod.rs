//! `cargo x mutants`, `cargo x orderings`: do the tests notice when the library is wrong?
//!
//! | file | what |
//! |---|---|
//! | `list/`, `entry.rs` | seeded bugs, one short entry each, and how they are written |
//! | `engine.rs` | what is to kill them: a table of test programs |
//! | `drawn.rs` | a few of them, each against the test that is known to find it |
//! | `few.rs` | what those few tests need of the program that has all |
//! | `matrix.rs` | which engine kills which of them, by itself |
//! | `orderings.rs`, `sites.rs` | every explicit memory ordering, weakened by one step; where they are |
//! | `reach.rs` | which tests come to which mutants |
//! | `generated/` | what cargo-mutants makes of the files |
//! | `tree.rs` | the copy of the work tree that is changed |
//! | `table.rs` | results, in `docs/trust` |

mod drawn;
mod engine;
mod entry;
mod few;
mod generated;
mod matrix;
mod orderings;
mod reach;
mod sites;
mod table;
mod tree;

use std::collections::{BTreeMap, btree_map};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::command::{Tally, read};
use engine::{ENGINES, Program, Verdict};
use entry::Entry;
use tree::Tree;

pub(crate) use orderings::run as orderings;

const TABLE: &str = "docs/trust/mutants.md";
/// So many at a time: those that hang cost nothing.
const PARALLEL: usize = 4;
/// The library's root file.
const ROOT: &str = "crates/tidings/src/lib.rs";

/// Puts `code` at the end of a library's root file.
fn append_to_root(
    root: &str,
    texts: &mut BTreeMap<String, String>,
    code: &str,
) -> Result<(), String> {
    let text = match texts.remove(root) {
        Some(text) => text,
        None => read(root)?,
    };
    texts.insert(root.to_owned(), text + code);
    Ok(())
}

/// The variable that switches a mutant on, by its number.
const SWITCH: &str = "TIDINGS_MUTANT";

/// Puts what asks which mutant is on at the end of a library's root file.
fn append_switch(root: &str, texts: &mut BTreeMap<String, String>) -> Result<(), String> {
    let code = SWITCH_CODE.replace("SWITCH", SWITCH);
    append_to_root(root, texts, &code.replace("CALLED", reach::CALLED))
}

/// Is this one on; and which is, if it is one of these, which are all of the function that asks.
const SWITCH_CODE: &str = r#"
#[allow(dead_code)]
#[inline(always)]
pub(crate) fn mutant(number: u32) -> bool {
    mutant_of(number, number) == number
}

#[inline(always)]
pub(crate) fn mutant_of(from: u32, to: u32) -> u32 {
    static ON: std::sync::OnceLock<(u32, bool)> = std::sync::OnceLock::new();
    let (on, tells) = *ON.get_or_init(|| {
        let number = std::env::var("SWITCH").ok();
        let number = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        (number, std::env::var_os("CALLED").is_some())
    });
    if tells {
        called(from);
    }
    if from <= on && on <= to { on } else { 0 }
}

#[cold]
fn called(number: u32) {
    static TOLD: std::sync::Mutex<std::collections::BTreeSet<u32>> =
        std::sync::Mutex::new(std::collections::BTreeSet::new());
    if TOLD.lock().unwrap().insert(number)
        && let Some(path) = std::env::var_os("CALLED")
    {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{number}\n").as_bytes()).unwrap();
    }
}
"#;

/// Which entries a run is about.
enum Chosen<'a> {
    All,
    /// Those whose name or file contains this.
    Named(&'a str),
    /// Those of which the table says nothing.
    Missing,
    /// So many that one engine finds, by a seed, or else by the code: the same code draws the same.
    Some(usize, Option<u64>),
}

/// The verb. `Err`: the list is wrong, or a mutant survives. The killed ones count as passed.
pub(crate) fn run(options: &[&str], tally: &mut Tally) -> Result<ExitCode, String> {
    let entries = entry::all()?;
    let chosen = match options {
        ["--list"] => {
            for entry in &entries {
                println!("{:<34} {:<24} {}", entry.name, entry.file, entry.bug);
            }
            return Ok(ExitCode::SUCCESS);
        }
        ["--generated", files @ ..] => return generated::run(files, tally),
        ["--engine", engine, "--missing"] => return matrix::alone(&entries, engine, true, ""),
        ["--engine", engine] => return matrix::alone(&entries, engine, false, ""),
        ["--engine", engine, filter] => return matrix::alone(&entries, engine, false, filter),
        [] => Chosen::All,
        ["--missing"] => Chosen::Missing,
        ["--short", n] => Chosen::Some(number(n)?, None),
        ["--short", n, "--seed", seed] => Chosen::Some(number(n)?, Some(number(seed)?)),
        [filter] if !filter.starts_with('-') => Chosen::Named(filter),
        _ => return Err(format!("mutants: what is `{}`?", options.join(" "))),
    };
    let mut rows = killed(&entries);
    let mut session = Session::new(&entries)?;
    let numbers: Vec<usize> = match chosen {
        Chosen::All => (0..entries.len()).collect(),
        Chosen::Named(filter) => (0..entries.len())
            .filter(|&n| entries[n].is_meant(filter))
            .collect(),
        Chosen::Missing => (0..entries.len())
            .filter(|&n| !rows.contains_key(&entries[n].name))
            .collect(),
        Chosen::Some(n, seed) => {
            let drawn = u64::from_str_radix(&session.tree.fingerprint, 16);
            let seed = seed.unwrap_or(drawn.unwrap_or(1));
            println!("the seed is {seed}");
            drawn::some(&drawn::engines(&entries, &rows), n, seed)
        }
    };
    if numbers.is_empty() {
        return Err("no mutant is meant".to_owned());
    }
    if matches!(chosen, Chosen::Some(..)) {
        let mut left = Vec::new();
        for n in drawn::left(&mut session, &entries, &numbers, &rows)? {
            if !session.is_found_where_expected(&entries[n], n + 1)? {
                left.push(n);
            }
        }
        let survivors = survivors(&entries, left)?;
        return verdict(numbers.len(), survivors, tally);
    }
    let mut survivors = Vec::new();
    for &n in &numbers {
        let entry = &entries[n];
        let start = Instant::now();
        let killed = session.kill(entry, n + 1)?;
        let seconds = start.elapsed().as_secs_f64();
        let (engine, test) = match &killed {
            Some((engine, test)) => (engine.as_str(), test.as_str()),
            None => ("SURVIVES", ""),
        };
        println!("{:<34} {engine:<8} {test} ({seconds:.1} s)", entry.name);
        match killed {
            Some((engine, test)) => {
                let test = test.replace('|', "/");
                rows.insert(entry.name.clone(), vec![engine, test, entry.id()]);
            }
            None => survivors.push(entry.name.as_str()),
        }
        table::write(TABLE, &text(&entries, &rows, &survivors))?;
    }
    verdict(numbers.len(), survivors, tally)
}

/// Those of `numbers` that no engine finds: where threads have to meet, the few tests that were asked may miss one by
/// chance.
fn survivors(entries: &[Entry], numbers: Vec<usize>) -> Result<Vec<&str>, String> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    // With all tests again.
    let mut session = Session::new(entries)?;
    let mut survivors = Vec::new();
    for n in numbers {
        let name = entries[n].name.as_str();
        match session.kill(&entries[n], n + 1)? {
            Some((engine, test)) => println!("{name:<34} {engine:<8} {test}"),
            None => survivors.push(name),
        }
    }
    Ok(survivors)
}

fn verdict(all: usize, survivors: Vec<&str>, tally: &mut Tally) -> Result<ExitCode, String> {
    let killed = all - survivors.len();
    println!(
        "{all} mutants, {killed} killed, {} survive",
        survivors.len()
    );
    tally.count_these(killed, survivors.len());
    if survivors.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        let names = survivors.join(", ");
        Err(format!("mutants: {names} survive"))
    }
}

/// What the table says of those that have been killed as they are now.
fn killed(entries: &[Entry]) -> table::Rows {
    let mut rows = table::read(TABLE);
    rows.retain(|name, cells| {
        let entry = entries.iter().find(|entry| entry.name == *name);
        // Without a test it has not been killed.
        let test = cells.iter().nth_back(1);
        test.is_some_and(|test| !test.is_empty())
            && entry.is_some_and(|entry| cells.last() == Some(&entry.id()))
    });
    rows
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("mutants: `{text}` is no number"))
}

/// The tree with all mutants, and the programs built of it so far.
struct Session {
    tree: Tree,
    programs: BTreeMap<&'static str, Program>,
}

impl Session {
    fn new(entries: &[Entry]) -> Result<Self, String> {
        Ok(Self {
            tree: Tree::copy("tree", &entry::switched(entries)?)?,
            programs: BTreeMap::new(),
        })
    }

    /// The program of an engine.
    fn built(&mut self, engine: &str) -> Result<&mut Program, String> {
        let engine = ENGINES
            .iter()
            .find(|known| known.name == engine)
            .ok_or_else(|| format!("there is no engine `{engine}`"))?;
        match self.programs.entry(engine.name) {
            btree_map::Entry::Occupied(program) => Ok(program.into_mut()),
            btree_map::Entry::Vacant(place) => Ok(place.insert(engine.build(&self.tree)?)),
        }
    }

    /// The same, seen to be green when no mutant is switched on.
    fn program(&mut self, engine: &str) -> Result<&Program, String> {
        let fingerprint = self.tree.fingerprint.clone();
        let program = self.built(engine)?;
        program.prove(&fingerprint)?;
        Ok(program)
    }

    /// Do the tests that the entry names find it, though not the one of its row? Of a program that ended the row has the
    /// first of those that had not, which need not be the cause.
    fn is_found_where_expected(&mut self, entry: &Entry, number: usize) -> Result<bool, String> {
        let Some((engine, tests)) = expected(entry) else {
            return Ok(false);
        };
        let switch = number.to_string();
        let verdict = self
            .built(engine)?
            .run(tests.as_deref(), &[(SWITCH, &switch)])?;
        let Verdict::Killed(how) = verdict else {
            return Ok(false);
        };
        println!("{:<34} {engine:<8} {how}", entry.name);
        Ok(true)
    }

    /// The engine that kills the mutant, and the test. First the expected one, then all.
    fn kill(&mut self, entry: &Entry, number: usize) -> Result<Option<(String, String)>, String> {
        let switch = number.to_string();
        let first = expected(entry).into_iter();
        for (engine, tests) in first.chain(ENGINES.iter().map(|engine| (engine.name, None))) {
            let program = self.program(engine)?;
            let verdict = program.run(tests.as_deref(), &[(SWITCH, &switch)])?;
            match verdict {
                Verdict::Killed(test) => return Ok(Some((engine.to_owned(), test))),
                Verdict::Green(0, _) => {
                    let name = &entry.name;
                    return Err(format!("{name}: {engine} has no test of that name"));
                }
                Verdict::Green(..) => {}
            }
        }
        Ok(None)
    }
}

/// The engine and the tests that an entry names.
fn expected(entry: &Entry) -> Option<(&str, Option<Vec<String>>)> {
    let (engine, tests) = entry.first.as_ref()?;
    let tests = tests.as_ref();
    let tests = tests.map(|tests| tests.split_whitespace().map(str::to_owned).collect());
    Some((engine, tests))
}

/// Writes a line at the end of a file at once: a session may be cut off.
fn append(at: &Path, line: &str) -> Result<(), String> {
    let file = OpenOptions::new().create(true).append(true).open(at);
    // One write, so that lines of several threads do not mix.
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| format!("{}: {error}", at.display()))
}

/// Does the work on each of these, so many at a time; the first error is the result.
fn in_parallel<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let (next, first) = (AtomicUsize::new(0), Mutex::new(Ok(())));
    let take = || items.get(next.fetch_add(1, Ordering::Relaxed));
    let all = || std::iter::from_fn(take).try_for_each(&work);
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                if let (Err(error), Ok(mut first)) = (all(), first.lock()) {
                    *first = Err(error);
                }
            });
        }
    });
    first.into_inner().map_err(|error| error.to_string())?
}

/// The page.
fn text(entries: &[Entry], rows: &table::Rows, survivors: &[&str]) -> String {
    let killed = rows.len();
    let mut text = format!(
        "# Mutants\n\n\
         Bugs that were put into a copy of the library, and the test that noticed. Written by \
         `cargo x mutants`;\nthe list is in `xtask/src/mutants/list`. The last column changes \
         when the mutant does: what was seen of the\nold one is forgotten.\n\n\
         {} mutants: {killed} killed, {} survive, {} not yet run.\n\n\
         | mutant | bug | in | killed by | test | id |\n|---|---|---|---|---|---|\n",
        entries.len(),
        survivors.len(),
        entries.len() - killed - survivors.len(),
    );
    for entry in entries {
        let mut bug = entry.bug.clone();
        if let Some(like) = &entry.like {
            bug += &format!(" (as in {like})");
        }
        let mut cells = vec![bug, format!("`{}`", entry.file)];
        match rows.get(&entry.name).map(|cells| &cells[cells.len() - 3..]) {
            Some([engine, test, _]) => {
                let test = test.trim_matches('`');
                cells.extend([engine.clone(), format!("`{test}`")]);
            }
            _ if survivors.contains(&entry.name.as_str()) => {
                cells.extend(["**survives**".to_owned(), String::new()]);
            }
            _ => cells.extend(["not yet run".to_owned(), String::new()]),
        }
        cells.push(entry.id());
        text += &table::row(&entry.name, &cells);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{drawn, entry, killed};
    use crate::command::root;

    #[test]
    fn the_table_has_every_seeded_bug_as_it_is_now_and_none_survives() {
        let entries = entry::all().unwrap();
        let killed = killed(&entries);
        let mut others: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
        others.retain(|name| !killed.contains_key(*name));
        assert!(
            others.is_empty(),
            "`cargo x mutants --missing` has not run, or not killed: {}",
            others.join(", ")
        );
    }

    /// The functions below a folder of tests, each behind the path of its module.
    fn functions(folder: &Path, path: &str, found: &mut Vec<String>) {
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_stem().unwrap().to_str().unwrap();
            if file.is_dir() {
                functions(&file, &format!("{path}{name}::"), found);
                continue;
            }
            let module = match name {
                "mod" | "main" => path.to_owned(),
                name => format!("{path}{name}::"),
            };
            let text = std::fs::read_to_string(&file).unwrap();
            let names = text.split("fn ").skip(1);
            let names = names.filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(|name| module.clone() + name));
        }
    }

    #[test]
    fn the_tests_of_it_that_are_named_are_there() {
        let mut found = Vec::new();
        functions(&root().join("crates/tidings/tests/it"), "", &mut found);
        let entries = entry::all().unwrap();
        let tried = entries.iter().flat_map(|entry| &entry.first);
        let tried = tried.filter(|(engine, _)| engine == "it");
        let mut named: Vec<&str> = tried
            .filter_map(|(_, tests)| tests.as_deref())
            .flat_map(str::split_whitespace)
            .collect();
        let rows = killed(&entries);
        let seen = rows.values().filter_map(|cells| drawn::known(cells));
        named.extend(seen.filter_map(|(engine, test)| (engine == "it").then_some(test)));
        named.retain(|test| !found.iter().any(|name| name.contains(test)));
        assert!(named.is_empty(), "there are no such tests: {named:?}");
    }
}
