//! One library with all mutants in it: the body of each function once as it is and once for each
//! of its mutants, and a number in the environment chooses.
//!
//! What the compiler refuses in such a body is no mutant ("unviable"), and is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use super::super::engine::{Engine, LOOM, UNIT};
use super::super::sites::{SOURCES, blanked, block_end};
use super::super::tree::{Fingerprint, Tree};
use super::super::{ROOT, append_switch};
use super::list::Mutant;
use crate::command::{read, target};

/// What would be refused only when the programs are built, and is a panic at run time.
const ALLOWED: &str = "#![allow(arithmetic_overflow, unconditional_panic)]\n";

/// The mutants of one function, those of functions within it too.
struct Function {
    /// From behind the opening brace to the closing one.
    body: Range<usize>,
    /// Places in the list; their numbers are greater by one.
    mutants: Range<usize>,
}

/// Where the lines of a changed file come from: to the line `end`, from this mutant of this
/// function, or, with none, from the rest of it.
struct Origin {
    end: usize,
    function: usize,
    mutant: Option<usize>,
}

/// The library with its switches.
pub(super) struct Copies {
    pub(super) tree: Tree,
    /// What the compiler has refused.
    pub(super) unviable: BTreeSet<usize>,
    /// Those in functions of which there cannot be two bodies: constant ones, and those that give
    /// back a type without a name.
    pub(super) fixed: BTreeSet<usize>,
    functions: Vec<Range<usize>>,
}

impl Copies {
    /// Asks the compiler until it refuses nothing. Those that are `left_out` are not in it.
    pub(super) fn build(mutants: &[Mutant], left_out: &BTreeSet<usize>) -> Result<Self, String> {
        let functions = functions(mutants)?;
        let (mut unviable, mut fixed) = known(mutants);
        for (n, mutant) in mutants.iter().enumerate() {
            if mutant.nameless {
                fixed.insert(n);
            }
        }
        let tree = loop {
            let mut out: BTreeSet<usize> = unviable.union(&fixed).copied().collect();
            let before = out.len();
            out.extend(left_out);
            let (texts, origins) = switched(mutants, &functions, &out)?;
            let tree = Tree::copy("generated", &texts)?;
            let mut refused = refused(&tree, &UNIT, "")?;
            if refused.is_empty() {
                // Some of what models look at is there for tests alone.
                refused = self::refused(&tree, &LOOM, " --profile test")?;
            }
            if refused.is_empty() {
                refused = self::refused(&tree, &UNIT, " --all-features")?;
            }
            if refused.is_empty() {
                break tree;
            }
            for (file, line) in refused {
                let origin = origins.get(&file).and_then(|origins| {
                    let at = origins.partition_point(|origin| origin.end < line);
                    origins.get(at)
                });
                let function = origin.and_then(|origin| functions.get(&file)?.get(origin.function));
                match (origin.and_then(|origin| origin.mutant), function) {
                    (Some(mutant), _) => drop(unviable.insert(mutant)),
                    (None, Some(function)) => fixed.extend(function.mutants.clone()),
                    (None, None) => return Err(format!("{file}:{line} does not compile")),
                }
            }
            println!(
                "{} of {} mutants do not compile",
                unviable.len(),
                mutants.len()
            );
            if unviable.union(&fixed).count() == before {
                return Err("what does not compile has been left out already".to_owned());
            }
        };
        unviable.retain(|n| !fixed.contains(n));
        remember(mutants, &unviable, &fixed)?;
        Ok(Self {
            tree,
            unviable,
            fixed,
            functions: functions
                .into_values()
                .flatten()
                .map(|function| function.mutants)
                .collect(),
        })
    }

    /// By which number the tests tell that they call the function of this mutant.
    pub(super) fn function(&self, mutant: usize) -> Option<usize> {
        let mut functions = self.functions.iter();
        functions
            .find(|mutants| mutants.contains(&mutant))
            .map(|mutants| mutants.start + 1)
    }
}

/// The outermost functions with mutants, by file.
fn functions(mutants: &[Mutant]) -> Result<BTreeMap<String, Vec<Function>>, String> {
    let mut functions: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    let mut code = (String::new(), String::new());
    for (n, mutant) in mutants.iter().enumerate() {
        if code.0 != mutant.file {
            let text = read(format!("{SOURCES}/{}", mutant.file))?;
            code = (mutant.file.clone(), blanked(&text));
        }
        let known = functions.entry(mutant.file.clone()).or_default();
        if let Some(last) = known.last_mut()
            && last.body.contains(&mutant.span.start)
        {
            last.mutants.end = n + 1;
            continue;
        }
        // The mutants come in the order of their places, so that a function's own comes before
        // those of a function within it.
        let signature = mutant.function.start;
        let open = body_start(&code.1[signature..]).map(|at| signature + at);
        let close = open.and_then(|open| block_end(&code.1, open));
        let (Some(open), Some(close)) = (open, close) else {
            return Err(format!("{}: its function has no body", mutant.name));
        };
        known.push(Function {
            body: open + 1..close,
            mutants: n..n + 1,
        });
    }
    Ok(functions)
}

/// The brace that opens the body of the function with which the code begins: patterns of arguments
/// may have braces, too.
fn body_start(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

type Texts = BTreeMap<String, String>;
type Origins = BTreeMap<String, Vec<Origin>>;

/// The files with all mutants but those that are `out`.
fn switched(
    mutants: &[Mutant],
    functions: &BTreeMap<String, Vec<Function>>,
    out: &BTreeSet<usize>,
) -> Result<(Texts, Origins), String> {
    let (mut texts, mut all_origins) = (Texts::new(), Origins::new());
    for (file, functions) in functions {
        let path = format!("{SOURCES}/{file}");
        let old = read(&path)?;
        let (new, origins) = switched_file(&old, mutants, functions, out);
        texts.insert(path, new);
        all_origins.insert(file.clone(), origins);
    }
    append_switch(ROOT, &mut texts)?;
    if let Some(root) = texts.get_mut(ROOT) {
        root.insert_str(0, ALLOWED);
    }
    Ok((texts, all_origins))
}

fn switched_file(
    old: &str,
    mutants: &[Mutant],
    functions: &[Function],
    out: &BTreeSet<usize>,
) -> (String, Vec<Origin>) {
    let (mut new, mut origins, mut at, mut line) = (String::new(), Vec::new(), 0, 1);
    for (function, Function { body, mutants: of }) in functions.iter().enumerate() {
        let on: Vec<usize> = of.clone().filter(|n| !out.contains(n)).collect();
        if on.is_empty() {
            continue;
        }
        let mut add = |text: &str, mutant| {
            new.push_str(text);
            line += text.matches('\n').count();
            // What follows begins on a line of its own.
            origins.push(Origin {
                end: line - 1,
                function,
                mutant,
            });
        };
        add(&old[at..body.start], None);
        let (from, to) = (of.start + 1, of.end);
        let head = format!("\nmatch crate::mutant_of({from}, {to}) {{\n");
        add(&head, None);
        for n in on {
            let Mutant {
                span, replacement, ..
            } = &mutants[n];
            let (before, after) = (&old[body.start..span.start], &old[span.end..body.end]);
            let number = n + 1;
            let arm = format!("{number} => {{\n{before}{replacement}{after}\n}}\n");
            add(&arm, Some(n));
        }
        add(&format!("_ => {{\n{}\n}}\n}}\n", &old[body.clone()]), None);
        at = body.end;
    }
    new.push_str(&old[at..]);
    (new, origins)
}

/// The places at which the compiler refuses the library as an engine builds it, as files below
/// `src` and lines.
fn refused(tree: &Tree, engine: &Engine, more: &str) -> Result<Vec<(String, usize)>, String> {
    let line = format!("check --package tidings --lib --message-format short{more}");
    println!(
        "$ cd {} && cargo {line} # {}",
        tree.root.display(),
        engine.name
    );
    let output = Command::new("cargo")
        .args(line.split(' '))
        .envs(engine.env.iter().copied())
        .env("CARGO_TARGET_DIR", engine.target(tree))
        .current_dir(&tree.root)
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // `crates/tidings/src/lib.rs:3:5: error[E0308]: mismatched types`
    let places: Vec<(String, usize)> = said
        .lines()
        .filter_map(|line| {
            let (place, _) = line.split_once(": error")?;
            let mut parts = place.strip_prefix(SOURCES)?[1..].split(':');
            Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?))
        })
        .collect();
    if places.is_empty() {
        return Err(format!("{said}\nthe copy does not compile"));
    }
    Ok(places)
}

/// Where it is remembered what the compiler refused of these very mutants.
fn memory(mutants: &[Mutant]) -> PathBuf {
    let mut print = Fingerprint::default();
    for mutant in mutants {
        print.add(mutant.id.as_bytes());
    }
    PathBuf::from(target("mutants")).join(format!("refused-{}", print.text()))
}

fn known(mutants: &[Mutant]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let text = fs::read_to_string(memory(mutants)).unwrap_or_default();
    let numbers = |what| {
        let lines = text.lines().filter_map(move |line| line.strip_prefix(what));
        lines.filter_map(|n| n.parse().ok()).collect()
    };
    (numbers("unviable "), numbers("fixed "))
}

fn remember(
    mutants: &[Mutant],
    unviable: &BTreeSet<usize>,
    fixed: &BTreeSet<usize>,
) -> Result<(), String> {
    let mut text = String::new();
    for (what, numbers) in [("unviable", unviable), ("fixed", fixed)] {
        for n in numbers {
            text += &format!("{what} {n}\n");
        }
    }
    let at = memory(mutants);
    fs::write(&at, text).map_err(|error| format!("{}: {error}", at.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Function, body_start, switched_file};
    use crate::mutants::generated::list::Mutant;

    #[test]
    fn a_body_begins_behind_the_arguments() {
        let code = "#[cold]\nfn f(P { a, .. }: P, b: [u8; 2]) -> u8 {";
        assert_eq!(body_start(code), Some(code.len() - 1));
        assert_eq!(body_start("fn f();"), None);
    }

    #[test]
    fn a_function_has_a_body_for_each_mutant_and_one_for_none() {
        let text = "fn f() -> u32 { 1 + 2 }\nfn g() {}\n";
        let mutant = |span, replacement: &str| Mutant {
            file: "a.rs".to_owned(),
            name: String::new(),
            id: String::new(),
            function: 0..23,
            nameless: false,
            span,
            replacement: replacement.to_owned(),
        };
        let mutants = [
            mutant(16..21, "0"),
            mutant(18..19, "-"),
            mutant(18..19, "?"),
        ];
        let functions = [Function {
            body: 15..22,
            mutants: 0..3,
        }];
        let (new, origins) = switched_file(text, &mutants, &functions, &BTreeSet::from([2]));
        let lines: Vec<&str> = new.lines().map(str::trim).collect();
        let expected = [
            "fn f() -> u32 {",
            "match crate::mutant_of(1, 3) {",
            "1 => {",
            "0",
            "}",
            "2 => {",
            "1 - 2",
            "}",
            "_ => {",
            "1 + 2",
            "}",
            "}",
            "}",
            "fn g() {}",
        ];
        assert_eq!(lines, expected);
        let mutant_of = |line| origins.iter().find(|origin| origin.end >= line)?.mutant;
        assert_eq!(mutant_of(2), None);
        assert_eq!((mutant_of(4), mutant_of(7)), (Some(0), Some(1)));
        assert_eq!(mutant_of(10), None);
    }
}
