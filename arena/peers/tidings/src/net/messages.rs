//! Actors that send each other messages over links, without an interface, a call or a reply: the system
//! `tidings-link-messages`. A ping carries a reference to whom the pong is to go, for the server knows no
//! client; both are one-way.

use std::net::SocketAddr;

use peer_protocol::net::End;
use serde::{Deserialize, Serialize};
use tidings::actor::{self, ActorRef, Carries, Mailbox, Recipient};
use tidings::channel::oneshot::{self, oneshot};
use tidings::{Handle, Remote, Schema};

use super::drive::{Client, Done, Job};
use super::link::{connect, serve};
use super::{Host, Pairs};
use crate::cell::{Cells, Fault};

#[derive(Debug, Serialize, Deserialize, Schema, Remote)]
struct Ping {
    number: i64,
    from: Recipient<Pong>,
}

#[derive(Debug, Serialize, Deserialize, Schema, Remote)]
struct Pong(i64);

fn server() -> ActorRef<Ping> {
    actor::spawn(|mut mailbox: Mailbox<Ping>| async move {
        while let Ok(Ping { number, from }) = mailbox.recv().await {
            // The client may have gone.
            let _ = from.send(Pong(number)).await;
        }
    })
}

/// What a client hears: pongs, and from its own process what to do.
enum Heard {
    Pong(Pong),
    Begin(Job, oneshot::Sender<Result<Done, Fault>>),
}

impl Carries<Pong> for Heard {
    fn wrap(pong: Pong) -> Self {
        Self::Pong(pong)
    }
}

/// A client, from within.
struct Asker {
    server: ActorRef<Ping>,
    this: Recipient<Pong>,
    mailbox: Mailbox<Heard>,
}

impl Asker {
    /// Until the runtime ends, or the server is gone: it refers to itself.
    async fn live(mut self) {
        while let Ok(heard) = self.mailbox.recv().await {
            // A pong between two jobs is late, after one that failed.
            if let Heard::Begin(job, done) = heard {
                let outcome = job.done_at(&mut self).await;
                let _ = done.send(outcome);
            }
        }
    }
}

impl End for Asker {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        let from = self.this.clone();
        self.server.send(Ping { number, from }).await?;
        match self.mailbox.recv().await? {
            Heard::Pong(Pong(number)) => Ok(number),
            Heard::Begin(..) => Err(Fault::bug("one job at a time")),
        }
    }
}

/// A client, from outside.
struct Actor(ActorRef<Heard>);

impl Actor {
    /// One that ends when the server does, or the link to it: no pong says so.
    fn start(server: ActorRef<Ping>) -> Self {
        Self(actor::spawn(|mailbox: Mailbox<Heard>| {
            let this = mailbox.this().upgrade().expect("it is being started");
            this.any().link(&server.any());
            let asker = Asker {
                server,
                this: this.narrow(),
                mailbox,
            };
            asker.live()
        }))
    }
}

impl Client for Actor {
    fn begin<H: Host>(
        self,
        job: Job,
    ) -> impl Future<Output = Result<(Done, Self), Fault>> + Send + 'static {
        let (done, outcome) = oneshot();
        // If it has ended the job is dropped here, and so its outcome.
        drop(self.0.try_send(Heard::Begin(job, done)));
        async move {
            match outcome.await {
                Ok(done) => Ok((done?, self)),
                Err(_) => {
                    let exit = self.0.down().await;
                    Err(Fault::Bug(format!("a client has ended: {exit}")))
                }
            }
        }
    }
}

/// A link for each pair, or one for all.
struct Messages<const EACH: bool>;

impl<const EACH: bool> Pairs for Messages<EACH> {
    type Host = Handle;
    type Client = Actor;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        serve(pairs, server).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<Actor>, Fault> {
        connect::<Handle, EACH, _, _>(addr, pairs, Actor::start).await
    }
}

pub(crate) fn cells() -> Cells {
    super::over::<Messages<true>, Messages<false>>()
}
