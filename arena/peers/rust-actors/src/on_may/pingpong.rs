//! pingpong: pairs of a client and a server.

use super::{go, join, push, repeat, take};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use may::coroutine::JoinHandle;
use may::sync::mpsc::{Sender, channel};
use may::sync::spsc;

type Side = JoinHandle<Counts>;

struct Ping {
    seq: i64,
    reply: Sender<i64>,
}

/// Starts all pairs, waits for both sides of each.
fn pairs(p: i64, start: impl Fn() -> [Side; 2]) -> Result<Counts, Fault> {
    let sides: Vec<Side> = (0..p).flat_map(|_| start()).collect();
    let mut counts = Counts::default();
    for side in sides {
        counts += join(side)?;
    }
    Ok(counts)
}

fn side(sent: i64, sum: i64) -> Counts {
    Counts {
        msgs: sent,
        units: 1,
        check: sum,
    }
}

fn pair(n: i64, w: i64) -> [Side; 2] {
    let (requests, inbox) = channel::<Ping>();
    let server = go(move || {
        let mut sent = 0;
        for ping in inbox {
            push(&ping.reply, ping.seq);
            sent += 1;
        }
        side(sent, 0)
    });
    let client = go(move || {
        let (reply, replies) = channel();
        let (mut sent, mut sum) = (0, 0);
        let send = |seq| {
            let reply = reply.clone();
            push(&requests, Ping { seq, reply });
        };
        while sent < w.min(n) {
            send(sent);
            sent += 1;
        }
        for _ in 0..n {
            sum += take(&replies);
            if sent < n {
                send(sent);
                sent += 1;
            }
        }
        side(sent, sum)
    });
    [server, client]
}

pub(super) fn tell(params: Params, window: i64) -> Result<Sample, Fault> {
    let (p, n, w) = sizes::pingpong(params, window)?;
    super::stacks(2 * p)?;
    repeat(params, move || pairs(p, || pair(n, w)))
}

/// Two channels per pair, each with one sender: may has a kind of its own for that.
fn fixed_pair(n: i64) -> [Side; 2] {
    let (request, requests) = spsc::channel();
    let (reply, replies) = spsc::channel();
    let server = go(move || {
        let mut sent = 0;
        for seq in requests {
            reply.send(seq).expect("the client waits");
            sent += 1;
        }
        side(sent, 0)
    });
    let client = go(move || {
        let mut sum = 0;
        for seq in 0..n {
            request.send(seq).expect("the server serves");
            sum += replies.recv().expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

pub(super) fn fixed(params: Params) -> Result<Sample, Fault> {
    let (p, n, _) = sizes::pingpong(params, 1)?;
    super::stacks(2 * p)?;
    repeat(params, move || pairs(p, || fixed_pair(n)))
}
