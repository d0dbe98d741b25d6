//! pingpong: pairs of a client and a server.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use crate::flavour::{
    AsyncBounded, AsyncUnbounded, Flavour, FlumeBounded, FlumeUnbounded, KanalBounded,
    KanalUnbounded, TokioBounded, TokioUnbounded,
};
use std::pin::pin;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What one side of a pair did.
type Side = JoinHandle<Counts>;

/// How many messages a side takes at once at most, if the window is more than one.
const BATCH: usize = 128;

/// The request carries its number and the address of the answer.
struct Ping<F: Flavour> {
    seq: i64,
    reply: F::Tx<i64>,
}

/// Starts all pairs, waits for both sides of each.
async fn pairs(p: i64, start: impl Fn() -> [Side; 2]) -> Result<Counts, Fault> {
    let sides: Vec<Side> = (0..p).flat_map(|_| start()).collect();
    let mut counts = Counts::default();
    for side in sides {
        counts += side.await?;
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

async fn serve<F: Flavour>(mut requests: F::Rx<Ping<F>>) -> Counts {
    let mut sent = 0;
    while let Some(ping) = F::recv(&mut requests).await {
        F::send(&ping.reply, ping.seq).await;
        sent += 1;
    }
    side(sent, 0)
}

async fn ask<F: Flavour>(requests: F::Tx<Ping<F>>, n: i64, room: usize) -> Counts {
    let (reply, mut replies) = F::channel(room);
    let mut sum = 0;
    for seq in 0..n {
        F::send(
            &requests,
            Ping {
                seq,
                reply: reply.clone(),
            },
        )
        .await;
        sum += F::recv(&mut replies)
            .await
            .expect("the reply channel is ours");
    }
    side(n, sum)
}

fn tell<F: Flavour>(n: i64, room: usize) -> [Side; 2] {
    let (tx, rx) = F::channel(room);
    [
        tokio::spawn(serve::<F>(rx)),
        tokio::spawn(ask::<F>(tx, n, room)),
    ]
}

/// As `serve`, for a window of more than one: takes all requests that are there.
async fn serve_many<F: Flavour>(mut requests: F::Rx<Ping<F>>) -> Counts {
    let mut sent = 0;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        F::recv_many(&mut requests, &mut batch).await;
        if batch.is_empty() {
            return side(sent, 0);
        }
        for ping in batch.drain(..) {
            F::send(&ping.reply, ping.seq).await;
            sent += 1;
        }
    }
}

/// As `ask`, in the same way.
async fn ask_many<F: Flavour>(requests: F::Tx<Ping<F>>, n: i64, w: i64) -> Counts {
    let (reply, mut replies) = F::channel(0);
    let (mut sent, mut answered, mut sum) = (0, 0, 0);
    while sent < w.min(n) {
        F::send(
            &requests,
            Ping {
                seq: sent,
                reply: reply.clone(),
            },
        )
        .await;
        sent += 1;
    }
    let mut batch = Vec::with_capacity(BATCH);
    while answered < n {
        F::recv_many(&mut replies, &mut batch).await;
        for seq in batch.drain(..) {
            answered += 1;
            sum += seq;
            if sent < n {
                F::send(
                    &requests,
                    Ping {
                        seq: sent,
                        reply: reply.clone(),
                    },
                )
                .await;
                sent += 1;
            }
        }
    }
    side(sent, sum)
}

fn tell_window<F: Flavour>(n: i64, w: i64) -> [Side; 2] {
    let (tx, rx) = F::channel(0);
    [
        tokio::spawn(serve_many::<F>(rx)),
        tokio::spawn(ask_many::<F>(tx, n, w)),
    ]
}

/// Two channels per pair, the message is the number alone.
fn fixed<F: Flavour>(n: i64, room: usize) -> [Side; 2] {
    let (request, mut requests) = F::channel(room);
    let (reply, mut replies) = F::channel(room);
    let server = tokio::spawn(async move {
        let mut sent = 0;
        while let Some(seq) = F::recv(&mut requests).await {
            F::send(&reply, seq).await;
            sent += 1;
        }
        side(sent, 0)
    });
    let client = tokio::spawn(async move {
        let mut sum = 0;
        for seq in 0..n {
            F::send(&request, seq).await;
            sum += F::recv(&mut replies).await.expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

/// A fresh one-shot cell per call; tokio's, which is what one uses on tokio.
fn call<F: Flavour>(n: i64, room: usize) -> [Side; 2] {
    let (request, mut requests) = F::channel::<(i64, oneshot::Sender<i64>)>(room);
    let server = tokio::spawn(async move {
        let mut sent = 0;
        while let Some((seq, reply)) = F::recv(&mut requests).await {
            reply.send(seq).expect("the client waits");
            sent += 1;
        }
        side(sent, 0)
    });
    let client = tokio::spawn(async move {
        let mut sum = 0;
        for seq in 0..n {
            let (reply, answer) = oneshot::channel();
            F::send(&request, (seq, reply)).await;
            sum += answer.await.expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

/// As `fixed`, each operation beside a receive on a channel nobody sends on, which stays pending from one to the next.
fn choice<F: Flavour>(n: i64, room: usize) -> [Side; 2] {
    let (request, mut requests) = F::channel(room);
    let (reply, mut replies) = F::channel(room);
    let server = tokio::spawn(async move {
        let (_open, mut never) = F::channel::<i64>(room);
        let mut never = pin!(F::recv(&mut never));
        let mut sent = 0;
        loop {
            let seq = tokio::select! { biased;
                seq = F::recv(&mut requests) => match seq { Some(seq) => seq, None => break },
                _ = &mut never => break,
            };
            tokio::select! { biased;
                () = F::send(&reply, seq) => sent += 1,
                _ = &mut never => break,
            }
        }
        side(sent, 0)
    });
    let client = tokio::spawn(async move {
        let (_open, mut never) = F::channel::<i64>(room);
        let mut never = pin!(F::recv(&mut never));
        let (mut sent, mut sum) = (0, 0);
        while sent < n {
            tokio::select! { biased;
                () = F::send(&request, sent) => sent += 1,
                _ = &mut never => break,
            }
            tokio::select! { biased;
                seq = F::recv(&mut replies) => sum += seq.expect("the server answers"),
                _ = &mut never => break,
            }
        }
        side(sent, sum)
    });
    [server, client]
}

fn cell(
    params: Params,
    window: i64,
    start: impl Fn(i64, i64) -> [Side; 2] + Send + Sync + Copy + 'static,
) -> Result<Sample, Fault> {
    let Params { p, n, w, .. } = params;
    let w = if w == 0 { window } else { w };
    within(&[("p", p, 1_000_000), ("n", n, 1 << 31), ("w", w, 1_000_000)])?;
    Ok(repeat(move || pairs(p, move || start(n, w))))
}

/// What a library without a rendezvous can do.
fn without_rendezvous<U: Flavour, B: Flavour>() -> Cells {
    Cells::from([
        (
            "pingpong/tell",
            (|p| cell(p, 1, |n, _| tell::<U>(n, 1))) as Cell,
        ),
        ("pingpong/tell-w100", |p| {
            cell(p, 100, |n, w| tell_window::<U>(n, w))
        }),
        ("pingpong/tell-w1000", |p| {
            cell(p, 1000, |n, w| tell_window::<U>(n, w))
        }),
        ("pingpong/tell-fixed", |p| {
            cell(p, 1, |n, _| fixed::<U>(n, 1))
        }),
        ("pingpong/tell-bounded", |p| {
            cell(p, 1, |n, _| tell::<B>(n, 1))
        }),
        ("pingpong/call", |p| cell(p, 1, |n, _| call::<B>(n, 1))),
        ("pingpong/call-send", |p| cell(p, 1, |n, _| call::<U>(n, 1))),
        ("pingpong/choice", |p| cell(p, 1, |n, _| choice::<B>(n, 1))),
    ])
}

fn with_rendezvous<U: Flavour, B: Flavour>() -> Cells {
    let mut cells = without_rendezvous::<U, B>();
    cells.extend([
        (
            "pingpong/give",
            (|p| cell(p, 1, |n, _| tell::<B>(n, 0))) as Cell,
        ),
        ("pingpong/give-fixed", |p| {
            cell(p, 1, |n, _| fixed::<B>(n, 0))
        }),
        ("pingpong/call", |p| cell(p, 1, |n, _| call::<B>(n, 0))),
        ("pingpong/choice", |p| cell(p, 1, |n, _| choice::<B>(n, 0))),
    ]);
    cells
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => without_rendezvous::<TokioUnbounded, TokioBounded>(),
        "async-channel" => without_rendezvous::<AsyncUnbounded, AsyncBounded>(),
        "flume" => with_rendezvous::<FlumeUnbounded, FlumeBounded>(),
        _ => with_rendezvous::<KanalUnbounded, KanalBounded>(),
    }
}
