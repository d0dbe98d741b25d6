//! Every cell of every system at the odd sizes of `WORKLOADS.md`, through the protocol.

use peer_rust_actors::cells::SYSTEMS;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    hello: String,
}

impl Peer {
    fn start(system: &str, threads: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_peer-rust-actors"))
            .args(["--arena", "1", "--system", system])
            .args(["--threads", &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut peer = Self {
            child,
            to,
            from,
            hello: String::new(),
        };
        peer.hello = peer.line();
        peer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("UTF-8");
        line
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").expect("the peer lives");
        self.line()
    }

    fn quit(mut self) {
        writeln!(self.to, "quit").expect("the peer lives");
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// The sizes of a workload, and `(msgs, units, check)` of each.
fn odd(cell: &str) -> Vec<(String, [i64; 3])> {
    let triangle = |n: i64| n * (n - 1) / 2;
    match cell.split_once('/').expect("workload/variant") {
        ("pingpong", _) => [(3, 997), (1, 1), (5, 1500)]
            .map(|(p, n)| (format!("p={p} n={n}"), [2 * p * n, 2 * p, p * triangle(n)]))
            .into(),
        ("net", _) => [(7, 31), (1, 1)]
            .map(|(n, m)| (format!("N={n} M={m}"), [2 * n * m, 2 * n, n * triangle(m)]))
            .into(),
        ("chain", _) => [1, 7, 103]
            .map(|a| (format!("A={a}"), [2 * a + 2, a + 1, a]))
            .into(),
        ("fan", _) => [1, 997, 5003]
            .map(|n| (format!("N={n}"), [2 * n + 3, 2, triangle(n)]))
            .into(),
        ("counter", _) => [(3, 997), (1, 1), (7, 3001)]
            .map(|(p, n)| (format!("P={p} n={n}"), [p * n, p + 1, 100 * p * n]))
            .into(),
        ("skynet", variant) => [1, 10, 1000]
            .map(|s| {
                let nodes = (10 * s - 1) / 9;
                let units = if variant == "floor" { 0 } else { nodes };
                (format!("S={s}"), [nodes, units, triangle(s)])
            })
            .into(),
        ("spawn", _) => [1, 997].map(|n| (format!("n={n}"), [n, n, n])).into(),
        other => panic!("{other:?}"),
    }
}

fn every_cell(system: &str, threads: usize) {
    let mut peer = Peer::start(system, threads);
    let known = SYSTEMS.iter().find(|s| s.name == system);
    let start = format!(r#"{{"arena":1,"t":"hello","system":"{system}","peer":"rust-actors""#);
    assert!(peer.hello.starts_with(&start), "{}", peer.hello);
    for cell in (known.expect("a system").cells)().keys() {
        assert!(
            peer.hello.contains(&format!("\"{cell}\"")),
            "{cell} in {}",
            peer.hello
        );
        for (sizes, [msgs, units, check]) in odd(cell) {
            let answer = peer.ask(&format!(
                "prep id=1 cell={cell} threads={threads} {sizes} seed=1"
            ));
            assert_eq!(
                answer, "{\"arena\":1,\"t\":\"ok\",\"id\":1}\n",
                "{cell} {sizes}"
            );
            for inner in [1, 3] {
                let answer = peer.ask(&format!("run id=2 inner={inner} alloc=1"));
                let counts = format!(
                    "\"inner\":{inner},\"msgs\":{},\"units\":{},\"check\":{},\"alloc_b",
                    inner * msgs,
                    inner * units,
                    inner * check
                );
                assert!(
                    answer.contains(&counts),
                    "{system} {cell} {sizes}: {answer} {counts}"
                );
            }
        }
        for size in [0, -1, 1_i64 << 62] {
            let all = ["p", "n", "w", "P", "A", "N", "M", "S"].map(|key| format!("{key}={size}"));
            let answer = peer.ask(&format!(
                "prep id=3 cell={cell} threads={threads} {}",
                all.join(" ")
            ));
            assert!(
                answer.contains("\"kind\":\"limit\""),
                "{cell} {size}: {answer}"
            );
        }
    }
    assert_eq!(
        peer.ask("drop id=4"),
        "{\"arena\":1,\"t\":\"ok\",\"id\":4}\n"
    );
    peer.quit();
}

#[test]
fn every_cell_at_odd_sizes() {
    for system in &SYSTEMS {
        for threads in [2, 1, 3] {
            every_cell(system.name, threads);
        }
    }
}

#[test]
fn faults_are_answered() {
    let mut peer = Peer::start("ractor", 2);
    for (command, answer) in [
        ("ping id=1", r#"{"arena":1,"t":"ok","id":1}"#),
        ("run id=2 inner=1", r#""t":"err","id":2,"kind":"bug""#),
        (
            "prep id=3 cell=nope",
            r#""t":"err","id":3,"kind":"unsupported""#,
        ),
        (
            "prep id=4 cell=spawn/joined threads=0 n=1",
            r#""id":4,"kind":"limit""#,
        ),
        (
            "prep id=5 cell=spawn/joined n=99999999999999999999",
            r#""kind":"limit""#,
        ),
        (
            "prep id=6 cell=skynet/tree threads=1 S=20",
            r#""kind":"limit""#,
        ),
        (
            "prep id=7 cell=spawn/joined threads=1 n=5 unknown=x",
            r#""t":"ok","id":7"#,
        ),
        ("run id=8 inner=0", r#""kind":"limit""#),
        (
            "run id=9 inner=2",
            r#""inner":2,"msgs":10,"units":10,"check":10}"#,
        ),
        ("dance id=10", r#""id":10,"kind":"unsupported""#),
    ] {
        let got = peer.ask(command);
        assert!(got.contains(answer), "{command}: {got}");
    }
    peer.quit();
}

#[test]
fn may_keeps_its_workers() {
    let mut peer = Peer::start("may", 2);
    let answer = peer.ask("prep id=1 cell=spawn/joined threads=2 n=1");
    assert!(answer.contains("\"t\":\"ok\""), "{answer}");
    let answer = peer.ask("prep id=2 cell=spawn/joined threads=1 n=1");
    assert!(answer.contains("\"kind\":\"limit\""), "{answer}");
    peer.quit();
}
