//! The stages of continuous integration, cheapest first. `.ci/run` calls this.
//!
//! A stage that fails does not keep the others from running, so that one run shows all. What the last ones build is built
//! beside those before them, which is why the one that builds longest comes last.

use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use crate::command::{Tally, aside, root, run_at_root, run_in};
use crate::{engines, fuzz, tidy, tools, trust};

/// A stage says `Skipped` only where a tool that is optional is not on the machine.
enum Outcome {
    Done,
    Skipped(&'static str),
}

type Stage = fn(&mut Tally) -> Result<Outcome, String>;

const STAGES: &[(&str, Stage)] = &[
    ("fmt", |tally| cargo(&[], "fmt --all --check", tally)),
    ("tidy", |_| done(tidy::run(&root()))),
    ("clippy", clippy),
    // The library and the binary are both called tidings, and one page can be only one of them.
    ("doc", |tally| {
        cargo(
            &[("RUSTDOCFLAGS", "-D warnings")],
            "doc --workspace --no-deps --lib",
            tally,
        )
    }),
    // The command README gives, so it is known to work in a fresh clone.
    ("test", test),
    ("loom", |tally| done(trust::short("loom", tally))),
    ("laws", |tally| done(trust::short("laws", tally))),
    ("asan", |tally| done(trust::short("asan", tally))),
    ("stress", |tally| done(trust::short("stress", tally))),
    ("fuzz", |tally| done(trust::short("fuzz", tally))),
    ("mutants", |tally| done(trust::short("mutants", tally))),
    ("go", go),
    ("chaos", chaos),
    ("arena", arena),
];

/// What stages begin with, built beside those before them: on two cores there is often one that has nothing to do.
/// Nothing else is built in the folders that these lock.
const AHEAD: &[(&str, fn())] = &[
    ("fuzz", || fuzz::build(aside)),
    ("arena", || aside("", &[], ARENA)),
];

/// All targets; the one that `--all-targets` leaves out, because `cargo test` does not run it; and the
/// library without sockets, which its tests are never built without: `tidings-sim` brings them.
fn clippy(tally: &mut Tally) -> Result<Outcome, String> {
    let all = cargo(
        &[],
        "clippy --workspace --all-targets -- -D warnings",
        tally,
    );
    let chaos = "clippy --workspace --test chaos -- -D warnings";
    let all = cargo(&[], chaos, tally).and(all);
    let bare = "clippy -p tidings --no-default-features -- -D warnings";
    cargo(&[], bare, tally).and(all)
}

/// What takes features of `tidings` and of links, and what builds SQLite or HTTP, in one build. Of the whole workspace, so
/// that what it depends on has the features that it was built with for the other tests.
const FEATURES: &str = "cargo test --workspace \
     --features tidings/serde,tidings/tracing,tidings/tokio,tidings-ecosystem-test/all,tidings-link/tracing \
     --test features --test tokio --test http --test io --test sqlx --test trace";

/// The workspace's tests, and those of the crate that it shares with peers outside of it. Where Go is, so is a
/// nats-server, and no test of the cluster passes by being skipped for want of one.
fn test(tally: &mut Tally) -> Result<Outcome, String> {
    let (server, needed): (_, &[_]) = if has_go() {
        (
            tools::nats(tally).map(|_| ()),
            &[("TIDINGS_NEED_NATS", "1")],
        )
    } else {
        (Ok(()), &[])
    };
    // What other stages run for longer.
    let brief = [
        ("TIDINGS_STRESS_SECS", "1"),
        ("TIDINGS_LAWS_FILTER", "none"),
    ];
    let env = [needed, &brief].concat();
    let built = run_at_root(&env, "cargo test --workspace --no-run", tally);
    // The tests wait more than they compute.
    let own = thread::scope(|threads| {
        threads.spawn(|| aside("", &[], &format!("{FEATURES} --no-run")));
        run_at_root(&env, "cargo test --workspace --no-fail-fast", tally)
    });
    let own = run_at_root(&[], FEATURES, tally).and(built).and(own);
    let shared = "cargo test --target-dir ../../../../target/savina";
    let shared = run_in("arena/peers/shared/savina", &[], shared, tally);
    done(server.and(own).and(shared))
}

fn has_go() -> bool {
    Command::new("go").arg("version").output().is_ok()
}

fn cargo(env: &[(&str, &str)], arguments: &str, tally: &mut Tally) -> Result<Outcome, String> {
    done(run_at_root(env, &format!("cargo {arguments}"), tally))
}

fn done(result: Result<(), String>) -> Result<Outcome, String> {
    result.map(|()| Outcome::Done)
}

/// What is measured, each on one worker, and in units of what: the committed run and this one have that in common,
/// whatever the machines.
const MEASURED: &str = "pingpong/tell@tidings,tidings-actors pingpong/tell-w100@tidings pingpong/call@tidings fan/struct@tidings \
     chain/struct@tidings counter/send@tidings counter/select@tidings skynet/tree-ch@tidings spawn/joined@tidings \
     net/local@tidings skynet/floor@tidings";
const UNIT: &str = "skynet/floor@tidings";

/// The build of what the arena is.
const ARENA: &str = "cargo build --release";

/// Every cell, checked; and some, measured against the committed run. Only what takes four times as long fails: on a
/// machine that others use less says nothing.
fn arena(tally: &mut Tally) -> Result<Outcome, String> {
    let smoke = cargo(&[], "run --release -- arena smoke", tally);
    let data = root().join("target/ci-arena");
    let env = [(
        "XDG_DATA_HOME",
        data.to_str().ok_or("a folder that is not UTF-8")?,
    )];
    let run =
        format!("run --release -- arena run {MEASURED} --threads 1 --no-alloc --budget 20s -q");
    let compare = format!(
        "run --release -- arena compare arena/baseline/run.json --to {UNIT} --threshold 300% --fail-on regress"
    );
    let mut measured = || cargo(&env, &run, tally).and_then(|_| cargo(&env, &compare, tally));
    // A machine that stood still is asked once more, and what was slow is above.
    let measured = measured().or_else(|why| {
        println!("compared with the baseline: {why}: once more");
        measured()
    });
    // A peer that is built from our crates has a lock file of its own: ours may not leave it behind.
    let locked = "cargo update --workspace --locked --quiet";
    let locked = run_in("arena/peers/nats", &[], locked, tally);
    measured.and(smoke).and(done(locked))
}

/// The peers written in Go, each a module of its own.
fn go(tally: &mut Tally) -> Result<Outcome, String> {
    if !has_go() {
        return Ok(Outcome::Skipped("there is no go on this machine"));
    }
    // The module must not make go fetch another toolchain than the one that is here.
    let env = [("GOTOOLCHAIN", "local")];
    run_in("arena/peers/go", &env, "go vet ./...", tally)?;
    done(run_in("arena/peers/go", &env, "go test -v ./...", tally))
}

/// A cluster that is disturbed.
fn chaos(tally: &mut Tally) -> Result<Outcome, String> {
    if !has_go() {
        return Ok(Outcome::Skipped(
            "there is no go on this machine to install nats-server with",
        ));
    }
    if !has_namespaces() {
        return Ok(Outcome::Skipped("no network namespaces can be made here"));
    }
    // Its bounds are times: a machine that stood still is asked once more, and what failed is above.
    let mut first = Tally::default();
    done(match engines::chaos(&["--short"], &mut first) {
        Ok(()) => {
            tally.add(first);
            Ok(())
        }
        Err(why) => {
            println!("chaos failed ({why}): once more");
            engines::chaos(&["--short"], tally)
        }
    })
}

/// Whether namespaces can be made and joined by a network, which takes root and iproute2.
fn has_namespaces() -> bool {
    let mut made = Command::new("unshare");
    made.args(["--net", "--mount", "--pid", "--fork"]);
    made.args(["ip", "link", "add", "one", "type", "bridge"]);
    made.output().is_ok_and(|made| made.status.success())
}

/// Prints the names of the stages.
pub(crate) fn list() {
    for (name, _) in STAGES {
        println!("{name}");
    }
}

/// Runs one stage without the report.
pub(crate) fn stage(name: &str) -> Result<(), String> {
    let (_, stage) = find(name)?;
    stage(&mut Tally::default()).map(|_| ())
}

fn find(name: &str) -> Result<(&'static str, Stage), String> {
    let stage = STAGES.iter().find(|(known, _)| *known == name);
    stage
        .copied()
        .ok_or_else(|| format!("there is no stage `{name}`; `cargo x ci --list` names them"))
}

/// Runs the named stages, or all. The last line it prints is `N passed, N failed`, in tests.
pub(crate) fn run(names: &[&str]) -> Result<ExitCode, String> {
    let chosen: Vec<(&str, Stage)> = if names.is_empty() {
        STAGES.to_vec()
    } else {
        names
            .iter()
            .map(|name| find(name))
            .collect::<Result<_, _>>()?
    };
    // The first stage builds what it needs itself.
    let later: Vec<&str> = chosen.iter().skip(1).map(|(name, _)| *name).collect();
    thread::scope(|threads| {
        threads.spawn(|| {
            AHEAD
                .iter()
                .filter(|(stage, _)| later.contains(stage))
                .for_each(|(_, build)| build());
        });
        run_all(&chosen)
    })
}

fn run_all(chosen: &[(&str, Stage)]) -> Result<ExitCode, String> {
    let mut tally = Tally::default();
    let mut report = Vec::new();
    let mut exit = ExitCode::SUCCESS;
    let whole = Instant::now();
    for (name, stage) in chosen {
        println!("\n=== {name}");
        let start = Instant::now();
        let failed_before = tally.failed;
        let state = match stage(&mut tally) {
            Ok(Outcome::Done) => "ok".to_owned(),
            Ok(Outcome::Skipped(why)) => format!("skipped: {why}"),
            Err(message) => {
                exit = ExitCode::FAILURE;
                if tally.failed == failed_before {
                    // So that the last line never says `0 failed` of a run that failed.
                    tally.failed += 1;
                }
                format!("FAILED: {message}")
            }
        };
        let line = format!(
            "{name:<14}{:>6.1} s  {state}",
            start.elapsed().as_secs_f64()
        );
        println!("=== {line}");
        report.push(line);
    }
    if !tally.failures.is_empty() {
        println!("\n=== what failed\n{}", tally.failures.join("\n"));
    }
    println!("\n{}\n", report.join("\n"));
    println!("{:.0} s in all", whole.elapsed().as_secs_f64());
    if tally.again > 0 {
        println!("{} failed and passed when run again", tally.again);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::{AHEAD, STAGES, find};

    #[test]
    fn what_is_built_ahead_is_of_stages_in_their_order() {
        let of = |name| STAGES.iter().position(|(stage, _)| *stage == name);
        let places: Vec<_> = AHEAD.iter().map(|(name, _)| of(*name)).collect();
        assert!(places.is_sorted() && !places.contains(&None), "{places:?}");
    }

    #[test]
    fn an_unknown_stage_is_named() {
        let error = find("lint").unwrap_err();
        assert_eq!(
            error,
            "there is no stage `lint`; `cargo x ci --list` names them"
        );
    }
}
