//! Which versions the figures of a run are of: the tables say it, since they are what is kept and quoted.

use std::fmt::Write as _;

use crate::arena::records::net_table::{plain, write};
use crate::arena::records::record::Run;
use crate::arena::terminal::Style;

/// A line for each version and what it ran on, with the systems that have figures of it.
pub(crate) fn lines(text: &mut String, run: &Run, width: u16, style: Style) {
    let mut rows: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for cell in run.cells.iter().filter(|cell| cell.ns_per_op.is_some()) {
        let (Some(version), Some(runtime)) = (&cell.version, &cell.runtime) else {
            continue;
        };
        let is_it = |row: &&mut (&str, &str, _)| (row.0, row.1) == (version, runtime);
        match rows.iter_mut().find(is_it) {
            Some((_, _, names)) if names.contains(&cell.system.as_str()) => {}
            Some((_, _, names)) => names.push(&cell.system),
            None => rows.push((version, runtime, vec![&cell.system])),
        }
    }
    if rows.is_empty() {
        return;
    }
    let mut table = plain(width);
    for (version, runtime, names) in rows {
        table.add_row([names.join(", ").as_str(), version, runtime]);
    }
    let _ = writeln!(text, "\n{}", style.bold("Versions"));
    write(text, &mut table, usize::MAX);
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::arena::records::record::Run;
    use crate::arena::terminal::Style;

    #[test]
    fn systems_of_one_version_share_a_line_and_those_without_a_figure_have_none() {
        let text = include_str!("../../../tests/arena/report/run/run.json");
        let mut run: Run = serde_json::from_str(text).expect("the invented run");
        run.cells.retain(|cell| cell.ns_per_op.is_some());
        run.cells.truncate(4);
        let of = [("a", "1.0"), ("b", "1.0"), ("a", "1.0"), ("c", "2.0")];
        for (cell, (system, version)) in run.cells.iter_mut().zip(of) {
            cell.system = system.to_owned();
            cell.version = Some(version.to_owned());
            cell.runtime = Some("here".to_owned());
        }
        let shown = |run: &Run| {
            let mut text = String::new();
            lines(&mut text, run, 80, Style::default());
            text
        };
        assert_eq!(
            shown(&run),
            "\nVersions\n  a, b  1.0  here\n  c     2.0  here\n"
        );
        run.cells[3].ns_per_op = None;
        assert_eq!(shown(&run), "\nVersions\n  a, b  1.0  here\n");
        run.cells.clear();
        assert_eq!(shown(&run), "");
    }
}
