//! What became of the mutants, in `docs/trust`.

use std::collections::BTreeMap;

use super::super::orderings::arguments;
use super::super::table;
use super::list::Mutant;
use crate::command::today;

const COLUMNS: [&str; 6] = [
    "mutants", "killed", "argued", "unviable", "fixed", "survive",
];
const PAGE: &str = "docs/trust/generated.md";
const ARGUMENTS: &str = "xtask/src/mutants/generated.txt";

/// What became of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Killed,
    Survived,
    /// The compiler refuses it.
    Unviable,
    /// There cannot be two bodies of its function.
    Fixed,
}

/// Writes the rows of the files that were meant and keeps the others; says what is wrong with the
/// arguments.
pub(super) fn write(fates: &[(&Mutant, Fate)], filters: &[&str]) -> Result<Vec<String>, String> {
    let arguments = arguments(ARGUMENTS)?;
    let mut counts: BTreeMap<&str, [usize; COLUMNS.len()]> = BTreeMap::new();
    for (mutant, fate) in fates {
        let column = match fate {
            Fate::Killed => 1,
            Fate::Survived if arguments.contains_key(&mutant.name) => 2,
            Fate::Unviable => 3,
            Fate::Fixed => 4,
            Fate::Survived => 5,
        };
        let counts = counts.entry(&mutant.file).or_default();
        counts[0] += 1;
        counts[column] += 1;
    }
    let mut rows = files();
    // A file that is gone, or has no mutants any more.
    rows.retain(|file, _| !is_meant(file, filters));
    for (file, counts) in counts {
        let cells = counts.iter().map(usize::to_string).collect();
        rows.insert(file.to_owned(), cells);
    }
    table::write(PAGE, &text(&rows, &arguments))?;
    Ok(problems(fates, &arguments, filters))
}

/// The rows of the files; those of the arguments begin with the name of a mutant.
fn files() -> table::Rows {
    let mut rows = table::read(PAGE);
    rows.retain(|file, _| file.ends_with(".rs"));
    rows
}

fn is_meant(file: &str, filters: &[&str]) -> bool {
    filters.iter().any(|filter| file.contains(filter))
}

fn problems(
    fates: &[(&Mutant, Fate)],
    arguments: &BTreeMap<String, String>,
    filters: &[&str],
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut gone: BTreeMap<&String, &String> = arguments.iter().collect();
    gone.retain(|name, _| is_meant(name.split(": ").next().unwrap_or(""), filters));
    for (mutant, fate) in fates {
        let name = &mutant.name;
        match (fate, gone.remove(name)) {
            (Fate::Survived, None) => problems.push(format!("{name}: survives")),
            (Fate::Survived, Some(_)) | (_, None) => {}
            _ => problems.push(format!("{name}: does not survive and needs no argument")),
        }
    }
    let gone = gone.keys();
    problems.extend(gone.map(|name| format!("{name}: an argument for a mutant that is gone")));
    problems
}

fn text(rows: &table::Rows, arguments: &BTreeMap<String, String>) -> String {
    let sum = |column: usize| {
        let cells = rows.values().filter_map(|cells| cells.get(column));
        cells
            .filter_map(|cell| cell.parse::<usize>().ok())
            .sum::<usize>()
    };
    let sums: Vec<String> = (0..COLUMNS.len())
        .map(|column| sum(column).to_string())
        .collect();
    let (date, gone_through) = (today(), rows.len());
    let mut text = format!(
        "# Mutants made mechanically\n\n\
         What cargo-mutants makes of the library (a body for a default value, `<` for `<=`), against \
         the tests that call\nthe function. Written by `cargo x mutants --generated [--missing] [FILE..]`, \
         which keeps the rows of other files\n\
         (last on {date}; {gone_through} files have been gone through).\n\
         Unviable: the compiler refuses it. Fixed: there cannot be two bodies of its function in one \
         build (`const fn`, a\ntype without a name). Survive: of all tests that call the function, or (`--near`) of those \
         nearest to it, none finds it.\nWhat is left out at all stands in `.cargo/mutants.toml`; a file that has no row has \
         not been gone through.\n\n\
         | file | {} |\n|---|{}\n",
        COLUMNS.join(" | "),
        "--:|".repeat(COLUMNS.len()),
    );
    for (file, cells) in rows {
        text += &table::row(file, cells);
    }
    text += &format!("| all | {} |\n\n", sums.join(" | "));
    text += "## Argued\n\n| mutant | why no test can tell |\n|---|---|\n";
    for (name, why) in arguments {
        text += &table::row(name, std::slice::from_ref(why));
    }
    text
}
