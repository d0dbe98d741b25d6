//! How fast a simulation is: `cargo bench -p tidings-sim`.
//!
//! | row | what |
//! |---|---|
//! | `counter` | decisions a second: 4 tasks send to one that counts, one long run |
//! | `twenty` | 1,000 seeds of a test with 20 tasks, each run twice |
//!
//! Prints a line for each repetition; `cargo bench -p tidings-sim -- counter 3` runs one row thrice.

use std::time::Instant;

use tidings_sim::{Sim, Strategy, Summary};

/// Messages of each sender of `counter`.
const MESSAGES: u64 = 250_000;
const SENDERS: u64 = 4;

async fn counter() {
    let (tx, rx) = tidings::unbounded();
    for _ in 0..SENDERS {
        let tx = tx.clone();
        drop(tidings::spawn(async move {
            for _ in 0..MESSAGES {
                tx.send(1u64).await.unwrap();
            }
        }));
    }
    drop(tx);
    let mut sum = 0;
    while let Ok(n) = rx.recv().await {
        sum += n;
    }
    assert_eq!(sum, SENDERS * MESSAGES);
}

async fn twenty() {
    let (tx, rx) = tidings::bounded(4);
    let tasks: Vec<_> = (0..19)
        .map(|id| {
            let tx = tx.clone();
            tidings::spawn(async move {
                for n in 0..5 {
                    tx.send(id * 5 + n).await.unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Ok(n) = rx.recv().await {
        sum += n;
    }
    assert_eq!(sum, 95 * 94 / 2);
    for task in tasks {
        task.await.unwrap();
    }
}

fn row(name: &str, run: impl Fn() -> Summary) {
    let start = Instant::now();
    let summary = run();
    let took = start.elapsed();
    let rate = summary.decisions as f64 / took.as_secs_f64();
    println!(
        "{name}: {} runs, {} polls, {} decisions in {:.3} s: {:.2} million decisions a second",
        summary.runs,
        summary.polls,
        summary.decisions,
        took.as_secs_f64(),
        rate / 1e6
    );
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = |name: &str| words.first().is_none_or(|word| name == word);
    let times = words.get(1).and_then(|n| n.parse().ok()).unwrap_or(3);
    for _ in 0..times {
        if wanted("counter") {
            let sim = Sim::new(1).strategy(Strategy::Random).once();
            row("counter", || sim.clone().polls(usize::MAX).run(counter));
        }
        if wanted("twenty") {
            row("twenty", || Sim::new(0).seeds(1_000).run(twenty));
        }
    }
}
