//! @ID@ as a peer of the tidings arena. The protocol is in arena/PROTOCOL.md, the workloads in arena/WORKLOADS.md.

mod counter;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Instant;

/// What one repetition counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    msgs: i64,
    units: i64,
    check: i64,
}

type Sizes = HashMap<String, i64>;
type Once = Box<dyn Fn() -> Counts>;

/// Cells by workload/variant: a function of the sizes does what is not timed and gives back one repetition of the
/// scenario. Add your cells here and to peer.toml.
const CELLS: &[(&str, fn(&Sizes) -> Once)] = &[("counter/send", counter::send)];

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Without a reader the harness is gone; the end of the input says so too.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn refuse(id: i64, why: &str) {
    let why = why.replace(['"', '\\'], "'");
    say(&format!(r#"{{"arena":1,"t":"err","id":{id},"kind":"unsupported","msg":"{why}"}}"#));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|a| a == "--system");
    let system = place.and_then(|i| arguments.get(i + 1)).map_or("@ID@", |s| s);
    let names: Vec<String> = CELLS.iter().map(|(name, _)| format!("{name:?}")).collect();
    say(&format!(
        r#"{{"arena":1,"t":"hello","system":"{system}","peer":"@ID@","version":"{}","runtime":"native","flags":"","threads":{},"pid":{},"clock_ns":{},"caps":[],"cells":[{}]}}"#,
        env!("CARGO_PKG_VERSION"),
        std::thread::available_parallelism().map_or(1, |n| n.get()),
        std::process::id(),
        clock_step(),
        names.join(",")
    ));
    let mut current: Option<Once> = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let mut words = line.split_ascii_whitespace();
        let command = words.next().unwrap_or_default();
        let pairs: HashMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let number = |value: &str| value.parse::<i64>().ok();
        let sizes: Sizes =
            pairs.iter().filter_map(|(k, v)| Some(((*k).to_owned(), number(v)?))).collect();
        let id = sizes.get("id").copied().unwrap_or(0);
        let ok = || say(&format!(r#"{{"arena":1,"t":"ok","id":{id}}}"#));
        match command {
            "prep" => {
                current = None;
                let name = pairs.get("cell").copied().unwrap_or_default();
                match CELLS.iter().find(|(known, _)| *known == name) {
                    Some((_, make)) => {
                        current = Some(make(&sizes));
                        ok();
                    }
                    None => refuse(id, &format!("no cell {name}")),
                }
            }
            "run" => match &current {
                Some(once) => sample(once, id, sizes.get("inner").copied().unwrap_or(1)),
                None => refuse(id, "run without prep"),
            },
            "drop" => {
                current = None;
                ok();
            }
            "ping" => ok(),
            "quit" => return,
            _ => refuse(id, &format!("no command {command}")),
        }
    }
}

fn sample(once: &Once, id: i64, inner: i64) {
    let mut sum = Counts::default();
    let begin = Instant::now();
    for _ in 0..inner {
        let counts = once();
        sum.msgs += counts.msgs;
        sum.units += counts.units;
        sum.check += counts.check;
    }
    let ns = begin.elapsed().as_nanos();
    let Counts { msgs, units, check } = sum;
    say(&format!(
        r#"{{"arena":1,"t":"sample","id":{id},"ns":{ns},"inner":{inner},"msgs":{msgs},"units":{units},"check":{check}}}"#
    ));
}

/// The smallest step of the clock, in nanoseconds.
fn clock_step() -> u128 {
    let mut last = Instant::now();
    let mut steps = Vec::new();
    while steps.len() < 100 {
        let now = Instant::now();
        if now > last {
            steps.push((now - last).as_nanos());
        }
        last = now;
    }
    steps.into_iter().min().unwrap_or(1)
}
