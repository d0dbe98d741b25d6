//! These transports behind the peer protocol.

use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

use peer_protocol::{Hello, Peer as _, Role, Sampled, Words, default_threads, serve, version};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::cells::{Cell, Driver, Fault, SYSTEMS, Shape, cells, within};
use crate::drive::Pacing;

const LOCK: &str = include_str!("../Cargo.lock");

/// The program: `--arena 1 --system NAME`.
pub(crate) fn main() -> ExitCode {
    let system = peer_protocol::system().unwrap_or_default();
    let cells = cells(&system);
    if cells.is_empty() {
        eprintln!("peer-rust-net speaks to the arena: --arena 1 --system {SYSTEMS:?}");
        return ExitCode::from(2);
    }
    let names: Vec<&str> = cells.iter().map(|cell| cell.name).collect();
    let mut peer = Peer {
        alone: system == "tokio-1t",
        pacing: match &*system {
            "tokio-timers" => Pacing::Timers,
            _ => Pacing::Thread,
        },
        cells,
        prepared: None,
    };
    let package = match &*system {
        "tokio-echo" | "tokio-timers" | "tokio-1t" => "tokio",
        "tokio-codec" => "tokio-util",
        other => other,
    };
    let threads = if peer.alone { 1 } else { default_threads() };
    let kind = match threads {
        1 => "current_thread",
        _ => "multi_thread",
    };
    let hello = Hello {
        system: &system,
        peer: "rust-net",
        version: version(LOCK, package),
        runtime: &format!("tokio {} {kind}", version(LOCK, "tokio")),
        flags: "TCP_NODELAY",
        threads,
        caps: &["hist"],
        cells: &names,
    };
    let code = serve(&hello, &mut peer);
    peer.end();
    code
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
    pacing: Pacing,
    cells: Vec<Cell>,
    prepared: Option<Prepared>,
}

impl peer_protocol::Peer for Peer {
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

    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.end();
        let name = words.text("cell");
        let cell = *self
            .cells
            .iter()
            .find(|cell| cell.name == name)
            .ok_or_else(|| Fault::Unsupported(format!("no cell {name:?}")))?;
        let threads = if self.alone {
            1
        } else {
            words.threads(default_threads())?
        };
        let (clients, requests) = (words.number("N", 0)?, words.number("M", 0)?);
        within(&[("N", clients, 100_000), ("M", requests, 1 << 31)])?;
        let pairs = clients as usize;
        let runtime = match threads {
            1 => Builder::new_current_thread().enable_all().build(),
            _ => Builder::new_multi_thread()
                .worker_threads(threads)
                .enable_all()
                .build(),
        };
        let runtime = runtime.map_err(|e| Fault::Limit(e.to_string()))?;
        let addr = match (cell.shape, words.role()?) {
            (Shape::OneProcess, _) => (cell.serve)(&runtime, pairs)?,
            (Shape::TwoProcesses, Role::Server) => {
                let addr = (cell.serve)(&runtime, pairs)?;
                let (stop, stopped) = oneshot::channel::<()>();
                let thread = std::thread::spawn(move || {
                    let _ = runtime.block_on(stopped);
                    runtime.shutdown_timeout(PATIENCE);
                });
                self.prepared = Some(Prepared::Server(stop, thread));
                return Ok(format!(",\"addr\":\"{addr}\""));
            }
            (Shape::TwoProcesses, Role::Client(addr)) => addr,
            (Shape::TwoProcesses, Role::None) => {
                return Err(Fault::Limit("role=: must be server or client".into()));
            }
        };
        let clients = (cell.connect)(&runtime, addr, pairs, requests)?;
        let ready = clients.ready().as_nanos();
        self.prepared = Some(Prepared::Clients(clients, runtime));
        Ok(format!(",\"ready_ns\":{ready}"))
    }

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault> {
        let (clients, runtime) = match &mut self.prepared {
            Some(Prepared::Clients(clients, runtime)) => (clients, &*runtime),
            Some(Prepared::Server(..)) => return Err(Fault::bug("a server runs nothing")),
            None => return Err(Fault::bug("run without prep")),
        };
        if words.number("hist", 0)? == 1 {
            let (rate, secs) = (words.number("rate", 0)?, words.number("secs", 0)?);
            return Ok(clients.paced(runtime, rate, secs, self.pacing)?.into());
        }
        let inner = words.inner()?;
        let (time, counts) = clients.run(runtime, inner)?;
        Ok(Sampled {
            inner,
            time,
            counts,
            more: String::new(),
        })
    }
}
