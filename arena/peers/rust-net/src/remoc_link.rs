//! remoc: a remote trait per pair, its server a task of its own; a shared connection multiplexes them by remoc's ports.

use std::net::SocketAddr;
use std::sync::Arc;

use peer_protocol::net::{End, Transport};
use remoc::prelude::*;
use remoc::rch::base;
use tokio::net::TcpStream;

use crate::cells::Fault;
use crate::tcp;

#[remoc::rtc::remote]
pub trait Echo {
    async fn echo(&self, number: i64) -> Result<i64, remoc::rtc::CallError>;
}

struct Servant;

impl Echo for Servant {
    async fn echo(&self, number: i64) -> Result<i64, remoc::rtc::CallError> {
        Ok(number)
    }
}

/// Room for the ports of so many pairs: of the connection, and of the one message that brings the clients.
fn config(pairs: usize) -> remoc::Cfg {
    let mut config = remoc::Cfg::default();
    let ports = u32::try_from(8 * pairs).unwrap_or(u32::MAX);
    config.max_ports = config.max_ports.max(ports);
    config.max_received_ports = config.max_received_ports.max(8 * pairs);
    config
}

async fn serve_pairs(stream: TcpStream, pairs: usize) -> Result<(), Fault> {
    let (from, to) = stream.into_split();
    let (connection, mut sender, _receiver): (
        _,
        base::Sender<Vec<EchoClient>>,
        base::Receiver<()>,
    ) = remoc::Connect::io(config(pairs), from, to)
        .await
        .map_err(Fault::bug)?;
    let running = tokio::spawn(connection);
    let mut clients = Vec::with_capacity(pairs);
    for _ in 0..pairs {
        let (server, client) = EchoServerShared::new(Arc::new(Servant));
        tokio::spawn(async move {
            if let Err(e) = server.serve().await {
                eprintln!("peer-rust-net: a server of remoc: {e}");
            }
        });
        clients.push(client);
    }
    if let Err(e) = sender.send(clients).await {
        return Err(Fault::Bug(format!("cannot send the clients: {e}")));
    }
    running.await?.map_err(Fault::bug)
}

/// The clients of a connection, as the server made them.
async fn clients(stream: TcpStream, pairs: usize) -> Result<Vec<RemocEnd>, Fault> {
    let (from, to) = stream.into_split();
    let (connection, _sender, mut receiver): (
        _,
        base::Sender<()>,
        base::Receiver<Vec<EchoClient>>,
    ) = remoc::Connect::io(config(pairs), from, to)
        .await
        .map_err(Fault::bug)?;
    tokio::spawn(async move {
        if let Err(e) = connection.await {
            eprintln!("peer-rust-net: a connection of remoc: {e}");
        }
    });
    let clients = receiver.recv().await.map_err(Fault::bug)?;
    let clients = clients.ok_or_else(|| Fault::Bug("the server sent no clients".into()))?;
    if clients.len() != pairs {
        return Err(Fault::Bug(format!(
            "{} clients for {pairs} pairs",
            clients.len()
        )));
    }
    Ok(clients.into_iter().map(RemocEnd).collect())
}

pub(crate) struct RemocEnd(EchoClient);

impl End for RemocEnd {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        self.0.echo(number).await.map_err(Fault::bug)
    }
}

/// A connection per client.
pub(crate) struct Each;

impl Transport for Each {
    type End = RemocEnd;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(|stream| serve_pairs(stream, 1)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<RemocEnd>, Fault> {
        tcp::connect_each(addr, pairs, |stream| async {
            let mut ends = clients(stream, 1).await?;
            ends.pop().ok_or_else(|| Fault::Bug("no client".into()))
        })
        .await
    }
}

/// One connection for all clients.
pub(crate) struct Shared;

impl Transport for Shared {
    type End = RemocEnd;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(move |stream| serve_pairs(stream, pairs)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<RemocEnd>, Fault> {
        clients(tcp::connect(addr).await?, pairs).await
    }
}
