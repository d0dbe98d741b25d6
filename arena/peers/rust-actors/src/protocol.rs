//! These libraries behind the peer protocol.

use std::mem::ManuallyDrop;
use std::process::ExitCode;

use peer_protocol::{Hello, Sampled, Words, argument, serve, version};

use crate::cells::{Cells, Fault, SYSTEMS, Sample};

const LOCK: &str = include_str!("../Cargo.lock");

/// The program: `--arena 1 --system NAME [--threads N]`.
pub fn main() -> ExitCode {
    let name = peer_protocol::system().unwrap_or_default();
    let Some(system) = SYSTEMS.iter().find(|s| s.name == name) else {
        let names = SYSTEMS.map(|s| s.name);
        eprintln!("peer-rust-actors speaks to the arena: --arena 1 --system, one of {names:?}");
        return ExitCode::from(2);
    };
    let threads = argument("--threads").and_then(|t| t.parse().ok());
    let threads =
        threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let cells = (system.cells)();
    let names: Vec<&str> = cells.keys().copied().collect();
    let (package, kind) = system.on;
    let (on, kind) = (version(LOCK, package), kind(threads));
    let hello = Hello {
        system: system.name,
        peer: "rust-actors",
        version: version(LOCK, system.name),
        runtime: &format!("{package} {on}, {kind}"),
        flags: "allocator=system",
        threads,
        caps: &["alloc"],
        cells: &names,
    };
    // Never dropped: threads of a library that never end would be waited for.
    let mut peer = ManuallyDrop::new(Peer {
        cells,
        threads,
        sample: None,
    });
    serve(&hello, &mut *peer)
}

struct Peer {
    cells: Cells,
    threads: usize,
    sample: Option<Sample>,
}

impl peer_protocol::Peer for Peer {
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.sample = None;
        let name = words.text("cell");
        let make = *self
            .cells
            .get(name)
            .ok_or_else(|| Fault::Unsupported(format!("no cell {name:?}")))?;
        self.sample = Some(make(words.params(self.threads)?)?);
        Ok(String::new())
    }

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault> {
        let sample = self.sample.as_mut();
        let sample = sample.ok_or_else(|| Fault::bug("run without prep"))?;
        let inner = words.inner()?;
        let (outcome, more) = words.counting(|| sample(inner))?;
        let (time, counts) = outcome?;
        Ok(Sampled {
            inner,
            time,
            counts,
            more,
        })
    }

    fn end(&mut self) {
        self.sample = None;
    }
}
