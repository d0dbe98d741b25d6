//! The engines that are to kill mutants: test programs, built once, run once per mutant.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::command::{executable, target};

/// One engine: how its test program is built and what it runs of it. Another one is a row here.
pub(super) struct Engine {
    pub(super) name: &'static str,
    /// The arguments of `cargo test`.
    build: &'static str,
    /// For the build and for the run.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Where it is built: a folder for each set of compiler flags.
    target: &'static str,
    /// The tests it runs when nobody names some.
    tests: &'static str,
}

/// All tests of a program that is built as all are.
const fn plain(name: &'static str, build: &'static str) -> Engine {
    Engine {
        name,
        build,
        env: &[],
        target: "build",
        tests: "",
    }
}

/// Cheapest first; a new one comes last, as a column of docs/trust/engines.md.
pub(super) const ENGINES: &[Engine] = &[
    plain("it", "-p tidings --test it"),
    UNIT,
    plain("upstream", "-p tidings --test upstream"),
    plain("memory", "-p tidings --test memory"),
    LOOM,
    plain("linear", "-p tidings --test linear"),
    plain("laws", "-p tidings --test laws"),
    // The laws and the races; a few tests of the laws themselves come along.
    Engine {
        env: &[("RUSTFLAGS", "--cfg shuttle")],
        target: "build-shuttle",
        ..plain("shuttle", "-p tidings --release --test laws")
    },
    plain("links", "-p tidings-link --test it"),
    plain("sim", "-p tidings-sim --test it"),
    Engine {
        // Short: most of what these find they find at once, and each mutant takes them all.
        env: &[("TIDINGS_STRESS_SECS", "1")],
        ..plain("stress", "-p tidings --test stress")
    },
    // On the engine in memory: a nats-server is not everywhere.
    plain("cluster", "-p tidings-nats --no-default-features --test it"),
    plain("links-unit", "-p tidings-link --lib"),
    plain("macros-unit", "-p tidings-macros --lib"),
    plain("sim-unit", "-p tidings-sim --lib"),
];

/// The tests within the library.
pub(super) const UNIT: Engine = plain("unit", "-p tidings --lib");

/// What is only there with a feature, for `--generated`: it looks at every file.
pub(super) const FEATURED: &[Engine] = &[
    plain("unit-features", "-p tidings --all-features --lib"),
    plain("features", "-p tidings --all-features --test features"),
    plain("tokio", "-p tidings --all-features --test tokio"),
];

/// The concurrency models, as `cargo x loom` runs them.
pub(super) const LOOM: Engine = Engine {
    name: "loom",
    build: "-p tidings --release --lib",
    env: &[
        ("RUSTFLAGS", "--cfg loom"),
        ("LOOM_MAX_PREEMPTIONS", "2"),
        ("TIDINGS_LOOM_FULL", "0"),
    ],
    target: "build-loom",
    tests: "models",
};

/// A program that says nothing for so many times as long as it ever did unmutated hangs.
const PATIENCE: u32 = 8;
/// On a machine that does other work too, no silence below this means anything.
const PATIENCE_MIN: Duration = Duration::from_secs(12);
/// What an unmutated program may take from one test to the next.
const PATIENCE_UNMUTATED: Duration = Duration::from_secs(240);

/// A test program that was built.
pub(super) struct Program {
    engine: &'static Engine,
    path: PathBuf,
    folder: PathBuf,
    limit: Duration,
    proved: bool,
}

/// What a run says.
pub(super) enum Verdict {
    /// All tests passed: how many, and the longest silence.
    Green(usize, Duration),
    /// The test that failed, or how the program ended and which tests had not.
    Killed(String),
}

impl Engine {
    /// Each tree its own: cargo would take a program of another for one that is up to date.
    pub(super) fn target(&self, tree: &Tree) -> PathBuf {
        tree.root.join("target").join(self.target)
    }

    /// Are these among the tests that it runs when nobody names some, and is proved by?
    pub(super) fn runs(&self, tests: &str) -> bool {
        tests
            .split_whitespace()
            .all(|test| test.starts_with(self.tests))
    }

    /// Builds the program. An error of the compiler is one of whoever wrote the mutant.
    pub(super) fn build(&'static self, tree: &Tree) -> Result<Program, String> {
        let target = self.target(tree);
        let line = format!("test {} --no-run", self.build);
        println!("$ cd {} && cargo {line}", tree.root.display());
        let output = Command::new("cargo")
            .args(line.split(' '))
            .envs(self.env.iter().copied())
            .env("CARGO_TARGET_DIR", &target)
            .current_dir(&tree.root)
            .output()
            .map_err(|error| format!("cargo cannot be started: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{said}\n{}: the tree does not build", self.name));
        }
        let program = executable(&said)
            .ok_or_else(|| format!("{said}\n{}: cargo names no program", self.name))?;
        Ok(Program {
            engine: self,
            path: tree.root.join(program),
            folder: tree.root.join("crates/tidings"),
            limit: PATIENCE_UNMUTATED,
            proved: false,
        })
    }
}

impl Program {
    /// Runs everything unmutated, which must be green, and learns how long silences are. What an
    /// earlier session learnt of the same tree is believed.
    pub(super) fn prove(&mut self, fingerprint: &str) -> Result<(), String> {
        if std::mem::replace(&mut self.proved, true) {
            return Ok(());
        }
        let at = PathBuf::from(target("mutants")).join(format!("proved-{}", self.engine.name));
        let known = fs::read_to_string(&at).unwrap_or_default();
        let known = known.strip_prefix(fingerprint).map(str::trim);
        let silence = if let Some(millis) = known.and_then(|known| known.parse().ok()) {
            Duration::from_millis(millis)
        } else {
            self.limit = PATIENCE_UNMUTATED;
            let start = Instant::now();
            match self.run(None, &[])? {
                Verdict::Killed(test) => {
                    let name = self.engine.name;
                    return Err(format!("{name} is not green without a mutant: {test}"));
                }
                Verdict::Green(tests, silence) => {
                    println!(
                        "unmutated: {} is green, {tests} tests, {:.0} s",
                        self.engine.name,
                        start.elapsed().as_secs_f64()
                    );
                    fs::write(&at, format!("{fingerprint} {}\n", silence.as_millis()))
                        .map_err(|error| format!("{}: {error}", at.display()))?;
                    silence
                }
            }
        };
        self.expect(silence);
        Ok(())
    }

    /// A silence that is much longer than this one means that it hangs.
    pub(super) fn expect(&mut self, silence: Duration) {
        self.limit = (silence * PATIENCE).max(PATIENCE_MIN);
    }

    /// The names of all its tests that the engine runs.
    pub(super) fn tests(&self) -> Result<Vec<String>, String> {
        let listed = self.command().args([self.engine.tests, "--list"]).output();
        let listed = listed.map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(names(&listed.stdout))
    }

    /// Runs the tests that `filter` names, or all of the engine's, to the first failure.
    pub(super) fn run(
        &self,
        filter: Option<&[String]>,
        env: &[(&str, &str)],
    ) -> Result<Verdict, String> {
        self.run_within(self.limit, filter, env)
    }

    /// The same; a silence of so long means that it hangs.
    pub(super) fn run_within(
        &self,
        limit: Duration,
        filter: Option<&[String]>,
        env: &[(&str, &str)],
    ) -> Result<Verdict, String> {
        let all = [self.engine.tests.to_owned()];
        let filter = filter.unwrap_or(&all).iter().filter(|f| !f.is_empty());
        let mut command = self.command();
        command.args(filter.clone()).envs(env.iter().copied());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let verdict = watch(&mut child, limit);
        end_with_all_it_started(&child);
        let status = child.wait().map_err(|error| error.to_string())?;
        Ok(match verdict {
            Watched::Failed(test) => Verdict::Killed(test),
            Watched::Silent(done) => {
                Verdict::Killed(format!("hang: {}", self.unfinished(filter, &done)))
            }
            Watched::Ended(done, silence) if status.success() => {
                Verdict::Green(done.len(), silence)
            }
            Watched::Ended(done, _) => {
                let unfinished = self.unfinished(filter, &done);
                Verdict::Killed(format!("abort ({status}): {unfinished}"))
            }
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", BOUNDED])
            .arg(&self.path)
            .process_group(0)
            .current_dir(&self.folder)
            .envs(self.engine.env.iter().copied())
            // A mutant's failures are no regressions to remember.
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command
    }

    /// The tests that had not ended: one of them is the cause.
    fn unfinished<'a>(
        &self,
        filter: impl Iterator<Item = &'a String>,
        done: &BTreeSet<String>,
    ) -> String {
        let listed = self.command().args(filter).arg("--list").output();
        let listed = listed.map_or(Vec::new(), |output| output.stdout);
        let mut left = names(&listed);
        left.retain(|test| !done.contains(test));
        match &left[..] {
            [] => "after all tests".to_owned(),
            [test] => test.clone(),
            [test, ..] => format!("{test} or {} after it", left.len() - 1),
        }
    }
}

/// A program of tests ($0) that a mutant makes take memory without end must not take the machine's.
const BOUNDED: &str = r#"ulimit -v 12582912 && exec "$0" "$@""#;

/// Kills it, and the programs its tests have started: one that a mutant makes hang would stay for good. It may
/// have ended by itself.
fn end_with_all_it_started(child: &Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
}

/// Reads what it says until a test fails, or nothing comes for too long, or it ends.
fn watch(child: &mut Child, limit: Duration) -> Watched {
    let mut done = BTreeSet::new();
    let mut longest = Duration::ZERO;
    let (lines, said) = channel();
    let Some(output) = child.stdout.take() else {
        return Watched::Ended(done, longest);
    };
    // Ends with the program, whose output it reads.
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        let start = Instant::now();
        match said.recv_timeout(limit) {
            Ok(line) => match result_of(&String::from_utf8_lossy(&line)) {
                Some((test, true)) => {
                    done.insert(test);
                }
                Some((test, false)) => return Watched::Failed(test),
                None => {}
            },
            Err(RecvTimeoutError::Timeout) => return Watched::Silent(done),
            Err(RecvTimeoutError::Disconnected) => return Watched::Ended(done, longest),
        }
        longest = longest.max(start.elapsed());
    }
}

enum Watched {
    Failed(String),
    Silent(BTreeSet<String>),
    Ended(BTreeSet<String>, Duration),
}

/// The tests that a program lists: `a::b: test`.
fn names(listed: &[u8]) -> Vec<String> {
    let listed = String::from_utf8_lossy(listed);
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// `test a::b ... ok`: the test's name, and whether it passed.
fn result_of(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    match result {
        "FAILED" => Some((name.to_owned(), false)),
        _ if result.starts_with("ok") => Some((name.to_owned(), true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOM, result_of};

    #[test]
    fn what_an_engine_is_not_proved_by_is_not_tried() {
        assert!(LOOM.runs("models::actor models::offer"));
        // It would match tests beside the models, too.
        assert!(!LOOM.runs("actor"));
    }

    #[test]
    fn results_of_tests_are_read() {
        let read = |line| result_of(line).map(|(name, ok)| format!("{name} {ok}"));
        assert_eq!(read("test a::b ... ok").as_deref(), Some("a::b true"));
        assert_eq!(
            read("test a::b - should panic ... FAILED").as_deref(),
            Some("a::b false")
        );
        assert_eq!(read("test result: ok. 1 passed; 0 failed"), None);
        assert_eq!(read("running 3 tests"), None);
    }
}
