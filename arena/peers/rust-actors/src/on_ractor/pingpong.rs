//! pingpong: pairs of a client and a server.

use super::start;
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Ping {
    seq: i64,
    reply: ActorRef<Pong>,
}

struct Pong(i64);

struct Server;

impl Actor for Server {
    type Msg = Ping;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Ping>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Ping>,
        ping: Ping,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(ping.reply.cast(Pong(ping.seq))?)
    }
}

struct Client;

/// What a client knows and has done.
struct Asking {
    server: ActorRef<Ping>,
    n: i64,
    w: i64,
    sent: i64,
    answered: i64,
    sum: i64,
    done: UnboundedSender<Counts>,
}

impl Asking {
    fn send(&mut self, me: &ActorRef<Pong>) -> Result<(), ActorProcessingErr> {
        let (seq, reply) = (self.sent, me.clone());
        self.sent += 1;
        Ok(self.server.cast(Ping { seq, reply })?)
    }
}

impl Actor for Client {
    type Msg = Pong;
    type State = Asking;
    type Arguments = Asking;

    async fn pre_start(
        &self,
        _: ActorRef<Pong>,
        asking: Asking,
    ) -> Result<Asking, ActorProcessingErr> {
        Ok(asking)
    }

    async fn post_start(
        &self,
        me: ActorRef<Pong>,
        asking: &mut Asking,
    ) -> Result<(), ActorProcessingErr> {
        while asking.sent < asking.w.min(asking.n) {
            asking.send(&me)?;
        }
        Ok(())
    }

    async fn handle(
        &self,
        me: ActorRef<Pong>,
        Pong(seq): Pong,
        asking: &mut Asking,
    ) -> Result<(), ActorProcessingErr> {
        asking.answered += 1;
        asking.sum += seq;
        if asking.sent < asking.n {
            return asking.send(&me);
        }
        if asking.answered == asking.n {
            asking.done.send(Counts {
                msgs: asking.sent + asking.answered,
                units: 2,
                check: asking.sum,
            })?;
            asking.server.stop(None);
            me.stop(None);
        }
        Ok(())
    }
}

async fn pairs(p: i64, n: i64, w: i64) -> Result<Counts, Fault> {
    let (done, mut ends) = unbounded_channel();
    for _ in 0..p {
        let server = start(Server, ()).await?;
        let asking = Asking {
            server,
            n,
            w,
            sent: 0,
            answered: 0,
            sum: 0,
            done: done.clone(),
        };
        start(Client, asking).await?;
    }
    drop(done);
    let mut counts = Counts::default();
    while let Some(pair) = ends.recv().await {
        counts += pair;
    }
    Ok(counts)
}

pub(super) fn tell(params: Params, window: i64) -> Result<Sample, Fault> {
    let (p, n, w) = sizes::pingpong(params, window)?;
    on_tokio::repeat(params.threads, move || pairs(p, n, w))
}
