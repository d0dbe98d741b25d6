//! Which tests call which functions: each test runs once alone, and tells.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::super::engine::{Program, Verdict};
use super::copies::CALLED;
use crate::command::target;

/// More tests of a program that fail than these, and something is wrong.
const LEFT_OUT_MAX: usize = 8;

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
    /// Runs each test of the program alone. What an earlier session learnt of the same tree is
    /// believed.
    pub(super) fn learn(program: &Program, name: &str, fingerprint: &str) -> Result<Self, String> {
        let at = PathBuf::from(target("mutants")).join(format!("called-{name}-{fingerprint}"));
        if !at.exists() {
            let start = Instant::now();
            let tests = called(program, name)?;
            let lines: Vec<String> = tests.iter().map(Test::line).collect();
            fs::write(&at, lines.concat()).map_err(|e| format!("{}: {e}", at.display()))?;
            let (tests, secs) = (tests.len(), start.elapsed().as_secs_f64());
            println!("unmutated: {name} is green, {tests} tests alone, {secs:.0} s");
        }
        let text = fs::read_to_string(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        let tests = text.lines().filter_map(Test::read).collect();
        Ok(Self { tests })
    }

    /// The tests that call the function, of this file; first those that have a name of its path
    /// (`time::..`), then those that are quick, and call little else.
    pub(super) fn of(&self, function: usize, file: &str) -> Vec<&Test> {
        let calls = |test: &&Test| test.called.binary_search(&function).is_ok();
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

    pub(super) fn named(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.name == name)
    }
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

/// Runs the tests one by one, as many at a time as mutants are.
fn called(program: &Program, name: &str) -> Result<Vec<Test>, String> {
    let names = program.tests()?;
    let (next, left_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(BTreeMap::new());
    let folder = PathBuf::from(target("mutants"));
    super::super::in_parallel(super::PARALLEL, || {
        while let Some(test) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
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
                continue;
            }
            let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            // A test that calls nothing of interest tells nothing.
            let text = fs::read_to_string(&at).unwrap_or_default();
            let mut called: Vec<usize> = text.lines().filter_map(|n| n.parse().ok()).collect();
            called.sort_unstable();
            if let Ok(mut found) = found.lock() {
                let name = test.clone();
                found.insert(
                    test,
                    Test {
                        name,
                        millis,
                        called,
                    },
                );
            }
        }
        Ok(())
    })?;
    let found = found.into_inner().map_err(|error| error.to_string())?;
    Ok(found.into_values().collect())
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
