//! One command of words per line in, one line of JSON out.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::cells::{Cell, Counts, Driver, Fault, SYSTEMS, Shape, cells, within};

/// The program: `--arena 1 --system NAME`.
pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let (Some("1"), Some(system)) = (value("--arena"), value("--system")) else {
        eprintln!("peer-rust-net speaks to the arena: --arena 1 --system {SYSTEMS:?}");
        return ExitCode::from(2);
    };
    let cells = cells(system);
    if cells.is_empty() {
        eprintln!("peer-rust-net: no system {system:?}; it has {SYSTEMS:?}");
        return ExitCode::from(2);
    }
    let mut peer = Peer {
        alone: system == "tokio-1t",
        cells,
        prepared: None,
    };
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| out.write_all(line.as_bytes()).and_then(|()| out.flush());
    let mut result = say(hello(system, &peer));
    for line in std::io::stdin().lock().lines() {
        match (result, line) {
            (Ok(()), Ok(line)) if line.trim() != "quit" => result = say(peer.answer(&line)),
            (Ok(()), Ok(_)) => break,
            _ => return ExitCode::from(1),
        }
    }
    peer.end();
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

fn default_threads() -> i64 {
    let asked = std::env::var("TOKIO_WORKER_THREADS")
        .ok()
        .and_then(|t| t.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as i64))
}

/// The smallest step of the clock.
fn clock_ns() -> u128 {
    let step = || {
        let start = Instant::now();
        loop {
            let step = start.elapsed();
            if !step.is_zero() {
                return step.as_nanos();
            }
        }
    };
    (0..100).map(|_| step()).min().unwrap_or(1)
}

fn hello(system: &str, peer: &Peer) -> String {
    let package = match system {
        "tokio-echo" | "tokio-1t" => "tokio",
        "tokio-codec" => "tokio-util",
        other => other,
    };
    let threads = if peer.alone { 1 } else { default_threads() };
    let kind = if threads == 1 {
        "current_thread"
    } else {
        "multi_thread"
    };
    let names: Vec<String> = peer.cells.iter().map(|cell| quote(cell.name)).collect();
    format!(
        "{{\"arena\":1,\"t\":\"hello\",\"system\":{},\"peer\":\"rust-net\",\"version\":{},\
         \"runtime\":{},\"flags\":{},\"threads\":{threads},\"pid\":{},\"clock_ns\":{},\
         \"caps\":[\"hist\"],\"cells\":[{}]}}\n",
        quote(system),
        quote(version(package)),
        quote(&format!(
            "{} on tokio {} {kind}",
            env!("PEER_RUSTC"),
            version("tokio")
        )),
        quote(&format!("{} TCP_NODELAY", env!("PEER_FLAGS"))),
        std::process::id(),
        clock_ns(),
        names.join(","),
    )
}

/// What `prep` made. The connections and tasks live in the runtime and end with it.
enum Prepared {
    Clients(Box<dyn Driver>, Runtime),
    /// A thread that blocks in the runtime: one of the current-thread kind runs no task otherwise.
    Server(oneshot::Sender<()>, JoinHandle<()>),
}

const PATIENCE: Duration = Duration::from_secs(1);

struct Peer {
    /// Always on one thread.
    alone: bool,
    cells: Vec<Cell>,
    prepared: Option<Prepared>,
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
        let ok = |extra: String| format!("{{\"arena\":1,\"t\":\"ok\",\"id\":{id}{extra}}}\n");
        let result = match command {
            "prep" => self.prep(&words).map(ok),
            "run" => self.run(id, &words),
            "drop" => {
                self.end();
                Ok(ok(String::new()))
            }
            "ping" => Ok(ok(String::new())),
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

    fn end(&mut self) {
        match self.prepared.take() {
            Some(Prepared::Clients(clients, runtime)) => {
                drop(clients);
                runtime.shutdown_timeout(PATIENCE);
            }
            Some(Prepared::Server(stop, thread)) => {
                drop(stop);
                if thread.join().is_err() {
                    eprintln!("peer-rust-net: the server's thread panicked");
                }
            }
            None => {}
        }
    }

    /// What the answer holds beside the id.
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.end();
        let name = words.get("cell").copied().unwrap_or("");
        let cell = *self
            .cells
            .iter()
            .find(|cell| cell.name == name)
            .ok_or_else(|| Fault::Unsupported(format!("no cell {name:?}")))?;
        let threads = match words.get("threads") {
            _ if self.alone => 1,
            None => default_threads(),
            Some(_) => number(words, "threads")?,
        };
        let (clients, requests) = (number(words, "N")?, number(words, "M")?);
        within(&[
            ("threads", threads, 1024),
            ("N", clients, 100_000),
            ("M", requests, 1 << 31),
        ])?;
        let pairs = clients as usize;
        let runtime = match threads {
            1 => Builder::new_current_thread().enable_all().build(),
            _ => Builder::new_multi_thread()
                .worker_threads(threads as usize)
                .enable_all()
                .build(),
        };
        let runtime = runtime.map_err(|e| Fault::Limit(e.to_string()))?;
        let role = words.get("role").copied().unwrap_or("");
        let addr = match (cell.shape, role) {
            (Shape::OneProcess, _) => (cell.serve)(&runtime, pairs)?,
            (Shape::TwoProcesses, "server") => {
                let addr = (cell.serve)(&runtime, pairs)?;
                let (stop, stopped) = oneshot::channel::<()>();
                let thread = std::thread::spawn(move || {
                    let _ = runtime.block_on(stopped);
                    runtime.shutdown_timeout(PATIENCE);
                });
                self.prepared = Some(Prepared::Server(stop, thread));
                return Ok(format!(",\"addr\":\"{addr}\""));
            }
            (Shape::TwoProcesses, "client") => {
                let addr = words.get("addr").copied().unwrap_or("");
                addr.parse::<SocketAddr>()
                    .map_err(|e| Fault::Limit(format!("addr={addr}: {e}")))?
            }
            (Shape::TwoProcesses, _) => {
                let why = format!("role={role}: must be server or client");
                return Err(Fault::Limit(why));
            }
        };
        let clients = (cell.connect)(&runtime, addr, pairs, requests)?;
        let ready = clients.ready().as_nanos();
        self.prepared = Some(Prepared::Clients(clients, runtime));
        Ok(format!(",\"ready_ns\":{ready}"))
    }

    fn run(&mut self, id: i64, words: &Words<'_>) -> Result<String, Fault> {
        let (clients, runtime) = match &mut self.prepared {
            Some(Prepared::Clients(clients, runtime)) => (clients, &*runtime),
            Some(Prepared::Server(..)) => return Err(Fault::Bug("a server runs nothing".into())),
            None => return Err(Fault::Bug("run without prep".into())),
        };
        let (time, counts, inner, extra) = if number(words, "hist")? == 1 {
            let (rate, secs) = (number(words, "rate")?, number(words, "secs")?);
            let (time, counts, seen) = clients.paced(runtime, rate, secs)?;
            let (due, sent) = (seen.due.json(), seen.sent.json());
            let extra = format!(",\"hist\":{due},\"hist_service\":{sent}");
            (time, counts, 1, extra)
        } else {
            let inner = match words.get("inner") {
                Some(_) => number(words, "inner")?,
                None => 1,
            };
            within(&[("inner", inner, 1 << 40)])?;
            let (time, counts) = clients.run(runtime, inner)?;
            (time, counts, inner, String::new())
        };
        let (ns, Counts { msgs, units, check }) = (time.as_nanos(), counts);
        Ok(format!(
            "{{\"arena\":1,\"t\":\"sample\",\"id\":{id},\"ns\":{ns},\"inner\":{inner},\
             \"msgs\":{msgs},\"units\":{units},\"check\":{check}{extra}}}\n"
        ))
    }
}
