//! The systems behind the arena's peer protocol (`PROTOCOL.md`).

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use peer_protocol::{Fault, Hello, Role, Sampled, Words, default_threads, version, within};
use tidings::Runtime;

use crate::cell::{self, Cells, Sample};
use crate::{actors, floor, net};

/// Speaks the arena's peer protocol on standard input and output until `quit` or the end of the
/// input, as one of [`SYSTEMS`]. The arguments of the process are its caller's affair.
///
/// # Panics
/// If there is no such system.
pub fn main(system: &str) -> ExitCode {
    let mut peer = Peer::new(system);
    let (names, runtime): (Vec<_>, _) = (peer.cells().collect(), runtime(peer.system));
    peer_protocol::serve(&hello(peer.system, &runtime, &names), &mut peer)
}

/// As [`main`], with any input and output.
///
/// # Errors
/// If the input is not text, or the output is gone.
pub fn speak(mut peer: Peer, input: impl BufRead, output: impl Write) -> io::Result<()> {
    let (names, runtime): (Vec<_>, _) = (peer.cells().collect(), runtime(peer.system));
    let hello = hello(peer.system, &runtime, &names);
    peer_protocol::speak(&hello, &mut peer, input, output)
}

/// What a system runs on.
fn runtime(system: &str) -> String {
    const LOCK: &str = include_str!("../../../../Cargo.lock");
    let ours = concat!("tidings ", env!("CARGO_PKG_VERSION"));
    match system == SLIM {
        true => format!("{ours}, clients on tokio {}", version(LOCK, "tokio")),
        false => ours.to_owned(),
    }
}

fn hello<'a>(system: &'a str, runtime: &'a str, cells: &'a [&'a str]) -> Hello<'a> {
    Hello {
        system,
        peer: "tidings",
        version: env!("CARGO_PKG_VERSION"),
        runtime,
        flags: match system == SLIM {
            true => {
                "Runtime::builder().workers(threads), clients multi_thread with as many workers, all else by default"
            }
            false => "Runtime::builder().workers(threads), all else by default",
        },
        threads: default_threads(),
        caps: &["alloc", "units", "hist"],
        cells,
    }
}

/// The systems that this peer is: tidings as its users write most things, on tasks, channels and
/// sockets; the workloads of actors on the actor layer; those over TCP on links, by calls, by plain
/// messages and by slim clients; and the machine, without a runtime.
pub const SYSTEMS: [&str; 6] = [
    "tidings",
    "tidings-actors",
    "tidings-link",
    "tidings-link-messages",
    SLIM,
    "hardware",
];

/// Its clients are on another runtime.
const SLIM: &str = "tidings-link-slim";

/// The peer: the prepared cell and its runtime.
pub struct Peer {
    system: &'static str,
    cells: Cells,
    prepared: Option<Prepared>,
}

struct Prepared {
    sample: Sample,
    /// Dropped after the sample, which may hold things of it. Clients may be on another, of their own.
    runtime: Option<Runtime>,
}

impl Peer {
    /// One of [`SYSTEMS`], that has nothing prepared.
    ///
    /// # Panics
    /// If there is no such system.
    #[must_use]
    pub fn new(system: &str) -> Self {
        let [channels, actors, links, messages, _, hardware] = SYSTEMS;
        let (system, cells) = match system {
            _ if system == channels => (channels, cell::all()),
            _ if system == actors => (actors, actors::cells()),
            _ if system == links => (links, net::link::cells()),
            _ if system == messages => (messages, net::messages::cells()),
            _ if system == SLIM => (SLIM, net::slim::cells()),
            _ if system == hardware => (hardware, floor::cells()),
            _ => panic!("no system {system:?}"),
        };
        Self {
            system,
            cells,
            prepared: None,
        }
    }

    /// The names of all cells.
    pub fn cells(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.cells.keys().copied().collect::<Vec<_>>().into_iter()
    }

    /// Carries out a command other than `quit`; gives the line to answer.
    pub fn answer(&mut self, line: &str) -> String {
        peer_protocol::answer(self, line)
    }
}

impl peer_protocol::Peer for Peer {
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.prepared = None;
        let name = words.text("cell");
        let Some(&cell) = self.cells.get(name) else {
            return Err(Fault::Unsupported(format!("no cell {name:?}")));
        };
        let params = words.params(default_threads())?;
        let budget = match (cell.budget, params.batch) {
            (Some(budget), 0) => Some(budget),
            (Some(_), batch) => {
                within(&[("batch", batch, i64::from(u32::MAX))])?;
                Some(batch as u32)
            }
            (None, _) => None,
        };
        let (sample, runtime) = match (cell.outside, params.role) {
            (Some(outside), Role::Client(addr)) => (Sample::Clients(outside(addr, params)?), None),
            _ => {
                let runtime = cell::runtime(params.threads, budget)?;
                ((cell.make)(params, &runtime)?, Some(runtime))
            }
        };
        let more = match &sample {
            Sample::Clients(clients) => format!(",\"ready_ns\":{}", clients.ready().as_nanos()),
            Sample::Server(addr) => format!(",\"addr\":\"{addr}\""),
            Sample::Task(_) | Sample::Thread(_) => String::new(),
        };
        self.prepared = Some(Prepared { sample, runtime });
        Ok(more)
    }

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault> {
        let Some(Prepared { sample, runtime }) = &mut self.prepared else {
            return Err(Fault::bug("run without prep"));
        };
        if let Sample::Clients(clients) = sample
            && words.number("hist", 0)? == 1
        {
            let (rate, secs) = (words.number("rate", 0)?, words.number("secs", 0)?);
            return Ok(clients.paced(rate, secs)?.into());
        }
        let inner = words.inner()?;
        let (outcome, more) = words.counting(|| match sample {
            Sample::Task(start) => {
                let runtime = runtime.as_ref().expect("tasks are ours");
                let root = runtime.spawn(start(inner));
                runtime
                    .block_on(root)
                    .unwrap_or_else(|panic| Err(panic.into()))
            }
            Sample::Thread(run) => run(inner),
            Sample::Clients(clients) => clients.run(inner),
            Sample::Server(_) => Err(Fault::bug("a server runs nothing")),
        })?;
        let (time, counts) = outcome?;
        Ok(Sampled {
            inner,
            time,
            counts,
            more,
        })
    }

    fn end(&mut self) {
        self.prepared = None;
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer")
            .field("prepared", &self.prepared.is_some())
            .finish_non_exhaustive()
    }
}
