//! Every cell of every system at odd sizes, through the protocol, in two processes where the cell has two.

use std::process::Command;

use peer_protocol::trial::Trial;

const SYSTEMS: [&str; 7] = [
    "tokio-echo",
    "tokio-timers",
    "tokio-codec",
    "tokio-1t",
    "tonic",
    "tarpc",
    "remoc",
];

fn start(system: &str) -> Trial {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peer-rust-net"));
    command.env("TOKIO_WORKER_THREADS", "2");
    Trial::start(&mut command, system)
}

/// The address that the server of a cell answers with.
fn serve(server: &mut Trial, cell: &str, sizes: &str) -> String {
    let answer = server.ask(&format!("prep id=1 cell={cell} role=server {sizes}"));
    let addr = answer.split("\"addr\":\"").nth(1).expect("an address");
    addr.split('"').next().expect("quoted").to_owned()
}

/// Runs one prepared cell and checks its counts.
fn check(client: &mut Trial, what: &str, n: i64, m: i64) {
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
    let (mut server, mut client) = (start(system), start(system));
    for (n, m) in [(7, 31), (1, 1), (211, 13)] {
        let sizes = format!("threads={threads} seed=1 N={n} M={m}");
        for cell in ["net/echo", "net/echo-mux", "net/paced"] {
            if !server.has(cell) {
                continue;
            }
            let what = format!("{system} {cell} {sizes}");
            let addr = serve(&mut server, cell, &sizes);
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
            client.release();
            server.release();
        }
        if !client.has("net/echo-oneproc") {
            continue;
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
    let mut peer = start("tokio-echo");
    peer.answers(&[
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
    ]);
    peer.quit();
}

#[test]
fn a_server_that_goes_is_an_error_of_the_client() {
    for system in SYSTEMS {
        let (mut server, mut client) = (start(system), start(system));
        let cell = ["net/echo", "net/paced"]
            .into_iter()
            .find(|cell| client.has(cell));
        let (cell, sizes) = (cell.expect("of two processes"), "threads=2 N=3 M=5");
        let addr = serve(&mut server, cell, sizes);
        let prep = format!("prep id=1 cell={cell} role=client addr={addr} {sizes}");
        assert!(client.ask(&prep).contains("ready_ns"));
        server.kill();
        let answer = client.ask("run id=2 inner=1000000");
        assert!(answer.contains("\"kind\":\"bug\""), "{system}: {answer}");
        client.quit();
    }
}
