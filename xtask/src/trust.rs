//! `cargo x trust`: everything that holds the promises of SEMANTICS.md, one engine after the other.
//!
//! An engine that fails does not keep the others from running. Continuous integration takes the short
//! forms, each a stage, but for `tests` and `soak`, whose programs other stages run, and `surface`.

use std::process::ExitCode;
use std::time::Instant;

use crate::command::{Tally, run_at_root};
use crate::engines::{RUNNING, build};
use crate::{engines, fuzz, laws, mutants, sanitizers, soak, surface};

type Run = fn(&mut Tally) -> Result<(), String>;

/// Something that looks for a broken promise in its own way.
struct Engine {
    name: &'static str,
    what: &'static str,
    /// For every change, a quarter of an hour in all when nothing is to be built; most are stages of
    /// continuous integration.
    short: Option<Run>,
    /// For a release: hours in all.
    long: Run,
}

const ENGINES: &[Engine] = &[
    Engine {
        name: "tests",
        what: "known bugs, upstream suites, linearizability, differential runs; in full optimized",
        short: Some(|tally| tests(false, tally)),
        long: |tally| tests(true, tally),
    },
    Engine {
        name: "loom",
        what: "models of what is lock-free, every interleaving",
        short: Some(|tally| engines::loom(false, None, tally)),
        long: |tally| engines::loom(true, None, tally),
    },
    Engine {
        name: "laws",
        what: "laws of each primitive under loom, shuttle, threads, seeds",
        short: Some(|tally| laws::run(&[], tally)),
        long: |tally| laws::run(&["--full"], tally),
    },
    Engine {
        name: "asan",
        what: "the same under AddressSanitizer",
        short: Some(|tally| sanitizers::address(false, tally)),
        long: |tally| sanitizers::address(true, tally),
    },
    Engine {
        name: "tsan",
        what: "the stress tests under ThreadSanitizer",
        short: None,
        long: sanitizers::thread,
    },
    Engine {
        name: "memcheck",
        what: "tests under valgrind",
        short: None,
        long: sanitizers::memory,
    },
    Engine {
        name: "stress",
        what: "real threads, everything at once",
        short: Some(|tally| engines::stress(engines::STRESS_SECS, false, tally)),
        long: |tally| engines::stress(600, true, tally),
    },
    Engine {
        name: "soak",
        what: "rounds of mixed load, all counters back to zero",
        short: Some(|tally| soak::run(10, tally)),
        long: |tally| soak::run(soak::SECS, tally),
    },
    Engine {
        name: "fuzz",
        what: "random programs that seek new paths",
        short: Some(|tally| fuzz::run(fuzz::short, None, tally)),
        long: |tally| fuzz::run(|_| 600, None, tally),
    },
    Engine {
        name: "mutants",
        what: "seeded bugs: each must be found by one of the above",
        short: Some(|tally| verdict(mutants::run(&["--short", "3"], tally))),
        long: |tally| verdict(mutants::run(&[], tally)),
    },
    Engine {
        name: "generated",
        what: "mechanical mutants: each killed, or argued",
        short: None,
        long: |tally| verdict(mutants::run(&["--generated"], tally)),
    },
    Engine {
        name: "orderings",
        what: "each memory ordering weakened: found, or argued",
        short: None,
        long: |tally| verdict(mutants::orderings(&[], tally)),
    },
    Engine {
        name: "surface",
        what: "public API, packages, licences, bans, sources; in short the API",
        short: Some(|_| surface::api(false)),
        long: |tally| {
            surface::api(false)?;
            surface::publish(tally)?;
            surface::deny(tally)
        },
    },
];

fn tests(full: bool, tally: &mut Tally) -> Result<(), String> {
    let line = format!("cargo test {} {RUNNING} --no-fail-fast", build(full));
    run_at_root(&[], &line, tally)
}

fn verdict(exit: Result<ExitCode, String>) -> Result<(), String> {
    if exit? == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err("see above".to_owned())
    }
}

/// The short form of one engine.
pub(crate) fn short(name: &str, tally: &mut Tally) -> Result<(), String> {
    let engine = ENGINES.iter().find(|engine| engine.name == name);
    let run = engine.and_then(|engine| engine.short);
    run.ok_or_else(|| format!("no engine `{name}` has a short form"))?(tally)
}

/// Runs all engines, in their short forms or in their long ones, and prints a line for each.
pub(crate) fn run(options: &[&str]) -> Result<ExitCode, String> {
    let (long, filter) = match options {
        [] => (false, None),
        ["--full"] => (true, None),
        ["--full", name] => (true, Some(*name)),
        [name] if !name.starts_with('-') => (false, Some(*name)),
        _ => return Err(format!("trust takes [--full] [ENGINE], not {options:?}")),
    };
    let mut lines = Vec::new();
    let mut exit = ExitCode::SUCCESS;
    for engine in ENGINES {
        let run = if long {
            Some(engine.long)
        } else {
            engine.short
        };
        let (true, Some(run)) = (filter.is_none_or(|name| name == engine.name), run) else {
            continue;
        };
        println!("\n=== {}: {}", engine.name, engine.what);
        let start = Instant::now();
        let mut tally = Tally::default();
        let state = match run(&mut tally) {
            Ok(()) => "ok".to_owned(),
            Err(why) => {
                exit = ExitCode::FAILURE;
                format!("FAILED: {why}")
            }
        };
        lines.extend(tally.laws.iter().cloned());
        lines.push(format!(
            "{:<10}{:>6} passed {:>4} failed {:>7.1} s  {state}",
            engine.name,
            tally.passed,
            tally.failed,
            start.elapsed().as_secs_f64()
        ));
    }
    if lines.is_empty() {
        return Err(format!("there is no such engine: {options:?}"));
    }
    println!("\n{}", lines.join("\n"));
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::{ENGINES, run};

    #[test]
    fn what_does_not_exist_is_an_error() {
        assert!(run(&["fast"]).is_err());
        assert!(run(&["--short"]).is_err());
    }

    #[test]
    fn names_are_unique() {
        for (at, engine) in ENGINES.iter().enumerate() {
            assert!(ENGINES[..at].iter().all(|other| other.name != engine.name));
        }
    }
}
