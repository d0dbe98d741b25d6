//! One command of words per line in, one line of JSON out (`PROTOCOL.md`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use tidings::Runtime;

use crate::actors;
use crate::alloc;
use crate::cell::{self, Cells, Counts, Fault, Params, Sample, Watch, within};

/// Speaks the arena's peer protocol on standard input and output until `quit` or the end of the
/// input, as one of [`SYSTEMS`]. The arguments of the process are its caller's affair.
///
/// # Panics
/// If there is no such system.
pub fn main(system: &str) -> ExitCode {
    let peer = Peer::new(system);
    match speak(peer, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidings arena-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

/// As [`main`], with any input and output.
///
/// # Errors
/// If the input is not text, or the output is gone.
pub fn speak(mut peer: Peer, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut say = |line: &str| writeln!(output, "{line}").and_then(|()| output.flush());
    say(&peer.hello())?;
    for line in input.lines() {
        match line?.trim() {
            "quit" => break,
            command => say(&peer.answer(command))?,
        }
    }
    Ok(())
}

/// The systems that this peer is: tidings as its users write most things, on tasks and channels, and
/// the workloads of actors on the actor layer.
pub const SYSTEMS: [&str; 2] = ["tidings", "tidings-actors"];

/// The peer: the prepared cell and its runtime.
pub struct Peer {
    system: &'static str,
    cells: Cells,
    prepared: Option<Prepared>,
}

struct Prepared {
    sample: Sample,
    /// Dropped after the sample, which may hold things of it.
    runtime: Runtime,
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

fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c)); // a string takes all
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The smallest step of the clock that can be seen.
fn clock_ns() -> u128 {
    let step = |_| {
        let start = Instant::now();
        loop {
            let elapsed = start.elapsed().as_nanos();
            if elapsed > 0 {
                return elapsed;
            }
        }
    };
    (0..1000).map(step).min().unwrap_or(1)
}

impl Peer {
    /// One of [`SYSTEMS`], that has nothing prepared.
    ///
    /// # Panics
    /// If there is no such system.
    #[must_use]
    pub fn new(system: &str) -> Self {
        let [channels, actors] = SYSTEMS;
        let (system, cells) = match system {
            _ if system == channels => (channels, cell::all()),
            _ if system == actors => (actors, actors::cells()),
            _ => panic!("no system {system:?}"),
        };
        Self {
            system,
            cells,
            prepared: None,
        }
    }

    /// The first line.
    #[must_use]
    pub fn hello(&self) -> String {
        let names: Vec<String> = self.cells.keys().map(|name| quote(name)).collect();
        format!(
            "{{\"arena\":1,\"t\":\"hello\",\"system\":{},\"peer\":\"tidings\",\
             \"version\":{},\"runtime\":{},\"flags\":{},\"threads\":{},\"pid\":{},\"clock_ns\":{},\
             \"caps\":[\"alloc\",\"units\"],\"cells\":[{}]}}",
            quote(self.system),
            quote(env!("CARGO_PKG_VERSION")),
            quote(concat!("tidings ", env!("CARGO_PKG_VERSION"))),
            quote("Runtime::builder().workers(threads), all else by default"),
            cores(),
            std::process::id(),
            clock_ns(),
            names.join(","),
        )
    }

    /// The names of all cells.
    pub fn cells(&self) -> impl Iterator<Item = &'static str> {
        self.cells.keys().copied()
    }

    /// Carries out a command other than `quit`; gives the line to answer.
    pub fn answer(&mut self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or("");
        let words: Words<'_> = words.filter_map(|word| word.split_once('=')).collect();
        let id = number(&words, "id").unwrap_or(0);
        let result = match command {
            "prep" => self.prep(&words),
            "run" => return self.run(id, &words).unwrap_or_else(|fault| err(id, fault)),
            "drop" => {
                self.prepared = None;
                Ok(())
            }
            "ping" => Ok(()),
            _ => Err(Fault::Unsupported(format!("unknown command {command:?}"))),
        };
        match result {
            Ok(()) => format!("{{\"arena\":1,\"t\":\"ok\",\"id\":{id}}}"),
            Err(fault) => err(id, fault),
        }
    }

    fn prep(&mut self, words: &Words<'_>) -> Result<(), Fault> {
        self.prepared = None;
        let name = words.get("cell").copied().unwrap_or("");
        let Some(&cell) = self.cells.get(name) else {
            return Err(Fault::Unsupported(format!("no cell {name:?}")));
        };
        let of = |key| number(words, key);
        let default_threads = if words.contains_key("threads") {
            0
        } else {
            cores() as i64
        };
        let params = Params {
            threads: of("threads")? + default_threads,
            p: of("p")?,
            n: of("n")?,
            w: of("w")?,
            batch: of("batch")?,
            P: of("P")?,
            A: of("A")?,
            N: of("N")?,
            M: of("M")?,
            S: of("S")?,
        };
        let budget = match (cell.budget, params.batch) {
            (Some(budget), 0) => Some(budget),
            (Some(_), batch) => {
                within(&[("batch", batch, i64::from(u32::MAX))])?;
                Some(batch as u32)
            }
            (None, _) => None,
        };
        let runtime = cell::runtime(params.threads, budget)?;
        let sample = (cell.make)(params, &runtime)?;
        self.prepared = Some(Prepared { sample, runtime });
        Ok(())
    }

    fn run(&self, id: i64, words: &Words<'_>) -> Result<String, Fault> {
        let Some(Prepared { sample, runtime }) = &self.prepared else {
            return Err(Fault::Bug("run without prep".into()));
        };
        let inner = if words.contains_key("inner") {
            number(words, "inner")?
        } else {
            1
        };
        within(&[("inner", inner, 1 << 30)])?;
        let watch = Watch {
            counting: number(words, "alloc")? == 1,
        };
        let before = alloc::counted();
        let outcome = match sample {
            Sample::Task(start) => {
                let root = runtime.spawn(start(inner, watch));
                runtime
                    .block_on(root)
                    .unwrap_or_else(|panic| Err(panic.into()))
            }
            Sample::Thread(run) => run(inner, watch),
        };
        watch.end();
        let after = alloc::counted();
        let (time, Counts { msgs, units, check }) = outcome?;
        let allocated = if watch.counting {
            let (bytes, count) = (after.0 - before.0, after.1 - before.1);
            format!(",\"alloc_bytes\":{bytes},\"alloc_count\":{count}")
        } else {
            String::new()
        };
        Ok(format!(
            "{{\"arena\":1,\"t\":\"sample\",\"id\":{id},\"ns\":{},\"inner\":{inner},\
             \"msgs\":{msgs},\"units\":{units},\"check\":{check}{allocated}}}",
            time.as_nanos(),
        ))
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer")
            .field("prepared", &self.prepared.is_some())
            .finish_non_exhaustive()
    }
}

fn err(id: i64, fault: Fault) -> String {
    let (kind, msg) = match fault {
        Fault::Unsupported(msg) => ("unsupported", msg),
        Fault::Limit(msg) => ("limit", msg),
        Fault::Bug(msg) => ("bug", msg),
    };
    let msg = quote(&msg);
    format!("{{\"arena\":1,\"t\":\"err\",\"id\":{id},\"kind\":\"{kind}\",\"msg\":{msg}}}")
}
