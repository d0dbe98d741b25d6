//! The tool belt of the workspace: `cargo x <verb>`.
//!
//! Standard library only, so that it builds in seconds. Every verb prints the exact commands it
//! runs; what continuous integration runs is the list of stages in `ci.rs` and nowhere else.

#![forbid(unsafe_code)]

mod ci;
mod command;
mod engines;
mod fuzz;
mod hooks;
mod laws;
mod mutants;
mod sanitizers;
mod soak;
mod stalls;
mod surface;
mod targets;
mod tidy;
mod tools;
mod trust;

use std::process::ExitCode;

use crate::command::Tally;

const HELP: &str = "\
cargo x <verb>

  ci [STAGE..]             all stages of continuous integration, or the named ones
  ci --list                their names
  tidy                     the rules that text can show
  fmt | clippy | doc | test
                           the stage of that name
  trust [--full] [ENGINE]  everything that holds the promises, one engine after the other: for every
                           change, with --full for a release (hours)
  loom [--full] [FILTER]   the concurrency models: 2 preemptions, with --full 3
  laws [--full] [--seed N] [FILTER]
                           programs of every primitive under loom, shuttle, real threads and in a
                           simulation; FILTER is a part of `engine/primitive`
  asan                     programs of every primitive, the library's inside and the stress tests
                           under AddressSanitizer (nightly)
  tsan                     the stress tests under ThreadSanitizer (nightly)
  memcheck                 some tests under valgrind
  fuzz [--secs N] [TARGET] random programs, N seconds for each target (60) (nightly)
  fuzz --keep              takes what was found into the repository, as few inputs as do
  hooks                    what the hooks of the simulator and the recorder cost, by callgrind
  stalls CELL ARGUMENT..   loads of a cell's work that wait for stores, by callgrind and objdump: one of the
                           arguments has two lengths (`pingpong/call threads=1 p=1 n=2000..12000`); of a bench
                           for PACKAGE:BENCH (`tidings:actor call/six-methods 5000..15000`)
  soak [--secs N]          the mixed load on all cores and on one, N seconds in all (8 hours)
  api [--update]           the public API against its snapshot (nightly)
  semver [REVISION]        what would break users of that revision, or of the last release
  targets [TARGET]         the libraries built for Windows, macOS, FreeBSD, aarch64 and 32 bits (nightly with
                           rust-src)
  targets --wine           their tests as programs for Windows, under Wine
  deny                     licences, bans and sources of the dependencies
  bundle                   makes a bundle of the arena and uses it without a network
  nats                     installs nats-server for the tests of tidings-nats, by go
  chaos [--short | SCENARIO..]
                           servers and nodes of a cluster in network namespaces, killed, cut off and
                           stopped under load (as root; minutes)
  peers                    installs and builds every peer of the arena, as root, and checks its cells
  stress [--secs N]        the stress tests, N seconds each (3)
  mutants [--missing | --short N | --list | FILTER]
                           seeded bugs in a copy of the library: each must be killed by a test
  mutants --engine NAME [--missing | FILTER]
                           what one engine (it, unit, loom, linear, ..; all: each) kills by itself
  mutants --generated [--missing] [--near] [--only PART] [FILE..]
                           the same with what cargo-mutants makes of the files: --missing goes on
                           where it was cut off, --near tries the nearest tests only, --only runs
                           those with PART in their names
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
    // Only `ci` and `trust` report what was counted, and each has a tally of its own.
    let tally = &mut Tally::default();
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
            engines::loom(full, filter, tally)?;
        }
        ["trust", options @ ..] => return trust::run(options),
        ["laws", options @ ..] => laws::run(options, tally)?,
        ["mutants", options @ ..] => return mutants::run(options, tally),
        ["orderings", options @ ..] => return mutants::orderings(options, tally),
        ["bundle"] => engines::bundle(tally)?,
        ["chaos", options @ ..] => engines::chaos(options, tally)?,
        ["nats"] => println!("{}", tools::nats(tally)?),
        ["peers"] => engines::peers(tally)?,
        ["tsan"] => sanitizers::thread(tally)?,
        ["memcheck"] => sanitizers::memory(tally)?,
        ["fuzz", "--keep"] => fuzz::keep(tally)?,
        ["fuzz", options @ ..] => {
            let (secs, target) = match options {
                [] => (fuzz::SECS, None),
                ["--secs", n] => (secs(n)?, None),
                ["--secs", n, target] => (secs(n)?, Some(*target)),
                [target] if !target.starts_with('-') => (fuzz::SECS, Some(*target)),
                _ => return Err(usage(arguments)),
            };
            fuzz::run(|_| secs, target, tally)?;
        }
        ["hooks"] => hooks::run()?,
        ["stalls", cell, arguments @ ..] if !cell.starts_with('-') => stalls::run(cell, arguments)?,
        ["soak"] => soak::run(soak::SECS, tally)?,
        ["soak", "--secs", n] => soak::run(secs(n)?, tally)?,
        ["api"] => surface::api(false)?,
        ["api", "--update"] => surface::api(true)?,
        ["semver"] => surface::semver(None, tally)?,
        ["semver", revision] if !revision.starts_with('-') => {
            surface::semver(Some(revision), tally)?;
        }
        ["targets"] => targets::build(None, tally)?,
        ["targets", "--wine"] => targets::wine(tally)?,
        ["targets", target] if !target.starts_with('-') => targets::build(Some(*target), tally)?,
        ["deny"] => surface::deny(tally)?,
        ["stress"] => ci::stage("stress")?,
        ["stress", "--secs", n] => engines::stress(secs(n)?, true, tally)?,
        _ => return Err(usage(arguments)),
    }
    Ok(ExitCode::SUCCESS)
}

fn secs(n: &str) -> Result<u32, String> {
    n.parse()
        .map_err(|_| format!("--secs takes a number, not `{n}`"))
}

fn usage(arguments: &[&str]) -> String {
    format!("cargo x knows no `{}`\n\n{HELP}", arguments.join(" "))
}
