//! Every cell of every system at the odd sizes of `WORKLOADS.md`, through the protocol.

use std::process::Command;

use peer_protocol::trial::Trial;
use peer_rust_actors::cells::SYSTEMS;

fn start(system: &str, threads: usize) -> Trial {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peer-rust-actors"));
    command.args(["--threads", &threads.to_string()]);
    Trial::start(&mut command, system)
}

/// The sizes of the smoke test of a Savina benchmark, and its `[msgs, units, check]`.
fn savina_at_smoke(id: &str) -> (String, [i64; 3]) {
    let one = savina::benchmark(id).expect("one of the thirty");
    let sizes = one.at(one.sizes[0]);
    let counts = one.expected(sizes);
    let fixed = one
        .fixed
        .iter()
        .map(|(key, value)| format!(" {key}={value}"));
    let words = format!("n={}{}", sizes.n, fixed.collect::<String>());
    (words, [counts.msgs, counts.units, counts.check])
}

#[test]
fn every_cell_at_odd_sizes() {
    for system in &SYSTEMS {
        for threads in [2, 1, 3] {
            let mut peer = start(system.name, threads);
            for cell in (system.cells)().keys() {
                match cell.strip_prefix("savina/") {
                    Some(id) => peer.cell_at(cell, threads, vec![savina_at_smoke(id)]),
                    None => peer.cell(cell, threads),
                }
            }
            peer.release();
            peer.quit();
        }
    }
}

#[test]
fn faults_are_answered() {
    let mut peer = start("ractor", 2);
    peer.faults("spawn/joined");
    let odd = "prep id=6 cell=skynet/tree threads=1 S=20";
    peer.answers(&[(odd, r#""kind":"limit""#)]);
    peer.quit();
}

#[test]
fn may_keeps_its_workers() {
    let mut peer = start("may", 2);
    peer.answers(&[
        ("prep id=1 cell=spawn/joined threads=2 n=1", r#""t":"ok""#),
        (
            "prep id=2 cell=spawn/joined threads=1 n=1",
            r#""kind":"limit""#,
        ),
    ]);
    peer.quit();
}

#[test]
fn allocations_before_the_clock_starts_are_not_counted() {
    for system in ["ractor", "actix", "may"] {
        let mut peer = start(system, 2);
        peer.counts_allocations_of_requests_only();
        peer.quit();
    }
}
