//! Checks of each source file by itself.

use std::collections::BTreeSet;

use super::Tree;
use super::allowed::CAP;
use super::code::{code_only, lines_with};

/// Every Rust file begins by saying what it is.
pub(super) fn header(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree
        .with(".rs")
        .filter(|file| !file.text.starts_with("//! "))
    {
        problems.push(format!(
            "{}:1: begins without a `//!` line that says what it is",
            file.path
        ));
    }
}

/// A file that is longer than the cap has two subjects.
pub(super) fn length(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree.with(".rs") {
        let lines = file.text.lines().count();
        if lines > CAP {
            problems.push(format!(
                "{}: {lines} lines, the cap is {CAP}; split it",
                file.path
            ));
        }
    }
}

/// Lines end where their text ends.
pub(super) fn trailing_spaces(tree: &Tree, problems: &mut Vec<String>) {
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if line.ends_with([' ', '\t']) {
                problems.push(format!("{}:{}: trailing space", file.path, index + 1));
            }
        }
    }
}

/// Unfinished business is an issue or nothing.
pub(super) fn leftovers(tree: &Tree, problems: &mut Vec<String>) {
    // In two halves, or this file would find itself.
    for word in [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("dbg", "!"),
    ] {
        for file in tree.with(".rs") {
            for line in lines_with(&file.text, word) {
                problems.push(format!(
                    "{}:{line}: `{word}`; open an issue or do it",
                    file.path
                ));
            }
        }
    }
}

/// A test that does not run holds nothing; one that takes long is run by a verb, which its comment names.
pub(super) fn ignored_tests(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree.with(".rs") {
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, line) in code_only(&file.text).lines().enumerate() {
            let comment = lines[..index].iter().rev();
            let is_run = comment
                .take_while(|above| above.trim_start().starts_with(['/', '#']))
                .any(|above| above.contains("`cargo x "));
            if line.trim_start().starts_with("#[ignore") && !is_run {
                problems.push(format!(
                    "{}:{}: an ignored test; run it or delete it",
                    file.path,
                    index + 1
                ));
            }
        }
    }
}

/// A table of the files of a folder has what is beside it, and nothing else.
pub(super) fn maps(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree.with(".rs") {
        let lines = file.text.lines();
        let rows = lines.map(|line| line.trim_start_matches(['/', '!', ' ']));
        let rows = rows.skip_while(|row| *row != "| file | what |");
        let rows: Vec<&str> = rows.take_while(|row| row.starts_with('|')).collect();
        let Some((folder, itself)) = file.path.rsplit_once('/') else {
            continue;
        };
        if rows.is_empty() {
            continue;
        }
        let beside = tree.with(".rs").filter_map(|other| {
            let below = other.path.strip_prefix(folder)?.strip_prefix('/')?;
            Some(below.split_inclusive('/').next().unwrap_or(below))
        });
        let beside: BTreeSet<&str> = beside.collect();
        let mut problem = |what| problems.push(format!("{}: its table {what}", file.path));
        for name in rows.iter().filter_map(|row| row.split('|').nth(1)) {
            for gone in quoted(name).filter(|name| name.ends_with(".rs") && !beside.contains(name))
            {
                problem(format!("has `{gone}`, which is not there"));
            }
        }
        let named: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row)).collect();
        let others = rows.iter().any(|row| row.starts_with("| all others |"));
        for new in beside
            .difference(&named)
            .filter(|name| **name != itself && !others)
        {
            problem(format!("does not have `{new}`"));
        }
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::{CAP, Tree, header, ignored_tests, leftovers, length, maps, trailing_spaces};

    #[test]
    fn a_file_without_a_header_is_named() {
        let files = [
            ("a.rs", "use b;"),
            ("b.rs", "//! Says it.\n"),
            ("c.md", "text"),
        ];
        let problems = Tree::problems(header, &files);
        assert_eq!(
            problems,
            ["a.rs:1: begins without a `//!` line that says what it is"]
        );
    }

    #[test]
    fn a_file_over_the_cap_is_named() {
        let (long, full) = ("x\n".repeat(CAP + 1), "x\n".repeat(CAP));
        let problems = Tree::problems(length, &[("a.rs", &long), ("b.rs", &full)]);
        assert_eq!(problems, ["a.rs: 601 lines, the cap is 600; split it"]);
    }

    #[test]
    fn a_trailing_space_is_named() {
        let problems = Tree::problems(trailing_spaces, &[("a.md", "a\nb \n\tc\n")]);
        assert_eq!(problems, ["a.md:2: trailing space"]);
    }

    #[test]
    fn a_leftover_is_named_in_a_comment_too() {
        let text = concat!("//! A.\n// TO", "DO: later\nfn dbg() {}\n");
        let problems = Tree::problems(leftovers, &[("a.rs", text)]);
        assert_eq!(
            problems,
            [concat!("a.rs:2: `TO", "DO`; open an issue or do it")]
        );
    }

    #[test]
    fn an_ignored_test_is_named_but_not_one_in_a_string() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn a() { b(\"\n#[ignore]\") }";
        let problems = Tree::problems(ignored_tests, &[("a.rs", text)]);
        assert_eq!(problems, ["a.rs:2: an ignored test; run it or delete it"]);
        let text = "/// `cargo x long`\n#[test]\n#[ignore = \"slow\"]\nfn a() {}";
        assert!(Tree::problems(ignored_tests, &[("a.rs", text)]).is_empty());
    }

    #[test]
    fn a_file_that_a_table_forgets_or_has_too_many_is_named() {
        let table = "// | file | what |\n// |---|---|\n// | `b.rs`, `gone.rs` | `c/` too |\n";
        let beside = [
            ("a/b.rs", ""),
            ("a/c/mod.rs", ""),
            ("a/d.rs", ""),
            ("e.rs", ""),
        ];
        let problems = |table| {
            let files: Vec<_> = beside.into_iter().chain([("a/mod.rs", table)]).collect();
            Tree::problems(maps, &files)
        };
        assert_eq!(
            problems(table),
            [
                "a/mod.rs: its table has `gone.rs`, which is not there",
                "a/mod.rs: its table does not have `d.rs`"
            ]
        );
        let table =
            "//! | file | what |\n//! |---|---|\n//! | `b.rs` | b |\n//! | all others | c |\n";
        assert!(problems(table).is_empty());
        assert!(problems("// | file | other |\n").is_empty());
    }
}
