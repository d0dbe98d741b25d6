//! Figures of peers whose speed is known, because they only sleep.

use std::fs;

use crate::stage::{Stage, cell};

#[test]
fn one_system_under_two_names_is_not_told_apart() {
    crate::alone(|| {
        let stage = Stage::new("same");
        stage
            .peer("a", "honest", &["pingpong/tell"])
            .peer("b", "honest", &["pingpong/tell"]);
        let called = stage.call(&[
            "run",
            "@a,b",
            "--vs",
            "a",
            "--size",
            "pingpong=1000",
            "--threads",
            "2",
            "--json",
            "-q",
        ]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert!(!called.stderr.contains("Problems"), "quiet");
        let run = called.json();
        assert_eq!(cell(&run, "a")["ratio"]["verdict"], "reference");
        let verdict = cell(&run, "b")["ratio"]["verdict"]
            .as_str()
            .expect("a verdict")
            .to_owned();
        assert!(
            ["same", "not shown"].contains(&verdict.as_str()),
            "{verdict}"
        );
        // 16 bytes a message are allocated in a repetition of 4,000 messages, so the fake says.
        assert_eq!(cell(&run, "b")["alloc"]["bytes_per_op"], 16.0);
        assert_eq!(cell(&run, "b")["alloc"]["count_per_op"], 1.0);
    });
}

#[test]
fn every_sample_is_on_disk_with_its_phase() {
    crate::steady(|| {
        let stage = Stage::new("samples");
        stage.peer("warm", "warm", &["counter/send", "skynet/tree-ch"]);
        let copy = stage.root.join("copy.ndjson");
        let called = stage.call(&[
            "run",
            "@warm",
            "--vs",
            "warm",
            "--size",
            "counter=500",
            "--size",
            "skynet=100",
            "--threads",
            "2",
            "--profile",
            "smoke",
            "--launches",
            "2",
            "--max-rounds",
            "3",
            "--no-alloc",
            "--json",
            "--ndjson",
            copy.to_str().expect("UTF-8"),
        ]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let text = fs::read_to_string(stage.saved().join("samples.ndjson")).expect("saved");
        assert_eq!(text, fs::read_to_string(copy).expect("copied"));
        let samples: Vec<serde_json::Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"))
            .collect();
        let count = |phase: &str| samples.iter().filter(|s| s["phase"] == phase).count();
        // Two workloads, two launches, three rounds; repeats of noisy ones on top.
        assert!(count("round") >= 12, "{}", count("round"));
        assert!(count("pilot") > 0 && count("warm") > 0 && count("elision") > 0);
        assert_eq!(count("alloc"), 0);
        let run = called.json();
        assert_eq!(run["cells"].as_array().map(Vec::len), Some(2));
        for cell in run["cells"].as_array().expect("cells") {
            assert_eq!(
                (&cell["launches"], &cell["n_samples"]),
                (&2.into(), &6.into()),
                "{cell}"
            );
            // The first sample of the process is ten times as slow and is kept as the cold start.
            let figure = &cell["ns_per_op"];
            assert!(
                figure["first"].as_f64() > figure["median"].as_f64(),
                "{figure}"
            );
        }
    });
}

#[test]
fn a_short_run_leaves_spare_systems_out_and_says_so() {
    crate::steady(|| {
        let stage = Stage::new("spare");
        let cells = ["pingpong/tell", "counter/send", "chain/struct"];
        stage
            .peer("honest", "honest", &cells)
            .peer("extra", "honest", &cells);
        let file = stage.root.join("peers/extra/peer.toml");
        let text = fs::read_to_string(&file).expect("there");
        stage.manifest(
            "extra",
            &text.replacen("lang", "spare = [\"extra\"]\nlang", 1),
        );
        let short = [
            "--vs",
            "honest",
            "--budget",
            "3s",
            "--max-rounds",
            "1",
            "--json",
        ];
        let state = |filter: &str| {
            let called = stage.call(&[&["run", filter], &short[..]].concat());
            let run = called.json();
            (
                cell(&run, "extra").clone(),
                cell(&run, "honest")["state"].clone(),
            )
        };
        let (extra, honest) = state("@*e*");
        assert_eq!(extra["state"], "skipped", "{extra}");
        let reason = extra["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("left out to stay within the budget"),
            "{reason}"
        );
        assert_ne!(honest, "skipped");
        let (extra, _) = state("@extra,honest");
        assert!(
            !extra["reason"]
                .as_str()
                .unwrap_or_default()
                .contains("left out"),
            "{extra}"
        );
    });
}

#[test]
fn a_budget_skips_what_it_cannot_hold() {
    crate::steady(|| {
        let stage = Stage::new("budget");
        stage.peer("slow", "slow", &["counter/send", "skynet/tree-ch"]);
        let called = stage.call(&["run", "@slow", "--vs", "slow", "--budget", "1s", "--json"]);
        let run = called.json();
        let states: Vec<&str> = run["cells"]
            .as_array()
            .expect("cells")
            .iter()
            .filter_map(|c| c["state"].as_str())
            .collect();
        assert!(states.contains(&"skipped"), "{states:?}");
        assert!(called.stderr.contains("--budget 0"), "{}", called.stderr);
    });
}
