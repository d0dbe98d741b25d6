//! skynet: a tree of ten children per node, every node an actor.

use crate::cells::{Fault, Params, Sample};
use crate::{census, on_tokio, sizes};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;
use tokio::sync::{Barrier, oneshot};

const CHILDREN: i64 = 10;

/// Who gets a node's number or sum.
enum Parent {
    Node(ActorRef<i64>),
    Driver(Option<oneshot::Sender<i64>>),
}

struct Node {
    number: i64,
    size: i64,
    /// Where leaves wait for each other, if they do.
    gate: Option<Arc<Barrier>>,
}

struct Waiting {
    parent: Parent,
    missing: i64,
    sum: i64,
}

fn finish(me: &ActorRef<i64>, parent: &mut Parent, sum: i64) -> Result<(), ActorProcessingErr> {
    match parent {
        Parent::Node(parent) => parent.cast(sum)?,
        Parent::Driver(done) => {
            let done = done.take().expect("one sum");
            done.send(sum).expect("the driver waits");
        }
    }
    me.stop(None);
    Ok(())
}

impl Actor for Node {
    type Msg = i64;
    type State = Waiting;
    type Arguments = Parent;

    async fn pre_start(
        &self,
        _: ActorRef<i64>,
        parent: Parent,
    ) -> Result<Waiting, ActorProcessingErr> {
        census::born();
        Ok(Waiting {
            parent,
            missing: CHILDREN,
            sum: 0,
        })
    }

    async fn post_start(
        &self,
        me: ActorRef<i64>,
        waiting: &mut Waiting,
    ) -> Result<(), ActorProcessingErr> {
        if self.size == 1 {
            if let Some(gate) = &self.gate {
                gate.wait().await;
            }
            return finish(&me, &mut waiting.parent, self.number);
        }
        let size = self.size / CHILDREN;
        for i in 0..CHILDREN {
            let child = Self {
                number: self.number + i * size,
                size,
                gate: self.gate.clone(),
            };
            Self::spawn(None, child, Parent::Node(me.clone())).await?;
        }
        Ok(())
    }

    async fn handle(
        &self,
        me: ActorRef<i64>,
        part: i64,
        waiting: &mut Waiting,
    ) -> Result<(), ActorProcessingErr> {
        waiting.sum += part;
        waiting.missing -= 1;
        if waiting.missing == 0 {
            return finish(&me, &mut waiting.parent, waiting.sum);
        }
        Ok(())
    }
}

async fn tree(size: i64, alive: bool) -> Result<i64, Fault> {
    let (done, sum) = oneshot::channel();
    let root = Node {
        number: 0,
        size,
        gate: alive.then(|| Arc::new(Barrier::new(size as usize))),
    };
    super::start(root, Parent::Driver(Some(done))).await?;
    sum.await.map_err(Fault::bug)
}

pub(super) fn cell(params: Params, alive: bool) -> Result<Sample, Fault> {
    let size = sizes::skynet(params)?;
    on_tokio::repeat_tree(params.threads, move || tree(size, alive))
}
