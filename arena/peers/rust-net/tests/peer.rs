//! Every cell of every system at odd sizes, through the protocol, in two processes where the cell has two.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SYSTEMS: [&str; 6] = [
    "tokio-echo",
    "tokio-codec",
    "tokio-1t",
    "tonic",
    "tarpc",
    "remoc",
];

struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    hello: String,
}

impl Peer {
    fn start(system: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_peer-rust-net"))
            .args(["--arena", "1", "--system", system])
            .env("TOKIO_WORKER_THREADS", "2")
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

/// Runs one prepared cell and checks its counts.
fn check(client: &mut Peer, what: &str, n: i64, m: i64) {
    for inner in [1, 3] {
        let answer = client.ask(&format!("run id=2 inner={inner}"));
        let counts = format!(
            "\"inner\":{inner},\"msgs\":{},\"units\":{},\"check\":{}}}",
            inner * 2 * n * m,
            inner * 2 * n,
            inner * n * (m * (m - 1) / 2)
        );
        assert!(answer.contains(&counts), "{what}: {answer} {counts}");
    }
}

fn every_cell(system: &str, threads: i64) {
    let (mut server, mut client) = (Peer::start(system), Peer::start(system));
    assert!(
        server.hello.starts_with(r#"{"arena":1,"t":"hello""#),
        "{}",
        server.hello
    );
    for (n, m) in [(7, 31), (1, 1), (211, 13)] {
        let sizes = format!("threads={threads} seed=1 N={n} M={m}");
        for cell in ["net/echo", "net/echo-mux", "net/paced"] {
            if !server.hello.contains(&format!("\"{cell}\"")) {
                continue;
            }
            let what = format!("{system} {cell} {sizes}");
            let answer = server.ask(&format!("prep id=1 cell={cell} role=server {sizes}"));
            let addr = answer.split("\"addr\":\"").nth(1).expect("an address");
            let addr = addr.split('"').next().expect("quoted").to_owned();
            let prep = format!("prep id=1 cell={cell} role=client addr={addr} {sizes}");
            let answer = client.ask(&prep);
            assert!(answer.contains("\"ready_ns\":"), "{what}: {answer}");
            check(&mut client, &what, n, m);
            if cell == "net/paced" {
                let answer = client.ask("run id=3 inner=1 hist=1 rate=997 secs=1");
                let counts = format!("\"msgs\":1994,\"units\":{},\"check\":496506", 2 * n);
                assert!(answer.contains(&counts), "{what}: {answer}");
                assert!(answer.contains("\"hist\":[[") && answer.contains("\"hist_service\":[["));
            }
            for peer in [&mut client, &mut server] {
                assert_eq!(
                    peer.ask("drop id=4"),
                    "{\"arena\":1,\"t\":\"ok\",\"id\":4}\n"
                );
            }
        }
        let what = format!("{system} net/echo-oneproc {sizes}");
        let answer = client.ask(&format!("prep id=5 cell=net/echo-oneproc {sizes}"));
        assert!(answer.contains("\"ready_ns\":"), "{what}: {answer}");
        check(&mut client, &what, n, m);
    }
    client.quit();
    server.quit();
}

#[test]
fn every_cell_at_odd_sizes() {
    for system in SYSTEMS {
        every_cell(system, 2);
        every_cell(system, 1);
    }
}

#[test]
fn faults_are_answered() {
    let mut peer = Peer::start("tokio-echo");
    for (command, answer) in [
        ("ping id=1", r#"{"arena":1,"t":"ok","id":1}"#),
        ("run id=2 inner=1", r#""t":"err","id":2,"kind":"bug""#),
        ("prep id=3 cell=nope", r#""id":3,"kind":"unsupported""#),
        (
            "prep id=4 cell=net/echo N=1 M=1 threads=2",
            r#""id":4,"kind":"limit""#,
        ),
        (
            "prep id=5 cell=net/echo N=1 M=1 threads=2 role=client addr=127.0.0.1:1",
            r#""id":5,"kind":"bug""#,
        ),
        (
            "prep id=6 cell=net/echo N=0 M=1 threads=2 role=server",
            r#""id":6,"kind":"limit""#,
        ),
        (
            "prep id=7 cell=net/echo N=1 M=1 threads=2 role=server unknown=x",
            r#""t":"ok","id":7,"addr":"127.0.0.1:"#,
        ),
        ("run id=8 inner=1", r#""id":8,"kind":"bug""#),
        ("dance id=9", r#""id":9,"kind":"unsupported""#),
    ] {
        let got = peer.ask(command);
        assert!(got.contains(answer), "{command}: {got}");
    }
    peer.quit();
}

#[test]
fn a_server_that_goes_is_an_error_of_the_client() {
    for system in SYSTEMS {
        let (mut server, mut client) = (Peer::start(system), Peer::start(system));
        let sizes = "threads=2 N=3 M=5";
        let answer = server.ask(&format!("prep id=1 cell=net/echo role=server {sizes}"));
        let addr = answer.split("\"addr\":\"").nth(1).expect("an address");
        let addr = addr.split('"').next().expect("quoted").to_owned();
        let prep = format!("prep id=1 cell=net/echo role=client addr={addr} {sizes}");
        assert!(client.ask(&prep).contains("ready_ns"));
        server.child.kill().expect("killed");
        server.child.wait().expect("reaped");
        let answer = client.ask("run id=2 inner=1000000");
        assert!(answer.contains("\"kind\":\"bug\""), "{system}: {answer}");
        client.quit();
    }
}
