//! fan: a parent sends N Pings without waiting, the child, on the same arbiter, answers each.

use super::{lost, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[derive(Message)]
#[rtype(result = "()")]
struct Start;

#[derive(Message)]
#[rtype(result = "()")]
struct Ping(i64);

#[derive(Message)]
#[rtype(result = "()")]
struct Pong(i64);

#[derive(Message)]
#[rtype(result = "()")]
struct Stop;

/// What an actor has done; tells the driver at its end.
struct Life {
    counts: Counts,
    done: UnboundedSender<Counts>,
}

impl Life {
    fn new(done: UnboundedSender<Counts>) -> Self {
        let counts = Counts {
            units: 1,
            ..Counts::default()
        };
        Self { counts, done }
    }

    fn end(&mut self) {
        self.counts.msgs += 1;
        self.done.send(self.counts).expect("the driver waits");
    }
}

struct Child {
    n: i64,
    parent: Addr<Parent>,
    life: Life,
}

impl Actor for Child {
    type Context = Context<Self>;
}

impl Handler<Ping> for Child {
    type Result = ();

    fn handle(&mut self, Ping(index): Ping, context: &mut Context<Self>) {
        self.life.counts.msgs += 1;
        self.parent.do_send(Pong(index));
        if index == self.n - 1 {
            context.address().do_send(Stop);
        }
    }
}

impl Handler<Stop> for Child {
    type Result = ();

    fn handle(&mut self, _: Stop, context: &mut Context<Self>) {
        self.life.end();
        context.stop();
    }
}

struct Parent {
    n: i64,
    life: Life,
}

impl Actor for Parent {
    type Context = Context<Self>;
}

impl Handler<Start> for Parent {
    type Result = ();

    fn handle(&mut self, _: Start, context: &mut Context<Self>) {
        self.life.counts.msgs += 1;
        let child = Child {
            n: self.n,
            parent: context.address(),
            life: Life::new(self.life.done.clone()),
        };
        let child = child.start();
        for index in 0..self.n {
            child.do_send(Ping(index));
        }
    }
}

impl Handler<Pong> for Parent {
    type Result = ();

    fn handle(&mut self, Pong(index): Pong, context: &mut Context<Self>) {
        self.life.counts.msgs += 1;
        self.life.counts.check += index;
        if index == self.n - 1 {
            context.address().do_send(Stop);
        }
    }
}

impl Handler<Stop> for Parent {
    type Result = ();

    fn handle(&mut self, _: Stop, context: &mut Context<Self>) {
        self.life.end();
        context.stop();
    }
}

async fn fan(n: i64) -> Result<Counts, Fault> {
    let (done, mut ends) = unbounded_channel();
    let parent = Parent {
        n,
        life: Life::new(done),
    };
    parent.start().do_send(Start);
    let mut counts = Counts::default();
    for _ in 0..2 {
        counts += ends.recv().await.ok_or_else(lost)?;
    }
    Ok(counts)
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let n = sizes::fan(params)?;
    Ok(repeat(params, move |_| fan(n)))
}
