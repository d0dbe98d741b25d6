//! pingpong, where the request carries the address of the answer; and the list of its cells.

use tidings::{Receiver, Runtime, Sender, bounded, channel, unbounded};

use crate::cell::{Cell, Cells, Counts, Fault, Params, Sample, plain, repeat, sums_fit, within};
use crate::pairs::{self, Side, pairs};

/// How many messages a side takes at once at most, if the window is more than one.
const BATCH: usize = 128;

/// What nobody may see: the partner waits for every message.
pub(crate) const GONE: &str = "the partner receives";

/// The request carries its number and the address of the answer.
struct Ping {
    seq: i64,
    reply: Sender<i64>,
}

/// One way to send.
pub(crate) trait Way: 'static {
    fn send<T: Send>(to: &Sender<T>, value: T) -> impl Future<Output = ()> + Send;
}

/// Never waits: the channel is unbounded.
pub(crate) struct Tell;
/// Waits for the receiver (rendezvous) or for room (bounded), or not at all (unbounded).
pub(crate) struct Give;
/// Never waits, on a rendezvous channel.
pub(crate) struct Post;

impl Way for Tell {
    #[inline(always)]
    async fn send<T: Send>(to: &Sender<T>, value: T) {
        assert!(to.try_send(value).is_ok(), "{GONE}");
    }
}

impl Way for Give {
    #[inline(always)]
    async fn send<T: Send>(to: &Sender<T>, value: T) {
        assert!(to.send(value).await.is_ok(), "{GONE}");
    }
}

impl Way for Post {
    #[inline(always)]
    async fn send<T: Send>(to: &Sender<T>, value: T) {
        assert!(to.post(value).is_ok(), "{GONE}");
    }
}

/// What one side did: a unit that sent so many messages, and the sum of those it received.
pub(crate) fn side(sent: i64, sum: i64) -> Counts {
    Counts {
        msgs: sent,
        units: 1,
        check: sum,
    }
}

async fn serve<Answer: Way>(requests: Receiver<Ping>) -> Counts {
    let mut sent = 0;
    while let Ok(Ping { seq, reply }) = requests.recv().await {
        Answer::send(&reply, seq).await;
        sent += 1;
    }
    side(sent, 0)
}

async fn ask<Ask: Way>(
    requests: Sender<Ping>,
    (reply, replies): (Sender<i64>, Receiver<i64>),
    n: i64,
) -> Counts {
    let mut sum = 0;
    for seq in 0..n {
        Ask::send(
            &requests,
            Ping {
                seq,
                reply: reply.clone(),
            },
        )
        .await;
        sum += replies.recv().await.expect("we hold a sender");
    }
    side(n, sum)
}

/// One request at a time, over channels with `room`.
fn carried<Ask: Way, Answer: Way>(n: i64, room: usize) -> [Side; 2] {
    let (request, requests) = with_room(room);
    let reply = with_room(room);
    let server = tidings::spawn(serve::<Answer>(requests));
    [server, tidings::spawn(ask::<Ask>(request, reply, n))]
}

/// No bound.
const ANY: usize = usize::MAX;

pub(crate) fn with_room<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    match room {
        0 => channel(),
        ANY => unbounded(),
        room => bounded(room),
    }
}

/// As `serve`, for a window of more than one: takes all requests that are there.
async fn serve_many(requests: Receiver<Ping>) -> Counts {
    let mut sent = 0;
    let mut batch = Vec::with_capacity(BATCH);
    while requests.recv_many(&mut batch, BATCH).await > 0 {
        for Ping { seq, reply } in batch.drain(..) {
            Tell::send(&reply, seq).await;
            sent += 1;
        }
    }
    side(sent, 0)
}

/// As `ask`, in the same way, with `w` requests in flight.
async fn ask_many(requests: Sender<Ping>, n: i64, w: i64) -> Counts {
    let (reply, replies) = unbounded();
    let (mut sent, mut answered, mut sum) = (0, 0, 0);
    while sent < w.min(n) {
        Tell::send(
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
        replies.recv_many(&mut batch, BATCH).await;
        for seq in batch.drain(..) {
            answered += 1;
            sum += seq;
            if sent < n {
                Tell::send(
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

fn window(n: i64, w: i64) -> [Side; 2] {
    let (request, requests) = unbounded();
    [
        tidings::spawn(serve_many(requests)),
        tidings::spawn(ask_many(request, n, w)),
    ]
}

/// As `ask_many`, one message at a time: the runtime's budget alone says how many in a turn.
async fn ask_in_turns(requests: Sender<Ping>, n: i64, w: i64) -> Counts {
    let (reply, replies) = unbounded();
    let (mut sent, mut sum) = (0, 0);
    while sent < w.min(n) {
        Tell::send(
            &requests,
            Ping {
                seq: sent,
                reply: reply.clone(),
            },
        )
        .await;
        sent += 1;
    }
    for _ in 0..n {
        sum += replies.recv().await.expect("we hold a sender");
        if sent < n {
            Tell::send(
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
    side(sent, sum)
}

fn turns(n: i64, w: i64) -> [Side; 2] {
    let (request, requests) = unbounded();
    [
        tidings::spawn(serve::<Tell>(requests)),
        tidings::spawn(ask_in_turns(request, n, w)),
    ]
}

/// A cell with windows of `w`, or of what `prep` says.
fn cell(
    Params { p, n, w: asked, .. }: Params,
    w: i64,
    start: impl Fn(i64, i64) -> [Side; 2] + Send + Sync + Copy + 'static,
) -> Result<Sample, Fault> {
    let w = if asked == 0 { w } else { asked };
    within(&[("p", p, 1_000_000), ("n", n, 1 << 31), ("w", w, 1_000_000)])?;
    sums_fit(p, n)?;
    Ok(repeat(move || pairs(p, move || start(n, w))))
}

fn batch<const OPERATIONS: u32>() -> Cell {
    Cell {
        budget: Some(OPERATIONS),
        ..Cell::of(|p, _: &Runtime| cell(p, 1000, turns))
    }
}

pub(crate) fn cells() -> Cells {
    let mut cells = plain([
        ("pingpong/tell", |p, _| {
            cell(p, 1, |n, _| carried::<Tell, Tell>(n, ANY))
        }),
        ("pingpong/tell-w100", |p, _| cell(p, 100, window)),
        ("pingpong/tell-w1000", |p, _| cell(p, 1000, window)),
        ("pingpong/give", |p, _| {
            cell(p, 1, |n, _| carried::<Give, Give>(n, 0))
        }),
        ("pingpong/send", |p, _| {
            cell(p, 1, |n, _| carried::<Post, Post>(n, 0))
        }),
        ("pingpong/give-send", |p, _| {
            cell(p, 1, |n, _| carried::<Post, Give>(n, 0))
        }),
        ("pingpong/send-give", |p, _| {
            cell(p, 1, |n, _| carried::<Give, Post>(n, 0))
        }),
        ("pingpong/call", |p, _| {
            cell(p, 1, |n, _| pairs::call::<Give>(n))
        }),
        ("pingpong/call-send", |p, _| {
            cell(p, 1, |n, _| pairs::call::<Post>(n))
        }),
        ("pingpong/call-nack", |p, _| {
            cell(p, 1, |n, _| pairs::call_nack(n))
        }),
        ("pingpong/tell-fixed", |p, _| {
            cell(p, 1, |n, _| pairs::fixed::<Tell>(n, ANY))
        }),
        ("pingpong/give-fixed", |p, _| {
            cell(p, 1, |n, _| pairs::fixed::<Give>(n, 0))
        }),
        ("pingpong/tell-bounded", |p, _| {
            cell(p, 1, |n, _| carried::<Give, Give>(n, 1))
        }),
        ("pingpong/choice", |p, _| {
            cell(p, 1, |n, _| pairs::choice(n))
        }),
    ]);
    cells.extend([
        ("pingpong/batch-1", batch::<1>()),
        ("pingpong/batch-5", batch::<5>()),
        ("pingpong/batch-20", batch::<20>()),
        ("pingpong/batch-100", batch::<100>()),
    ]);
    cells
}
