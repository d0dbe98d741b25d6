//! fan: a parent sends N Pings without waiting, the child answers each.

use super::start;
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

enum Message {
    Start,
    Ping(i64),
    Pong(i64),
    Stop,
}

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
}

struct Child {
    n: i64,
    parent: ActorRef<Message>,
}

impl Actor for Child {
    type Msg = Message;
    type State = Life;
    type Arguments = Life;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        life: Life,
    ) -> Result<Life, ActorProcessingErr> {
        Ok(life)
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        life: &mut Life,
    ) -> Result<(), ActorProcessingErr> {
        life.counts.msgs += 1;
        if let Message::Ping(index) = message {
            self.parent.cast(Message::Pong(index))?;
            if index == self.n - 1 {
                me.cast(Message::Stop)?;
            }
        } else {
            life.done.send(life.counts)?;
            me.stop(None);
        }
        Ok(())
    }
}

struct Parent {
    n: i64,
}

impl Actor for Parent {
    type Msg = Message;
    type State = Life;
    type Arguments = Life;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        life: Life,
    ) -> Result<Life, ActorProcessingErr> {
        Ok(life)
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        life: &mut Life,
    ) -> Result<(), ActorProcessingErr> {
        life.counts.msgs += 1;
        match message {
            Message::Start => {
                let child = Child {
                    n: self.n,
                    parent: me,
                };
                let (child, _) = Child::spawn(None, child, Life::new(life.done.clone())).await?;
                for index in 0..self.n {
                    child.cast(Message::Ping(index))?;
                }
            }
            Message::Pong(index) => {
                life.counts.check += index;
                if index == self.n - 1 {
                    me.cast(Message::Stop)?;
                }
            }
            _ => {
                life.done.send(life.counts)?;
                me.stop(None);
            }
        }
        Ok(())
    }
}

async fn fan(n: i64) -> Result<Counts, Fault> {
    let (done, mut ends) = unbounded_channel();
    let parent = start(Parent { n }, Life::new(done)).await?;
    parent.cast(Message::Start).map_err(Fault::bug)?;
    drop(parent);
    let mut counts = Counts::default();
    for _ in 0..2 {
        counts += ends.recv().await.ok_or(Fault::bug("an actor was lost"))?;
    }
    Ok(counts)
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let n = sizes::fan(params)?;
    on_tokio::repeat(params.threads, move || fan(n))
}
