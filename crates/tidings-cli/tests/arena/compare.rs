//! `compare`, `baseline`, `history` and `clean`, on peers whose figures are the same on every machine, and on a saved run.

use std::fs;

use serde_json::Value;

use crate::invented;
use crate::stage::{Called, Stage};

fn call(stage: &Stage, args: &[&str]) -> Called {
    Called::from(stage.command(args).output().expect("started"))
}

fn outcome<'a>(comparison: &'a Value, system: &str, workload: &str) -> &'a Value {
    let cells = comparison["cells"].as_array().expect("cells");
    let cell = cells
        .iter()
        .find(|c| c["system"] == system && c["workload"] == workload);
    &cell.unwrap_or_else(|| panic!("no {workload}@{system}"))["outcome"]
}

#[test]
fn a_slower_cell_is_found_and_can_fail_a_script() {
    crate::steady(|| {
        let stage = Stage::new("compare");
        let cells = ["pingpong/tell", "counter/send"];
        stage.peer_with("a", &["--mode", "jitter", "--seed", "7"], &cells);
        // How fast it is stands outside of its folder, so that it is the same peer for the harness.
        let speed = stage.root.join("speed");
        fs::write(&speed, "100").expect("written");
        let speed = speed.to_str().expect("UTF-8");
        stage.peer_with("b", &["--mode", "jitter", "--ns-file", speed], &cells);
        let run = |more: &[&str]| {
            let head = ["run", "@a,b", "--vs", "a", "--profile", "smoke", "-q"];
            let rounds = ["--min-rounds", "7", "--threads", "2"];
            let called = stage.call(&[&head[..], &rounds, more].concat());
            assert_eq!(called.code, 0, "{}", called.stderr);
            called
        };
        run(&[]);
        let first = stage.saved();
        let first = first
            .file_name()
            .expect("a name")
            .to_str()
            .expect("UTF-8")
            .to_owned();
        assert_eq!(call(&stage, &["compare"]).code, 5, "only one run");
        let saved = call(&stage, &["baseline", "save", "good"]);
        assert_eq!(saved.code, 0, "{}", saved.stderr);
        fs::write(speed, "150").expect("written");
        let told = run(&["--baseline", "good"]);
        assert!(
            told.stdout.contains("compare · A is run"),
            "{}",
            told.stdout
        );

        let called = call(&stage, &["compare", "--json"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let comparison = called.json();
        assert_eq!(comparison["a"], first.as_str());
        for workload in ["pingpong", "counter"] {
            assert_eq!(
                *outcome(&comparison, "b", workload),
                "slower",
                "{comparison}"
            );
            let same = outcome(&comparison, "a", workload);
            assert!(*same == "same" || *same == "not-shown", "{comparison}");
        }
        for args in [&["compare", &first][..], &["compare", "good"], &["compare"]] {
            let called = call(&stage, &[args, &["--fail-on", "regress"]].concat());
            assert_eq!(called.code, 4, "{}", called.stderr);
            assert!(called.stdout.contains("2 slower"), "{}", called.stdout);
            assert!(called.stdout.contains("time x1.5"), "{}", called.stdout);
        }
        let second = stage.runs()[1].clone();
        let second = second.to_str().expect("UTF-8");
        let called = call(&stage, &["compare", second, "good", "--fail-on", "regress"]);
        assert_eq!(
            called.code, 0,
            "the other way round it is faster: {}",
            called.stdout
        );
        let called = call(
            &stage,
            &[
                "compare",
                "good",
                "--threshold",
                "60%",
                "--fail-on",
                "regress",
            ],
        );
        assert_eq!(called.code, 0, "{}", called.stdout);
        let called = call(&stage, &["history", "counter"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert!(
            called.stdout.contains("counter/send@b"),
            "{}",
            called.stdout
        );
        assert!(called.stdout.contains("█▁"), "{}", called.stdout);
        assert!(!called.stdout.contains("pingpong"), "{}", called.stdout);
        // Without samples the intervals of the document must do.
        fs::remove_file(stage.runs()[0].join("samples.ndjson")).expect("removed");
        let comparison = call(&stage, &["compare", &first, "--json"]).json();
        assert_eq!(
            *outcome(&comparison, "b", "counter"),
            "slower",
            "{comparison}"
        );
    });
}

#[test]
fn other_machines_and_other_peers_are_not_compared() {
    let stage = Stage::new("compare-other");
    invented::save(&stage, "now", |_| ());
    let elsewhere = |change: &dyn Fn(&mut Value)| {
        let mut run = invented::run();
        change(&mut run);
        invented::write(&stage.root.join("elsewhere"), &run)
    };
    let folder = elsewhere(&|run| run["env"]["cpu"] = "Another CPU".into());
    let called = call(&stage, &["compare", &folder]);
    assert_eq!(called.code, 2);
    assert!(called.stderr.contains("Another CPU"), "{}", called.stderr);
    let called = call(&stage, &["compare", &folder, "--force", "--json"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let comparison = called.json();
    let cells = comparison["cells"].as_array().expect("cells");
    assert!(
        cells.iter().all(|c| c["system"] != "tidings"),
        "the reference has no ratio to itself"
    );
    assert!(cells.len() > 10, "{comparison}");
    let forced = ["compare", &folder, "--force", "--fail-on", "regress"];
    assert_eq!(call(&stage, &forced).code, 0);
    invented::save(&stage, "now2", |cell| {
        if cell["workload"] == "counter" && cell["system"] == "go" {
            cell["state"] = "crash".into();
            cell["reason"] = "killed by signal 9".into();
            for figure in ["ns_per_op", "rate", "ratio", "rank"] {
                cell[figure] = Value::Null;
            }
        }
    });
    let called = call(&stage, &forced);
    assert_eq!(called.code, 4, "{}", called.stdout);
    let fails = "now crash: killed by signal 9";
    assert!(called.stdout.contains(fails), "{}", called.stdout);
    invented::save(&stage, "now3", |_| ());

    let folder = elsewhere(&|run| {
        for cell in run["cells"].as_array_mut().expect("cells") {
            cell["build_hash"] = "another".into();
        }
    });
    let comparison = call(&stage, &["compare", &folder, "--json"]).json();
    assert_eq!(*outcome(&comparison, "go", "counter"), "not-compared");
    assert_eq!(*outcome(&comparison, "tidings", "counter"), "same");
}

#[test]
fn in_units_of_a_cell_only_what_is_grossly_slower_or_gone_fails_on_any_machine() {
    let stage = Stage::new("compare-to");
    let mut before = invented::run();
    before["env"]["cpu"] = "Another CPU".into();
    let elsewhere = invented::write(&stage.root.join("elsewhere"), &before);
    let to = |baseline: &str, unit: &str| {
        let args = ["--to", unit, "--threshold", "300%", "--fail-on", "regress"];
        call(&stage, &[&["compare", baseline], &args[..]].concat())
    };
    let slower = |called: &Called| called.stdout.contains("slower       counter/send@go");
    for (id, factor, code) in [("1", 1.5, 0), ("2", 9.0, 4)] {
        invented::save(&stage, id, |cell| {
            if cell["system"] == "go" {
                invented::stretch(cell, factor);
            }
        });
        let called = to(&elsewhere, "skynet/tree-ch@tidings");
        assert_eq!(called.code, code, "{factor}: {}", called.stdout);
        assert_eq!(slower(&called), code == 4, "{factor}: {}", called.stdout);
        let units = "in units of that of skynet/tree-ch@tidings";
        assert!(called.stdout.contains(units), "{}", called.stdout);
    }
    // Had all become slower, so had the machine.
    assert!(!slower(&to(&elsewhere, "skynet/tree-ch@go")));

    invented::save(&stage, "3", |_| ());
    assert_eq!(to(&elsewhere, "skynet/tree-ch@tidings").code, 0);
    for cell in before["cells"].as_array_mut().expect("cells") {
        if cell["workload"] == "counter" && cell["system"] == "go" {
            cell["variant"] = "bounded-1024".into();
        }
    }
    let gone = invented::write(&stage.root.join("gone"), &before);
    let called = to(&gone, "skynet/tree-ch@tidings");
    assert_eq!(called.code, 4, "{}", called.stdout);
    let fails = "fails        counter/bounded-1024@go";
    assert!(called.stdout.contains(fails), "{}", called.stdout);
    assert!(called.stdout.contains("not in this run"));
    let called = to(&elsewhere, "floor/atomic@hardware");
    assert_eq!(called.code, 5);
    let none = "no figure of floor/atomic@hardware";
    assert!(called.stderr.contains(none), "{}", called.stderr);
}

#[test]
fn what_had_a_figure_and_has_none_fails_unless_it_was_not_asked_for() {
    let stage = Stage::new("compare-gone");
    invented::save(&stage, "a", |_| ());
    let gate = |more: &[&str]| {
        let args = ["compare", "a", "--fail-on", "regress"];
        call(&stage, &[&args[..], more].concat())
    };
    let is_it = |cell: &Value| cell["workload"] == "counter" && cell["system"] == "go";
    let lost = |state: &'static str, reason: &'static str| {
        move |cell: &mut Value| {
            if is_it(cell) {
                (cell["state"], cell["reason"]) = (state.into(), reason.into());
                // As the plan records what it cannot start.
                (cell["threads"], cell["params"]) = (0.into(), serde_json::json!({}));
                for figure in ["ns_per_op", "rate", "ratio", "rank"] {
                    cell[figure] = Value::Null;
                }
            }
        }
    };
    for (id, state, reason) in [
        ("b", "missing", "go is not installed"),
        ("c", "skipped", "the budget was used up"),
    ] {
        invented::save(&stage, id, lost(state, reason));
        for more in [&[][..], &["--fewer"]] {
            let called = gate(more);
            assert_eq!(called.code, 4, "{more:?}: {}", called.stdout);
            assert!(called.stdout.contains("fails        counter/send@go"));
            let why = format!("now {state}: {reason}");
            assert!(called.stdout.contains(&why), "{}", called.stdout);
        }
    }
    // A run of fewer cells has nothing of the others, and only who compares knows whether that was meant.
    let mut run = invented::run();
    run["id"] = "d".into();
    let cells = run["cells"].as_array_mut().expect("cells");
    cells.retain(|cell| !is_it(cell));
    invented::write(&stage.root.join("data/tidings/arena/runs/d"), &run);
    let called = gate(&[]);
    assert_eq!(called.code, 4, "{}", called.stdout);
    let line = called.stdout.lines().find(|line| line.contains("fails  "));
    let line = line.expect("it is told");
    assert!(line.contains("counter/send@go"), "{line}");
    assert!(line.ends_with("not in this run"), "{line}");
    let called = gate(&["--fewer"]);
    assert_eq!(called.code, 0, "{}", called.stdout);
    assert!(called.stdout.contains("only in A 3"), "{}", called.stdout);
}

#[test]
fn baselines_are_kept_and_runs_and_builds_removed() {
    let stage = Stage::new("baseline");
    invented::save(&stage, "now", |_| ());
    assert_eq!(call(&stage, &["baseline", "save", "one"]).code, 0);
    for (args, why) in [
        (&["baseline", "save", "one"][..], "already"),
        (&["baseline", "save", "../x"], "no name for a baseline"),
        (
            &["baseline", "rm", "two"],
            "no baseline \"two\"; there are: one",
        ),
        (&["run", "--baseline", "two"], "no baseline \"two\""),
        (&["clean"], "--peers, --runs"),
        (&["clean", "--runs"], "pass --yes"),
    ] {
        let called = call(&stage, args);
        assert_eq!(called.code, 2, "{args:?}");
        assert!(called.stderr.contains(why), "{args:?}: {}", called.stderr);
    }
    let called = call(
        &stage,
        &["clean", "--runs", "--peers", "--yes", "--dry-run"],
    );
    assert!(called.stdout.contains("1 saved runs"), "{}", called.stdout);
    assert_eq!(stage.runs().len(), 1);
    // A run that goes on holds the lock of its samples, and starts its peers again and again.
    let peer = stage.root.join("cache/tidings/arena/peers/fake-0");
    fs::create_dir_all(&peer).expect("made");
    invented::save(&stage, "goes-on", |_| ());
    let folder = stage.root.join("data/tidings/arena/runs/goes-on");
    let samples = fs::File::create(folder.join("samples.ndjson")).expect("made");
    samples.lock().expect("nobody has it");
    let called = call(&stage, &["clean", "--runs", "--peers", "--yes"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert_eq!(stage.runs(), [folder], "{}", called.stdout);
    assert!(peer.is_dir(), "{}", called.stdout);
    drop(samples);
    let called = call(&stage, &["clean", "--runs", "--peers", "--yes"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert!(stage.runs().is_empty() && !peer.exists());
    let listed = call(&stage, &["baseline", "list"]);
    assert!(listed.stdout.starts_with("one "), "{}", listed.stdout);
    assert_eq!(call(&stage, &["compare", "one", "one"]).code, 0);
    assert_eq!(call(&stage, &["baseline", "rm", "one"]).code, 0);
    assert_eq!(call(&stage, &["history"]).code, 5);
}

#[test]
fn a_baseline_that_is_broken_or_half_is_told_beside_the_others_and_can_be_removed() {
    let stage = Stage::new("broken-baseline");
    invented::save(&stage, "now", |_| ());
    assert_eq!(call(&stage, &["baseline", "save", "whole"]).code, 0);
    let folder = stage.root.join("data/tidings/arena/baselines");
    fs::create_dir_all(folder.join("half")).expect("made");
    fs::create_dir_all(folder.join("broken")).expect("made");
    fs::write(folder.join("broken/run.json"), "{").expect("written");
    let listed = call(&stage, &["baseline", "list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let lines: Vec<_> = listed.stdout.lines().collect();
    let begin = |line: &str| {
        line.split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let begins: Vec<_> = lines.iter().map(|line| begin(line)).collect();
    assert_eq!(
        begins,
        ["broken broken:", "half broken:", "whole run"],
        "{lines:?}"
    );
    for name in ["half", "broken"] {
        assert_eq!(call(&stage, &["compare", name, "whole"]).code, 70, "{name}");
        let again = call(&stage, &["baseline", "save", name]);
        assert!(again.stderr.contains("already"), "{}", again.stderr);
        assert_eq!(call(&stage, &["baseline", "rm", name]).code, 0, "{name}");
        assert_eq!(call(&stage, &["baseline", "save", name]).code, 0, "{name}");
    }
}
