//! tarpc over its serde transport with bincode: a handler per request, replies found by the request's id.

use std::net::SocketAddr;

use futures::StreamExt;
use peer_protocol::net::{End, Transport};
use tarpc::server::{self, Channel};
use tarpc::{client, context, serde_transport};
use tokio::net::TcpStream;
use tokio_serde::formats::Bincode;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::cells::Fault;
use crate::tcp;

#[tarpc::service]
pub trait Echo {
    async fn echo(pair: u32, number: i64) -> (u32, i64);
}

#[derive(Clone)]
struct Servant;

impl Echo for Servant {
    async fn echo(self, _: context::Context, pair: u32, number: i64) -> (u32, i64) {
        (pair, number)
    }
}

async fn serve_one(stream: TcpStream, in_flight: usize) -> Result<(), Fault> {
    let framed = Framed::new(stream, LengthDelimitedCodec::new());
    let transport = serde_transport::new(framed, Bincode::default());
    let config = server::Config {
        pending_response_buffer: in_flight,
    };
    server::BaseChannel::new(config, transport)
        .execute(Servant.serve())
        .for_each(|response| async {
            tokio::spawn(response);
        })
        .await;
    Ok(())
}

fn client(stream: TcpStream, in_flight: usize) -> EchoClient {
    let framed = Framed::new(stream, LengthDelimitedCodec::new());
    let transport = serde_transport::new(framed, Bincode::default());
    let mut config = client::Config::default();
    config.max_in_flight_requests = in_flight;
    config.pending_request_buffer = in_flight;
    EchoClient::new(config, transport).spawn()
}

pub(crate) struct TarpcEnd {
    client: EchoClient,
    pair: u32,
}

impl End for TarpcEnd {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        let reply = self.client.echo(context::current(), self.pair, number);
        let (pair, number) = reply.await.map_err(Fault::bug)?;
        if pair == self.pair {
            Ok(number)
        } else {
            let own = self.pair;
            Err(Fault::Bug(format!("pair {own} got the reply of {pair}")))
        }
    }
}

/// Requests that may be under way on a connection with one client.
const FEW: usize = 16;

/// A connection per client.
pub(crate) struct Each;

impl Transport for Each {
    type End = TarpcEnd;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(|stream| serve_one(stream, FEW)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<TarpcEnd>, Fault> {
        tcp::connect_each(addr, pairs, |stream| async {
            let client = client(stream, FEW);
            Ok(TarpcEnd { client, pair: 0 })
        })
        .await
    }
}

/// One connection for all clients.
pub(crate) struct Shared;

impl Transport for Shared {
    type End = TarpcEnd;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(move |stream| serve_one(stream, pairs + FEW)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<TarpcEnd>, Fault> {
        let client = client(tcp::connect(addr).await?, pairs + FEW);
        let end = |pair| TarpcEnd {
            client: client.clone(),
            pair,
        };
        Ok((0..pairs as u32).map(end).collect())
    }
}
