//! skynet: a tree of ten children per node, every node a coroutine; an inner one waits on a channel
//! of its own.

use super::{go, push, repeat, set_up, stacks, take};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{census, sizes};
use may::sync::Barrier;
use may::sync::mpsc::{Sender, channel};
use std::sync::Arc;

const CHILDREN: i64 = 10;

/// Where leaves wait for each other, if they do.
type Gate = Option<Arc<Barrier>>;

fn node(gate: Gate, parent: Sender<i64>, number: i64, size: i64) {
    census::born();
    go(move || {
        if size == 1 {
            if let Some(gate) = gate {
                gate.wait();
            }
            return push(&parent, number);
        }
        let (address, replies) = channel();
        let size = size / CHILDREN;
        for i in 0..CHILDREN {
            node(gate.clone(), address.clone(), number + i * size, size);
        }
        let sum = (0..CHILDREN).map(|_| take(&replies)).sum();
        push(&parent, sum);
    });
}

fn tree(size: i64, alive: bool) -> i64 {
    let gate = alive.then(|| Arc::new(Barrier::new(size as usize)));
    let (address, sum) = channel();
    node(gate, address, 0, size);
    take(&sum)
}

pub(super) fn cell(params: Params, alive: bool) -> Result<Sample, Fault> {
    let size = sizes::skynet(params)?;
    set_up(params)?;
    let all = (10 * size - 1) / 9;
    stacks(all)?;
    let nodes = census::of(|| super::join(go(move || tree(size, alive))))?;
    repeat(params, move || {
        Ok(Counts {
            msgs: nodes,
            units: nodes,
            check: tree(size, alive),
        })
    })
}
