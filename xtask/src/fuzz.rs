//! `cargo x fuzz`: random programs for libFuzzer, under AddressSanitizer.
//!
//! Builds the targets as `cargo fuzz` does, which works in `fuzz/` too, and runs two at a time, those that take
//! longest first. Each begins with the inputs in the repository. What it finds beyond them stays in the target folder; a
//! program that breaks something is kept in `fuzz/artifacts`, and printed.

use std::fs::{self, File};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::thread;

use crate::command::{Tally, root, run_at_root, run_in, target};
use crate::sanitizers::{ADDRESS, HOST, NIGHTLY};

/// How long each target runs when nobody says.
pub(crate) const SECS: u32 = 60;
/// How long it does in continuous integration, where what the repository has was found by longer runs. Who sends hostile
/// bytes has its minute there, too; beside it there is time for the others.
pub(crate) fn short(target: &str) -> u32 {
    match target {
        "link" => SECS,
        _ => 15,
    }
}

/// What tells libFuzzer which branches were taken and what was compared: the flags of cargo-fuzz 0.13.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 \
     -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// So many run at a time.
const AT_ONCE: usize = 2;

/// So many lines of what one said that broke: its panic, the stacks, and the program.
const SHOWN: usize = 150;

/// Runs each target, or one, for as many seconds as are said.
pub(crate) fn run(
    secs: impl Fn(&str) -> u32,
    only: Option<&str>,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut targets = targets()?;
    if let Some(name) = only {
        let all = targets.join(", ");
        targets.retain(|target| target == name);
        if targets.is_empty() {
            return Err(format!("no target `{name}`; there are {all}"));
        }
    }
    build(|folder, env, line| run_in(folder, env, line, tally))?;
    let built = target("fuzz");
    let mut timed: Vec<(String, u32)> = targets
        .into_iter()
        .map(|name| (name.clone(), secs(&name)))
        .collect();
    timed.sort_by_key(|(_, secs)| *secs);
    let left = Mutex::new(timed);
    let next = || left.lock().map_or(None, |mut left| left.pop());
    let lane = || -> Vec<Result<(), String>> {
        std::iter::from_fn(next)
            .map(|(name, secs)| watch(&name, &built, secs))
            .collect()
    };
    let ends = thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(lane)).collect();
        let ends = lanes
            .into_iter()
            .map(|lane| lane.join().expect("nothing in a lane panics"));
        ends.flatten().collect::<Vec<_>>()
    });
    let passed = ends.iter().filter(|end| end.is_ok()).count();
    let broken: Vec<String> = ends.into_iter().filter_map(Result::err).collect();
    tally.count_these(passed, broken.len());
    if broken.is_empty() {
        Ok(())
    } else {
        Err(broken.join("; "))
    }
}

/// Builds the targets, by what runs a line in a folder.
pub(crate) fn build<R>(run: impl FnOnce(&str, &[(&str, &str)], &str) -> R) -> R {
    let flags = format!("{ADDRESS} {COVERAGE}");
    let env: [(&str, &str); 2] = [("RUSTFLAGS", &flags), ("CARGO_TARGET_DIR", &target("fuzz"))];
    run(
        "fuzz",
        &env,
        &format!("cargo {NIGHTLY} build --release --target {HOST}"),
    )
}

/// Runs one target, and shows what it said.
fn watch(name: &str, built: &str, secs: u32) -> Result<(), String> {
    let status = start(name, built, secs)?
        .wait()
        .map_err(|error| format!("{name}: {error}"))?;
    let told = fs::read(log(built, name)).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    match summary(&told) {
        Some(summary) if status.success() => {
            println!("{name}: {summary}");
            Ok(())
        }
        _ => {
            let lines: Vec<&str> = told.lines().collect();
            println!("{}", lines[lines.len().saturating_sub(SHOWN)..].join("\n"));
            Err(format!("{name}: {status}"))
        }
    }
}

fn log(built: &str, name: &str) -> String {
    format!("{built}/{name}.log")
}

/// Starts one target.
fn start(name: &str, built: &str, secs: u32) -> Result<Child, String> {
    let found = format!("{built}/corpus/{name}");
    let kept = format!("fuzz/corpus/{name}");
    let broke = format!("fuzz/artifacts/{name}");
    let inputs = fs::read_dir(root().join(&kept)).map_or(0, Iterator::count);
    if inputs == 0 {
        return Err(format!("{kept} has no inputs"));
    }
    for folder in [found.clone().into(), root().join(&broke)] {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let line = format!(
        "{built}/{HOST}/release/{name} -max_total_time={secs} -max_len=512 -timeout=60 \
         -malloc_limit_mb=64 -print_final_stats=1 -artifact_prefix={broke}/ {found} {kept}"
    );
    println!("$ {line}");
    let log = log(built, name);
    let log = File::create(&log).map_err(|error| format!("{log}: {error}"))?;
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    command.args(words).stdout(log).stderr(errors);
    let child = command.current_dir(root()).spawn();
    child.map_err(|error| format!("{name} cannot be started: {error}"))
}

/// What libFuzzer says at its end of a target that nothing broke: programs run, branches reached, and
/// inputs that reach all of them.
fn summary(told: &str) -> Option<String> {
    let done = told.lines().rfind(|line| line.contains("\tDONE "))?;
    let after = |text: &str, word: &str| {
        let mut words = text.split_whitespace();
        words.find(|it| *it == word)?;
        words.next().map(str::to_owned)
    };
    let runs = after(told, "stat::number_of_executed_units:")?;
    let (branches, inputs) = (after(done, "cov:")?, after(done, "corp:")?);
    Some(format!(
        "{runs} programs, {branches} branches reached, corpus {inputs}"
    ))
}

/// Exchanges the inputs in the repository for the few that reach as far as all that were found.
pub(crate) fn keep(tally: &mut Tally) -> Result<(), String> {
    let built = target("fuzz");
    for name in targets()? {
        let (found, kept) = (
            format!("{built}/corpus/{name}"),
            format!("fuzz/corpus/{name}"),
        );
        let folder = root().join(&kept);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = format!("{built}/{HOST}/release/{name}");
        let line =
            format!("{program} -set_cover_merge=1 -use_counters=0 -max_len=128 {kept} {found}");
        run_at_root(&[], &line, tally)?;
    }
    Ok(())
}

/// The targets are the files.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = files
        .flatten()
        .filter_map(|file| file.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{summary, targets};

    #[test]
    fn a_run_without_an_end_has_no_summary() {
        let told = "#2\tINITED cov: 9 ft: 9 corp: 1/1b exec/s: 0 rss: 40Mb\n\
            #128\tDONE   cov: 812 ft: 2290 corp: 240/31Kb lim: 512 exec/s: 42 rss: 80Mb\n\
            Done 128 runs in 3 second(s)\nstat::number_of_executed_units: 128\n";
        let expected = "128 programs, 812 branches reached, corpus 240/31Kb";
        assert_eq!(summary(told).as_deref(), Some(expected));
        assert_eq!(summary(&told.replace("DONE", "pulse")), None);
    }

    #[test]
    fn every_target_is_in_the_manifest() {
        let manifest = std::fs::read_to_string(crate::command::root().join("fuzz/Cargo.toml"));
        let manifest = manifest.unwrap();
        let names = targets().unwrap();
        assert!(!names.is_empty());
        for name in names {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
