//! fan: a parent sends N Pings without waiting, the child answers each.

use super::{lost, push, start};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Start;
struct Ping(i64);
struct Pong(i64);
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
        self.done.send(self.counts).expect("the driver waits");
    }
}

#[derive(Actor)]
struct Child {
    n: i64,
    parent: ActorRef<Parent>,
    life: Life,
}

impl Message<Ping> for Child {
    type Reply = ();

    async fn handle(&mut self, Ping(index): Ping, context: &mut Context<Self, ()>) {
        self.life.counts.msgs += 1;
        push(&self.parent, Pong(index));
        if index == self.n - 1 {
            push(context.actor_ref(), Stop);
        }
    }
}

impl Message<Stop> for Child {
    type Reply = ();

    async fn handle(&mut self, _: Stop, context: &mut Context<Self, ()>) {
        self.life.counts.msgs += 1;
        self.life.end();
        context.stop();
    }
}

#[derive(Actor)]
struct Parent {
    n: i64,
    life: Life,
}

impl Message<Start> for Parent {
    type Reply = ();

    async fn handle(&mut self, _: Start, context: &mut Context<Self, ()>) {
        self.life.counts.msgs += 1;
        let child = Child {
            n: self.n,
            parent: context.actor_ref().clone(),
            life: Life::new(self.life.done.clone()),
        };
        let child = start(child, 0);
        for index in 0..self.n {
            push(&child, Ping(index));
        }
    }
}

impl Message<Pong> for Parent {
    type Reply = ();

    async fn handle(&mut self, Pong(index): Pong, context: &mut Context<Self, ()>) {
        self.life.counts.msgs += 1;
        self.life.counts.check += index;
        if index == self.n - 1 {
            push(context.actor_ref(), Stop);
        }
    }
}

impl Message<Stop> for Parent {
    type Reply = ();

    async fn handle(&mut self, _: Stop, context: &mut Context<Self, ()>) {
        self.life.counts.msgs += 1;
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
    push(&start(parent, 0), Start);
    let mut counts = Counts::default();
    for _ in 0..2 {
        counts += ends.recv().await.ok_or_else(lost)?;
    }
    Ok(counts)
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let n = sizes::fan(params)?;
    on_tokio::repeat(params.threads, move || fan(n))
}
