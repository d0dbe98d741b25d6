//! The sockets of simulated nodes, as `tidings::net` asks for them.

use std::future::poll_fn;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use tidings::net::{Accept, Connecting, Network, Socket};

use crate::world::World;

/// The network as a node sees it; a node that was restarted is another.
pub(crate) struct NodeNetwork {
    pub(crate) world: World,
    pub(crate) node: usize,
}

impl Network for NodeNetwork {
    fn connect(&self, to: SocketAddr) -> Connecting {
        let (world, node) = (self.world.clone(), self.node);
        Box::pin(async move {
            let id = world.with_net(|net, context| net.connect(node, to, context))?;
            // Dropped before it is made, it is given up.
            let stream = Stream { world, id, end: 0 };
            poll_fn(|cx| {
                let mut waker = Some(cx.waker().clone());
                let connected = stream
                    .world
                    .with_net(|net, _| net.connected(id, &mut waker));
                connected.map_or(Poll::Pending, Poll::Ready)
            })
            .await?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        })
    }

    fn bind(&self, at: SocketAddr) -> Result<Box<dyn Accept>> {
        let at = self.world.with_net(|net, _| net.listen(self.node, at))?;
        let world = self.world.clone();
        let node = self.node;
        Ok(Box::new(Listener { world, node, at }))
    }

    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>> {
        if name == "localhost" {
            return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
        }
        match self.world.lock().nodes.ips(name) {
            ips if ips.is_empty() => {
                let why = format!("no node is called {name:?}");
                Err(Error::new(ErrorKind::NotFound, why))
            }
            ips => Ok(ips),
        }
    }
}

struct Listener {
    world: World,
    node: usize,
    at: SocketAddr,
}

impl Listener {
    /// As the network knows it.
    fn place(&self) -> (usize, u16) {
        (self.node, self.at.port())
    }
}

impl Accept for Listener {
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Result<Box<dyn Socket>>> {
        let mut waker = Some(cx.waker().clone());
        let accepted = self
            .world
            .with_net(|net, _| net.accept(self.place(), &mut waker));
        match accepted {
            Ok(Some(id)) => {
                let world = self.world.clone();
                Poll::Ready(Ok(Box::new(Stream { world, id, end: 1 })))
            }
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.at)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.world
            .with_net(|net, context| net.unlisten(self.place(), context));
    }
}

/// One end of a connection.
struct Stream {
    world: World,
    id: usize,
    end: usize,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.world
            .with_net(|net, context| net.drop_end(self.id, self.end, context));
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize>> {
        let (id, end) = (self.id, self.end);
        let mut waker = Some(cx.waker().clone());
        self.world.with_net(|net, context| {
            if !net.readable(id, end, &mut waker) {
                return Poll::Pending;
            }
            Poll::Ready(net.read(id, end, into, context))
        })
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let (id, end) = (self.id, self.end);
        let mut waker = Some(cx.waker().clone());
        self.world.with_net(|net, context| {
            if !net.writable(id, end, &mut waker) {
                return Poll::Pending;
            }
            Poll::Ready(net.write(id, end, bytes, context))
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        let (id, end) = (self.id, self.end);
        self.world
            .with_net(|net, context| net.close(id, end, context));
        Poll::Ready(Ok(()))
    }
}

impl Socket for Stream {
    fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self
            .world
            .with_net(|net, _| net.addresses(self.id, self.end))[0])
    }

    fn peer_addr(&self) -> Result<SocketAddr> {
        Ok(self
            .world
            .with_net(|net, _| net.addresses(self.id, self.end))[1])
    }

    fn set_zero_linger(&mut self) -> Result<()> {
        self.world.with_net(|net, _| net.give_up(self.id, self.end));
        Ok(())
    }
}
