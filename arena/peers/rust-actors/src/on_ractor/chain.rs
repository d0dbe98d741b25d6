//! chain: every child makes the next, the answer comes back through all of them.

use super::start;
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

enum Message {
    /// The number of the receiver; the root is 0.
    Ping(i64),
    /// The depth below the sender, the sender included.
    Pong(i64),
}

/// Who gets a node's Pong.
enum Parent {
    Node(ActorRef<Message>),
    Driver(Option<oneshot::Sender<i64>>),
}

struct Node {
    actors: i64,
}

impl Actor for Node {
    type Msg = Message;
    type State = Parent;
    type Arguments = Parent;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        parent: Parent,
    ) -> Result<Parent, ActorProcessingErr> {
        Ok(parent)
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        parent: &mut Parent,
    ) -> Result<(), ActorProcessingErr> {
        let actors = self.actors;
        match message {
            Message::Ping(number) if number < actors => {
                let (child, _) = Self::spawn(None, Self { actors }, Parent::Node(me)).await?;
                child.cast(Message::Ping(number + 1))?;
            }
            Message::Ping(_) => me.cast(Message::Pong(0))?,
            Message::Pong(depth) => {
                match parent {
                    Parent::Node(parent) => parent.cast(Message::Pong(depth + 1))?,
                    Parent::Driver(done) => {
                        let done = done.take().expect("one Pong");
                        done.send(depth).expect("the driver waits");
                    }
                }
                me.stop(None);
            }
        }
        Ok(())
    }
}

/// The counts follow from the depth that came back: a Ping and a Pong for each child that
/// answered, the driver's Ping and the last child's Pong to itself.
async fn chain(actors: i64) -> Result<Counts, Fault> {
    let (done, depth) = oneshot::channel();
    let root = start(Node { actors }, Parent::Driver(Some(done))).await?;
    root.cast(Message::Ping(0)).map_err(Fault::bug)?;
    let depth = depth.await.map_err(Fault::bug)?;
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
