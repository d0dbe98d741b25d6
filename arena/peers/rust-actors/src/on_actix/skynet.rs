//! skynet: a tree of ten children per node, every node an actor. The subtrees of the root are
//! spread over the arbiters; below them a child lives where its parent does.

use super::{Stage, lost, repeat_tree};
use crate::cells::{Fault, Params, Sample};
use crate::{census, sizes};
use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, ArbiterHandle, AsyncContext, Context, Handler,
    Message, WrapFuture,
};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Barrier, oneshot};

const CHILDREN: i64 = 10;

/// The number of a leaf or the sum of a node.
#[derive(Message)]
#[rtype(result = "()")]
struct Part(i64);

/// Who gets it.
enum Parent {
    Node(Addr<Node>),
    Driver(Option<oneshot::Sender<i64>>),
}

struct Node {
    parent: Parent,
    number: i64,
    size: i64,
    /// Where leaves wait for each other, if they do.
    gate: Option<Arc<Barrier>>,
    /// Of the root: where its children go.
    arbiters: Vec<ArbiterHandle>,
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
            arbiters: Vec::new(),
            missing: CHILDREN,
            sum: 0,
        }
    }

    fn finish(&mut self, sum: i64, context: &mut Context<Self>) {
        match &mut self.parent {
            Parent::Node(parent) => parent.do_send(Part(sum)),
            Parent::Driver(done) => {
                let done = done.take().expect("one sum");
                done.send(sum).expect("the driver waits");
            }
        }
        context.stop();
    }
}

impl Actor for Node {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        census::born();
        if self.size == 1 {
            let Some(gate) = self.gate.take() else {
                return self.finish(self.number, context);
            };
            let all_here = async move {
                gate.wait().await;
            };
            let answer = |(), node: &mut Self, context: &mut Context<Self>| {
                node.finish(node.number, context);
            };
            context.spawn(all_here.into_actor(self).map(answer));
            return;
        }
        let size = self.size / CHILDREN;
        for i in 0..CHILDREN {
            let (parent, gate) = (Parent::Node(context.address()), self.gate.clone());
            let child = Self::new(parent, self.number + i * size, size, gate);
            match self.arbiters.len() {
                0 | 1 => child.start(),
                arbiters => {
                    Self::start_in_arbiter(&self.arbiters[i as usize % arbiters], move |_| child)
                }
            };
        }
    }
}

impl Handler<Part> for Node {
    type Result = ();

    fn handle(&mut self, Part(part): Part, context: &mut Context<Self>) {
        self.sum += part;
        self.missing -= 1;
        if self.missing == 0 {
            self.finish(self.sum, context);
        }
    }
}

async fn tree(stage: Rc<Stage>, size: i64, alive: bool) -> Result<i64, Fault> {
    let (done, sum) = oneshot::channel();
    let gate = alive.then(|| Arc::new(Barrier::new(size as usize)));
    let mut root = Node::new(Parent::Driver(Some(done)), 0, size, gate);
    root.arbiters.clone_from(&stage.handles);
    root.start();
    sum.await.map_err(|_| lost())
}

pub(super) fn cell(params: Params, alive: bool) -> Result<Sample, Fault> {
    let size = sizes::skynet(params)?;
    repeat_tree(params, move |stage| tree(stage, size, alive))
}
