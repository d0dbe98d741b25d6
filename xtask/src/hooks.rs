//! `cargo x hooks`: what the hooks of the simulator and of the flight recorder cost, in instructions.
//!
//! `benches/hooks.rs` is built twice, with the hooks and without any, and played under callgrind with
//! two numbers of messages: the difference is the messages'. Counts differ by little from run to run
//! and not with what else the machine does. Written to `docs/trust/hooks.md`.

use std::fmt::Write as _;
use std::process::Command;

use crate::command::{executable, root, target, today};

const PAGE: &str = "docs/trust/hooks.md";
const PROGRAMS: [&str; 2] = ["counter", "pingpong"];
/// Messages, few and many.
const MESSAGES: [u64; 2] = [20_000, 120_000];

/// The verb.
pub(crate) fn run() -> Result<(), String> {
    let with = build("hooks-with", "")?;
    let without = build("hooks-without", "--cfg tidings_bare")?;
    let mut page = format!(
        "# What the hooks cost\n\n\
         Instructions of one message on one worker, by callgrind: in a library without the hooks of the \
         simulator and\nof the flight recorder (`--cfg tidings_bare`), in the library as it is, and with \
         the recorder on. Written by\n`cargo x hooks` on {}; the programs are in `crates/tidings/benches/hooks.rs`.\n\n\
         | program | without hooks | with | recorder on |\n|---|--:|--:|--:|\n",
        today()
    );
    for program in PROGRAMS {
        let counts = [
            instructions(&without, program, "")?,
            instructions(&with, program, "")?,
            instructions(&with, program, "recorded")?,
        ];
        let [without, with, recorded] = counts.map(|n| format!("{n:.1}"));
        println!("{program}: {without} without, {with} with, {recorded} recorded");
        let _ = writeln!(page, "| {program} | {without} | {with} | {recorded} |");
    }
    std::fs::write(root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// Builds the bench; its path.
fn build(folder: &str, flags: &str) -> Result<String, String> {
    let line = "bench -p tidings --bench hooks --no-run";
    println!("$ RUSTFLAGS=\"{flags}\" cargo {line} --target-dir target/{folder}");
    let output = Command::new("cargo")
        .args(line.split(' '))
        .args(["--target-dir", &target(folder)])
        .env("RUSTFLAGS", flags)
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    executable(&said)
        .map(str::to_owned)
        .ok_or_else(|| format!("{said}\nhooks: the bench does not build"))
}

/// The instructions of a message.
fn instructions(bench: &str, program: &str, more: &str) -> Result<f64, String> {
    let mut counts = [0; 2];
    for (count, messages) in counts.iter_mut().zip(MESSAGES) {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", bench])
            .args([program, &messages.to_string(), more])
            .current_dir(root())
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        *count = collected(&said)
            .filter(|_| output.status.success())
            .ok_or_else(|| format!("{said}\nhooks: {program} does not run"))?;
    }
    Ok((counts[1] - counts[0]) as f64 / (MESSAGES[1] - MESSAGES[0]) as f64)
}

/// `==1== Collected : 123`.
fn collected(said: &str) -> Option<u64> {
    let (_, count) = said.split_once("Collected : ")?;
    count.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn the_count_of_callgrind_is_read() {
        let said = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(said), Some(123_456));
        assert_eq!(collected("valgrind: no such file"), None);
    }
}
