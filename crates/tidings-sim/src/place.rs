//! Where a simulation was started: how it is started again, where its files go, and what the
//! environment asks of it.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
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
        let words = match (&self.package, &self.test) {
            (Some(package), Some(test)) => {
                let mut words = by_cargo("test", &exe, package);
                let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
                if let Some(target) = folder.and_then(|folder| target(&exe, package, &folder)) {
                    words.extend(["--test".to_owned(), target]);
                }
                words.extend([test, "--", "--exact"].map(str::to_owned));
                words
            }
            (Some(package), None) if is_example(&exe) => {
                let mut words = by_cargo("run", &exe, package);
                let stem = exe.file_stem().unwrap_or_default();
                words.extend(["--example".to_owned(), stem.to_string_lossy().into()]);
                words
            }
            (_, test) => {
                let arguments: Vec<String> = match test {
                    Some(test) => [test, "--exact"].map(str::to_owned).into(),
                    None => env::args_os().skip(1).map(in_unicode).collect(),
                };
                [in_unicode(exe.into())]
                    .into_iter()
                    .chain(arguments)
                    .collect()
            }
        };
        let words: Vec<_> = words.iter().map(|it| word(it)).collect();
        words.join(" ")
    }
}

fn in_unicode(word: OsString) -> String {
    word.to_string_lossy().into()
}

/// A word of a line, as a shell takes it.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

/// How a line of cargo's begins that builds what was run.
fn by_cargo(verb: &str, exe: &Path, package: &str) -> Vec<String> {
    let words = ["cargo", verb].into_iter().map(str::to_owned);
    let package = ["-p", package].map(str::to_owned);
    words.chain(profile(exe)).chain(package).collect()
}

/// The target of a package that this program is, if it is one of those in its folder `tests`: another target may have a
/// test of the same name. Which target has the package's own name is not known.
fn target(exe: &Path, package: &str, folder: &Path) -> Option<String> {
    let underscored = |name: &str| name.replace('-', "_");
    let (name, _hash) = exe.file_stem()?.to_str()?.rsplit_once('-')?;
    if underscored(name) == underscored(package) {
        return None;
    }
    let files = fs::read_dir(folder.join("tests")).ok()?;
    files.flatten().find_map(|file| {
        let path = file.path();
        let is_target =
            path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").is_file();
        let target = path.file_stem()?.to_str()?;
        (is_target && underscored(target) == underscored(name)).then(|| target.to_owned())
    })
}

/// The option by which cargo builds into this program's folder, `target/release/deps` for one; nothing for what it does
/// by itself. Decisions are the same in any, but who typed `--release` has that one built.
fn profile(exe: &Path) -> Vec<String> {
    let folder = exe.ancestors().nth(2).and_then(Path::file_name);
    let words: &[&str] = match folder.and_then(|name| name.to_str()) {
        Some("release") => &["--release"],
        Some("debug") | None => &[],
        Some(other) => &["--profile", other],
    };
    words.iter().map(|&word| word.to_owned()).collect()
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
/// folder for such things, in one of this program, whose name cargo makes from its package and target.
fn path(failure: &Failure, ending: &str) -> Option<PathBuf> {
    let exe = env::current_exe().ok()?;
    let target = exe
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let folder = target.map_or_else(env::temp_dir, Path::to_owned);
    let folder = folder.join("tidings-sim").join(exe.file_stem()?);
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

    use super::{HEAD, decode, profile, target, word};

    #[test]
    fn the_line_builds_what_was_run() {
        let of = |path| profile(Path::new(path)).join(" ");
        assert_eq!(of("/p/target/debug/deps/it-01"), "");
        assert_eq!(of("/p/target/release/examples/one"), "--release");
        assert_eq!(of("/p/target/thumb/fast/deps/it-01"), "--profile fast");
    }

    #[test]
    fn a_shell_takes_a_word_of_the_line_as_it_is() {
        for plain in ["a::b", "/tmp/x-0.trace", "--exact", "1+1"] {
            assert_eq!(word(plain), plain);
        }
        for odd in [
            "", "a b", "it's", "$HOME", "`x`", "a*", "~/x", "x=1", "a\\b", "a\nb",
        ] {
            let said = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", word(odd))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), odd);
        }
    }

    #[test]
    fn the_line_names_the_target_that_was_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |exe| target(Path::new(exe), "tidings-sim", folder);
        assert_eq!(of("/t/debug/deps/it-01").as_deref(), Some("it"));
        assert_eq!(of("/t/debug/deps/surface-01").as_deref(), Some("surface"));
        for none in [
            "/t/debug/deps/tidings_sim-01",
            "/t/debug/deps/other-01",
            "/t/it",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
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
