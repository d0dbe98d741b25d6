//! Checks SEMANTICS.md against the laws of `crates/tidings/tests/laws`: a promise names its laws as
//! `` `law:order` ``, one table says what each law is, another which laws hold of which primitive
//! under which engines. The engines read that table too, and fail if they cannot run it.

use std::collections::BTreeSet;

use super::Tree;

const PAGE: &str = "SEMANTICS.md";
const FOLDER: &str = "crates/tidings/tests/laws";

/// `| primitive | law, law | engine, engine |`.
pub(crate) struct Row<'a> {
    pub(crate) primitive: &'a str,
    pub(crate) laws: Vec<&'a str>,
    pub(crate) engines: Vec<&'a str>,
}

/// The rows of the first table after a heading, each as its cells.
fn table<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let Some((_, rest)) = page.split_once(heading) else {
        return Vec::new();
    };
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(bare).collect())
        .collect()
}

/// A name without what Markdown puts around it.
fn bare(word: &str) -> &str {
    word.trim().trim_matches('`')
}

/// What is run, as the page has it.
pub(crate) fn rows(page: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for cells in table(page, "### Which laws hold of what") {
        if let [primitive, laws, engines] = cells[..] {
            rows.push(Row {
                primitive,
                laws: laws.split(',').map(bare).collect(),
                engines: engines.split(',').map(bare).collect(),
            });
        }
    }
    rows
}

/// The quoted words that follow `key` in a file.
fn quoted<'a>(tree: &'a Tree, path: &str, key: &str) -> BTreeSet<&'a str> {
    let text = tree.file(path).map_or("", |file| &file.text);
    text.split(key)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

/// Page and code name the same laws, primitives and engines; every law is promised by somebody,
/// holds of something, and is seen to fail.
pub(super) fn laws(tree: &Tree, problems: &mut Vec<String>) {
    let Some(page) = tree.file(PAGE) else {
        return problems.push(format!("{PAGE}: is missing"));
    };
    let laws = quoted(tree, &format!("{FOLDER}/laws.rs"), "name: \"");
    let primitives = quoted(tree, &format!("{FOLDER}/programs/mod.rs"), "name: \"");
    let failing = tree
        .file(&format!("{FOLDER}/refuted.rs"))
        .map_or("", |file| &file.text);
    let refuted: BTreeSet<_> = laws
        .iter()
        .copied()
        .filter(|law| failing.contains(&format!("\"{law}\"")))
        .collect();
    let engines: BTreeSet<_> = ["loom", "shuttle", "threads", "sim"]
        .into_iter()
        .filter(|engine| {
            let path = format!("{FOLDER}/engines/{engine}.rs");
            quoted(tree, &path, "drive(\"").contains(engine)
        })
        .collect();
    let explained: BTreeSet<_> = table(&page.text, "## The laws")
        .iter()
        .filter_map(|cells| cells.first().copied())
        .collect();
    let promises = page.text.split("## The laws").next().unwrap_or_default();
    let promised: BTreeSet<_> = promises
        .split("`law:")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
        .collect();
    let rows = rows(&page.text);
    let held = rows
        .iter()
        .flat_map(|row| row.laws.iter().copied())
        .collect();
    let run = rows
        .iter()
        .flat_map(|row| row.engines.iter().copied())
        .collect();
    let named = rows.iter().map(|row| row.primitive).collect();

    let mut differ = |what: &str, said: &BTreeSet<&str>, known: &BTreeSet<&str>, why: &str| {
        for name in said.difference(known) {
            problems.push(format!("{PAGE}: {what} `{name}` {why}"));
        }
    };
    differ("the law", &explained, &laws, "is none in the code");
    differ("the law", &laws, &explained, "of the code is not explained");
    differ(
        "the law",
        &promised,
        &laws,
        "is promised, but is none in the code",
    );
    differ("the law", &laws, &promised, "is named by no promise");
    differ(
        "the law",
        &held,
        &laws,
        "holds of something, but is none in the code",
    );
    differ("the law", &laws, &held, "holds of nothing");
    differ("the law", &laws, &refuted, "has no test in which it fails");
    differ("the primitive", &named, &primitives, "has no program");
    differ(
        "the primitive",
        &primitives,
        &named,
        "has a program that nobody runs",
    );
    differ("the engine", &run, &engines, "does not exist");
    differ("the engine", &engines, &run, "is asked for nothing");
}

#[cfg(test)]
mod tests {
    use super::{Tree, laws, rows};

    const PAGE: &str = "**S-01** A. `law:order`, `law:mercy`\n\n## The laws\n\n| law | says |\n|---|---|\n\
        | `order` | x |\n| `thrift` | y |\n\n### Which laws hold of what\n\n| p | l | e |\n|---|---|---|\n\
        | `channel` | order, grace | sim, dreams |\n| `tube` | order | sim |\n";

    #[test]
    fn the_table_is_read() {
        let rows = rows(PAGE);
        assert_eq!((rows.len(), rows[0].primitive), (2, "channel"));
        assert_eq!(
            (&rows[0].laws[..], &rows[1].engines[..]),
            (&["order", "grace"][..], &["sim"][..])
        );
    }

    #[test]
    fn what_page_and_code_do_not_share_is_named() {
        let files = [
            ("SEMANTICS.md", PAGE),
            (
                "crates/tidings/tests/laws/laws.rs",
                "name: \"order\", name: \"bound\"",
            ),
            ("crates/tidings/tests/laws/refuted.rs", "refutes(\"order\")"),
            (
                "crates/tidings/tests/laws/programs/mod.rs",
                "name: \"channel\", name: \"Mutex\"",
            ),
            ("crates/tidings/tests/laws/engines/sim.rs", "drive(\"sim\")"),
            (
                "crates/tidings/tests/laws/engines/loom.rs",
                "drive(\"loom\")",
            ),
        ];
        assert_eq!(
            Tree::problems(laws, &files),
            [
                "SEMANTICS.md: the law `thrift` is none in the code",
                "SEMANTICS.md: the law `bound` of the code is not explained",
                "SEMANTICS.md: the law `mercy` is promised, but is none in the code",
                "SEMANTICS.md: the law `bound` is named by no promise",
                "SEMANTICS.md: the law `grace` holds of something, but is none in the code",
                "SEMANTICS.md: the law `bound` holds of nothing",
                "SEMANTICS.md: the law `bound` has no test in which it fails",
                "SEMANTICS.md: the primitive `tube` has no program",
                "SEMANTICS.md: the primitive `Mutex` has a program that nobody runs",
                "SEMANTICS.md: the engine `dreams` does not exist",
                "SEMANTICS.md: the engine `loom` is asked for nothing",
            ]
        );
    }
}
