//! chain: every child makes the next on its own arbiter, the answer comes back through all.

use super::{lost, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message};
use tokio::sync::oneshot;

/// The number of the receiver; the root is 0.
#[derive(Message)]
#[rtype(result = "()")]
struct Ping(i64);

/// The depth below the sender, the sender included.
#[derive(Message)]
#[rtype(result = "()")]
struct Pong(i64);

/// Who gets a node's Pong.
enum Parent {
    Node(Addr<Node>),
    Driver(Option<oneshot::Sender<i64>>),
}

struct Node {
    actors: i64,
    parent: Parent,
}

impl Actor for Node {
    type Context = Context<Self>;
}

impl Handler<Ping> for Node {
    type Result = ();

    fn handle(&mut self, Ping(number): Ping, context: &mut Context<Self>) {
        let me = context.address();
        if number < self.actors {
            let child = Self {
                actors: self.actors,
                parent: Parent::Node(me),
            };
            child.start().do_send(Ping(number + 1));
        } else {
            me.do_send(Pong(0));
        }
    }
}

impl Handler<Pong> for Node {
    type Result = ();

    fn handle(&mut self, Pong(depth): Pong, context: &mut Context<Self>) {
        match &mut self.parent {
            Parent::Node(parent) => parent.do_send(Pong(depth + 1)),
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
    root.start().do_send(Ping(0));
    let depth = depth.await.map_err(|_| lost())?;
    Ok(Counts {
        msgs: 2 * depth + 2,
        units: depth + 1,
        check: depth,
    })
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let actors = sizes::chain(params)?;
    Ok(repeat(params, move |_| chain(actors)))
}
