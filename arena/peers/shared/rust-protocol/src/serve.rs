//! One command of words per line in, one line of JSON out.

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::{Counts, Fault, Words};

/// The first line, unasked.
#[derive(Debug)]
pub struct Hello<'a> {
    pub system: &'a str,
    pub peer: &'a str,
    /// Of the system.
    pub version: &'a str,
    /// What it runs on; the compiler is named beside.
    pub runtime: &'a str,
    /// What matters for the figures; the profile is named beside.
    pub flags: &'a str,
    pub threads: usize,
    pub caps: &'a [&'a str],
    pub cells: &'a [&'a str],
}

/// A sample: repetitions done, the time of their timed parts, what was done in them, and further fields of the answer.
#[derive(Debug)]
pub struct Sampled {
    pub inner: i64,
    pub time: Duration,
    pub counts: Counts,
    pub more: String,
}

/// What a peer does at its commands.
pub trait Peer {
    /// Makes what is not timed, in place of what was made before. Gives further fields of the answer.
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault>;

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault>;

    /// Frees what `prep` made.
    fn end(&mut self);
}

/// Speaks until it is told to quit, or until nobody speaks to it.
pub fn serve(hello: &Hello<'_>, peer: &mut impl Peer) -> ExitCode {
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    match speak(hello, peer, input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-{}: {error}", hello.peer);
            ExitCode::FAILURE
        }
    }
}

/// As `serve`, with any input and output. Fails if the input is not text, or the output is gone.
pub fn speak(
    hello: &Hello<'_>,
    peer: &mut impl Peer,
    input: impl BufRead,
    mut output: impl Write,
) -> std::io::Result<()> {
    let mut say = |line: String| {
        output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush())
    };
    say(hello.line())?;
    for line in input.lines() {
        match line?.trim() {
            "quit" => break,
            command => say(answer(peer, command))?,
        }
    }
    Ok(())
}

/// What stands after an option of the command line.
pub fn argument(name: &str) -> Option<String> {
    let mut args = std::env::args().skip_while(|arg| arg != name);
    args.nth(1)
}

/// The system asked for, if the harness speaks this version of the protocol.
pub fn system() -> Option<String> {
    argument("--system").filter(|_| argument("--arena").as_deref() == Some("1"))
}

/// Version of a dependency, from the lock file that the peer was built with.
pub fn version(lock: &'static str, package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let rest = lock.find(&entry).map_or("", |at| &lock[at + entry.len()..]);
    rest.split('"').next().unwrap_or("")
}

impl Hello<'_> {
    fn line(&self) -> String {
        let list = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
            names.join(",")
        };
        format!(
            "{{\"arena\":1,\"t\":\"hello\",\"system\":{},\"peer\":{},\"version\":{},\
             \"runtime\":{},\"flags\":{},\"threads\":{},\"pid\":{},\"clock_ns\":{},\
             \"caps\":[{}],\"cells\":[{}]}}\n",
            quote(self.system),
            quote(self.peer),
            quote(self.version),
            quote(&format!("{} on {}", env!("PEER_RUSTC"), self.runtime)),
            quote(&format!("{} {}", env!("PEER_FLAGS"), self.flags)),
            self.threads,
            std::process::id(),
            clock_ns(),
            list(self.caps),
            list(self.cells),
        )
    }
}

/// Carries out a command other than `quit`; gives the line to answer.
pub fn answer(peer: &mut impl Peer, line: &str) -> String {
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or("");
    let words = Words::of(words);
    let id = words.number("id", 0).unwrap_or(0);
    let ok = |more: String| format!("{{\"arena\":1,\"t\":\"ok\",\"id\":{id}{more}}}\n");
    let result = match command {
        "prep" => peer.prep(&words).map(ok),
        "run" => peer.run(&words).map(|sampled| sampled.line(id)),
        "drop" => {
            peer.end();
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

impl Sampled {
    fn line(&self, id: i64) -> String {
        let Counts { msgs, units, check } = self.counts;
        let (ns, inner, more) = (self.time.as_nanos(), self.inner, &self.more);
        format!(
            "{{\"arena\":1,\"t\":\"sample\",\"id\":{id},\"ns\":{ns},\"inner\":{inner},\
             \"msgs\":{msgs},\"units\":{units},\"check\":{check}{more}}}\n"
        )
    }
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
