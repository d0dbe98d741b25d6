//! kameo: an actor is a tokio task with a mailbox, bounded by default; a message is boxed.

mod chain;
mod counter;
mod echo;
mod fan;
mod pingpong;
mod savina;
mod skynet;
mod spawn;

use crate::cells::{Cell, Cells, Fault};
use crate::on_tokio;
use echo::{Bounded, Unbounded};
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox;
use kameo::message::Message;

/// Starts an actor with `room` places in its mailbox; 0 is unbounded.
fn start<A: Actor<Args = A>>(actor: A, room: usize) -> ActorRef<A> {
    match room {
        0 => A::spawn_with_mailbox(actor, mailbox::unbounded()),
        _ => A::spawn_with_mailbox(actor, mailbox::bounded(room)),
    }
}

/// Sends into an unbounded mailbox, which has always room.
fn push<A: Actor + Message<M>, M: Send + 'static>(to: &ActorRef<A>, message: M) {
    assert!(to.tell(message).try_send().is_ok(), "nobody receives");
}

/// Sends, and waits for room if there is none.
async fn send<A: Actor + Message<M>, M: Send + 'static>(to: &ActorRef<A>, message: M) {
    assert!(to.tell(message).send().await.is_ok(), "nobody receives");
}

fn lost() -> Fault {
    Fault::bug("an actor was lost")
}

pub(crate) fn cells() -> Cells {
    let mut cells = Cells::from([
        ("pingpong/tell", (|p| pingpong::tell::<0>(p, 1)) as Cell),
        ("pingpong/tell-w100", |p| pingpong::tell::<0>(p, 100)),
        ("pingpong/tell-w1000", |p| pingpong::tell::<0>(p, 1000)),
        ("pingpong/tell-bounded", |p| pingpong::tell::<1>(p, 1)),
        ("pingpong/call", on_tokio::echo::call::<Bounded>),
        ("pingpong/call-send", on_tokio::echo::call::<Unbounded>),
        ("chain/struct", chain::cell),
        ("fan/struct", fan::cell),
        ("counter/send", |p| counter::cell::<0>(p, false)),
        ("counter/bounded-1024", |p| counter::cell::<1024>(p, false)),
        ("counter/ask-each", |p| counter::cell::<0>(p, true)),
        ("skynet/tree", |p| skynet::cell(p, false)),
        ("skynet/alive", |p| skynet::cell(p, true)),
        ("spawn/detached", spawn::detached),
        ("spawn/joined", spawn::joined),
        ("net/local", on_tokio::echo::net::<Unbounded>),
    ]);
    cells.extend(crate::savina::cells::<savina::Kameo>());
    cells
}
