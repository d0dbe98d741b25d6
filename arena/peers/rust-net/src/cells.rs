//! What a cell is, and which system has which.

use std::net::SocketAddr;
use std::time::Duration;

use peer_protocol::net::{Paced, Transport};
pub(crate) use peer_protocol::{Counts, Fault, within};
use tokio::runtime::Runtime;

use crate::drive::{Clients, Pacing};
use crate::{bare, codec, mux, remoc_link, tarpc_link, tonic_link};

/// Clients that are connected, whatever they are connected by.
pub(crate) trait Driver {
    fn ready(&self) -> Duration;
    fn run(&mut self, runtime: &Runtime, inner: i64) -> Result<(Duration, Counts), Fault>;
    fn paced(
        &mut self,
        runtime: &Runtime,
        rate: i64,
        secs: i64,
        pacing: Pacing,
    ) -> Result<Paced, Fault>;
}

/// Makes a server; inside the runtime.
pub(crate) type Serve = fn(&Runtime, usize) -> Result<SocketAddr, Fault>;
/// Makes N clients of M requests each, and one verified echo of each.
pub(crate) type Connect = fn(&Runtime, SocketAddr, usize, i64) -> Result<Box<dyn Driver>, Fault>;

/// Which processes a cell has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    TwoProcesses,
    OneProcess,
}

#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) serve: Serve,
    pub(crate) connect: Connect,
}

fn cell<T: Transport>(name: &'static str, shape: Shape) -> Cell {
    Cell {
        name,
        shape,
        serve: |runtime, pairs| runtime.block_on(T::serve(pairs)),
        connect: |runtime, addr, pairs, requests| {
            let clients = runtime.block_on(Clients::connect::<T>(addr, pairs, requests))?;
            Ok(Box::new(clients))
        },
    }
}

/// The systems of this pack.
pub(crate) const SYSTEMS: [&str; 7] = [
    "tokio-echo",
    "tokio-timers",
    "tokio-codec",
    "tokio-1t",
    "tonic",
    "tarpc",
    "remoc",
];

/// The cells of a system; none if there is no such system.
pub(crate) fn cells(system: &str) -> Vec<Cell> {
    fn of<Each: Transport, Mux: Transport>(paced: bool) -> Vec<Cell> {
        let mut cells = vec![
            cell::<Each>("net/echo", Shape::TwoProcesses),
            cell::<Mux>("net/echo-mux", Shape::TwoProcesses),
            cell::<Each>("net/echo-oneproc", Shape::OneProcess),
        ];
        if paced {
            cells.push(cell::<Each>("net/paced", Shape::TwoProcesses));
        }
        cells
    }
    match system {
        "tokio-echo" => of::<bare::Bare, mux::Mux<bare::BareParcels>>(true),
        "tokio-timers" => vec![cell::<bare::Bare>("net/paced", Shape::TwoProcesses)],
        "tokio-codec" => of::<codec::Codec, mux::Mux<codec::CodecParcels>>(true),
        "tokio-1t" => of::<codec::Codec, mux::Mux<codec::CodecParcels>>(false),
        "tonic" => of::<tonic_link::Each, tonic_link::Shared>(false),
        "tarpc" => of::<tarpc_link::Each, tarpc_link::Shared>(false),
        "remoc" => of::<remoc_link::Each, remoc_link::Shared>(false),
        _ => Vec::new(),
    }
}
