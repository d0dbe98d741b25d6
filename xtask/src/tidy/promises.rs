//! Checks SEMANTICS.md against the tests: a promise is a line that begins with `**S-03**`, and the
//! text up to the next promise, heading or empty line names its tests as
//! `` `crates/tidings/tests/order.rs::one_sender_is_seen_in_order` ``. The tables of `docs/trust`
//! name theirs in the same way, or without [`TESTS`].

use super::code::{code_only, lines_with};
use super::{File, Tree};

const PAGE: &str = "SEMANTICS.md";

/// Where the tables begin their paths.
const TESTS: &str = "crates/tidings/tests/";

/// A promise as it stands on the page.
struct Promise {
    line: usize,
    number: String,
    text: String,
}

/// Every promise has a number of its own and names at least one test, and every test exists.
pub(super) fn promises(tree: &Tree, problems: &mut Vec<String>) {
    let Some(page) = tree.file(PAGE) else {
        return problems.push(format!("{PAGE}: is missing"));
    };
    let mut last = String::new();
    for Promise { line, number, text } in read(page) {
        if place(&number) <= place(&last) {
            problems.push(format!("{PAGE}:{line}: {number} does not follow {last}"));
        }
        if named(&text).next().is_none() {
            problems.push(format!("{PAGE}:{line}: {number} names no test"));
        }
        missing(tree, &text, &format!("{PAGE}:{line}: {number}"), problems);
        last = number;
    }
}

/// Where a promise stands among the others: S-100 comes after S-99.
fn place(number: &str) -> (usize, &str) {
    (number.len(), number)
}

/// Every test that a table of `docs/trust` names exists.
pub(super) fn tables(tree: &Tree, problems: &mut Vec<String>) {
    let pages = tree.with(".md");
    for page in pages.filter(|page| page.path.starts_with("docs/trust/")) {
        for (index, line) in page.text.lines().enumerate() {
            let place = format!("{}:{}: it", page.path, index + 1);
            missing(tree, line, &place, problems);
        }
    }
}

/// The tests that a text names.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|test| test.contains(".rs::"))
}

/// A problem for each test that `text`, at `place`, names in vain.
fn missing(tree: &Tree, text: &str, place: &str, problems: &mut Vec<String>) {
    for test in named(text) {
        if let Err(why) = exists(tree, test) {
            problems.push(format!("{place} names `{test}`, but {why}"));
        }
    }
}

/// A source that cites a promise cites one that was made.
pub(super) fn citations(tree: &Tree, problems: &mut Vec<String>) {
    let made: Vec<String> = tree
        .file(PAGE)
        .map(read)
        .into_iter()
        .flatten()
        .map(|p| p.number)
        .collect();
    for file in tree
        .with(".rs")
        .filter(|file| !file.path.starts_with("xtask/"))
    {
        for (index, line) in file.text.lines().enumerate() {
            for cited in line
                .match_indices("S-")
                .filter_map(|(at, _)| number_at(line, at))
            {
                if !made.iter().any(|number| number == cited) {
                    problems.push(format!(
                        "{}:{}: cites {cited}, which {PAGE} does not make",
                        file.path,
                        index + 1
                    ));
                }
            }
        }
    }
}

fn read(page: &File) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let mut open = false;
    for (index, line) in page.text.lines().enumerate() {
        let begins = line.trim_start_matches(['-', '*', ' ']);
        if line.contains("**S-") && begins.starts_with("S-") {
            let number = begins
                .split("**")
                .next()
                .unwrap_or(begins)
                .trim_end_matches('.');
            promises.push(Promise {
                line: index + 1,
                number: number.into(),
                text: line.into(),
            });
            open = true;
        } else if line.trim().is_empty() || line.starts_with('#') {
            open = false;
        } else if open && let Some(promise) = promises.last_mut() {
            promise.text.push(' ');
            promise.text.push_str(line);
        }
    }
    promises
}

/// `S-` and at least two digits, as a word.
fn number_at(line: &str, at: usize) -> Option<&str> {
    let digits = line[at + 2..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let word = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    (word && digits >= 2).then(|| &line[at..at + 2 + digits])
}

fn exists(tree: &Tree, test: &str) -> Result<(), &'static str> {
    let (path, name) = test
        .split_once("::")
        .ok_or("it names no test in the file")?;
    let name = name.rsplit("::").next().unwrap_or(name);
    let file = tree
        .file(path)
        .or_else(|| tree.file(&format!("{TESTS}{path}")))
        .ok_or("there is no such file")?;
    let function = format!("fn {name}");
    let found = lines_with(&code_only(&file.text), &function)
        .next()
        .is_some();
    found.then_some(()).ok_or("the file has no such function")
}

#[cfg(test)]
mod tests {
    use super::{Tree, citations, promises, tables};

    #[test]
    fn promises_without_their_tests_are_named() {
        let page = "# Semantics\n\
                    **S-01** Holds: `tests/a.rs::it_holds`,\n`tests/a.rs::tests::it_holds_too`.\n\
                    **S-02** Broken: `tests/a.rs::it_hold`, `tests/b.rs::x`.\n\n\
                    **S-02** Nothing, see `Sender`.\n\n\
                    **S-99** Holds: `tests/a.rs::it_holds`.\n\n\
                    **S-100** Holds: `tests/a.rs::it_holds`.\n\n\
                    **S-20** Holds: `tests/a.rs::it_holds`.\n";
        let test = "fn it_holds() {}\nfn it_holds_too() {}\n// fn it_hold() {}";
        assert_eq!(
            Tree::problems(promises, &[("SEMANTICS.md", page), ("tests/a.rs", test)]),
            [
                "SEMANTICS.md:4: S-02 names `tests/a.rs::it_hold`, \
                 but the file has no such function",
                "SEMANTICS.md:4: S-02 names `tests/b.rs::x`, but there is no such file",
                "SEMANTICS.md:6: S-02 does not follow S-02",
                "SEMANTICS.md:6: S-02 names no test",
                "SEMANTICS.md:12: S-20 does not follow S-100",
            ]
        );
    }

    #[test]
    fn a_hundredth_promise_follows_the_one_before_it() {
        let page = "**S-99** A: `tests/a.rs::it_holds`.\n\n**S-100** B: `tests/a.rs::it_holds`.\n";
        let files = [("SEMANTICS.md", page), ("tests/a.rs", "fn it_holds() {}")];
        assert!(Tree::problems(promises, &files).is_empty());
    }

    #[test]
    fn tables_that_name_no_test_are_named() {
        let page = "| theirs | ours |\n|---|---|\n| `a` | `it/a.rs::it_holds` |\n\
                    | `b` | `it/a.rs::it_does`, `crates/tidings/tests/it/a.rs::it_holds` |\n";
        let files = [
            ("docs/trust/upstream/x.md", page),
            ("docs/other.md", "`it/b.rs::x`"),
            ("crates/tidings/tests/it/a.rs", "fn it_holds() {}"),
        ];
        assert_eq!(
            Tree::problems(tables, &files),
            ["docs/trust/upstream/x.md:4: it names `it/a.rs::it_does`, \
              but the file has no such function"]
        );
    }

    #[test]
    fn a_missing_page_is_a_problem() {
        assert_eq!(Tree::problems(promises, &[]), ["SEMANTICS.md: is missing"]);
    }

    #[test]
    fn a_citation_of_nothing_is_named() {
        let files = [
            ("SEMANTICS.md", "**S-01** A."),
            ("a.rs", "// S-01\n// S-07 and CSS-12, S-x"),
        ];
        let problems = Tree::problems(citations, &files);
        assert_eq!(
            problems,
            ["a.rs:2: cites S-07, which SEMANTICS.md does not make"]
        );
    }
}
