//! The actors of `link.rs`, called by slim clients: the system `tidings-link-slim`. The process of the
//! clients has tokio's runtime and none of ours; sockets and tasks are tokio's, references are what they
//! are elsewhere.

use std::net::SocketAddr;

use tidings_link::{Link, link};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_util::compat::TokioAsyncReadCompatExt as _;

use super::link::{Caller, Linking, connect, mirror, options, serve};
use super::{Host, Pairs, clients, server};
use crate::cell::{Cell, Cells, Driver, Fault, Make, Outside, Params};

/// A runtime of tokio's, as `#[tokio::main]` has it, with the number of workers asked for.
struct Tokio(Runtime);

impl Host for Tokio {
    fn task<F>(future: F) -> impl Future<Output = Result<F::Output, Fault>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = tokio::spawn(future);
        async move { Ok(task.await?) }
    }

    fn run<F>(&self, future: F) -> Result<F::Output, Fault>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.0.block_on(self.0.spawn(future))?)
    }
}

impl Linking for Tokio {
    async fn link(addr: SocketAddr) -> Result<Link, Fault> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        let (link, driver) = link(stream.compat(), options("client"));
        drop(tokio::spawn(driver));
        Ok(link)
    }
}

/// A link for each client, or one for all.
struct Slim<const EACH: bool>;

impl<const EACH: bool> Pairs for Slim<EACH> {
    type Host = Tokio;
    type Client = Caller;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        serve(pairs, mirror).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<Caller>, Fault> {
        connect::<Tokio, EACH, _, _>(addr, pairs, Caller).await
    }
}

fn outside<P: Pairs<Host = Tokio>>(
    addr: SocketAddr,
    params: Params,
) -> Result<Box<dyn Driver>, Fault> {
    let threads = params.threads as usize;
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?;
    clients::<P>(Tokio(runtime), addr, params)
}

pub(crate) fn cells() -> Cells {
    let cells: [(&str, Make, Outside); 3] = [
        ("net/echo", server::<Slim<true>>, outside::<Slim<true>>),
        (
            "net/echo-mux",
            server::<Slim<false>>,
            outside::<Slim<false>>,
        ),
        ("net/paced", server::<Slim<true>>, outside::<Slim<true>>),
    ];
    let cell = |(name, make, outside)| {
        let outside = Some(outside);
        (
            name,
            Cell {
                outside,
                ..Cell::of(make)
            },
        )
    };
    cells.map(cell).into()
}
