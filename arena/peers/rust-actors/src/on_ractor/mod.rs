//! ractor: an actor is a tokio task with an unbounded mailbox; a message is boxed. What a new actor
//! does is in `post_start`, which runs in its own task; `pre_start` runs in the one that starts it.

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
use ractor::{Actor, ActorRef};

/// Starts an actor.
async fn start<A: Actor>(actor: A, args: A::Arguments) -> Result<ActorRef<A::Msg>, Fault> {
    let (address, _) = A::spawn(None, actor, args).await.map_err(Fault::bug)?;
    Ok(address)
}

pub(crate) fn cells() -> Cells {
    let mut cells = Cells::from([
        ("pingpong/tell", (|p| pingpong::tell(p, 1)) as Cell),
        ("pingpong/tell-w100", |p| pingpong::tell(p, 100)),
        ("pingpong/tell-w1000", |p| pingpong::tell(p, 1000)),
        (
            "pingpong/call-send",
            on_tokio::echo::call::<ActorRef<echo::Call>>,
        ),
        ("chain/struct", chain::cell),
        ("fan/struct", fan::cell),
        ("counter/send", counter::send),
        ("counter/ask-each", counter::ask_each),
        ("skynet/tree", |p| skynet::cell(p, false)),
        ("skynet/alive", |p| skynet::cell(p, true)),
        ("spawn/detached", spawn::detached),
        ("spawn/joined", spawn::joined),
        ("net/local", on_tokio::echo::net::<ActorRef<echo::Call>>),
    ]);
    cells.extend(crate::savina::cells::<savina::Ractor>());
    cells
}
