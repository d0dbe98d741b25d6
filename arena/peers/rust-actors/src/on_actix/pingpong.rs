//! pingpong: pairs of a client and a server, both on one arbiter.

use super::{Stage, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message};
use std::rc::Rc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[derive(Message)]
#[rtype(result = "()")]
struct Ping {
    seq: i64,
    reply: Addr<Client>,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Pong(i64);

/// Ends when its client has, which holds the only address of it.
struct Server;

impl Actor for Server {
    type Context = Context<Self>;
}

impl Handler<Ping> for Server {
    type Result = ();

    fn handle(&mut self, ping: Ping, _: &mut Context<Self>) {
        ping.reply.do_send(Pong(ping.seq));
    }
}

struct Client {
    server: Addr<Server>,
    n: i64,
    w: i64,
    sent: i64,
    answered: i64,
    sum: i64,
    done: UnboundedSender<Counts>,
}

impl Client {
    fn send(&mut self, context: &Context<Self>) {
        self.server.do_send(Ping {
            seq: self.sent,
            reply: context.address(),
        });
        self.sent += 1;
    }
}

impl Actor for Client {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        while self.sent < self.w.min(self.n) {
            self.send(context);
        }
    }
}

impl Handler<Pong> for Client {
    type Result = ();

    fn handle(&mut self, Pong(seq): Pong, context: &mut Context<Self>) {
        self.answered += 1;
        self.sum += seq;
        if self.sent < self.n {
            self.send(context);
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

async fn pairs(stage: Rc<Stage>, p: i64, n: i64, w: i64) -> Result<Counts, Fault> {
    let (done, mut ends) = unbounded_channel();
    for i in 0..p {
        let done = done.clone();
        stage.run(i, move || {
            Client {
                server: Server.start(),
                n,
                w,
                sent: 0,
                answered: 0,
                sum: 0,
                done,
            }
            .start();
        });
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
    Ok(repeat(params, move |stage| pairs(stage, p, n, w)))
}
