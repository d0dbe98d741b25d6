//! `compare`, `baseline`, `history` and `clean`, on peers whose figures are the same on every machine.

use std::fs;

use serde_json::Value;

use crate::stage::{Called, Stage};

fn run(stage: &Stage, more: &[&str]) -> Called {
    let args = [
        "run",
        "@a,b",
        "--vs",
        "a",
        "--size",
        "pingpong=1000",
        "--size",
        "counter=1000",
    ];
    let rounds = [
        "--min-rounds",
        "7",
        "--max-rounds",
        "7",
        "--threads",
        "2",
        "-q",
    ];
    let called = stage.call(&[&args[..], &rounds[..], more].concat());
    assert_eq!(called.code, 0, "{}", called.stderr);
    called
}

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

/// Two runs: `b` is slower by a half in counter the second time and its manifest the same.
fn two_runs(name: &str) -> Stage {
    let stage = Stage::new(name);
    let cells = ["pingpong/tell", "counter/send"];
    stage.peer_with("a", &["--mode", "jitter", "--seed", "7"], &cells);
    // How fast it is stands outside of its folder, so that it is the same peer for the harness.
    let speed = stage.root.join("speed");
    fs::write(&speed, "100").expect("written");
    let speed = speed.to_str().expect("UTF-8").to_owned();
    stage.peer_with("b", &["--mode", "jitter", "--ns-file", &speed], &cells);
    run(&stage, &[]);
    stage
}

#[test]
fn a_slower_cell_is_found_and_can_fail_a_script() {
    crate::steady(|| {
        let stage = two_runs("compare");
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
        fs::write(stage.root.join("speed"), "150").expect("written");
        let told = run(&stage, &["--baseline", "good"]);
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
    crate::steady(|| {
        let stage = two_runs("compare-other");
        let saved = stage.saved();
        let text = fs::read_to_string(saved.join("run.json")).expect("saved");
        let elsewhere = stage.root.join("elsewhere");
        fs::create_dir_all(&elsewhere).expect("made");
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        run["env"]["cpu"] = "Another CPU".into();
        fs::write(elsewhere.join("run.json"), run.to_string()).expect("written");
        let elsewhere = elsewhere.to_str().expect("UTF-8");
        let called = call(&stage, &["compare", elsewhere]);
        assert_eq!(called.code, 2);
        assert!(called.stderr.contains("Another CPU"), "{}", called.stderr);
        let called = call(&stage, &["compare", elsewhere, "--force", "--json"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let comparison = called.json();
        let cells = comparison["cells"].as_array().expect("cells");
        assert!(
            cells.iter().all(|c| c["system"] == "b"),
            "the reference has no ratio to itself"
        );
        assert_eq!(cells.len(), 2);

        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        for cell in run["cells"].as_array_mut().expect("cells") {
            cell["build_hash"] = "another".into();
        }
        fs::write(
            std::path::Path::new(elsewhere).join("run.json"),
            run.to_string(),
        )
        .expect("written");
        let comparison = call(&stage, &["compare", elsewhere, "--json"]).json();
        assert_eq!(*outcome(&comparison, "b", "counter"), "not-compared");
    });
}

#[test]
fn in_units_of_a_cell_only_what_is_grossly_slower_or_gone_fails_on_any_machine() {
    crate::steady(|| {
        let stage = two_runs("compare-to");
        let text = fs::read_to_string(stage.saved().join("run.json")).expect("saved");
        let mut run_json: Value = serde_json::from_str(&text).expect("JSON");
        run_json["env"]["cpu"] = "Another CPU".into();
        let kept = |name: &str, run: &Value| {
            let folder = stage.root.join(name);
            fs::create_dir_all(&folder).expect("made");
            let path = folder.join("run.json");
            fs::write(&path, run.to_string()).expect("written");
            path.to_str().expect("UTF-8").to_owned()
        };
        let elsewhere = kept("elsewhere", &run_json);
        let to = |baseline: &str, unit: &str| {
            let args = ["--to", unit, "--threshold", "300%", "--fail-on", "regress"];
            call(&stage, &[&["compare", baseline], &args[..]].concat())
        };
        for (speed, code) in [("150", 0), ("900", 4)] {
            fs::write(stage.root.join("speed"), speed).expect("written");
            run(&stage, &[]);
            let called = to(&elsewhere, "pingpong/tell@a");
            assert_eq!(called.code, code, "{speed}: {}", called.stdout);
            let slower = called.stdout.contains("slower       counter/send@b");
            assert_eq!(slower, code == 4, "{speed}: {}", called.stdout);
            assert!(
                called
                    .stdout
                    .contains("in units of that of pingpong/tell@a")
            );
        }
        // Had all become slower, so had the machine.
        let called = to(&elsewhere, "pingpong/tell@b");
        assert!(!called.stdout.contains("slower       counter/send@b"));

        fs::write(stage.root.join("speed"), "100").expect("written");
        run(&stage, &[]);
        assert_eq!(to(&elsewhere, "pingpong/tell@a").code, 0);
        for cell in run_json["cells"].as_array_mut().expect("cells") {
            if cell["workload"] == "counter" && cell["system"] == "b" {
                cell["variant"] = "give".into();
            }
        }
        let called = to(&kept("gone", &run_json), "pingpong/tell@a");
        assert_eq!(called.code, 4, "{}", called.stdout);
        assert!(called.stdout.contains("fails        counter/give@b"));
        assert!(called.stdout.contains("not in this run"));
        let called = to(&elsewhere, "floor/atomic@hardware");
        assert_eq!(called.code, 5);
        assert!(called.stderr.contains("no figure of floor/atomic@hardware"));
    });
}

#[test]
fn baselines_are_kept_and_runs_and_builds_removed() {
    crate::steady(|| {
        let stage = two_runs("baseline");
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
        let called = call(&stage, &["clean", "--runs", "--peers", "--yes"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert!(stage.runs().is_empty());
        let listed = call(&stage, &["baseline", "list"]);
        assert!(listed.stdout.starts_with("one "), "{}", listed.stdout);
        assert_eq!(call(&stage, &["compare", "one", "one"]).code, 0);
        assert_eq!(call(&stage, &["baseline", "rm", "one"]).code, 0);
        assert_eq!(call(&stage, &["history"]).code, 5);
    });
}
