//! Clusters on NATS as a peer of the arena: the cell `net/cluster` of `WORKLOADS.md` by `tidings-nats`, through NATS and
//! directly, and by bare async-nats. The process of the servers also starts nats-server, whose address it gives.

mod bare;
mod cluster;
mod server;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use peer_protocol::{
    Fault, Hello, Outcome, Role, Sampled, Words, default_threads, serve, version, within,
};

const LOCK: &str = include_str!("../Cargo.lock");

/// Through NATS, directly, and without tidings.
const SYSTEMS: [&str; 3] = ["tidings-nats", "tidings-nats-direct", "async-nats"];
const CELL: &str = "net/cluster";

/// What `prep` asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    threads: usize,
    pairs: usize,
    requests: i64,
}

/// Clients that are connected.
pub(crate) trait Clients {
    /// How long that took.
    fn ready(&self) -> Duration;
    fn run(&mut self, inner: i64) -> Outcome;
}

enum Prepared {
    Clients(Box<dyn Clients>),
    /// What serves until it is dropped.
    Server(#[expect(dead_code, reason = "it is kept")] Box<dyn std::any::Any>),
}

struct Peer {
    system: &'static str,
    prepared: Option<Prepared>,
}

impl Peer {
    fn serve(&self, sizes: Sizes) -> Result<(Box<dyn std::any::Any>, SocketAddr), Fault> {
        let [_, direct, bare] = SYSTEMS;
        match self.system {
            it if it == bare => bare::serve(sizes),
            it => cluster::serve(sizes, it == direct),
        }
    }

    fn connect(&self, addr: SocketAddr, sizes: Sizes) -> Result<Box<dyn Clients>, Fault> {
        let [_, _, bare] = SYSTEMS;
        match self.system {
            it if it == bare => bare::connect(addr, sizes),
            _ => cluster::connect(addr, sizes),
        }
    }
}

impl peer_protocol::Peer for Peer {
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.end();
        let name = words.text("cell");
        if name != CELL {
            return Err(Fault::Unsupported(format!("no cell {name:?}")));
        }
        let (n, m) = (words.number("N", 0)?, words.number("M", 0)?);
        within(&[("N", n, 10_000), ("M", m, 1 << 31)])?;
        let sizes = Sizes {
            threads: words.threads(default_threads())?,
            pairs: n as usize,
            requests: m,
        };
        let (prepared, more) = match words.role()? {
            Role::Server => {
                let (server, addr) = self.serve(sizes)?;
                (Prepared::Server(server), format!(",\"addr\":\"{addr}\""))
            }
            Role::Client(addr) => {
                let clients = self.connect(addr, sizes)?;
                let ready = clients.ready().as_nanos();
                (Prepared::Clients(clients), format!(",\"ready_ns\":{ready}"))
            }
            Role::None => return Err(Fault::Limit("role=: must be server or client".into())),
        };
        self.prepared = Some(prepared);
        Ok(more)
    }

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault> {
        let clients = match &mut self.prepared {
            Some(Prepared::Clients(clients)) => clients,
            Some(Prepared::Server(_)) => return Err(Fault::bug("a server runs nothing")),
            None => return Err(Fault::bug("run without prep")),
        };
        let inner = words.inner()?;
        let (time, counts) = clients.run(inner)?;
        Ok(Sampled {
            inner,
            time,
            counts,
            more: String::new(),
        })
    }

    fn end(&mut self) {
        self.prepared = None;
    }
}

fn main() -> ExitCode {
    let asked = peer_protocol::system().unwrap_or_default();
    let Some(system) = SYSTEMS.into_iter().find(|system| *system == asked) else {
        eprintln!("peer-nats speaks to the arena: --arena 1 --system {SYSTEMS:?}");
        return ExitCode::from(2);
    };
    let package = match system {
        "async-nats" => system,
        _ => "tidings-nats",
    };
    let runtime = match system {
        "async-nats" => format!("tokio {} multi_thread", version(LOCK, "tokio")),
        _ => format!("tidings {}", version(LOCK, "tidings")),
    };
    let hello = Hello {
        system,
        peer: "nats",
        version: version(LOCK, package),
        runtime: &runtime,
        flags: "nats-server 2.15.2 beside the servers",
        threads: default_threads(),
        caps: &[],
        cells: &[CELL],
    };
    let mut peer = Peer {
        system,
        prepared: None,
    };
    serve(&hello, &mut peer)
}
