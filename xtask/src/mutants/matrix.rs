//! `cargo x mutants --engine NAME [FILTER]`: what one engine kills by itself, whatever the others do.
//! Each such run fills cells of `docs/trust/engines.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use super::engine::{ENGINES, Verdict};
use super::entry::{Entry, SWITCH};
use super::{Session, table};

const PAGE: &str = "docs/trust/engines.md";

/// Runs one engine on the mutants that are meant. `Err`: it kills none.
pub(super) fn alone(entries: &[Entry], engine: &str, filter: &str) -> Result<ExitCode, String> {
    let column = ENGINES.iter().position(|known| known.name == engine);
    let column = column.ok_or_else(|| format!("there is no engine `{engine}`"))?;
    let mut rows = known(entries);
    let mut session = Session::new(entries)?;
    let (mut all, mut killed) = (0, 0);
    let meant = entries.iter().enumerate();
    for (n, entry) in meant.filter(|(_, entry)| entry.is_meant(filter)) {
        let program = session.program(engine)?;
        let switch = (n + 1).to_string();
        all += 1;
        let verdict = program.run(None, &[(SWITCH, &switch)])?;
        let word = match &verdict {
            Verdict::Killed(test) => {
                killed += 1;
                println!("{:<34} killed by {test}", entry.name);
                "killed"
            }
            Verdict::Green(..) => {
                println!("{:<34} -", entry.name);
                "-"
            }
        };
        let cells = rows.entry(entry.name.clone());
        let cells = cells.or_insert_with(|| vec![NOT_RUN.to_owned(); ENGINES.len()]);
        word.clone_into(&mut cells[column]);
        table::write(PAGE, &page(entries, &rows))?;
    }
    println!("{engine} alone kills {killed} of {all}");
    match killed {
        0 => Err(format!("mutants: {engine} kills nothing")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

const NOT_RUN: &str = "?";

/// What the page says of the entries as they are: a cell for each engine.
fn known(entries: &[Entry]) -> BTreeMap<String, Vec<String>> {
    let mut rows = table::read(PAGE);
    rows.retain(|name, cells| {
        let entry = entries.iter().find(|entry| entry.name == *name);
        // The mutant has changed, or there is another engine.
        cells.len() == ENGINES.len() + 1 && cells.pop() == entry.map(Entry::id)
    });
    rows
}

fn page(entries: &[Entry], rows: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = "# What each engine kills by itself\n\n\
         `cargo x mutants` stops at the first engine that kills a mutant, the cheap ones first. Here each \
         is asked by\nitself, by `cargo x mutants --engine NAME [FILTER]`, which writes this page. `-`: it \
         does not kill the mutant, `?`: it\nwas not asked.\n\n| engine | asked | kills |\n|---|--:|--:|\n"
        .to_owned();
    for (column, engine) in ENGINES.iter().enumerate() {
        let count = |word: &str| rows.values().filter(|cells| cells[column] == word).count();
        let killed = count("killed");
        let _ = writeln!(
            text,
            "| {} | {} | {killed} |",
            engine.name,
            killed + count("-")
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
    use super::{ENGINES, NOT_RUN, page};
    use crate::mutants::entry;

    #[test]
    fn the_page_has_a_cell_for_each_engine_and_counts_them() {
        let entries = entry::all().unwrap();
        let mut cells = vec![NOT_RUN.to_owned(); ENGINES.len()];
        (cells[0], cells[1]) = ("killed".to_owned(), "-".to_owned());
        let rows = [(entries[0].name.clone(), cells)].into();
        let text = page(&entries, &rows);
        assert!(
            text.contains(&format!("| {} | 1 | 1 |\n", ENGINES[0].name)),
            "{text}"
        );
        assert!(
            text.contains(&format!("| {} | 1 | 0 |\n", ENGINES[1].name)),
            "{text}"
        );
        assert!(
            text.contains(&format!("| {} | 0 | 0 |\n", ENGINES[2].name)),
            "{text}"
        );
        assert!(text.contains("killed | - | ?"), "{text}");
    }
}
