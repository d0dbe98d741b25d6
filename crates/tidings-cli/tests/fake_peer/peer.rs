//! A peer that speaks the arena's protocol and misbehaves on request: `--mode honest|liar-ns|...`.
//!
//! It does no work but sleeps: a sample of k operations takes `k * --ns` nanoseconds. Most modes tell how long they really
//! slept; `exact`, `jitter` and `drift` tell how long they meant to, so that their figures are the same on any machine.

mod net;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

type Words = HashMap<String, String>;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str, default: &str| {
        let place = args.iter().position(|a| a == name);
        place
            .and_then(|i| args.get(i + 1))
            .cloned()
            .unwrap_or_else(|| default.to_owned())
    };
    let mut fake = Fake {
        mode: option("--mode", "honest"),
        system: option("--system", "fake"),
        ns_per_op: option("--ns", "50").parse().expect("--ns is a number"),
        cells: Vec::new(),
        cell: String::new(),
        params: Words::new(),
        samples: 0,
        ns_file: option("--ns-file", ""),
        switch_ms: option("--switch-ms", "0")
            .parse()
            .expect("--switch-ms is a number"),
        random: option("--seed", "1").parse().expect("--seed is a number"),
        hoard: Vec::new(),
        children: Vec::new(),
        client: None,
    };
    let cells = option(
        "--cells",
        "pingpong/tell,counter/send,skynet/tree-ch,chain/struct,net/local,net/echo,net/echo-mux,net/echo-oneproc,net/paced",
    );
    fake.cells = cells.split(',').map(str::to_owned).collect();
    fake.start(&cells);
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("stdin is text");
        let mut words = line.split(' ');
        let command = words.next().unwrap_or_default();
        let pairs: Words = words
            .filter_map(|w| w.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        match command {
            "prep" => fake.prep(pairs),
            "run" if fake.params.is_empty() && !fake.is("yes-man") => {
                refuse(&pairs["id"], "bug", "run without prep");
            }
            "run" if fake.params.is_empty() => {
                say(&format!(r#"{{"arena":1,"t":"ok","id":{}}}"#, pairs["id"]));
            }
            "run" => fake.run(&pairs),
            "drop" | "ping" => {
                if command == "drop" {
                    fake.params.clear();
                }
                say(&format!(r#"{{"arena":1,"t":"ok","id":{}}}"#, pairs["id"]));
            }
            "quit" if fake.is("lingerer") => {}
            "quit" if fake.is("immortal") => sleep(Duration::from_secs(3600)),
            "quit" if fake.is("sulker") => std::process::exit(9),
            "quit" => return,
            _ if fake.is("ignorant") => {}
            _ => refuse(&pairs["id"], "unsupported", "command"),
        }
    }
}

struct Fake {
    mode: String,
    system: String,
    ns_per_op: f64,
    cells: Vec<String>,
    cell: String,
    params: Words,
    samples: u32,
    /// Holds the time per operation, if it is there.
    ns_file: String,
    /// When `drift` becomes half as fast, in milliseconds since 1970.
    switch_ms: u128,
    random: u64,
    hoard: Vec<Vec<u8>>,
    children: Vec<std::process::Child>,
    client: Option<net::Client>,
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .expect("the harness reads");
}

fn refuse(id: &str, kind: &str, why: &str) {
    say(&format!(
        r#"{{"arena":1,"t":"err","id":{id},"kind":"{kind}","msg":"{why}"}}"#
    ));
}

impl Fake {
    fn is(&self, mode: &str) -> bool {
        self.mode == mode
    }

    fn start(&self, cells: &str) {
        eprintln!("fake peer, mode {}", self.mode);
        // What a terminal obeys: it colours, clears, rings, and names the window.
        let paint = if self.is("painter") {
            eprintln!("\x1b[2Jnothing to see\x07");
            r"\u001b[31m\u001b]0;mine\u0007\r"
        } else {
            ""
        };
        if self.is("crash-hello") {
            std::process::exit(7);
        }
        if self.is("rubbish") {
            say("I am a peer");
        }
        if self.is("long-line") {
            say(&"x".repeat(100_000));
        }
        let list: Vec<String> = cells.split(',').map(|c| format!("{c:?}")).collect();
        let system = if self.is("impostor") {
            "somebody"
        } else {
            &self.system
        };
        say(&format!(
            r#"{{"arena":1,"t":"hello","system":"{system}","peer":"fake","version":"1.2{paint}","runtime":"sleep{paint}","flags":"{}{paint}","threads":2,"pid":{},"clock_ns":{},"caps":["alloc","hist"],"cells":[{}]}}"#,
            self.mode,
            std::process::id(),
            u32::from(!self.is("clockless")),
            list.join(",")
        ));
    }

    fn prep(&mut self, pairs: Words) {
        if self.is("crash-prep") {
            std::process::abort();
        }
        let id = pairs["id"].clone();
        if self.is("refuse") {
            return refuse(&id, "limit", "not on a Friday");
        }
        if self.is("painter") {
            return refuse(&id, "bug", r"\u001b[31mred\u0007\nnext line");
        }
        if !self.cells.contains(&pairs["cell"]) {
            return refuse(&id, "unsupported", "no such cell");
        }
        if self.is("forker") {
            // A child in a group of its own that outlives us, unless somebody looks for it.
            let mut command = std::process::Command::new("setsid");
            self.children.push(
                command
                    .args(["sleep", "4711"])
                    .spawn()
                    .expect("sleep exists"),
            );
        }
        if self.is("employer") {
            // A child that works for it in samples, until it is killed, at the latest after a minute.
            let work = "ulimit -t 60; while :; do :; done";
            let mut command = std::process::Command::new("sh");
            command.args(["-c", work]);
            self.children.push(command.spawn().expect("sh exists"));
        }
        self.cell.clone_from(&pairs["cell"]);
        self.params = pairs;
        self.client = None;
        match self.connect() {
            Ok(extra) => say(&format!(r#"{{"arena":1,"t":"ok","id":{id}{extra}}}"#)),
            Err(msg) => say(&format!(
                r#"{{"arena":1,"t":"err","id":{id},"kind":"bug","msg":{msg:?}}}"#
            )),
        }
    }

    /// What `prep` does and answers in the cells over TCP.
    fn connect(&mut self) -> Result<String, String> {
        let role = self.params.get("role").map(String::as_str);
        if self.cell.starts_with("net/") {
            eprintln!("prep of {} as {role:?}", self.cell);
        }
        let addr = match role {
            Some("server") => {
                return Ok(net::serve(&self.mode)
                    .map_or(String::new(), |addr| format!(r#","addr":"{addr}""#)));
            }
            Some("client") => self.params["addr"].clone(),
            _ if self.cell == "net/echo-oneproc" => net::serve(&self.mode).unwrap_or_default(),
            _ => return Ok(String::new()),
        };
        let clients = usize::try_from(self.size("N")).expect("few");
        let client = net::Client::connect(&addr, clients)?;
        let ready = client.ready_ns;
        self.client = Some(client);
        Ok(if self.is("not-ready") {
            String::new()
        } else {
            format!(r#","ready_ns":{ready}"#)
        })
    }

    /// As many processes as there are cores that do nothing but take time, in groups of their own: the harness cannot freeze
    /// them. They end by themselves if nobody ends them.
    fn burn(&mut self) {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for _ in 0..cores {
            let mut command = std::process::Command::new("setsid");
            command.args(["timeout", "60", "sh", "-c", "while :; do :; done"]);
            self.children.push(command.spawn().expect("setsid exists"));
        }
    }

    /// A factor around 1 as machines give them, with a tail to the slow side. Its median is 1.
    fn jitter(&mut self) -> f64 {
        let mut uniform = || {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
            self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(self.random >> 33).expect("31 bits")) / f64::from(1_u32 << 31)
        };
        let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        (0.05 * normal).exp()
    }

    fn size(&self, key: &str) -> i64 {
        self.params[key].parse().expect("sizes are numbers")
    }

    /// The formulas, written out again on purpose: the harness must not check itself against itself.
    fn counts(&self) -> (i64, i64, i64) {
        let workload = self.cell.split('/').next().unwrap_or_default();
        match workload {
            "pingpong" => {
                let (p, n) = (self.size("p"), self.size("n"));
                (2 * p * n, 2 * p, p * n * (n - 1) / 2)
            }
            "net" => {
                let (clients, m) = (self.size("N"), self.size("M"));
                (2 * clients * m, 2 * clients, clients * m * (m - 1) / 2)
            }
            "counter" => {
                let (p, n) = (self.size("P"), self.size("n"));
                (p * n, p + 1, 100 * p * n)
            }
            "skynet" => {
                let s = self.size("S");
                let nodes = (10 * s - 1) / 9;
                (nodes, nodes, s * (s - 1) / 2)
            }
            "chain" => (2 * self.size("A") + 2, self.size("A") + 1, self.size("A")),
            other => panic!("no {other} here"),
        }
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sleeping times need no precision"
    )]
    fn run(&mut self, pairs: &Words) {
        self.samples += 1;
        if let Ok(text) = std::fs::read_to_string(&self.ns_file) {
            self.ns_per_op = text.trim().parse().expect("a number");
        }
        let (id, inner) = (
            &pairs["id"],
            pairs["inner"].parse::<i64>().expect("a number"),
        );
        let (mut msgs, mut units, mut check) = self.counts();
        let mut ns = msgs as f64 * self.ns_per_op * inner as f64;
        let samples = f64::from(self.samples);
        if self.cell.starts_with("net/") {
            ns *= 100.0; // so that real bytes can keep up with made up times
        }
        let mut paced = None;
        let begin = Instant::now();
        if let Some(client) = &mut self.client {
            let number = |key: &str| pairs.get(key).and_then(|v| v.parse::<u64>().ok());
            let asked = if let (Some(rate), Some(secs)) = (number("rate"), number("secs")) {
                let requests = i64::try_from(rate * secs).expect("few");
                (msgs, check, ns) = (2 * requests, requests * (requests - 1) / 2, 0.0);
                client
                    .paced(rate, secs, &self.mode)
                    .map(|told| paced = Some(told))
            } else if self.mode == "mute" {
                Ok(())
            } else {
                client.ask(usize::try_from(msgs / 2 * inner).expect("few"))
            };
            if let Err(msg) = asked {
                return say(&format!(
                    r#"{{"arena":1,"t":"err","id":{id},"kind":"bug","msg":{msg:?}}}"#
                ));
            }
        }
        match self.mode.as_str() {
            "elider" => ns = 30e6 * inner as f64,
            "starter" => ns += 10e6 * inner as f64,
            "slow" => ns = 400e6,
            "steep" => ns *= msgs as f64 / 4000.0,
            "warm" => ns *= 1.0 + 9.0 * (-samples / 4.0).exp(),
            "jitter" => ns *= self.jitter(),
            "drift" => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let late = now.expect("after 1970").as_millis() >= self.switch_ms;
                ns *= if late { 2.0 } else { 1.0 };
            }
            "noisyneighbour" if self.children.is_empty() => self.burn(),
            "crash-run" if self.samples > 6 => std::process::exit(3),
            "hang" if self.samples > 2 => sleep(Duration::from_secs(3600)),
            "chatty" if self.samples > 2 => say("by the way"),
            "hog" => loop {
                self.hoard.push(vec![1; 16 << 20]);
                sleep(Duration::from_millis(5));
            },
            _ => {}
        }
        sleep(Duration::from_nanos(ns as u64).saturating_sub(begin.elapsed()));
        let mut told = begin.elapsed().as_nanos() as u64;
        let mut histograms = String::new();
        if let Some((text, time)) = paced {
            (histograms, told) = (text, time.as_nanos() as u64);
        }
        match self.mode.as_str() {
            "liar-ns" => told *= 3,
            "exact" | "jitter" | "drift" => told = ns as u64,
            "dawdler" => told = (told / 10).max(1),
            "liar-count" => msgs += 1,
            "liar-units" => units += 1,
            "liar-check" => check -= 1,
            _ => {}
        }
        let extra = if pairs.contains_key("alloc") {
            format!(
                r#","alloc_bytes":{},"alloc_count":{}"#,
                16 * msgs * inner,
                msgs * inner
            )
        } else {
            String::new()
        };
        let collections = match self.mode.as_str() {
            "collector" => format!(r#","gc":[0,{}]"#, u64::MAX),
            _ => String::new(),
        };
        say(&format!(
            r#"{{"arena":1,"t":"sample","id":{id},"ns":{told},"inner":{inner},"msgs":{},"units":{},"check":{}{extra}{histograms}{collections}}}"#,
            msgs * inner,
            units * inner,
            check * inner
        ));
        if self.is("babbler") {
            say("trailing words");
        }
    }
}
