//! pingpong: pairs of a client and a server.

use super::{push, send, start};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::error::Infallible;
use kameo::message::{Context, Message};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Ping<const ROOM: usize> {
    seq: i64,
    reply: ActorRef<Client<ROOM>>,
}

struct Pong(i64);

/// Ends when its client has, which holds the only reference to it.
#[derive(Actor)]
struct Server<const ROOM: usize>;

impl<const ROOM: usize> Message<Ping<ROOM>> for Server<ROOM> {
    type Reply = ();

    async fn handle(&mut self, ping: Ping<ROOM>, _: &mut Context<Self, ()>) {
        match ROOM {
            0 => push(&ping.reply, Pong(ping.seq)),
            _ => send(&ping.reply, Pong(ping.seq)).await,
        }
    }
}

struct Client<const ROOM: usize> {
    server: ActorRef<Server<ROOM>>,
    n: i64,
    w: i64,
    sent: i64,
    answered: i64,
    sum: i64,
    done: UnboundedSender<Counts>,
}

impl<const ROOM: usize> Client<ROOM> {
    async fn send(&mut self, me: &ActorRef<Self>) {
        let ping = Ping {
            seq: self.sent,
            reply: me.clone(),
        };
        self.sent += 1;
        match ROOM {
            0 => push(&self.server, ping),
            _ => send(&self.server, ping).await,
        }
    }
}

impl<const ROOM: usize> Actor for Client<ROOM> {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(mut client: Self, me: ActorRef<Self>) -> Result<Self, Infallible> {
        while client.sent < client.w.min(client.n) {
            client.send(&me).await;
        }
        Ok(client)
    }
}

impl<const ROOM: usize> Message<Pong> for Client<ROOM> {
    type Reply = ();

    async fn handle(&mut self, Pong(seq): Pong, context: &mut Context<Self, ()>) {
        self.answered += 1;
        self.sum += seq;
        if self.sent < self.n {
            self.send(context.actor_ref()).await;
        } else if self.answered == self.n {
            let counts = Counts {
                msgs: self.sent + self.answered,
                units: 2,
                check: self.sum,
            };
            self.done.send(counts).expect("the driver waits");
            context.stop();
        }
    }
}

async fn pairs<const ROOM: usize>(p: i64, n: i64, w: i64) -> Result<Counts, Fault> {
    let (done, mut ends) = unbounded_channel();
    for _ in 0..p {
        let client = Client {
            server: start(Server::<ROOM>, ROOM),
            n,
            w,
            sent: 0,
            answered: 0,
            sum: 0,
            done: done.clone(),
        };
        start(client, ROOM);
    }
    drop(done);
    let mut counts = Counts::default();
    while let Some(pair) = ends.recv().await {
        counts += pair;
    }
    Ok(counts)
}

pub(super) fn tell<const ROOM: usize>(params: Params, window: i64) -> Result<Sample, Fault> {
    let (p, n, w) = sizes::pingpong(params, window)?;
    on_tokio::repeat(params.threads, move || pairs::<ROOM>(p, n, w))
}
