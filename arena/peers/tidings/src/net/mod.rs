//! The workload `net`: request and answer, without a socket and over TCP.
//!
//! | file | what |
//! |---|---|
//! | `local.rs` | `net/local`: channels |
//! | `drive.rs` | the clients of all others: connected once, timed many times |
//! | `frames.rs` | bare sockets, a connection per client |
//! | `mux.rs` | bare sockets, all pairs over one connection |
//! | `link.rs` | links, and actors called over them by their interface |
//! | `messages.rs` | actors that send each other messages over links |
//! | `slim.rs` | actors called over links by clients on tokio |

mod drive;
mod frames;
pub(crate) mod link;
mod local;
pub(crate) mod messages;
mod mux;
pub(crate) mod slim;

use std::net::SocketAddr;

use peer_protocol::net::Transport;
use tidings::{Handle, Runtime};

use crate::cell::{Cell, Cells, Driver, Fault, Make, Params, Role, Sample, sums_fit, within};
use drive::{Client, Clients};

/// A runtime that clients are on.
trait Host: Sized + 'static {
    /// Starts a task on the runtime of this thread. What it gives, or how it panicked.
    fn task<F>(future: F) -> impl Future<Output = Result<F::Output, Fault>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Runs a future in a task, from a thread that is none of the runtime's, so that waking this one is
    /// not timed.
    fn run<F>(&self, future: F) -> Result<F::Output, Fault>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Does all of it at once, each in a task of its own. What each gives, in order.
    fn at_once<F, T>(
        futures: impl Iterator<Item = F> + Send,
    ) -> impl Future<Output = Result<Vec<T>, Fault>> + Send
    where
        F: Future<Output = Result<T, Fault>> + Send + 'static,
        T: Send + 'static,
    {
        let tasks: Vec<_> = futures.map(Self::task).collect();
        async move {
            let mut done = Vec::with_capacity(tasks.len());
            for task in tasks {
                done.push(task.await??);
            }
            Ok(done)
        }
    }
}

impl Host for Handle {
    fn task<F>(future: F) -> impl Future<Output = Result<F::Output, Fault>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = tidings::spawn(future);
        async move { Ok(task.await?) }
    }

    fn run<F>(&self, future: F) -> Result<F::Output, Fault>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.block_on(self.spawn(future))?)
    }
}

/// How the pairs of a cell are made.
trait Pairs: 'static {
    /// What the clients are on. The servers are on a runtime of ours.
    type Host: Host;
    type Client: Client;

    /// Serves until the runtime ends; gives the address.
    fn serve(pairs: usize) -> impl Future<Output = Result<SocketAddr, Fault>> + Send;

    /// Connects all clients.
    fn connect(
        addr: SocketAddr,
        pairs: usize,
    ) -> impl Future<Output = Result<Vec<Self::Client>, Fault>> + Send;
}

/// Clients that are tasks of ours.
impl<T: Transport> Pairs for T {
    type Host = Handle;
    type Client = T::End;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        T::serve(pairs).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<T::End>, Fault> {
        T::connect(addr, pairs).await
    }
}

fn sizes(params: Params) -> Result<usize, Fault> {
    let (n, m) = (params.N, params.M);
    within(&[("N", n, 100_000), ("M", m, 1 << 31)])?;
    sums_fit(n, m)?;
    Ok(n as usize)
}

fn clients<P: Pairs>(
    host: P::Host,
    addr: SocketAddr,
    params: Params,
) -> Result<Box<dyn Driver>, Fault> {
    let pairs = sizes(params)?;
    let clients = Clients::<P>::connect(host, addr, pairs, params.M)?;
    Ok(Box::new(clients))
}

fn serve<P: Pairs>(params: Params, runtime: &Runtime) -> Result<SocketAddr, Fault> {
    let pairs = sizes(params)?;
    runtime.handle().run(async move { P::serve(pairs).await })?
}

/// One of the processes of a cell that has two.
fn two_processes<P: Pairs<Host = Handle>>(
    params: Params,
    runtime: &Runtime,
) -> Result<Sample, Fault> {
    match params.role {
        Role::Client(addr) => clients::<P>(runtime.handle(), addr, params).map(Sample::Clients),
        _ => server::<P>(params, runtime),
    }
}

/// The server of a cell that has two processes.
fn server<P: Pairs>(params: Params, runtime: &Runtime) -> Result<Sample, Fault> {
    match params.role {
        Role::Server => serve::<P>(params, runtime).map(Sample::Server),
        _ => {
            sizes(params)?;
            Err(Fault::Limit("role=: must be server or client".into()))
        }
    }
}

/// Both roles in one process and runtime.
fn one_process<P: Pairs<Host = Handle>>(
    params: Params,
    runtime: &Runtime,
) -> Result<Sample, Fault> {
    let addr = serve::<P>(params, runtime)?;
    clients::<P>(runtime.handle(), addr, params).map(Sample::Clients)
}

/// The cells of two ways to make pairs: a connection per client, and one for all.
fn over<Each: Pairs<Host = Handle>, Mux: Pairs<Host = Handle>>() -> Cells {
    let cells: [(&str, Make); 4] = [
        ("net/echo", two_processes::<Each>),
        ("net/echo-mux", two_processes::<Mux>),
        ("net/echo-oneproc", one_process::<Each>),
        ("net/paced", two_processes::<Each>),
    ];
    cells.map(|(name, make)| (name, Cell::of(make))).into()
}

pub(crate) fn cells() -> Cells {
    let mut cells = local::cells();
    cells.extend(over::<frames::Frames, mux::Mux>());
    cells
}
