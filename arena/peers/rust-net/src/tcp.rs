//! Sockets: all without delay, and a task for each connection of a server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use peer_protocol::net::{Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::cells::Fault;

/// A stream, or a half of one.
pub(crate) struct Stream<S>(pub(crate) S);

impl<S: AsyncRead + Unpin + Send + 'static> Read for Stream<S> {
    async fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).await
    }
}

impl<S: AsyncWrite + Unpin + Send + 'static> Write for Stream<S> {
    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }
}

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
    let end = |_| {
        let make = make.clone();
        async move { make(connect(addr).await?).await }
    };
    at_once((0..pairs).map(end)).await
}

/// Does all of it at once, each in a task of its own. What each gives, in order.
pub(crate) async fn at_once<F, T>(futures: impl Iterator<Item = F>) -> Result<Vec<T>, Fault>
where
    F: Future<Output = Result<T, Fault>> + Send + 'static,
    T: Send + 'static,
{
    let tasks: Vec<_> = futures.map(tokio::spawn).collect();
    let mut done = Vec::with_capacity(tasks.len());
    for task in tasks {
        done.push(task.await??);
    }
    Ok(done)
}
