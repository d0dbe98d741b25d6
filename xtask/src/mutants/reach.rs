//! Which tests come to which mutants: each test runs once alone, and tells. A mutant is then run
//! against those only.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::engine::{Program, Verdict};
use super::{append, in_parallel};
use crate::command::target;

/// The variable with the file in which a test tells where it comes, by the numbers of the mutants
/// there, or of their functions.
pub(super) const CALLED: &str = "TIDINGS_CALLED";
/// More tests of a program that fail than these, and something is wrong.
const LEFT_OUT_MAX: usize = 8;
/// A program that says nothing for so many times as long as its slowest test took hangs.
const PATIENCE: u32 = 8;
/// On a machine that does other work too, no silence below this means anything. A hang is seen twice.
const PATIENCE_MIN: Duration = Duration::from_secs(4);
/// How many tests are tried at first, and then: most mutants fall to the first, and who hangs in one of a few
/// quick ones is soon known to.
const FIRST: &[usize] = &[4, 12, 60];

/// A test by what it costs and what it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) millis: u64,
    called: Vec<usize>,
}

/// The tests of one program.
pub(super) struct Reach {
    tests: Vec<Test>,
}

impl Reach {
    /// Runs each test of the program alone. What earlier sessions learnt of the same tree is
    /// believed, so one that was cut off is gone on with.
    pub(super) fn learn(program: &Program, name: &str, fingerprint: &str) -> Result<Self, String> {
        let at = PathBuf::from(target("mutants")).join(format!("called-{name}-{fingerprint}"));
        let mut known = read(&at);
        let mut names = program.tests()?;
        names.retain(|name| !known.iter().any(|test| test.name == *name));
        if !names.is_empty() {
            let start = Instant::now();
            call(program, name, &names, &at)?;
            let (tests, secs) = (names.len(), start.elapsed().as_secs_f64());
            println!("unmutated: {name} is green, {tests} tests alone, {secs:.0} s");
            known = read(&at);
        }
        Ok(Self { tests: known })
    }

    /// The tests that come there, in this file; first those that have a name of its path
    /// (`time::..`), then those that are quick, and come to little else.
    fn of(&self, number: usize, file: &str) -> Vec<&Test> {
        let calls = |test: &&Test| test.called.binary_search(&number).is_ok();
        let other = |test: &Test| {
            let path = file.trim_end_matches(".rs");
            !path
                .split('/')
                .any(|name| test.name.split("::").any(|part| part == name))
        };
        let mut tests: Vec<&Test> = self.tests.iter().filter(calls).collect();
        tests.sort_by_key(|test| {
            let (called, millis) = (test.called.len(), test.millis);
            (other(test), millis / 512, called / 8, millis)
        });
        tests
    }

    /// The same in batches: the last is all but the first ones.
    pub(super) fn batches(&self, number: usize, file: &str) -> Vec<Vec<&Test>> {
        let mut tests = self.of(number, file);
        let mut batches = Vec::new();
        for first in FIRST {
            let rest = tests.split_off(tests.len().min(*first));
            batches.push(std::mem::replace(&mut tests, rest));
        }
        batches.push(tests);
        batches
    }

    pub(super) fn named(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.name == name)
    }
}

/// Runs these tests with a mutant: how one of them fails. Where other work is done, too, a hang counts
/// if it is seen twice.
pub(super) fn failure(
    program: &Program,
    tests: &[&Test],
    mutant: (&str, &str),
) -> Result<Option<String>, String> {
    let failure = failure_once(program, tests, mutant)?;
    if failure.as_ref().is_some_and(|how| how.starts_with("hang")) {
        return failure_once(program, tests, mutant);
    }
    Ok(failure)
}

fn failure_once(
    program: &Program,
    tests: &[&Test],
    mutant: (&str, &str),
) -> Result<Option<String>, String> {
    let Some(longest) = tests.iter().map(|test| test.millis).max() else {
        return Ok(None);
    };
    let limit = (Duration::from_millis(longest) * PATIENCE).max(PATIENCE_MIN);
    let mut filter = vec!["--exact".to_owned(), "--test-threads=1".to_owned()];
    filter.extend(tests.iter().map(|test| test.name.clone()));
    let verdict = program.run_within(limit, Some(&filter), &[mutant])?;
    Ok(match verdict {
        Verdict::Killed(how) => Some(how),
        Verdict::Green(..) => None,
    })
}

impl Test {
    fn line(&self) -> String {
        let called: Vec<String> = self.called.iter().map(usize::to_string).collect();
        format!("{} {} {}\n", self.name, self.millis, called.join(","))
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (name, millis) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let called = words.next()?.split(',');
        Some(Self {
            name,
            millis,
            called: called.filter_map(|n| n.parse().ok()).collect(),
        })
    }
}

fn read(at: &Path) -> Vec<Test> {
    let text = fs::read_to_string(at).unwrap_or_default();
    text.lines().filter_map(Test::read).collect()
}

/// Runs the tests one by one, as many at a time as mutants are, and notes each.
fn call(program: &Program, name: &str, names: &[String], known: &Path) -> Result<(), String> {
    let left_out = AtomicUsize::new(0);
    let folder = PathBuf::from(target("mutants"));
    in_parallel(names, |test| {
        let at = folder.join(format!("{name}-{:?}", std::thread::current().id()));
        let filter = ["--exact".to_owned(), test.clone()];
        let told = at.to_string_lossy();
        let _ = fs::remove_file(&at);
        let start = Instant::now();
        let verdict = program.run(Some(&filter), &[(CALLED, &told)])?;
        if let Verdict::Killed(how) = verdict {
            // By chance, or because a frame with many bodies is larger than its test's stack.
            println!("{name}: {how} without a mutant: left out");
            if left_out.fetch_add(1, Ordering::Relaxed) == LEFT_OUT_MAX {
                return Err(format!("{name} is not green without a mutant"));
            }
            return Ok(());
        }
        let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A test that calls nothing of interest tells nothing.
        let text = fs::read_to_string(&at).unwrap_or_default();
        let mut called: Vec<usize> = text.lines().filter_map(|n| n.parse().ok()).collect();
        called.sort_unstable();
        called.dedup();
        let test = Test {
            name: test.clone(),
            millis,
            called,
        };
        append(known, &test.line())?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Reach, Test};

    fn test(name: &str, millis: u64, called: &[usize]) -> Test {
        Test {
            name: name.to_owned(),
            millis,
            called: called.to_vec(),
        }
    }

    #[test]
    fn a_test_is_read_as_it_is_written() {
        for test in [test("a::b", 3, &[1, 12]), test("c", 0, &[])] {
            assert_eq!(Test::read(test.line().trim_end_matches('\n')), Some(test));
        }
    }

    #[test]
    fn tests_of_the_files_name_come_first_and_then_those_that_call_little_else() {
        let wide: Vec<usize> = (0..40).collect();
        let tests = vec![
            test("wide", 1, &wide),
            test("near", 9, &[3]),
            test("other", 1, &[4]),
            test("it::time::wide", 9, &wide),
        ];
        let reach = Reach { tests };
        let of = reach.of(3, "time/wheel.rs");
        let names: Vec<&str> = of.iter().map(|test| &*test.name).collect();
        assert_eq!(names, ["it::time::wide", "near", "wide"]);
    }
}
