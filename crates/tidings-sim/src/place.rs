//! Where a simulation was started: how it is started again, where its files go, and what the
//! environment asks of it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::failure::Failure;

/// The first line of a trace file.
const HEAD: &str = "tidings-sim trace 1";

/// What stands before the seed in the second.
const SEED: &str = ", seed ";

/// The test or program that simulates.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) name: String,
    package: Option<String>,
    test: Option<String>,
}

impl Origin {
    /// What is known at run time: a test's thread has its name.
    pub(crate) fn here() -> Self {
        let test = thread::current().name().map(str::to_owned);
        let test = test.filter(|name| name != "main");
        let program = env::current_exe().ok();
        let program = program.as_ref().and_then(|exe| exe.file_stem()?.to_str());
        Self {
            name: test
                .clone()
                .or_else(|| program.map(str::to_owned))
                .unwrap_or("simulation".to_owned()),
            package: env::var("CARGO_PKG_NAME").ok(),
            test,
        }
    }

    /// A test by its path, which begins with the crate's name.
    pub(crate) fn test(path: &str, package: &str) -> Self {
        let test = path.split_once("::").map_or(path, |(_, test)| test);
        Self {
            name: test.to_owned(),
            package: Some(package.to_owned()),
            test: Some(test.to_owned()),
        }
    }

    /// The line that runs it: by cargo, or, if that did not start it, by its own path.
    pub(crate) fn command(&self) -> String {
        let exe = env::current_exe().unwrap_or_default();
        let profile = profile(&exe);
        match (&self.package, &self.test) {
            (Some(package), Some(test)) => {
                format!("cargo test {profile}-p {package} {test} -- --exact")
            }
            (None, Some(test)) => format!("{} {test} --exact", exe.display()),
            (Some(package), None) if is_example(&exe) => {
                let stem = exe.file_stem().unwrap_or_default().to_string_lossy();
                format!("cargo run {profile}-p {package} --example {stem}")
            }
            _ => {
                let arguments = env::args().skip(1);
                let words = std::iter::once(exe.display().to_string()).chain(arguments);
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The option by which cargo builds into this program's folder, `target/release/deps` for one, and a
/// space; nothing for what it does by itself. Decisions are the same in any, but who typed `--release`
/// has that one built.
fn profile(exe: &Path) -> String {
    let folder = exe.ancestors().nth(2).and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("release") => "--release ".to_owned(),
        Some("debug") | None => String::new(),
        Some(other) => format!("--profile {other} "),
    }
}

fn is_example(exe: &Path) -> bool {
    let folder = exe.parent();
    folder.is_some_and(|folder| folder.ends_with("examples"))
}

/// A number in the environment.
///
/// # Panics
/// If it is none.
pub(crate) fn given_number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// The seed and the trace of the file that `TIDINGS_TRACE` names.
///
/// # Panics
/// If that is no trace.
pub(crate) fn given_trace() -> Option<(u64, Vec<u8>)> {
    let path = env::var("TIDINGS_TRACE").ok()?;
    let text = fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("TIDINGS_TRACE: {path}: {error}"));
    let trace = decode(&text);
    Some(trace.unwrap_or_else(|| panic!("TIDINGS_TRACE: {path} is no trace of tidings-sim")))
}

/// A trace as text: the head, what it is of, and bytes in hexadecimal.
fn encode(failure: &Failure) -> String {
    let mut text = format!("{HEAD}\n# {}{SEED}{}\n", failure.name, failure.seed);
    for line in failure.trace.chunks(32) {
        for byte in line {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}

fn decode(text: &str) -> Option<(u64, Vec<u8>)> {
    let mut lines = text.lines();
    if lines.next()? != HEAD {
        return None;
    }
    // A program may ask for it.
    let (_, seed) = lines.next()?.rsplit_once(SEED)?;
    let seed = seed.parse().ok()?;
    let digits: Option<Vec<u8>> = lines
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.trim().chars())
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    whole.then(|| (seed, pairs.map(|pair| pair[0] << 4 | pair[1]).collect()))
}

/// Where the files of this failure go, by their ending: below cargo's target folder, or the system's
/// folder for such things.
fn path(failure: &Failure, ending: &str) -> Option<PathBuf> {
    let exe = env::current_exe().ok()?;
    let target = exe
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let folder = target.map_or_else(env::temp_dir, Path::to_owned);
    let folder = folder.join("tidings-sim");
    fs::create_dir_all(&folder).ok()?;
    let name: String = failure
        .name
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    Some(folder.join(format!("{name}-{}.{ending}", failure.seed)))
}

/// Saves the shortest trace and its picture; where, if that worked.
pub(crate) fn save(failure: &Failure) -> Option<(PathBuf, PathBuf)> {
    let [trace, picture] = ["trace", "svg"].map(|ending| path(failure, ending));
    let (trace, picture) = (trace?, picture?);
    fs::write(&trace, encode(failure)).ok()?;
    fs::write(&picture, failure.chart.to_svg()).ok()?;
    Some((trace, picture))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{HEAD, decode, profile};

    #[test]
    fn the_line_builds_what_was_run() {
        let of = |path| profile(Path::new(path));
        assert_eq!(of("/p/target/debug/deps/it-01"), "");
        assert_eq!(of("/p/target/release/examples/one"), "--release ");
        assert_eq!(of("/p/target/thumb/fast/deps/it-01"), "--profile fast ");
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert_eq!(
            decode(&format!("{HEAD}\n# a, seed 2, seed 7\n0aff\n10\n")),
            Some((7, vec![10, 255, 16]))
        );
        let lines = |lines| format!("{HEAD}\n{lines}");
        assert_eq!(decode(&lines("# x, seed 0")), Some((0, vec![])));
        let none = ["", "# x, seed 0\n0a0", "# x, seed 0\nxy", "# x\n0a"].map(lines);
        for text in none.iter().map(String::as_str).chain(["", "0aff"]) {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
