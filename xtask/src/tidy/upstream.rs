//! How many tests of other suites are held: what README and changelog say is the sum of the pages of
//! docs/trust/upstream.

use super::{File, Tree};

const PAGES: &str = "docs/trust/upstream/";

/// Who says the sum.
const SAID: [&str; 2] = ["README.md", "CHANGELOG.md"];

/// The sum of what is held stands beside that of all tests.
pub(super) fn upstream(tree: &Tree, problems: &mut Vec<String>) {
    let (mut all, mut held) = (0, 0);
    for page in tree
        .files
        .iter()
        .filter(|file| file.path.starts_with(PAGES))
    {
        match counted(&page.text) {
            Some([tests, ours, apart]) if tests == ours + apart => {
                all += tests;
                held += ours;
            }
            Some(_) => problems.push(format!("{}: its numbers do not add up", page.path)),
            None => problems.push(format!(
                "{}: it does not say `N tests: N are held by ours, N do not apply`",
                page.path
            )),
        }
    }
    let (all, held) = (grouped(all), grouped(held));
    let says = |file: &&File| {
        let line = |line: &str| line.contains(&all) && line.contains(&held);
        file.text.lines().any(line)
    };
    for path in SAID {
        if !tree.file(path).as_ref().is_some_and(says) {
            problems.push(format!(
                "{path}: of the {all} tests of {PAGES} {held} are held, which no line of it says"
            ));
        }
    }
}

/// All tests, those that are held and those that do not apply, as a page says.
fn counted(page: &str) -> Option<[usize; 3]> {
    let line = page
        .lines()
        .find(|line| line.contains(" are held by ours"))?;
    let [first, second, third] = [" tests: ", " are held by ours, ", " do not apply"];
    let (all, rest) = line.split_once(first)?;
    let (held, rest) = rest.split_once(second)?;
    let (apart, _) = rest.split_once(third)?;
    let number = |text: &str| text.parse().ok();
    Some([number(all)?, number(held)?, number(apart)?])
}

/// `1768` as `1,768`.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tree, upstream};

    const ONE: &str = "# one\n\n1000 tests: 800 are held by ours, 200 do not apply as they are.\n";
    const TWO: &str = "# two\n\n234 tests: 200 are held by ours, 34 do not apply as they are.\n";

    fn problems(two: &str, readme: &str) -> Vec<String> {
        let files = [
            ("docs/trust/upstream/one.md", ONE),
            ("docs/trust/upstream/two.md", two),
            ("README.md", readme),
            ("CHANGELOG.md", "1,000 of 1,234 tests hold\n"),
        ];
        Tree::problems(upstream, &files)
    }

    #[test]
    fn what_is_said_of_all_suites_is_the_sum_of_their_pages() {
        assert_eq!(problems(TWO, "of 1,234 tests 1,000 are held\n"), [""; 0]);
        let old = "README.md: of the 1,234 tests of docs/trust/upstream/ 1,000 are held, which no line of it says";
        assert_eq!(problems(TWO, "of 1,234 tests 990 are held\n"), [old]);
        let wrong = TWO.replace("34 do", "33 do");
        let said = problems(&wrong, "of 1,000 tests 800 are held\n");
        assert_eq!(
            said[0],
            "docs/trust/upstream/two.md: its numbers do not add up"
        );
    }
}
