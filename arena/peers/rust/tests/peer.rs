//! Every cell of every system at the odd sizes of `WORKLOADS.md`, through the protocol.

use std::process::Command;

use peer_protocol::trial::Trial;
use peer_rust::cells::{LIBRARIES, cells};

fn start(system: &str) -> Trial {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peer-rust"));
    command.env("TOKIO_WORKER_THREADS", "2");
    Trial::start(&mut command, system)
}

fn every_cell(system: &str, threads: usize) {
    let mut peer = start(system);
    for cell in cells(system).expect("a system").keys() {
        peer.cell(cell, threads);
    }
    peer.release();
    peer.quit();
}

#[test]
fn every_cell_at_odd_sizes() {
    for library in LIBRARIES {
        every_cell(library, 2);
        every_cell(library, 1);
    }
}

#[test]
fn every_cell_on_mimalloc() {
    for library in &LIBRARIES[..4] {
        every_cell(&format!("{library}-mimalloc"), 3);
    }
    assert!(cells("crossbeam-mimalloc").is_none());
}

#[test]
fn faults_are_answered() {
    let mut peer = start("tokio");
    peer.faults("spawn/joined");
    let odd = "prep id=6 cell=skynet/tree-ch threads=1 S=20";
    peer.answers(&[(odd, r#""kind":"limit""#)]);
    peer.quit();
}

#[test]
fn allocations_before_the_clock_starts_are_not_counted() {
    for system in ["tokio", "flume"] {
        let mut peer = start(system);
        peer.counts_allocations_of_requests_only();
        peer.quit();
    }
}
