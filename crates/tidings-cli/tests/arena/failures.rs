//! Peers that crash, hang, lie and shout: each is named as what it is, and the others' results stand.

use std::fs;

use serde_json::Value;

use crate::stage::{Called, Stage, cell};

/// Mode of the fake peer, the state it must get, and a word of the reason.
const MODES: &[(&str, &str, &str)] = &[
    ("liar-ns", "clock", "passed within"),
    ("dawdler", "clock", "outside the clock"),
    ("liar-count", "wrong", "msgs is 4001, must be 4000"),
    ("liar-units", "wrong", "units is 5, must be 4"),
    ("liar-check", "wrong", "check is"),
    ("elider", "elided", "times as long"),
    ("crash-hello", "crash", "exited with 7"),
    ("crash-prep", "crash", "killed by signal 6"),
    ("crash-run", "crash", "exited with 3"),
    ("hang", "timeout", "no answer to run within 1 s"),
    ("chatty", "protocol", "by the way"),
    ("babbler", "protocol", "trailing words"),
    ("rubbish", "protocol", "I am a peer"),
    ("long-line", "protocol", "64 KiB"),
    ("impostor", "protocol", "somebody"),
    ("collector", "protocol", "expected u32"),
    ("hog", "oom", "above the cap"),
    ("refuse", "limited", "not on a Friday"),
];

#[test]
fn every_kind_of_failure_has_its_state_and_the_run_goes_on() {
    crate::steady(|| {
        let stage = Stage::new("failures");
        stage.peer("honest", "honest", &["pingpong/tell"]);
        for (mode, _, _) in MODES {
            stage.peer(mode, mode, &["pingpong/tell"]);
        }
        let systems: Vec<&str> = MODES
            .iter()
            .map(|(mode, _, _)| *mode)
            .chain(["honest"])
            .collect();
        let filter = format!("pingpong/tell@{}", systems.join(","));
        let called = stage.call(&[
            "run",
            &filter,
            "--profile",
            "smoke",
            "--size",
            "pingpong=1000",
            "--size",
            "pingpong.p=2",
            "--vs",
            "honest",
            "--timeout",
            "1s",
            "--mem-cap",
            "150M",
            "--threads",
            "2",
            "--json",
        ]);
        assert_eq!(called.code, 3, "{}", called.stderr);
        let run = called.json();
        for (mode, state, reason) in MODES {
            let cell = cell(&run, mode);
            assert_eq!(cell["state"], *state, "{mode}: {cell}");
            let told = cell["reason"].as_str().expect("a reason");
            assert!(told.contains(reason), "{mode}: {told}");
            assert!(cell["ns_per_op"].is_null(), "{mode} has no figure");
        }
        let honest = cell(&run, "honest");
        assert!(
            honest["ns_per_op"]["median"]
                .as_f64()
                .is_some_and(|m| m >= 50.0),
            "{honest}"
        );
        // Saved as printed, with the failing peers' logs.
        let saved = fs::read_to_string(stage.saved().join("run.json")).expect("saved");
        assert_eq!(saved, called.stdout);
        let log = cell(&run, "crash-run")["log"]
            .as_str()
            .expect("a log")
            .to_owned();
        let log = fs::read_to_string(stage.saved().join(log)).expect("kept");
        assert_eq!(log, "fake peer, mode crash-run\n");
        assert!(
            called.stderr.contains("Problems"),
            "the tables go to standard error"
        );
    });
}

#[test]
fn children_do_not_survive_their_peer() {
    crate::steady(|| {
        let stage = Stage::new("forker");
        stage.peer("forker", "forker", &["pingpong/tell"]);
        let called = stage.call(&[
            "run",
            "@forker",
            "--size",
            "pingpong=1000",
            "--max-rounds",
            "1",
            "--threads",
            "2",
            "--json",
        ]);
        assert!(
            !cell(&called.json(), "forker")["ns_per_op"].is_null(),
            "{}",
            called.stderr
        );
        let survivors = fs::read_dir("/proc")
            .expect("proc")
            .flatten()
            .filter(|entry| {
                fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x004711\0")
            });
        assert_eq!(survivors.count(), 0);
    });
}

#[test]
fn smoke_names_the_cell_and_shows_the_log() {
    crate::steady(|| {
        let stage = Stage::new("smoke");
        stage.peer(
            "honest",
            "honest",
            &[
                "pingpong/tell",
                "counter/send",
                "skynet/tree-ch",
                "chain/struct",
            ],
        );
        let called = stage.call(&["smoke", "@honest"]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        // One size each, but three of chain.
        assert!(
            called.stdout.contains("6 cells correct, 0 failed"),
            "{}",
            called.stdout
        );

        stage.peer("liar", "liar-check", &["counter/send"]);
        let called = stage.call(&["smoke", "@liar,honest"]);
        assert_eq!(called.code, 3);
        assert!(
            called.stdout.contains("wrong  counter/send@liar"),
            "{}",
            called.stdout
        );
        assert!(
            called.stdout.contains("| fake peer, mode liar-check"),
            "{}",
            called.stdout
        );
        assert!(
            called.stdout.contains("6 cells correct, 1 failed"),
            "{}",
            called.stdout
        );
    });
}

/// A run of a peer in this mode alone, whose cell has a figure; and the cell.
fn tested_for_elision(mode: &str) -> (Called, Value) {
    let stage = Stage::new(mode);
    stage.peer(mode, mode, &["pingpong/tell"]);
    let filter = format!("@{mode}");
    let called = stage.call(&[
        "run",
        &filter,
        "--vs",
        mode,
        "--profile",
        "smoke",
        "--size",
        "pingpong=1000",
        "--size",
        "pingpong.p=2",
        "--threads",
        "2",
        "--json",
    ]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let cell = cell(&called.json(), mode).clone();
    assert!(!cell["ns_per_op"].is_null(), "{cell}");
    assert_eq!(cell["elision_tested"], true, "{cell}");
    (called, cell)
}

#[test]
fn a_cell_whose_time_grows_faster_than_its_work_is_shown_with_a_remark() {
    crate::steady(|| {
        let (called, cell) = tested_for_elision("steep");
        assert_ne!(cell["state"], "ok");
        let remark = "its time grows faster than the work: 2.0 times the work took ";
        let told = cell["reason"].as_str().expect("a remark");
        assert!(told.contains(remark), "{told}");
        assert!(called.stderr.contains(remark), "{}", called.stderr);
    });
}

#[test]
fn a_system_that_hung_twice_is_not_tried_again() {
    crate::steady(|| {
        let stage = Stage::new("hangs");
        let cells = [
            "pingpong/tell",
            "chain/struct",
            "counter/send",
            "skynet/tree-ch",
        ];
        stage.peer("hangs", "hang", &cells);
        stage.peer("honest", "exact", &cells);
        let head = ["run", "@hangs,honest", "--vs", "honest", "--threads", "2"];
        let rest = ["--profile", "smoke", "--timeout", "1s", "--json"];
        let called = stage.call(&[&head[..], &rest].concat());
        assert_eq!(called.code, 3, "{}", called.stderr);
        let run = called.json();
        let of = |system: &str| -> Vec<Value> {
            let cells = run["cells"].as_array().expect("cells").iter();
            cells.filter(|c| c["system"] == system).cloned().collect()
        };
        let (hung, others): (Vec<_>, Vec<_>) = of("hangs")
            .into_iter()
            .partition(|cell| cell["state"] == "timeout");
        assert_eq!((hung.len(), others.len()), (2, 4), "{}", called.stderr);
        for cell in &others {
            assert_eq!(cell["state"], "skipped", "{cell}");
            assert_eq!(cell["reason"], "hangs hung twice in this run", "{cell}");
        }
        assert!(
            called.stderr.contains("hangs hung twice in this run"),
            "{}",
            called.stderr
        );
        let measured = of("honest");
        assert_eq!(measured.len(), 6);
        assert!(measured.iter().all(|c| !c["ns_per_op"].is_null()));
        // Had it been cut off at its end, what was left out would not be tried by going on.
        let mut cut_off = run.clone();
        cut_off["interrupted"] = true.into();
        let path = stage.saved().join("run.json");
        fs::write(path, cut_off.to_string()).expect("written");
        let id = run["id"].as_str().expect("an id");
        let called = stage.call(&["run", "--resume", id, "--json"]);
        assert_eq!(called.code, 3, "{}", called.stderr);
        assert_eq!(called.json()["cells"], run["cells"]);
        let called = stage.call(&["smoke", "@hangs", "--timeout", "1s"]);
        assert_eq!(called.code, 3);
        let sum = "0 cells correct, 2 failed";
        assert!(called.stdout.contains(sum), "{}", called.stdout);
        assert!(called.stdout.contains("hangs hung twice in this run"));
    });
}

/// Characters that a terminal obeys, but for the end of a line.
fn obeyed(text: &str) -> Option<char> {
    text.chars().find(|c| c.is_control() && *c != '\n')
}

#[test]
fn what_a_peer_says_is_shown_and_not_obeyed() {
    crate::steady(|| {
        let stage = Stage::new("painter");
        stage.peer("painter", "painter", &["counter/send"]);
        let run = ["run", "@painter", "--vs", "painter", "--json"];
        for (args, code, shown) in [
            (&run[..], 3, r"the peer says: \u{1b}[31mred\u{7}\nnext line"),
            (&["smoke", "@painter"], 3, r"| \u{1b}[2Jnothing to see\u{7}"),
            (&["doctor", "painter"], 0, r"version 1.2\u{1b}[31m\u{1b}]0;"),
        ] {
            let called = stage.call(args);
            assert_eq!(called.code, code, "{args:?}: {}", called.stderr);
            let text = called.stdout + &called.stderr;
            assert!(text.contains(shown), "{args:?}: {text}");
            assert_eq!(obeyed(&text), None, "{args:?}: {text:?}");
        }
        let fake = crate::stage::fake_peer();
        let fake = fake.to_str().expect("UTF-8");
        let head = ["peer", "test", "--system", "mine", "--no-timing", fake];
        let mode = ["--mode", "painter", "--cells", "counter/send"];
        let mut test = stage.command(&[&head[..], &mode].concat());
        let called = Called::from(test.output().expect("started"));
        assert_eq!(called.code, 3, "{}", called.stdout);
        assert_eq!(obeyed(&called.stdout), None, "{:?}", called.stdout);
        // What is stored says the same, and so does the page.
        let path = stage.saved().join("run.json");
        let saved = fs::read_to_string(&path).expect("saved");
        assert!(!saved.contains(r"\u00"), "{saved}");
        let call = |args: &[&str]| {
            let output = stage.command(args).output().expect("started");
            Called::from(output)
        };
        assert_eq!(call(&["report"]).code, 0);
        let page = fs::read_to_string(stage.saved().join("report.html")).expect("written");
        assert!(page.contains(r"red\u{7}\nnext line"));
        assert!(!page.contains(['\x1b', '\x07']) && !page.contains(r"\u001b"));
        // A run may come from elsewhere.
        let saved = saved.replace(r"1.2\\u{1b}[31m", r"1.2\u001b[31m");
        assert!(saved.contains(r"1.2\u001b[31m"));
        fs::write(&path, saved).expect("written");
        for args in [&["show"][..], &["show", "--json"]] {
            let called = call(args);
            assert_eq!(called.code, 0, "{}", called.stderr);
            assert_eq!(obeyed(&called.stdout), None, "{args:?}");
            assert!(!called.stdout.contains(r"\u001b"), "{}", called.stdout);
        }
    });
}

#[test]
fn a_cost_that_is_the_same_at_every_size_is_no_elided_work() {
    crate::steady(|| {
        tested_for_elision("starter");
    });
}
