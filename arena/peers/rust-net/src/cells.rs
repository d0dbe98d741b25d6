//! What a cell is, and which system has which.

use std::net::SocketAddr;
use std::ops::AddAssign;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::drive::{Clients, Latencies};
use crate::{bare, codec, mux, remoc_link, tarpc_link, tonic_link};

/// What one repetition, or the sum of several, really did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) msgs: i64,
    pub(crate) units: i64,
    pub(crate) check: i64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.msgs += other.msgs;
        self.units += other.units;
        self.check += other.check;
    }
}

/// Why a command was not carried out.
#[derive(Debug)]
pub(crate) enum Fault {
    Unsupported(String),
    Limit(String),
    Bug(String),
}

impl Fault {
    pub(crate) fn bug(error: impl std::fmt::Display) -> Self {
        Self::Bug(error.to_string())
    }
}

impl From<std::io::Error> for Fault {
    fn from(e: std::io::Error) -> Self {
        Self::Bug(e.to_string())
    }
}

impl From<tokio::task::JoinError> for Fault {
    fn from(e: tokio::task::JoinError) -> Self {
        Self::Bug(e.to_string())
    }
}

/// Refuses sizes below 1 or above `max`.
pub(crate) fn within(sizes: &[(&str, i64, i64)]) -> Result<(), Fault> {
    match sizes
        .iter()
        .find(|(_, value, max)| !(1..=*max).contains(value))
    {
        Some((name, value, max)) => Err(Fault::Limit(format!(
            "{name}={value}: this peer takes 1 to {max}"
        ))),
        None => Ok(()),
    }
}

/// A client's end of a pair. The reply is verified by who calls.
pub(crate) trait End: Send + 'static {
    fn echo(&mut self, number: i64) -> impl Future<Output = Result<i64, Fault>> + Send;
}

/// How a system makes its pairs.
pub(crate) trait Transport: 'static {
    type End: End;

    /// Serves until the runtime ends; gives the address.
    fn serve(pairs: usize) -> impl Future<Output = Result<SocketAddr, Fault>> + Send;

    /// Connects all clients.
    fn connect(
        addr: SocketAddr,
        pairs: usize,
    ) -> impl Future<Output = Result<Vec<Self::End>, Fault>> + Send;
}

/// Clients that are connected, whatever they are connected by.
pub(crate) trait Driver {
    fn ready(&self) -> Duration;
    fn run(&mut self, runtime: &Runtime, inner: i64) -> Result<(Duration, Counts), Fault>;
    fn paced(
        &mut self,
        runtime: &Runtime,
        rate: i64,
        secs: i64,
    ) -> Result<(Duration, Counts, Latencies), Fault>;
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
pub(crate) const SYSTEMS: [&str; 6] = [
    "tokio-echo",
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
        "tokio-codec" => of::<codec::Codec, mux::Mux<codec::CodecParcels>>(true),
        "tokio-1t" => of::<codec::Codec, mux::Mux<codec::CodecParcels>>(false),
        "tonic" => of::<tonic_link::Each, tonic_link::Shared>(false),
        "tarpc" => of::<tarpc_link::Each, tarpc_link::Shared>(false),
        "remoc" => of::<remoc_link::Each, remoc_link::Shared>(false),
        _ => Vec::new(),
    }
}
