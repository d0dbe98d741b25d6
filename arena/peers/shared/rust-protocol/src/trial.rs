//! The harness's side, for the tests of peers: starts one, speaks to it, and knows what it must count.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[expect(clippy::cast_precision_loss, reason = "counts of a test")]
fn count_of(n: i64) -> f64 {
    n as f64
}

/// A peer that runs.
#[derive(Debug)]
pub struct Trial {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Its first line.
    pub hello: String,
}

impl Trial {
    /// Starts a program that serves a system.
    pub fn start(command: &mut Command, system: &str) -> Self {
        let mut child = command
            .args(["--arena", "1", "--system", system])
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
        let start = format!(r#"{{"arena":1,"t":"hello","system":"{system}","peer":""#);
        assert!(peer.hello.starts_with(&start), "{}", peer.hello);
        peer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("UTF-8");
        line
    }

    /// Sends a command; its answer.
    pub fn ask(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").expect("the peer lives");
        self.line()
    }

    /// Whether its first line names a cell.
    pub fn has(&self, cell: &str) -> bool {
        self.hello.contains(&format!("\"{cell}\""))
    }

    /// Commands, each with a part of the answer that it must have.
    pub fn answers(&mut self, commands: &[(&str, &str)]) {
        for (command, answer) in commands {
            let got = self.ask(command);
            assert!(got.contains(answer), "{command}: {got}");
        }
    }

    /// What is amiss is answered; `cell` has one size, `n`.
    pub fn faults(&mut self, cell: &str) {
        for (command, answer) in [
            ("ping id=1", r#"{"arena":1,"t":"ok","id":1}"#),
            ("run id=2 inner=1", r#""t":"err","id":2,"kind":"bug""#),
            (
                "prep id=3 cell=nope",
                r#""t":"err","id":3,"kind":"unsupported""#,
            ),
            (
                "prep id=4 cell=CELL threads=0 n=1",
                r#""id":4,"kind":"limit""#,
            ),
            (
                "prep id=5 cell=CELL n=99999999999999999999",
                r#""kind":"limit""#,
            ),
            (
                "prep id=7 cell=CELL threads=1 n=5 unknown=x",
                r#""t":"ok","id":7"#,
            ),
            ("run id=8 inner=0", r#""kind":"limit""#),
            (
                "run id=9 inner=2",
                r#""inner":2,"msgs":10,"units":10,"check":10}"#,
            ),
            ("dance id=10", r#""id":10,"kind":"unsupported""#),
        ] {
            self.answers(&[(&command.replace("CELL", cell), answer)]);
        }
    }

    /// Requests of net/local allocate, and what a peer makes before their clock starts does not count: a repetition with one
    /// request for each pair has hardly more than the average of one with a hundred.
    pub fn counts_allocations_of_requests_only(&mut self) {
        let mut per_request = |requests: i64| {
            let prep = format!("prep id=1 cell=net/local threads=2 N=300 M={requests}");
            self.answers(&[(&prep, "\"t\":\"ok\"")]);
            let sample = self.ask("run id=2 inner=1 alloc=1");
            let count = sample.split("\"alloc_count\":").nth(1).expect("counted");
            let count = count.trim_end_matches(['}', '\n']).parse().expect("last");
            count_of(count) / count_of(300 * requests)
        };
        let (one, many) = (per_request(1), per_request(100));
        assert!(many > 0.5, "{many} allocations for a request");
        assert!(one < many + 4.0, "{one} with one request, else {many}");
    }

    /// Frees what was prepared.
    pub fn release(&mut self) {
        let ok = "{\"arena\":1,\"t\":\"ok\",\"id\":4}\n";
        assert_eq!(self.ask("drop id=4"), ok);
    }

    /// One cell at odd sizes.
    pub fn cell(&mut self, cell: &str, threads: usize) {
        self.cell_at(cell, threads, odd(cell));
    }

    /// One cell at these sizes, each with its `(msgs, units, check)`: with one repetition and with several, and its refusal of
    /// sizes that nobody can have.
    pub fn cell_at(&mut self, cell: &str, threads: usize, sizes: Vec<(String, [i64; 3])>) {
        assert!(self.has(cell), "{cell} in {}", self.hello);
        let prep = |sizes: &str| format!("prep id=1 cell={cell} threads={threads} seed=1 {sizes}");
        for (sizes, [msgs, units, check]) in sizes {
            let answer = self.ask(&prep(&sizes));
            let ok = "{\"arena\":1,\"t\":\"ok\",\"id\":1}\n";
            assert_eq!(answer, ok, "{cell} {sizes}");
            for inner in [1, 3] {
                let run = format!("run id=2 inner={inner} alloc=1");
                let mut answer = self.ask(&run);
                if answer.contains("a timeout of 100 ms fired") {
                    answer = self.ask(&run); // a busy machine; twice would be strange
                }
                let counts = format!(
                    "\"inner\":{inner},\"msgs\":{},\"units\":{},\"check\":{},\"alloc_b",
                    inner * msgs,
                    inner * units,
                    inner * check
                );
                assert!(
                    answer.contains(&counts),
                    "{cell} {sizes}: {answer} {counts}"
                );
            }
        }
        for size in [0, -1, 1_i64 << 62] {
            let all =
                ["p", "n", "w", "P", "A", "N", "M", "S", "k"].map(|key| format!("{key}={size}"));
            let answer = self.ask(&prep(&all.join(" ")));
            assert!(
                answer.contains("\"kind\":\"limit\""),
                "{cell} {size}: {answer}"
            );
        }
    }

    pub fn quit(mut self) {
        writeln!(self.to, "quit").expect("the peer lives");
        assert!(self.child.wait().expect("it ends").success());
    }

    /// Ends it without a word.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }
}

/// Odd sizes of a cell, and `(msgs, units, check)` of each.
///
/// # Panics
/// If there is no such workload.
pub fn odd(cell: &str) -> Vec<(String, [i64; 3])> {
    let (workload, _) = cell.split_once('/').expect("workload/variant");
    let sizes: &[&[i64]] = match workload {
        "pingpong" => &[&[3, 997], &[1, 1], &[5, 1500]],
        "net" => &[&[7, 31], &[1, 1]],
        "chain" => &[&[1], &[7], &[103]],
        "fan" => &[&[1], &[997], &[5003]],
        "counter" => &[&[3, 997], &[1, 1], &[7, 3001]],
        "skynet" => &[&[1], &[10], &[1000]],
        "spawn" | "floor" => &[&[1], &[997]],
        "growth" => &[&[8, 1], &[64, 997], &[512, 1500]],
        "quality" => &[&[1], &[3]],
        other => panic!("{other:?}"),
    };
    sizes.iter().map(|sizes| at(cell, sizes)).collect()
}

/// A cell's size in words, and its `(msgs, units, check)`.
///
/// # Panics
/// If there is no such workload, or it has not so many sizes.
pub fn at(cell: &str, sizes: &[i64]) -> (String, [i64; 3]) {
    let triangle = |n: i64| n * (n - 1) / 2;
    let (workload, variant) = cell.split_once('/').expect("workload/variant");
    match (workload, sizes) {
        ("pingpong", &[p, n]) => (format!("p={p} n={n}"), [2 * p * n, 2 * p, p * triangle(n)]),
        ("net", &[n, m]) => (format!("N={n} M={m}"), [2 * n * m, 2 * n, n * triangle(m)]),
        ("chain", &[a]) => (format!("A={a}"), [2 * a + 2, a + 1, a]),
        ("fan", &[n]) => (format!("N={n}"), [2 * n + 3, 2, triangle(n)]),
        ("counter", &[p, n]) => (format!("P={p} n={n}"), [p * n, p + 1, 100 * p * n]),
        ("skynet", &[s]) => {
            let nodes = (10 * s - 1) / 9;
            let units = if variant == "floor" { 0 } else { nodes };
            (format!("S={s}"), [nodes, units, triangle(s)])
        }
        ("spawn", &[n]) => (format!("n={n}"), [n, n, n]),
        ("floor", &[n]) => (format!("n={n}"), [n, 0, n]),
        ("growth", &[k, n]) => {
            let counts = match variant {
                "waiters" => [n, k + 1, triangle(n)],
                "branches" | "payload" => [n, 2, triangle(n)],
                _ => [n, n, n],
            };
            (format!("k={k} n={n}"), counts)
        }
        ("quality", &[n]) => {
            let counts = match variant {
                "pairs" => [4 * n, 4, 2 * n],
                "idle" => [n, 2, 2],
                "hog-spawn" => [n, n + 1, n],
                _ => [n, 2, n],
            };
            (format!("p=2 n={n}"), counts)
        }
        other => panic!("{other:?}"),
    }
}
