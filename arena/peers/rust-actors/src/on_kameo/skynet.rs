//! skynet: a tree of ten children per node, every node an actor. An actor ends when nobody refers
//! to it any more: a leaf once it has started, a node once its children have ended.

use super::{lost, push, start};
use crate::cells::{Fault, Params, Sample};
use crate::{census, on_tokio, sizes};
use kameo::actor::{Actor, ActorRef};
use kameo::error::Infallible;
use kameo::message::{Context, Message};
use std::sync::Arc;
use tokio::sync::{Barrier, oneshot};

const CHILDREN: i64 = 10;

/// The number of a leaf or the sum of a node.
struct Part(i64);

/// Who gets it.
enum Parent {
    Node(ActorRef<Node>),
    Driver(Option<oneshot::Sender<i64>>),
}

struct Node {
    parent: Parent,
    number: i64,
    size: i64,
    /// Where leaves wait for each other, if they do.
    gate: Option<Arc<Barrier>>,
    missing: i64,
    sum: i64,
}

impl Node {
    fn new(parent: Parent, number: i64, size: i64, gate: Option<Arc<Barrier>>) -> Self {
        Self {
            parent,
            number,
            size,
            gate,
            missing: CHILDREN,
            sum: 0,
        }
    }

    fn finish(&mut self, sum: i64) {
        match &mut self.parent {
            Parent::Node(parent) => push(parent, Part(sum)),
            Parent::Driver(done) => {
                let done = done.take().expect("one sum");
                done.send(sum).expect("the driver waits");
            }
        }
    }
}

impl Actor for Node {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(mut node: Self, me: ActorRef<Self>) -> Result<Self, Infallible> {
        census::born();
        if node.size == 1 {
            if let Some(gate) = &node.gate {
                gate.wait().await;
            }
            node.finish(node.number);
            return Ok(node);
        }
        let size = node.size / CHILDREN;
        for i in 0..CHILDREN {
            let (parent, gate) = (Parent::Node(me.clone()), node.gate.clone());
            start(Self::new(parent, node.number + i * size, size, gate), 0);
        }
        Ok(node)
    }
}

impl Message<Part> for Node {
    type Reply = ();

    async fn handle(&mut self, Part(part): Part, _: &mut Context<Self, ()>) {
        self.sum += part;
        self.missing -= 1;
        if self.missing == 0 {
            self.finish(self.sum);
        }
    }
}

async fn tree(size: i64, alive: bool) -> Result<i64, Fault> {
    let (done, sum) = oneshot::channel();
    let gate = alive.then(|| Arc::new(Barrier::new(size as usize)));
    start(Node::new(Parent::Driver(Some(done)), 0, size, gate), 0);
    sum.await.map_err(|_| lost())
}

pub(super) fn cell(params: Params, alive: bool) -> Result<Sample, Fault> {
    let size = sizes::skynet(params)?;
    on_tokio::repeat_tree(params.threads, move || tree(size, alive))
}
