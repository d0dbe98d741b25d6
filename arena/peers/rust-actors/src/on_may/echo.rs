//! Requests that wait for their answer: `pingpong/call-send` and `net/local`. The answer comes
//! through a fresh channel for one sender and one receiver, the nearest to a one-shot cell.

use super::{go, join, push, repeat, repeat_timed};
use crate::cells::{Counts, Fault, Outcome, Params, Sample, Stopwatch};
use crate::sizes;
use may::sync::mpsc::{Sender, channel};
use may::sync::{Barrier, spsc};
use std::sync::Arc;

struct Request {
    number: i64,
    reply: spsc::Sender<i64>,
}

/// Gives every number back; ends with the last sender.
fn server() -> Sender<Request> {
    let (requests, inbox) = channel::<Request>();
    go(move || {
        for request in inbox {
            let sent = request.reply.send(request.number);
            sent.expect("the client waits");
        }
    });
    requests
}

/// Asks for 0 to n - 1, one after the other.
fn client(server: &Sender<Request>, n: i64) -> Result<Counts, Fault> {
    let (mut sent, mut answered, mut sum) = (0, 0, 0);
    while sent < n {
        let (reply, answer) = spsc::channel();
        let number = sent;
        push(server, Request { number, reply });
        let answer = answer.recv().map_err(Fault::bug)?;
        if answer != number {
            return Err(Fault::bug(format!("{answer} instead of {number}")));
        }
        sum += answer;
        sent += 1;
        answered += 1;
    }
    Ok(Counts {
        msgs: sent + answered,
        units: 2,
        check: sum,
    })
}

fn calls(p: i64, n: i64) -> Result<Counts, Fault> {
    let clients = (0..p).map(|_| {
        let server = server();
        go(move || client(&server, n))
    });
    let mut counts = Counts::default();
    for client in clients.collect::<Vec<_>>() {
        counts += join(client)??;
    }
    Ok(counts)
}

pub(super) fn call(params: Params) -> Result<Sample, Fault> {
    let (p, n, _) = sizes::pingpong(params, 1)?;
    super::stacks(2 * p)?;
    repeat(params, move || calls(p, n))
}

/// Makes the pairs, lets each client have one verified echo, and times only the rest.
fn local(n: i64, m: i64) -> Outcome {
    let all = n as usize + 1;
    let gates = Arc::new((Barrier::new(all), Barrier::new(all))); // ready, go
    let clients: Vec<_> = (0..n)
        .map(|_| {
            let (server, gates) = (server(), Arc::clone(&gates));
            go(move || {
                let first = client(&server, 1);
                gates.0.wait();
                gates.1.wait();
                first.and_then(|_| client(&server, m))
            })
        })
        .collect();
    gates.0.wait();
    let watch = Stopwatch::start();
    gates.1.wait();
    let mut counts = Counts::default();
    for client in clients {
        counts += join(client)??;
    }
    Ok((watch.stop(), counts))
}

pub(super) fn net(params: Params) -> Result<Sample, Fault> {
    let (n, m) = sizes::net(params)?;
    super::stacks(2 * n)?;
    repeat_timed(params, move || local(n, m))
}
