//! Sockets: all without delay, and a task for each connection of a server.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::cells::Fault;

/// Listens where the system likes. tokio's own backlog is 1,024: with more clients at once some would wait a second to try
/// again.
pub(crate) fn listen() -> Result<TcpListener, Fault> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok(socket.listen(4096)?)
}

/// Accepts for ever; `handle` gets each connection in a task of its own.
pub(crate) async fn serve<F, H>(handle: H) -> Result<SocketAddr, Fault>
where
    H: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let listener = listen()?;
    let addr = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let accepted = listener.accept().await;
            let stream = match accepted.and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(stream)
            }) {
                Ok(stream) => stream,
                Err(e) => {
                    eprintln!("peer-rust-net: accept: {e}");
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            let connection = handle(stream);
            tokio::spawn(async move {
                if let Err(fault) = connection.await {
                    eprintln!("peer-rust-net: a connection ended: {fault:?}");
                }
            });
        }
    });
    Ok(addr)
}

pub(crate) async fn connect(addr: SocketAddr) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection for each client, all at once.
pub(crate) async fn connect_each<E, F, M>(
    addr: SocketAddr,
    pairs: usize,
    make: M,
) -> Result<Vec<E>, Fault>
where
    E: Send + 'static,
    F: Future<Output = Result<E, Fault>> + Send + 'static,
    M: Fn(TcpStream) -> F + Clone + Send + Sync + 'static,
{
    let tasks: Vec<_> = (0..pairs)
        .map(|_| {
            let make = make.clone();
            tokio::spawn(async move { make(connect(addr).await?).await })
        })
        .collect();
    let mut ends = Vec::with_capacity(pairs);
    for task in tasks {
        ends.push(task.await??);
    }
    Ok(ends)
}
