//! counter: P producers, one sum.

use super::{go, join, push, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use may::sync::mpsc::{Sender, channel};
use may::sync::spsc;

const STEP: i64 = 100;

enum Message {
    Add(i64),
    GetAndReset(spsc::Sender<i64>),
}

/// Ends with the last sender.
fn start() -> Sender<Message> {
    let (address, inbox) = channel();
    go(move || {
        let mut sum = 0;
        for message in inbox {
            match message {
                Message::Add(value) => sum += value,
                Message::GetAndReset(reply) => {
                    let sent = reply.send(std::mem::take(&mut sum));
                    sent.expect("the asker waits");
                }
            }
        }
    });
    address
}

fn ask(counter: &Sender<Message>) -> Result<i64, Fault> {
    let (reply, sum) = spsc::channel();
    push(counter, Message::GetAndReset(reply));
    sum.recv().map_err(Fault::bug)
}

fn counter(p: i64, n: i64, each: bool) -> Result<Counts, Fault> {
    let counter = start();
    let producers = (0..p).map(|_| {
        let counter = counter.clone();
        go(move || {
            let mut sent = 0;
            for _ in 0..n {
                push(&counter, Message::Add(STEP));
                sent += 1;
            }
            Ok::<_, Fault>(Counts {
                msgs: sent,
                units: 1,
                check: if each { ask(&counter)? } else { 0 },
            })
        })
    });
    let mut counts = Counts {
        msgs: 0,
        units: 1,
        check: 0,
    };
    for producer in producers.collect::<Vec<_>>() {
        counts += join(producer)??;
    }
    if !each {
        counts.check = ask(&counter)?;
    }
    Ok(counts)
}

pub(super) fn cell(params: Params, each: bool) -> Result<Sample, Fault> {
    let (p, n) = sizes::counter(params)?;
    super::stacks(p)?;
    repeat(params, move || counter(p, n, each))
}
