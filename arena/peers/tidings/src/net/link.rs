//! Actors called over links (`tidings-link`) by the reference that their own process would use: the
//! system `tidings-link`. An interface, so that every pair has an actor at the server's end.

use std::net::SocketAddr;
use std::time::Duration;

use peer_protocol::net::{End, Transport};
use tidings::actor;
use tidings_link::{Connector, Exports, Limits, Link, Listener, Options};

use super::at_once;
use crate::cell::{Cells, Fault};

#[tidings::interface(remote)]
trait Echo {
    async fn echo(&self, number: i64) -> i64;
}

struct Mirror;

impl Echo for Mirror {
    async fn echo(&self, number: i64) -> i64 {
        number
    }
}

pub(super) struct LinkEnd {
    echo: EchoRef,
}

impl End for LinkEnd {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        Ok(self.echo.echo(number).await?)
    }
}

fn name(pair: usize) -> String {
    format!("pair{pair}")
}

/// Both ends are stopped while another system is in turn (`SIGSTOP`), and time goes on: what is silent meanwhile is not
/// lost.
fn options(name: &str) -> Options {
    const LONG: Duration = Duration::from_secs(3600);
    Options::new(name).limits(Limits {
        silence: LONG,
        stall: LONG,
        ..Limits::default()
    })
}

/// Each pair's actor, under its name.
async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
    let exports = (0..pairs).fold(Exports::new(), |exports, pair| {
        let echo: EchoRef = actor::start(Mirror);
        exports.add(name(pair), &echo)
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

async fn connect(addr: SocketAddr) -> Result<Link, Fault> {
    let connector = Connector::new(&format!("tcp://{addr}"))?;
    Ok(connector.options(options("client")).connect().await?)
}

/// A link for each client, or one for all.
struct Links<const EACH: bool>;

impl<const EACH: bool> Transport for Links<EACH> {
    type End = LinkEnd;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        serve(pairs).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<LinkEnd>, Fault> {
        let shared = match EACH {
            true => None,
            false => Some(connect(addr).await?),
        };
        let end = |pair| {
            let shared = shared.clone();
            async move {
                let link = match shared {
                    Some(link) => link,
                    None => connect(addr).await?,
                };
                let echo = link.get(&name(pair)).await?;
                Ok(LinkEnd { echo })
            }
        };
        at_once((0..pairs).map(end)).await
    }
}

pub(crate) fn cells() -> Cells {
    super::over::<Links<true>, Links<false>>()
}
