//! The tool belt of the workspace: `cargo x <verb>`.
//!
//! Standard library only, so that it builds in seconds. Every verb prints the exact commands it
//! runs; what continuous integration runs is the list of stages in `ci.rs` and nowhere else.

#![forbid(unsafe_code)]

mod ci;
mod command;
mod engines;
mod mutants;
mod tidy;

use std::process::ExitCode;

use crate::command::Tally;

const HELP: &str = "\
cargo x <verb>

  ci [STAGE..]             all stages of continuous integration, or the named ones
  ci --list                their names
  tidy                     the rules that text can show
  fmt | clippy | doc | test
                           the stage of that name
  loom [--full] [FILTER]   the concurrency models: 2 preemptions, with --full 3
  asan                     the tests of tidings under AddressSanitizer (nightly)
  peers                    installs and builds every peer of the arena, as root, and checks its cells
  stress [--secs N]        the stress tests, N seconds each (30)
  mutants [--missing | --short N | --list | FILTER]
                           seeded bugs in a copy of the library: each must be killed by a test
  mutants --generated [FILE..]
                           the same with what cargo-mutants makes of the files
  orderings [--list | FILTER]
                           every memory ordering weakened, against the concurrency models
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(exit) => exit,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode, String> {
    match arguments {
        [] | ["help" | "--help" | "-h"] => print!("{HELP}"),
        ["ci", "--list"] => ci::list(),
        ["ci", stages @ ..] => return ci::run(stages),
        [stage @ ("tidy" | "fmt" | "clippy" | "doc" | "test" | "asan")] => ci::stage(stage)?,
        ["loom", options @ ..] => {
            let (full, filter) = match options {
                [] => (false, None),
                ["--full"] => (true, None),
                ["--full", filter] => (true, Some(*filter)),
                [filter] if !filter.starts_with('-') => (false, Some(*filter)),
                _ => return Err(usage(arguments)),
            };
            engines::loom(full, filter, &mut Tally::default())?;
        }
        ["mutants", options @ ..] => return mutants::run(options),
        ["orderings", options @ ..] => return mutants::orderings(options),
        ["peers"] => engines::peers(&mut Tally::default())?,
        ["stress"] => ci::stage("stress")?,
        ["stress", "--secs", secs] => {
            let secs = secs
                .parse()
                .map_err(|_| format!("--secs takes a number, not `{secs}`"))?;
            engines::stress(secs, &mut Tally::default())?;
        }
        _ => return Err(usage(arguments)),
    }
    Ok(ExitCode::SUCCESS)
}

fn usage(arguments: &[&str]) -> String {
    format!("cargo x knows no `{}`\n\n{HELP}", arguments.join(" "))
}
