//! fan: a parent sends N Pings without waiting, the child answers each.

use super::{go, join, lost, push, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use may::sync::mpsc::{Receiver, Sender, channel};

enum Message {
    Start,
    Ping(i64),
    Pong(i64),
    Stop,
}

/// Answers until it has told itself to stop; gives the number of messages it took.
fn child(n: i64, inbox: &Receiver<Message>, me: &Sender<Message>, parent: &Sender<Message>) -> i64 {
    let mut taken = 0;
    for message in inbox {
        taken += 1;
        let Message::Ping(index) = message else {
            break;
        };
        push(parent, Message::Pong(index));
        if index == n - 1 {
            push(me, Message::Stop);
        }
    }
    taken
}

fn parent(n: i64, inbox: &Receiver<Message>, me: &Sender<Message>) -> Result<Counts, Fault> {
    let (mut taken, mut sum) = (0, 0);
    let mut children = None;
    for message in inbox {
        taken += 1;
        match message {
            Message::Start => {
                let (tx, rx) = channel();
                let (address, parent) = (tx.clone(), me.clone());
                children = Some(go(move || child(n, &rx, &address, &parent)));
                for index in 0..n {
                    push(&tx, Message::Ping(index));
                }
            }
            Message::Pong(index) => {
                sum += index;
                if index == n - 1 {
                    push(me, Message::Stop);
                }
            }
            _ => break,
        }
    }
    let taken_by_child = join(children.ok_or_else(lost)?)?;
    Ok(Counts {
        msgs: taken + taken_by_child,
        units: 2,
        check: sum,
    })
}

fn fan(n: i64) -> Result<Counts, Fault> {
    let (address, inbox) = channel();
    let me = address.clone();
    let parent = go(move || parent(n, &inbox, &me));
    push(&address, Message::Start);
    join(parent)?
}

pub(super) fn cell(params: Params) -> Result<Sample, Fault> {
    let n = sizes::fan(params)?;
    repeat(params, move || fan(n))
}
