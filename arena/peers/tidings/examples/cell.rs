//! One cell without the harness:
//! `cell pingpong/tell threads=2 p=2 n=1000000 [inner=1] [reps=5] [system=tidings-actors]`.
//!
//! Prints the time and the processor time per message of each repetition, how much of that was on
//! the busiest thread, the peak of the resident memory, then what one more repetition allocates.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use tidings_peer::{Counting, Peer};

#[global_allocator]
static ALLOCATOR: Counting<std::alloc::System> = Counting(std::alloc::System);

/// A number of a sample line.
fn field(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    rest.split([',', '}']).next()?.parse().ok()
}

/// A line of `/proc/self/status` in KiB, where there is one.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Time on a core of each thread that lives, in ns: what a busy machine does not blur.
fn cpu_ns() -> BTreeMap<OsString, u64> {
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let run = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((
            thread.file_name(),
            text.split_whitespace().next()?.parse().ok()?,
        ))
    });
    run.collect()
}

/// The sum of what all threads have used since `before`, and the share of the busiest in it.
fn cpu_since(before: &BTreeMap<OsString, u64>) -> (f64, f64) {
    let used = |(id, ns): (OsString, u64)| ns.saturating_sub(*before.get(&id).unwrap_or(&0)) as f64;
    let used: Vec<f64> = cpu_ns().into_iter().map(used).collect();
    let all: f64 = used.iter().sum();
    (all, used.into_iter().fold(0.0, f64::max) / all.max(1.0))
}

fn memory(when: &str) {
    println!(
        "  {when}: peak {} KiB, now {} KiB",
        status("VmHWM"),
        status("VmRSS")
    );
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let system = args.iter().find_map(|arg| arg.strip_prefix("system="));
    let mut peer = Peer::new(system.unwrap_or("tidings"));
    let Some((cell, sizes)) = args.split_first() else {
        eprintln!("cell WORKLOAD/VARIANT [key=value..]; there are:");
        peer.cells().for_each(|cell| eprintln!("  {cell}"));
        return ExitCode::from(2);
    };
    let value = |key: &str, default: u64| {
        let found = args
            .iter()
            .find_map(|a| a.strip_prefix(key)?.strip_prefix('='));
        found.and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let (inner, reps) = (value("inner", 1), value("reps", 5));
    let answer = peer.answer(&format!("prep id=1 cell={cell} {}", sizes.join(" ")));
    if answer.contains("\"err\"") {
        eprintln!("{answer}");
        return ExitCode::from(1);
    }
    memory("after prep");
    let mut best = f64::INFINITY;
    for rep in 1..=reps {
        let before = cpu_ns();
        let answer = peer.answer(&format!("run id=2 inner={inner}"));
        let (cpu, share) = cpu_since(&before);
        let (Some(ns), Some(msgs)) = (field(&answer, "ns"), field(&answer, "msgs")) else {
            eprintln!("{answer}");
            return ExitCode::from(1);
        };
        let each = ns as f64 / msgs as f64;
        best = best.min(each);
        let (ms, cpu, share) = (ns as f64 / 1e6, cpu / msgs as f64, 100.0 * share);
        println!(
            "  {each:9.2} ns/msg  {cpu:9.2} cpu ns/msg, {share:3.0} % on one thread  {ms:11.3} ms  {msgs} msgs"
        );
        if rep == 1 || rep == reps {
            memory("since");
        }
    }
    let answer = peer.answer(&format!("run id=3 inner={inner} alloc=1"));
    let all = field(&answer, "msgs").zip(field(&answer, "alloc_bytes"));
    if let (Some((msgs, bytes)), Some(count)) = (all, field(&answer, "alloc_count")) {
        let (bytes, count) = (bytes as f64 / msgs as f64, count as f64 / msgs as f64);
        println!(
            "{cell} {}: best {best:.2} ns/msg, {bytes:.3} B/msg, {count:.4} allocations/msg",
            sizes.join(" ")
        );
    }
    peer.answer("drop id=4");
    memory("after drop");
    ExitCode::SUCCESS
}
