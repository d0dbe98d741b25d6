//! Tables in Markdown that outlive the run that wrote them: a run of some rows keeps the others.

use std::collections::BTreeMap;
use std::fs;

use crate::command::root;

/// The rows by their first cell, which stands in backticks.
pub(super) type Rows = BTreeMap<String, Vec<String>>;

/// The rows that the file has. None is no error: nothing has been run yet.
pub(super) fn read(path: &str) -> Rows {
    let text = fs::read_to_string(root().join(path)).unwrap_or_default();
    let rows = text.lines().filter_map(|line| {
        let cells = line.strip_prefix("| `")?.strip_suffix(" |")?;
        let (name, cells) = cells.split_once("` | ")?;
        let cells = cells.split(" | ").map(str::to_owned).collect();
        Some((name.to_owned(), cells))
    });
    rows.collect()
}

/// One line of a table.
pub(super) fn row(name: &str, cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "/")).collect();
    format!("| `{name}` | {} |\n", cells.join(" | "))
}

pub(super) fn write(path: &str, text: &str) -> Result<(), String> {
    let at = root().join(path);
    let folder = at.parent().unwrap_or(&at);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&at, text))
        .map_err(|error| format!("{path}: {error}"))
}
