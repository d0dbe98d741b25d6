//! Links (`tidings-link`), and actors that are called over them by the reference that their own process
//! would use: the system `tidings-link`. An interface, so that every pair has an actor at the server's
//! end.

use std::net::SocketAddr;
use std::time::Duration;

use peer_protocol::net::{End, Transport};
use tidings::Handle;
use tidings::actor::{self, Reference};
use tidings::remote::Remote;
use tidings_link::{Connector, Exports, Limits, Link, Listener, Options};

use super::Host;
use crate::cell::{Cells, Fault};

#[tidings::interface(remote)]
pub(super) trait Echo {
    async fn echo(&self, number: i64) -> i64;
}

struct Mirror;

impl Echo for Mirror {
    async fn echo(&self, number: i64) -> i64 {
        number
    }
}

pub(super) fn mirror() -> EchoRef {
    actor::start(Mirror)
}

/// Who calls.
pub(super) struct Caller(pub(super) EchoRef);

impl End for Caller {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        Ok(self.0.echo(number).await?)
    }
}

fn name(pair: usize) -> String {
    format!("pair{pair}")
}

/// Both ends are stopped while another system is in turn (`SIGSTOP`), and time goes on: what is silent meanwhile is not
/// lost.
pub(super) fn options(name: &str) -> Options {
    const LONG: Duration = Duration::from_secs(3600);
    Options::new(name).limits(Limits {
        silence: LONG,
        stall: LONG,
        ..Limits::default()
    })
}

/// Each pair's actor, under its name.
pub(super) async fn serve<R>(pairs: usize, start: fn() -> R) -> Result<SocketAddr, Fault>
where
    R: Reference<Message: Remote>,
{
    let exports = (0..pairs).fold(Exports::new(), |exports, pair| {
        exports.add(name(pair), &start())
    });
    let options = options("server").exports(exports);
    let server = Listener::bind("tcp://127.0.0.1:0", options).await?;
    let server = server.links(pairs.max(1024)).serve();
    let address = server.address().to_string();
    let address = address.trim_start_matches("tcp://").parse()?;
    // It serves until the runtime ends.
    drop(tidings::spawn(async move {
        loop {
            server.next().await;
        }
    }));
    Ok(address)
}

/// A runtime from which links are made.
pub(super) trait Linking: Host {
    fn link(addr: SocketAddr) -> impl Future<Output = Result<Link, Fault>> + Send;
}

impl Linking for Handle {
    async fn link(addr: SocketAddr) -> Result<Link, Fault> {
        let connector = Connector::new(&format!("tcp://{addr}"))?;
        Ok(connector.options(options("client")).connect().await?)
    }
}

/// For each pair what `make` makes of the reference to its actor: over a link of its own (`EACH`), or over
/// one that all share.
pub(super) async fn connect<H, const EACH: bool, R, C>(
    addr: SocketAddr,
    pairs: usize,
    make: fn(R) -> C,
) -> Result<Vec<C>, Fault>
where
    H: Linking,
    R: Reference<Message: Remote>,
    C: Send + 'static,
{
    let shared = match EACH {
        true => None,
        false => Some(H::link(addr).await?),
    };
    let end = |pair| {
        let shared = shared.clone();
        async move {
            let link = match shared {
                Some(link) => link,
                None => H::link(addr).await?,
            };
            Ok(make(link.get(&name(pair)).await?))
        }
    };
    H::at_once((0..pairs).map(end)).await
}

/// A link for each client, or one for all.
struct Links<const EACH: bool>;

impl<const EACH: bool> Transport for Links<EACH> {
    type End = Caller;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        serve(pairs, mirror).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<Caller>, Fault> {
        connect::<Handle, EACH, _, _>(addr, pairs, Caller).await
    }
}

pub(crate) fn cells() -> Cells {
    super::over::<Links<true>, Links<false>>()
}
