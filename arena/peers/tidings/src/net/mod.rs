//! The workload `net`: request and answer, without a socket and over TCP.
//!
//! | file | what |
//! |---|---|
//! | `local.rs` | `net/local`: channels |
//! | `drive.rs` | the clients of all others: connected once, timed many times |
//! | `frames.rs` | bare sockets, a connection per client |
//! | `mux.rs` | bare sockets, all pairs over one connection |
//! | `link.rs` | actors over links |

mod drive;
mod frames;
pub(crate) mod link;
mod local;
mod mux;

use std::net::SocketAddr;

use peer_protocol::net::Transport;
use tidings::Runtime;

use crate::cell::{Cell, Cells, Fault, Make, Params, Role, Sample, sums_fit, within};
pub(crate) use drive::Clients;

/// Does all of it at once, each in a task of its own. What each gives, in order.
async fn at_once<F, T>(futures: impl Iterator<Item = F>) -> Result<Vec<T>, Fault>
where
    F: Future<Output = Result<T, Fault>> + Send + 'static,
    T: Send + 'static,
{
    let tasks: Vec<_> = futures.map(tidings::spawn).collect();
    let mut done = Vec::with_capacity(tasks.len());
    for task in tasks {
        done.push(task.await??);
    }
    Ok(done)
}

fn sizes(params: Params) -> Result<usize, Fault> {
    let (n, m) = (params.N, params.M);
    within(&[("N", n, 100_000), ("M", m, 1 << 31)])?;
    sums_fit(n, m)?;
    Ok(n as usize)
}

fn clients<T: Transport>(
    addr: SocketAddr,
    params: Params,
    runtime: &Runtime,
) -> Result<Sample, Fault> {
    let pairs = sizes(params)?;
    let clients = runtime.spawn(Clients::connect::<T>(addr, pairs, params.M));
    Ok(Sample::Clients(Box::new(runtime.block_on(clients)??)))
}

fn serve<T: Transport>(pairs: usize, runtime: &Runtime) -> Result<SocketAddr, Fault> {
    runtime.block_on(runtime.spawn(async move { T::serve(pairs).await }))?
}

/// One of the processes of a cell that has two.
fn two_processes<T: Transport>(params: Params, runtime: &Runtime) -> Result<Sample, Fault> {
    match params.role {
        Role::Server => Ok(Sample::Server(serve::<T>(sizes(params)?, runtime)?)),
        Role::Client(addr) => clients::<T>(addr, params, runtime),
        Role::None => {
            sizes(params)?;
            Err(Fault::Limit("role=: must be server or client".into()))
        }
    }
}

/// Both roles in one process and runtime.
fn one_process<T: Transport>(params: Params, runtime: &Runtime) -> Result<Sample, Fault> {
    let addr = serve::<T>(sizes(params)?, runtime)?;
    clients::<T>(addr, params, runtime)
}

/// The cells of a pair of transports: a connection per client, and one for all.
pub(crate) fn over<Each: Transport, Mux: Transport>() -> Cells {
    let cells: [(&str, Make); 4] = [
        ("net/echo", two_processes::<Each>),
        ("net/echo-mux", two_processes::<Mux>),
        ("net/echo-oneproc", one_process::<Each>),
        ("net/paced", two_processes::<Each>),
    ];
    let cell = |make| Cell { make, budget: None };
    cells.map(|(name, make)| (name, cell(make))).into()
}

pub(crate) fn cells() -> Cells {
    let mut cells = local::cells();
    cells.extend(over::<frames::Frames, mux::Mux>());
    cells
}
