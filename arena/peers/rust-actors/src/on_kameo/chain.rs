//! chain: every child makes the next, the answer comes back through all of them.

use super::{lost, push, start};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

/// The number of the receiver; the root is 0.
struct Ping(i64);

/// The depth below the sender, the sender included.
struct Pong(i64);

/// Who gets a node's Pong.
enum Parent {
    Node(ActorRef<Node>),
    Driver(Option<oneshot::Sender<i64>>),
}

#[derive(Actor)]
struct Node {
    actors: i64,
    parent: Parent,
}

impl Message<Ping> for Node {
    type Reply = ();

    async fn handle(&mut self, Ping(number): Ping, context: &mut Context<Self, ()>) {
        let me = context.actor_ref();
        if number < self.actors {
            let child = Self {
                actors: self.actors,
                parent: Parent::Node(me.clone()),
            };
            push(&start(child, 0), Ping(number + 1));
        } else {
            push(me, Pong(0));
        }
    }
}

impl Message<Pong> for Node {
    type Reply = ();

    async fn handle(&mut self, Pong(depth): Pong, context: &mut Context<Self, ()>) {
        match &mut self.parent {
            Parent::Node(parent) => push(parent, Pong(depth + 1)),
            Parent::Driver(done) => {
                let done = done.take().expect("one Pong");
                done.send(depth).expect("the driver waits");
            }
        }
        context.stop();
    }
}

/// The counts follow from the depth that came back: a Ping and a Pong for each child that
/// answered, the driver's Ping and the last child's Pong to itself.
async fn chain(actors: i64) -> Result<Counts, Fault> {
    let (done, depth) = oneshot::channel();
    let root = Node {
        actors,
        parent: Parent::Driver(Some(done)),
    };
    push(&start(root, 0), Ping(0));
    let depth = depth.await.map_err(|_| lost())?;
    Ok(Counts {
        msgs: 2 * depth + 2,
        units: depth + 1,
        check: depth,
    })
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let actors = sizes::chain(params)?;
    on_tokio::repeat(params.threads, move || chain(actors))
}
