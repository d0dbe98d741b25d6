//! One command of words per line in, one line of JSON out.

use crate::alloc;
use crate::cells::{Cells, Counts, Fault, LIBRARIES, Params, Sample, cells, within};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The program: `--arena 1 --system NAME`.
pub fn main(mimalloc: bool) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let (Some("1"), Some(system)) = (value("--arena"), value("--system")) else {
        eprintln!("peer-rust speaks to the arena: --arena 1 --system {LIBRARIES:?}[-mimalloc]");
        return ExitCode::from(2);
    };
    let Some(cells) = cells(system) else {
        eprintln!("peer-rust: no system {system:?}; it has {LIBRARIES:?}, -mimalloc but crossbeam");
        return ExitCode::from(2);
    };
    if system.ends_with("-mimalloc") && !mimalloc {
        let sibling = std::env::current_exe().map(|me| me.with_file_name("peer-rust-mimalloc"));
        let error = match sibling {
            Ok(sibling) => Command::new(sibling).args(&args).exec(), // returns only to fail
            Err(error) => error,
        };
        eprintln!("peer-rust: cannot start peer-rust-mimalloc: {error}");
        return ExitCode::from(1);
    }
    let mut peer = Peer {
        cells,
        runtime: None,
        sample: None,
    };
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| out.write_all(line.as_bytes()).and_then(|()| out.flush());
    let mut result = say(hello(system, mimalloc, &peer.cells));
    for line in std::io::stdin().lock().lines() {
        match (result, line) {
            (Ok(()), Ok(line)) if line.trim() != "quit" => result = say(peer.answer(&line)),
            (Ok(()), Ok(_)) => return ExitCode::SUCCESS,
            _ => return ExitCode::from(1),
        }
    }
    ExitCode::SUCCESS
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

fn default_threads() -> usize {
    let asked = std::env::var("TOKIO_WORKER_THREADS")
        .ok()
        .and_then(|t| t.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The cost of one reading of the clock.
fn clock_ns() -> u128 {
    const READINGS: u128 = 2000;
    let start = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_nanos() / READINGS
}

fn hello(system: &str, mimalloc: bool, cells: &Cells) -> String {
    let library = system.trim_end_matches("-mimalloc");
    let on = if library == "crossbeam" {
        "OS threads".to_owned()
    } else {
        let kind = if default_threads() == 1 {
            "current_thread"
        } else {
            "multi_thread"
        };
        format!("tokio {} {kind}", version("tokio"))
    };
    let package = if library == "crossbeam" {
        "crossbeam-channel"
    } else {
        library
    };
    let allocator = if mimalloc {
        format!("mimalloc {}", version("mimalloc"))
    } else {
        "system".to_owned()
    };
    let names: Vec<String> = cells.keys().map(|name| quote(name)).collect();
    format!(
        "{{\"arena\":1,\"t\":\"hello\",\"system\":{},\"peer\":\"rust\",\"version\":{},\
         \"runtime\":{},\"flags\":{},\"threads\":{},\"pid\":{},\"clock_ns\":{},\
         \"caps\":[\"alloc\",\"units\"],\"cells\":[{}]}}\n",
        quote(system),
        quote(version(package)),
        quote(&format!("{} on {on}", env!("PEER_RUSTC"))),
        quote(&format!("{} allocator={allocator}", env!("PEER_FLAGS"))),
        default_threads(),
        std::process::id(),
        clock_ns(),
        names.join(","),
    )
}

struct Peer {
    cells: Cells,
    runtime: Option<(usize, Runtime)>,
    sample: Option<Sample>,
}

type Words<'a> = HashMap<&'a str, &'a str>;

/// 0 for a key that was not sent.
fn number(words: &Words<'_>, key: &str) -> Result<i64, Fault> {
    let Some(word) = words.get(key) else {
        return Ok(0);
    };
    word.parse()
        .map_err(|_| Fault::Limit(format!("{key}={word} is not a 64-bit number")))
}

impl Peer {
    fn answer(&mut self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or("");
        let words: Words<'_> = words.filter_map(|word| word.split_once('=')).collect();
        let id = number(&words, "id").unwrap_or(0);
        let ok = Ok(format!("{{\"arena\":1,\"t\":\"ok\",\"id\":{id}}}\n"));
        let result = match command {
            "prep" => self.prep(&words).and(ok),
            "run" => self.run(id, &words),
            "drop" => {
                self.sample = None;
                self.runtime = None;
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
        let of = |key| number(words, key);
        let params = Params {
            threads: if words.contains_key("threads") {
                of("threads")?
            } else {
                default_threads() as i64
            },
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
        let threads = params.threads as usize;
        if self.runtime.as_ref().is_none_or(|(has, _)| *has != threads) {
            self.runtime = None;
            let runtime = match threads {
                1 => Builder::new_current_thread().enable_time().build(),
                _ => Builder::new_multi_thread()
                    .worker_threads(threads)
                    .enable_time()
                    .build(),
            };
            let runtime = runtime.map_err(|e| Fault::Limit(e.to_string()))?;
            self.runtime = Some((threads, runtime));
        }
        let (_, runtime) = self.runtime.as_ref().expect("made just now");
        let _inside = runtime.enter();
        self.sample = Some(make(params)?);
        Ok(())
    }

    fn run(&mut self, id: i64, words: &Words<'_>) -> Result<String, Fault> {
        let (Some(sample), Some((_, runtime))) = (&self.sample, &self.runtime) else {
            return Err(Fault::Bug("run without prep".into()));
        };
        let inner = if words.contains_key("inner") {
            number(words, "inner")?
        } else {
            1
        };
        within(&[("inner", inner, 1 << 40)])?;
        let counting = number(words, "alloc")? == 1;
        let before = alloc::counted();
        alloc::count(counting);
        let outcome = match sample {
            Sample::Task(run) => {
                let task = run(inner);
                runtime.block_on(async { tokio::spawn(task).await? })
            }
            Sample::Thread(run) => run(inner),
        };
        alloc::count(false);
        let (bytes, count) = alloc::counted();
        let (time, Counts { msgs, units, check }): (Duration, Counts) = outcome?;
        let ns = time.as_nanos();
        let allocated = if counting {
            let (bytes, count) = (bytes - before.0, count - before.1);
            format!(",\"alloc_bytes\":{bytes},\"alloc_count\":{count}")
        } else {
            String::new()
        };
        Ok(format!(
            "{{\"arena\":1,\"t\":\"sample\",\"id\":{id},\"ns\":{ns},\"inner\":{inner},\
             \"msgs\":{msgs},\"units\":{units},\"check\":{check},\"gc\":[]{allocated}}}\n"
        ))
    }
}
