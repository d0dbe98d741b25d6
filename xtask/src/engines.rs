//! The engines that look at the tests in another way, with their flags in one place (what watches
//! memory: `sanitizers.rs`; the laws: `laws.rs`). A new one is a function here, a verb in `main.rs` and a
//! stage in `ci.rs`.

use std::thread;

use crate::command::{Tally, run_at_root, target};
use crate::tools;

/// Those test programs that run the library (others run the compiler), but for the two that have
/// verbs of their own.
pub(crate) const RUNNING: &str = "--lib --test it --test upstream --test linear";
/// How long each stress test runs when nobody says.
pub(crate) const STRESS_SECS: u32 = 3;

/// What is built of the tests that run the library: optimized in full; in short as `cargo test --workspace`
/// builds them, which has usually been run.
pub(crate) const fn build(full: bool) -> &'static str {
    match full {
        true => "--release -p tidings",
        false => "--workspace",
    }
}

/// Runs tests of which there must be some: a filter that matches nothing proves nothing.
pub(crate) fn run_tests(env: &[(&str, &str)], line: &str, tally: &mut Tally) -> Result<(), String> {
    let before = tally.passed;
    run_at_root(env, line, tally)?;
    if tally.passed == before {
        Err("no test ran".to_owned())
    } else {
        Ok(())
    }
}

/// How models are optimized: fully, because loom's time is the tests' time; in the short forms, which run for seconds and
/// are built for minutes, so much that both together take least.
const fn optimized(full: bool) -> &'static [(&'static str, &'static str)] {
    match full {
        true => &[],
        false => &[
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ],
    }
}

/// Every model, under every interleaving with so many preemptions.
pub(crate) fn loom(full: bool, filter: Option<&str>, tally: &mut Tally) -> Result<(), String> {
    let filter = filter.map_or("models".to_owned(), |filter| format!("models::{filter}"));
    let own = [
        ("RUSTFLAGS", "--cfg loom"),
        ("LOOM_MAX_PREEMPTIONS", if full { "3" } else { "2" }),
        // The models that take longer.
        ("TIDINGS_LOOM_FULL", if full { "1" } else { "0" }),
        ("CARGO_TARGET_DIR", &target("loom")),
    ];
    run_tests(
        &[&own[..], optimized(full)].concat(),
        &format!("cargo test -p tidings --release --lib -- {filter}"),
        tally,
    )
}

/// Runs programs against the laws, in a build of its own: the environment, and whether it is the long form.
type Laws = fn(&[(&str, &str)], bool, &mut Tally) -> Result<(), String>;

/// The builds for `cargo x laws`, with the engines in each.
pub(crate) const LAWS: &[(Laws, &[&str])] = &[
    (
        |env, full, tally| {
            let tests = [
                "real_threads_run_programs --nocapture",
                "--skip real_threads_run_programs --nocapture",
            ];
            laws(env, build(full), &tests, tally)
        },
        &["threads", "sim"],
    ),
    (
        |env, full, tally| {
            let bound = if full { "3" } else { "2" };
            let own = [
                ("RUSTFLAGS", "--cfg loom"),
                ("LOOM_MAX_PREEMPTIONS", bound),
                ("CARGO_TARGET_DIR", &target("loom")),
            ];
            laws(
                &[env, &own, optimized(full)].concat(),
                build(true),
                &["engines --nocapture"],
                tally,
            )
        },
        &["loom"],
    ),
    (
        |env, full, tally| {
            let own = [
                ("RUSTFLAGS", "--cfg shuttle"),
                ("CARGO_TARGET_DIR", &target("shuttle")),
            ];
            laws(
                &[env, &own, optimized(full)].concat(),
                build(true),
                &["engines --nocapture", "races --nocapture"],
                tally,
            )
        },
        &["shuttle"],
    ),
];

/// Runs these tests of the laws side by side: of a program's engines one at a time runs, on few threads.
fn laws(
    env: &[(&str, &str)],
    build: &str,
    tests: &[&str],
    tally: &mut Tally,
) -> Result<(), String> {
    let run = |tests: &str| {
        let line = format!("cargo test {build} --test laws -- {tests}");
        let mut own = Tally::default();
        (run_tests(env, &line, &mut own), own)
    };
    let runs: Vec<_> = thread::scope(|threads| {
        let started = tests.iter().map(|tests| threads.spawn(|| run(tests)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|it| it.join()).collect()
    });
    let mut result = Ok(());
    for run in runs {
        let (ended, own) = run.map_err(|_| "a thread of this program panicked")?;
        tally.add(own);
        result = result.and(ended);
    }
    result
}

/// A bundle of the arena is enough on a machine without a network: takes minutes.
pub(crate) fn bundle(tally: &mut Tally) -> Result<(), String> {
    let line = "cargo test -p tidings-cli --test arena a_bundle_is_enough -- --ignored";
    run_tests(&[], line, tally)
}

/// A cluster of nodes on NATS, killed, cut off and stopped under load: all scenarios, those of the short
/// form, or those named. It needs root, and fails without.
pub(crate) fn chaos(options: &[&str], tally: &mut Tally) -> Result<(), String> {
    let server = tools::nats(tally)?;
    let line = format!(
        "cargo test --workspace --test chaos -- {}",
        options.join(" ")
    );
    run_tests(&[("TIDINGS_NATS_SERVER", &server)], &line, tally)
}

/// Every peer of the arena: what it needs is installed, as root, it is built, and each of its cells is checked.
pub(crate) fn peers(tally: &mut Tally) -> Result<(), String> {
    run_at_root(&[], "cargo run --release -- arena setup --all --yes", tally)?;
    run_at_root(&[], "cargo run --release -- arena smoke", tally)
}

/// Real threads and real time.
pub(crate) fn stress(secs: u32, full: bool, tally: &mut Tally) -> Result<(), String> {
    run_tests(
        &[("TIDINGS_STRESS_SECS", &secs.to_string())],
        &format!("cargo test {} --test stress", build(full)),
        tally,
    )
}
