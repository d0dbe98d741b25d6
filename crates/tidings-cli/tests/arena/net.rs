//! Cells over TCP: two processes that are one peer, in figures and in failures, and latencies on a schedule.

use std::fs;
use std::process::Command;

use peer_protocol::trial::Trial;
use serde_json::Value;

use crate::stage::{Called, Stage, cell};

/// A run that asks for nothing that depends on how quiet the machine is.
fn run(stage: &Stage, filter: &str, vs: &str, more: &[&str]) -> Called {
    let base = [
        "run",
        filter,
        "--vs",
        vs,
        "--profile",
        "smoke",
        "--threads",
        "2",
        "--json",
    ];
    stage.call(&[&base[..], more].concat())
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn a_server_and_a_client_are_one_cell() {
    crate::steady(|| {
        let stage = Stage::new("net-pair");
        let cells = ["net/echo", "net/echo-mux", "net/echo-oneproc"];
        stage.peer("pair", "honest", &cells);
        let called = run(&stage, "net/*@pair", "pair", &["--keep-logs"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        for (id, processes, connections) in [
            ("echo", "2", "per-client"),
            ("echo-mux", "2", "1"),
            ("echo-oneproc", "1", "per-client"),
        ] {
            let cells = run["cells"].as_array().expect("cells");
            let cell = cells.iter().find(|c| c["variant"] == id).expect(id);
            assert_eq!(cell["labels"]["processes"], processes);
            assert_eq!(cell["labels"]["connections"], connections);
            assert_eq!(cell["ops"], 7 * 31);
            assert!(number(&cell["net"]["ready_ms"]) > 0.0, "{cell}");
            // The fake's requests have 12 bytes each way; where others use the device there is no figure.
            let bytes = &cell["net"]["wire_bytes_per_op"];
            assert!(bytes.is_null() || number(bytes) >= 24.0, "{cell}");
            let log = cell["log"].as_str().expect("kept");
            let log = fs::read_to_string(stage.saved().join(log)).expect("kept");
            let two = log.contains("== client ==") && log.contains("== server ==");
            assert_eq!(two, processes == "2", "{log}");
            if two {
                assert!(log.contains("Some(\"server\")") && log.contains("Some(\"client\")"));
                assert!(cell["alloc"].is_null(), "half a figure is none");
            }
        }
    });
}

/// Mode of the fake, the state its cell must get, and words of the reason.
const MODES: &[(&str, &str, &[&str])] = &[
    (
        "server-crash",
        "crash",
        &["server: exited with 9", "client: "],
    ),
    ("crash-run", "crash", &["client: exited with 3"]),
    ("crash-prep", "crash", &["server: killed by signal 6"]),
    (
        "wrong-addr",
        "error",
        &["client: the peer says: cannot connect"],
    ),
    (
        "far-addr",
        "protocol",
        &["server: ", "192.0.2.1:80", "loopback"],
    ),
    ("no-addr", "protocol", &["server: ", "no address"]),
    ("not-ready", "protocol", &["ready_ns"]),
    ("liar-count", "wrong", &["msgs is 435, must be 434"]),
    ("hang", "timeout", &["client: no answer to run within 1 s"]),
];

#[test]
fn a_failure_is_that_of_the_server_or_of_the_client() {
    crate::steady(|| {
        let stage = Stage::new("net-failures");
        stage.peer("honest", "honest", &["net/echo"]);
        for (mode, _, _) in MODES {
            stage.peer(mode, mode, &["net/echo"]);
        }
        let systems: Vec<&str> = MODES.iter().map(|(mode, _, _)| *mode).collect();
        let filter = format!("net/echo@honest,{}", systems.join(","));
        let called = run(&stage, &filter, "honest", &["--timeout", "1s"]);
        assert_eq!(called.code, 3, "{}", called.stderr);
        let run = called.json();
        for (mode, state, reasons) in MODES {
            let cell = cell(&run, mode);
            assert_eq!(cell["state"], *state, "{mode}: {cell}");
            let told = cell["reason"].as_str().expect("a reason");
            for reason in *reasons {
                assert!(told.contains(reason), "{mode}: {told}");
            }
            assert!(cell["ns_per_op"].is_null(), "{mode} has no figure");
        }
        assert!(!cell(&run, "honest")["ns_per_op"].is_null());
        let log = cell(&run, "server-crash")["log"].as_str().expect("a log");
        let log = fs::read_to_string(stage.saved().join(log)).expect("kept");
        let (client, server) = log.split_once("== server ==").expect("both");
        assert!(client.contains("as Some(\"client\")"), "{log}");
        assert!(server.contains("the server crashes"), "{log}");
    });
}

#[test]
fn a_client_that_sends_nothing_is_seen_on_the_wire() {
    // Needs a loopback device that counts and that nobody else uses much.
    let counts = fs::read_to_string("/proc/net/dev").is_ok_and(|text| text.contains("lo:"));
    if !counts {
        return;
    }
    crate::alone(|| {
        let stage = Stage::new("net-mute");
        stage.peer("mute", "mute", &["net/echo"]);
        let sizes = ["--size", "net=20000"];
        let called = run(&stage, "net/echo@mute", "mute", &sizes);
        let run = called.json();
        let cell = cell(&run, "mute");
        assert_eq!(cell["state"], "elided", "{cell}");
        let told = cell["reason"].as_str().expect("a reason");
        assert!(told.contains("bytes on the loopback"), "{told}");
    });
}

/// Mode of the fake, the state its paced cell must get, and a word of the reason.
const PACED: &[(&str, &str, &str)] = &[
    ("liar-hist", "wrong", "hist counts"),
    ("early", "clock", "before their time"),
    ("unsorted", "protocol", "rising order"),
    ("hasty", "clock", "was due at"),
];

#[test]
fn paced_samples_that_cannot_be_are_named() {
    crate::steady(|| {
        let stage = Stage::new("net-paced-liars");
        for (mode, _, _) in PACED {
            stage.peer(mode, mode, &["net/paced"]);
        }
        let systems: Vec<&str> = PACED.iter().map(|(mode, _, _)| *mode).collect();
        let filter = format!("net/paced@{}", systems.join(","));
        let called = run(&stage, &filter, "early", &[]);
        assert_eq!(called.code, 3, "{}", called.stderr);
        let run = called.json();
        for (mode, state, reason) in PACED {
            let cell = cell(&run, mode);
            assert_eq!(cell["state"], *state, "{mode}: {cell}");
            let told = cell["reason"].as_str().expect("a reason");
            assert!(told.contains(reason), "{mode}: {told}");
        }
    });
}

#[test]
fn latencies_are_counted_at_three_loads() {
    crate::steady(|| {
        let stage = Stage::new("net-paced");
        stage
            .peer("honest", "honest", &["net/paced"])
            .peer("late", "late", &["net/paced"]);
        let called = run(&stage, "net/paced@honest,late", "honest", &[]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        for (system, kept_up) in [("honest", true), ("late", false)] {
            let cell = cell(&run, system);
            assert_eq!(cell["ranked"], false);
            assert!(cell["rank"].is_null() && !cell["rate"].is_null(), "{cell}");
            let loads = cell["net"]["latency"].as_array().expect("loads");
            let percents: Vec<&Value> = loads.iter().map(|l| &l["load_percent"]).collect();
            assert_eq!(percents, [10, 50, 80]);
            for load in loads {
                assert_eq!(load["count"], load["rate"], "one sample of one second");
                assert_eq!(load["kept_up"], kept_up, "{load}");
                assert_eq!(load["latency_ns"]["p50"], 65);
                assert_eq!(load["latency_ns"]["p99"], 527);
                assert_eq!(load["service_ns"]["max"], 527);
            }
        }
        let samples = fs::read_to_string(stage.saved().join("samples.ndjson")).expect("saved");
        let paced = samples
            .lines()
            .filter(|line| line.contains(r#""phase":"paced""#) && line.contains("honest"));
        assert!(paced.clone().all(|line| line.contains(r#""hist":[["#)));
        assert_eq!(paced.count(), 3);
        assert!(called.stderr.contains("from the time a request was due"));
    });
}

#[test]
fn smoke_runs_all_cells_in_the_same_two_processes() {
    crate::steady(|| {
        let stage = Stage::new("net-smoke");
        let cells = [
            "pingpong/tell",
            "net/echo",
            "net/echo-mux",
            "net/echo-oneproc",
            "net/paced",
            "net/local",
        ];
        stage.peer("pair", "honest", &cells);
        let called = stage.call(&["smoke", "@pair"]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        let correct = "6 cells correct, 0 failed";
        assert!(called.stdout.contains(correct), "{}", called.stdout);

        stage.peer("bad", "server-crash", &["net/echo-mux"]);
        let called = stage.call(&["smoke", "@bad"]);
        assert_eq!(
            called.code, 0,
            "7 clients make 31 requests: too few to crash"
        );
    });
}

/// What stands behind some words, up to a sign.
fn behind<'a>(text: &'a str, words: &str, end: char) -> &'a str {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("{text}"));
    rest.split(end).next().unwrap_or(rest)
}

/// Has a process threads that are workers of ours?
fn has_workers(pid: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    let names = threads.map(|thread| {
        let name = thread.expect("it is read").path().join("comm");
        fs::read_to_string(name).unwrap_or_default()
    });
    names
        .into_iter()
        .any(|name| name.starts_with("tidings-worker"))
}

#[test]
fn a_slim_client_has_no_scheduler_of_ours() {
    if !cfg!(target_os = "linux") {
        return;
    }
    for (system, ours) in [("tidings-link", true), ("tidings-link-slim", false)] {
        let start = || {
            let binary = env!("CARGO_BIN_EXE_tidings");
            Trial::start(Command::new(binary).arg("arena-peer"), system)
        };
        let (mut server, mut client) = (start(), start());
        for cell in ["net/echo", "net/echo-mux"] {
            let prep = format!("prep id=1 cell={cell} threads=2 N=7 M=31");
            let answer = server.ask(&format!("{prep} role=server"));
            let addr = behind(&answer, "\"addr\":\"", '"');
            let prep = format!("{prep} role=client addr={addr}");
            client.answers(&[
                (&prep, "\"ready_ns\":"),
                (
                    "run id=2 inner=3",
                    "\"msgs\":1302,\"units\":42,\"check\":9765}",
                ),
            ]);
            let workers = |peer: &Trial| has_workers(behind(&peer.hello, "\"pid\":", ','));
            assert!(workers(&server), "{system} {cell}");
            assert_eq!(workers(&client), ours, "{system} {cell}");
        }
        client.quit();
        server.quit();
    }
}
