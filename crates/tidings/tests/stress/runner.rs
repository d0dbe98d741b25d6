//! Runs tests one after the other, as dead letters are counted for the whole process, and ends
//! the process when one hangs. Speaks as libtest does, as far as it is listened to.

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// No progress for so long is a hang.
const HANG: Duration = Duration::from_secs(60);

/// Counts what has happened, for the watchdog.
pub(super) static PROGRESS: AtomicU64 = AtomicU64::new(0);

pub(super) type Test = (&'static str, fn());

/// Tests with their names.
macro_rules! tests {
    ($($test:path),* $(,)?) => { &[$((stringify!($test), $test as fn())),*] };
}
pub(super) use tests;

/// How long each test runs.
pub(super) fn budget() -> Duration {
    let secs = std::env::var("TIDINGS_STRESS_SECS").ok();
    Duration::from_secs(secs.and_then(|secs| secs.parse().ok()).unwrap_or(2))
}

/// Ends the process when nothing happens any more, as long as what it gives is kept.
pub(super) fn watched(name: &'static str) -> mpsc::Sender<()> {
    let (alive, gone) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let mut seen = u64::MAX;
        loop {
            let now = PROGRESS.load(Ordering::Relaxed);
            if now == seen {
                eprintln!("{name} hangs after {now} steps; its seed is the last one printed");
                std::process::abort();
            }
            seen = now;
            if gone.recv_timeout(HANG) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    alive
}

/// Runs the tests whose name has one of the arguments in it; all without arguments.
pub(super) fn run(tests: &[Test]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names = || arguments.iter().filter(|word| !word.starts_with('-'));
    let chosen =
        |test: &&Test| names().next().is_none() || names().any(|part| test.0.contains(part));
    if arguments.iter().any(|word| word == "--list") {
        for (name, _) in tests.iter().filter(chosen) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for &(name, test) in tests.iter().filter(chosen) {
        let ok = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        *if ok { &mut passed } else { &mut failed } += 1;
    }
    let filtered = tests.len() - passed - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {filtered} filtered out"
    );
    ExitCode::from(u8::from(failed > 0))
}
