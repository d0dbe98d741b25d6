//! The runtime's sockets and nothing else: frames by hand, a connection per client.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use peer_protocol::net::{Framed, Read, Transport, Write};
use tidings::Handle;
use tidings::net::{TcpListener, TcpStream};

use super::Host as _;
use crate::cell::Fault;

/// A stream, or a half of one.
pub(super) struct Stream<S>(pub(super) S);

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

/// Accepts for ever; `handle` gets each connection in a task of its own.
pub(super) async fn serve<F, H>(handle: H) -> Result<SocketAddr, Fault>
where
    H: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let addr = listener.local_addr()?;
    drop(tidings::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = handle(stream);
            drop(tidings::spawn(async move {
                if let Err(fault) = connection.await {
                    eprintln!("peer-tidings: a connection ended: {fault:?}");
                }
            }));
        }
        #[expect(unreachable_code, reason = "tells the type")]
        Ok::<(), Fault>(())
    }));
    Ok(addr)
}

pub(super) async fn connect(addr: SocketAddr) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection for each client, all at once.
pub(super) struct Frames;

impl Transport for Frames {
    type End = Framed<Stream<TcpStream>>;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        serve(|stream| Framed::new(Stream(stream)).serve()).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<Self::End>, Fault> {
        let end = |_| async move { Ok(Framed::new(Stream(connect(addr).await?))) };
        Handle::at_once((0..pairs).map(end)).await
    }
}
