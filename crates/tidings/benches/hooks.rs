//! What the hooks of the simulator and of the flight recorder cost a run that uses neither, and what the
//! recorder costs one that does.
//!
//! `cargo bench -p tidings --bench hooks` plays each program with the recorder off and on, in turns, and
//! prints the nanoseconds of a message. `cargo bench -p tidings --bench hooks -- PROGRAM N [recorded]`
//! plays one once, with N messages: `cargo x hooks` counts its instructions by callgrind, in a build with
//! the hooks and in one without (`--cfg tidings_bare`).

use std::process::ExitCode;
use std::time::Instant;

use tidings::sched::Runtime;
use tidings::{channel, unbounded};

const MESSAGES: u64 = 200_000;
const ROUNDS: usize = 21;
/// What the recorder keeps of each worker.
const KEPT: usize = 1_000;

/// Four tasks send to one that counts.
async fn counter(messages: u64) {
    let (tx, rx) = unbounded();
    for _ in 0..4 {
        let tx = tx.clone();
        drop(tidings::spawn(async move {
            for _ in 0..messages / 4 {
                tx.send(1_u64).await.unwrap();
            }
        }));
    }
    drop(tx);
    let mut sum = 0;
    while let Ok(n) = rx.recv().await {
        sum += n;
    }
    assert_eq!(sum, messages / 4 * 4);
}

/// A value goes to and fro, each way by a rendezvous.
async fn pingpong(messages: u64) {
    let ((ping, pinged), (pong, ponged)) = (channel(), channel());
    let other = tidings::spawn(async move {
        while let Ok(n) = pinged.recv().await {
            pong.send(n + 1).await.unwrap();
        }
    });
    let mut n = 0;
    while n < messages {
        ping.send(n + 1).await.unwrap();
        n = ponged.recv().await.unwrap();
    }
    drop(ping);
    other.await.unwrap();
}

fn runtime(recorded: bool) -> Runtime {
    let builder = Runtime::builder().workers(1);
    let builder = match recorded {
        true => builder.flight_recorder(KEPT),
        false => builder,
    };
    builder.build().unwrap()
}

fn play(runtime: &Runtime, program: &str, messages: u64) -> bool {
    let run = |which: &str| match which {
        "counter" => runtime.block_on(async move { tidings::spawn(counter(messages)).await }),
        _ => runtime.block_on(async move { tidings::spawn(pingpong(messages)).await }),
    };
    ["counter", "pingpong"].contains(&program) && run(program).is_ok()
}

/// The nanoseconds of a message.
fn time(program: &str, recorded: bool) -> f64 {
    let runtime = runtime(recorded);
    let start = Instant::now();
    assert!(play(&runtime, program, MESSAGES));
    start.elapsed().as_secs_f64() * 1e9 / MESSAGES as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .collect();
    if let [program, messages, rest @ ..] = &words[..] {
        let messages = messages.parse().unwrap_or(MESSAGES);
        let recorded = rest == ["recorded"];
        return match play(&runtime(recorded), program, messages) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    for program in ["counter", "pingpong"] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(time(program, false));
            times[1].push(time(program, true));
        }
        let [off, on] = times.map(median);
        println!("{program}: {off:.1} ns a message, {on:.1} ns with the flight recorder");
    }
    ExitCode::SUCCESS
}
