//! chain: every child makes the next, the answer comes back through all of them.

use super::{go, join, push, repeat, take};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use may::sync::mpsc::{Receiver, Sender, channel};

enum Message {
    /// The number of the receiver; the root is 0.
    Ping(i64),
    /// The depth below the sender, the sender included.
    Pong(i64),
}

/// Makes a child that answers `parent`.
fn child(actors: i64, parent: Sender<Message>) -> Sender<Message> {
    let (address, inbox) = channel();
    let me = address.clone();
    go(move || {
        let depth = node(actors, &inbox, me);
        push(&parent, Message::Pong(depth + 1));
    });
    address
}

/// Passes the Ping on, or answers itself at the end; gives the depth that comes back.
fn node(actors: i64, inbox: &Receiver<Message>, me: Sender<Message>) -> i64 {
    let mut me = Some(me);
    loop {
        match (take(inbox), me.take()) {
            (Message::Ping(number), Some(me)) if number < actors => {
                push(&child(actors, me), Message::Ping(number + 1));
            }
            (Message::Ping(_), Some(me)) => push(&me, Message::Pong(0)),
            (Message::Pong(depth), _) => return depth,
            (Message::Ping(_), None) => panic!("one Ping"),
        }
    }
}

/// The counts follow from the depth that came back: a Ping and a Pong for each child that
/// answered, the driver's Ping and the last child's Pong to itself.
fn chain(actors: i64) -> Result<Counts, Fault> {
    let (address, inbox) = channel();
    let me = address.clone();
    let root = go(move || node(actors, &inbox, me));
    push(&address, Message::Ping(0));
    let depth = join(root)?;
    Ok(Counts {
        msgs: 2 * depth + 2,
        units: depth + 1,
        check: depth,
    })
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let actors = sizes::chain(params)?;
    super::stacks(actors)?;
    repeat(params, move || chain(actors))
}
