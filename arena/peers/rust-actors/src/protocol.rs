//! One command of words per line in, one line of JSON out.

use crate::alloc;
use crate::cells::{Cells, Counts, Fault, Params, SYSTEMS, Sample, System};
use crate::sizes::within;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

/// The program: `--arena 1 --system NAME [--threads N]`.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let system = value("--system").and_then(|name| SYSTEMS.iter().find(|s| s.name == name));
    let (Some("1"), Some(system)) = (value("--arena"), system) else {
        let names = SYSTEMS.map(|s| s.name);
        eprintln!("peer-rust-actors speaks to the arena: --arena 1 --system, one of {names:?}");
        return ExitCode::from(2);
    };
    let threads = value("--threads").and_then(|t| t.parse().ok());
    let threads =
        threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut peer = Peer {
        cells: (system.cells)(),
        threads,
        sample: None,
    };
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| out.write_all(line.as_bytes()).and_then(|()| out.flush());
    let mut result = say(hello(system, threads, &peer.cells));
    for line in std::io::stdin().lock().lines() {
        match (result, line) {
            (Ok(()), Ok(line)) if line.trim() != "quit" => result = say(peer.answer(&line)),
            (Ok(()), Ok(_)) => break,
            _ => return ExitCode::from(1),
        }
    }
    // Without waiting for threads of a library that never end.
    std::process::exit(0)
}

/// Version of a dependency, from the lock file it was built with.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let rest = lock.find(&entry).map_or("", |at| &lock[at + entry.len()..]);
    rest.split('"').next().unwrap_or("")
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => write!(quoted, "\\u{:04x}", c as u32).expect("a string takes all"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The smallest step of the clock that is not zero.
fn clock_ns() -> u128 {
    let steps = (0..1000).map(|_| {
        let start = Instant::now();
        loop {
            let step = start.elapsed().as_nanos();
            if step > 0 {
                return step;
            }
        }
    });
    steps.min().unwrap_or(1)
}

fn hello(system: &System, threads: usize, cells: &Cells) -> String {
    let (package, kind) = system.on;
    let (on, kind) = (version(package), kind(threads));
    let names: Vec<String> = cells.keys().map(|name| quote(name)).collect();
    format!(
        "{{\"arena\":1,\"t\":\"hello\",\"system\":{},\"peer\":\"rust-actors\",\"version\":{},\
         \"runtime\":{},\"flags\":{},\"threads\":{threads},\"pid\":{},\"clock_ns\":{},\
         \"caps\":[\"alloc\"],\"cells\":[{}]}}\n",
        quote(system.name),
        quote(version(system.name)),
        quote(&format!("{} on {package} {on}, {kind}", env!("PEER_RUSTC"))),
        quote(&format!("{} allocator=system", env!("PEER_FLAGS"))),
        std::process::id(),
        clock_ns(),
        names.join(","),
    )
}

struct Peer {
    cells: Cells,
    threads: usize,
    sample: Option<Sample>,
}

type Words<'a> = HashMap<&'a str, &'a str>;

/// `absent` for a key that was not sent.
fn number(words: &Words<'_>, key: &str, absent: i64) -> Result<i64, Fault> {
    let Some(word) = words.get(key) else {
        return Ok(absent);
    };
    word.parse()
        .map_err(|_| Fault::Limit(format!("{key}={word} is not a 64-bit number")))
}

impl Peer {
    fn answer(&mut self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or("");
        let words: Words<'_> = words.filter_map(|word| word.split_once('=')).collect();
        let id = number(&words, "id", 0).unwrap_or(0);
        let ok = Ok(format!("{{\"arena\":1,\"t\":\"ok\",\"id\":{id}}}\n"));
        let result = match command {
            "prep" => self.prep(&words).and(ok),
            "run" => self.run(id, &words),
            "drop" => {
                self.sample = None;
                ok
            }
            "ping" => ok,
            _ => Err(Fault::Unsupported(format!("unknown command {command:?}"))),
        };
        result.unwrap_or_else(|fault| {
            let (kind, msg) = match fault {
                Fault::Unsupported(msg) => ("unsupported", msg),
                Fault::Limit(msg) => ("limit", msg),
                Fault::Bug(msg) => ("bug", msg),
            };
            let msg = quote(&msg);
            format!("{{\"arena\":1,\"t\":\"err\",\"id\":{id},\"kind\":\"{kind}\",\"msg\":{msg}}}\n")
        })
    }

    fn prep(&mut self, words: &Words<'_>) -> Result<(), Fault> {
        self.sample = None;
        let name = words.get("cell").copied().unwrap_or("");
        let make = *self
            .cells
            .get(name)
            .ok_or_else(|| Fault::Unsupported(format!("no cell {name:?}")))?;
        let of = |key| number(words, key, 0);
        let params = Params {
            threads: number(words, "threads", self.threads as i64)?,
            p: of("p")?,
            n: of("n")?,
            w: of("w")?,
            P: of("P")?,
            A: of("A")?,
            N: of("N")?,
            M: of("M")?,
            S: of("S")?,
        };
        within(&[("threads", params.threads, 1024)])?;
        self.sample = Some(make(params)?);
        Ok(())
    }

    fn run(&mut self, id: i64, words: &Words<'_>) -> Result<String, Fault> {
        let Some(sample) = &mut self.sample else {
            return Err(Fault::Bug("run without prep".into()));
        };
        let inner = number(words, "inner", 1)?;
        within(&[("inner", inner, 1 << 40)])?;
        let counting = number(words, "alloc", 0)? == 1;
        let before = alloc::counted();
        alloc::count(counting);
        let outcome = sample(inner);
        alloc::count(false);
        let (bytes, count) = alloc::counted();
        let (time, Counts { msgs, units, check }) = outcome?;
        let ns = time.as_nanos();
        let allocated = if counting {
            let (bytes, count) = (bytes - before.0, count - before.1);
            format!(",\"alloc_bytes\":{bytes},\"alloc_count\":{count}")
        } else {
            String::new()
        };
        Ok(format!(
            "{{\"arena\":1,\"t\":\"sample\",\"id\":{id},\"ns\":{ns},\"inner\":{inner},\
             \"msgs\":{msgs},\"units\":{units},\"check\":{check}{allocated}}}\n"
        ))
    }
}
