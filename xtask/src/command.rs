//! Runs a program: prints the line a user could type, passes the output through, and counts the
//! tests that cargo's and go's summaries report.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tests that ran, over all commands.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// What the engines of `cargo x laws` report.
    pub(crate) laws: Vec<String>,
    /// What failed, in the words of its program: told again at the end of a long run, whose
    /// beginning may have been cut off.
    pub(crate) failures: Vec<String>,
    /// Tests that failed and were run again.
    pub(crate) again: u64,
    /// So many lines of a failed test's output are still to be kept.
    quoting: usize,
}

/// The text of a file, by its path from the root.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(root().join(path));
    text.map_err(|error| format!("{}: {error}", path.display()))
}

/// The date, as `2026-11-26`: figures are of a day.
pub(crate) fn today() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    let date = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    date.unwrap_or_else(|_| "an unknown day".to_owned())
}

/// Lines that are kept of a failed test's output.
const QUOTED: usize = 30;

impl Tally {
    /// Adds what is no summary of a program.
    pub(crate) fn count_these(&mut self, passed: usize, failed: usize) {
        self.passed += u64::try_from(passed).unwrap_or(u64::MAX);
        self.failed += u64::try_from(failed).unwrap_or(u64::MAX);
    }

    /// Adds what another run counted.
    pub(crate) fn add(&mut self, other: Self) {
        let Self {
            passed,
            failed,
            laws,
            failures,
            again,
            quoting: _,
        } = other;
        self.passed += passed;
        self.failed += failed;
        self.laws.extend(laws);
        self.failures.extend(failures);
        self.again += again;
    }

    /// Counts `test result: ok. 3 passed; 0 failed; ..` of cargo and `--- PASS: TestName` of
    /// `go test -v`, whose subtests are indented and belong to their test.
    fn count(&mut self, line: &str) {
        self.quote(line.trim_end());
        self.again += u64::from(line.trim_end().ends_with(" failed and is run again"));
        if let Some(summary) = line.strip_prefix("test result: ") {
            let number_before = |word: &str| {
                let words: Vec<&str> = summary.split([' ', ';']).collect();
                let at = words.iter().position(|&w| w == word)?;
                words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
            };
            self.passed += number_before("passed").unwrap_or(0);
            self.failed += number_before("failed").unwrap_or(0);
        } else if line.starts_with("law ") {
            self.laws.push(line.trim_end().to_owned());
        } else if line.starts_with("--- PASS: ") {
            self.passed += 1;
        } else if line.starts_with("--- FAIL: ") {
            self.failed += 1;
        }
    }

    /// Keeps the line if it tells of a failure: the output of a failed test as libtest repeats it,
    /// a program that did not end by itself, a failed test of Go, a cell that is slower than its baseline.
    fn quote(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.quoting = QUOTED;
        } else if line == "failures:" {
            self.quoting = 0;
        }
        let told = ["error", "--- FAIL: ", "  slower ", "  fails "]
            .iter()
            .any(|it| line.starts_with(it))
            || line.contains("process didn't exit successfully");
        if self.quoting > 0 || told {
            self.quoting = self.quoting.saturating_sub(1);
            self.failures.push(line.to_owned());
        }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

/// Where a build with flags of its own goes, so that it does not throw away the usual one.
pub(crate) fn target(name: &str) -> String {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(name).to_string_lossy().into_owned()
}

/// The path of the program that cargo says it has built: `  Executable tests/it/main.rs (/../it-0123)`.
pub(crate) fn executable(said: &str) -> Option<&str> {
    said.lines()
        .filter(|line| line.trim_start().starts_with("Executable"))
        .find_map(|line| line.rsplit_once('(')?.1.strip_suffix(')'))
}

/// The variable by which cargo runs what it has built by another program, as valgrind.
pub(crate) const RUNNER: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER";

/// Runs `line`, a program and its arguments without spaces in them, in `folder` below the root.
pub(crate) fn run_in(
    folder: &str,
    env: &[(&str, &str)],
    line: &str,
    tally: &mut Tally,
) -> Result<(), String> {
    if !root().join(folder).is_dir() {
        return Err(format!("{folder}: there is no such folder"));
    }
    let mut words = line.split_whitespace();
    let program = words.next().ok_or("no program to run")?;
    let mut shown = String::new();
    for (name, value) in env {
        let quote = if value.contains(' ') { "'" } else { "" };
        shown += &format!("{name}={quote}{value}{quote} ");
    }
    shown += line;
    let cd = if folder.is_empty() {
        String::new()
    } else {
        format!("cd {folder} && ")
    };
    println!("$ {cd}{shown}");
    // One pipe for both, so that an error stands where it was told.
    let (output, errors) = std::io::pipe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(words)
        .envs(env.iter().copied())
        .current_dir(root().join(folder))
        .stderr(errors.try_clone().map_err(|error| error.to_string())?)
        .stdout(errors);
    let mut child = command
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    // It holds the pipe's other end, which would never end.
    drop(command);
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    // Bytes and not `lines()`: a test may print what is not UTF-8.
    while output.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(&line)
            .and_then(|()| stdout.flush())
            .map_err(|e| e.to_string())?;
        tally.count(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child
        .wait()
        .map_err(|error| format!("{program}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown}: {status}"))
    }
}

/// Runs `line` at the root.
pub(crate) fn run_at_root(
    env: &[(&str, &str)],
    line: &str,
    tally: &mut Tally,
) -> Result<(), String> {
    run_in("", env, line, tally)
}

/// Runs `line` in `folder` with what of the cores others leave, and says nothing: whoever wants what it builds runs it again,
/// and what fails here fails there, and is told there.
pub(crate) fn aside(folder: &str, env: &[(&str, &str)], line: &str) {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).args(line.split_whitespace());
    command.envs(env.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
        .stderr(Stdio::null())
        .current_dir(root().join(folder));
    let _ = command.status();
}

#[cfg(test)]
mod tests {
    use super::{Tally, run_at_root};

    #[test]
    fn summaries_of_cargo_and_go_are_counted() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
            "--- PASS: TestChain (0.00s)\n",
            "    --- PASS: TestChain/cold (0.00s)\n",
            "--- FAIL: TestFan (0.00s)\n",
            "test a_test ... ok\n",
        ] {
            tally.count(line);
        }
        assert_eq!((tally.passed, tally.failed), (16, 3));
    }

    #[test]
    fn what_failed_is_kept_to_be_told_again() {
        let mut tally = Tally::default();
        for line in [
            "test fine ... ok\n",
            "failures:\n",
            "---- wrong stdout ----\n",
            "assertion failed\n",
            "failures:\n",
            "    wrong\n",
            "error: test failed, to rerun pass `--test it`\n",
            "  process didn't exit successfully: `it` (signal: 6, SIGABRT)\n",
        ] {
            tally.count(line);
        }
        assert_eq!(
            tally.failures,
            [
                "---- wrong stdout ----",
                "assertion failed",
                "error: test failed, to rerun pass `--test it`",
                "  process didn't exit successfully: `it` (signal: 6, SIGABRT)",
            ]
        );
    }

    #[test]
    fn a_failing_command_is_named() {
        let error =
            run_at_root(&[("WHY", "two words")], "false", &mut Tally::default()).unwrap_err();
        assert_eq!(error, "WHY='two words' false: exit status: 1");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run_at_root(&[], "tidings-is-no-program", &mut Tally::default()).unwrap_err();
        assert!(
            error.starts_with("tidings-is-no-program cannot be started: "),
            "{error}"
        );
    }
}
