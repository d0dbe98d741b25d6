//! crossbeam-channel on OS threads: the workloads in which threads make sense.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat_on_threads, within};
use crate::counter::{PATIENCE, STEP, sizes};
use crate::fan::{Form, Is};
use crate::flavour::Obj;
use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use std::sync::Mutex;
use std::thread::{JoinHandle, ScopedJoinHandle, scope, spawn};

/// `None` is unbounded, `Some(0)` a rendezvous.
fn channel<T>(room: Option<usize>) -> (Sender<T>, Receiver<T>) {
    room.map_or_else(unbounded, bounded)
}

struct Ping {
    seq: i64,
    reply: Sender<i64>,
}

type Side = JoinHandle<Counts>;

fn join<T>(handle: JoinHandle<T>) -> Result<T, Fault> {
    handle
        .join()
        .map_err(|_| Fault::Bug("a thread panicked".into()))
}

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

fn server(requests: Receiver<Ping>) -> Side {
    spawn(move || {
        let mut sent = 0;
        for ping in requests {
            ping.reply.send(ping.seq).expect("the client waits");
            sent += 1;
        }
        side(sent, 0)
    })
}

fn tell(n: i64, w: i64, room: Option<usize>) -> [Side; 2] {
    let (requests, inbox) = channel(room);
    let client = spawn(move || {
        let (reply, replies) = channel(room);
        let (mut sent, mut sum) = (0, 0);
        let send = |seq| {
            let ping = Ping {
                seq,
                reply: reply.clone(),
            };
            requests.send(ping).expect("the server serves");
        };
        while sent < w.min(n) {
            send(sent);
            sent += 1;
        }
        for _ in 0..n {
            sum += replies.recv().expect("the server answers");
            if sent < n {
                send(sent);
                sent += 1;
            }
        }
        side(sent, sum)
    });
    [server(inbox), client]
}

fn call(n: i64, room: Option<usize>) -> [Side; 2] {
    let (requests, inbox) = channel(room);
    let client = spawn(move || {
        let mut sum = 0;
        for seq in 0..n {
            let (reply, answer) = bounded(1);
            requests
                .send(Ping { seq, reply })
                .expect("the server serves");
            sum += answer.recv().expect("the server answers");
        }
        side(n, sum)
    });
    [server(inbox), client]
}

fn fixed(n: i64, room: Option<usize>) -> [Side; 2] {
    let (request, requests) = channel(room);
    let (reply, replies) = channel(room);
    let server = spawn(move || {
        let mut sent = 0;
        for seq in requests {
            reply.send(seq).expect("the client waits");
            sent += 1;
        }
        side(sent, 0)
    });
    let client = spawn(move || {
        let mut sum = 0;
        for seq in 0..n {
            request.send(seq).expect("the server serves");
            sum += replies.recv().expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

fn choice(n: i64) -> [Side; 2] {
    let (request, requests) = bounded::<i64>(0);
    let (reply, replies) = bounded::<i64>(0);
    let server = spawn(move || {
        let (_open, never) = bounded::<i64>(0);
        let mut sent = 0;
        loop {
            let seq = select! {
                recv(requests) -> seq => match seq { Ok(seq) => seq, Err(_) => break },
                recv(never) -> _ => break,
            };
            select! {
                send(reply, seq) -> sending => { sending.expect("the client waits"); sent += 1 }
                recv(never) -> _ => break,
            }
        }
        side(sent, 0)
    });
    let client = spawn(move || {
        let (_open, never) = bounded::<i64>(0);
        let (mut sent, mut sum) = (0, 0);
        while sent < n {
            select! {
                send(request, sent) -> sending => { sending.expect("the server serves"); sent += 1 }
                recv(never) -> _ => break,
            }
            select! {
                recv(replies) -> seq => sum += seq.expect("the server answers"),
                recv(never) -> _ => break,
            }
        }
        side(sent, sum)
    });
    [server, client]
}

fn fan_child<M: Form>(n: i64, inbox: &Receiver<M>, me: &Sender<M>, parent: &Sender<M>) -> i64 {
    let mut taken = 0;
    for message in inbox {
        taken += 1;
        let Is::Ping(index) = message.kind() else {
            break;
        };
        parent
            .send(M::pack(Is::Pong(index)))
            .expect("the parent waits");
        if index == n - 1 {
            me.send(M::pack(Is::Stop)).expect("our own");
        }
    }
    taken
}

fn fan_parent<M: Form>(n: i64, inbox: &Receiver<M>, me: &Sender<M>) -> Result<Counts, Fault> {
    let (mut taken, mut sum) = (0, 0);
    let mut children = None;
    for message in inbox {
        taken += 1;
        match message.kind() {
            Is::Start => {
                let (tx, rx) = unbounded();
                let (address, parent) = (tx.clone(), me.clone());
                children = Some(spawn(move || fan_child(n, &rx, &address, &parent)));
                for index in 0..n {
                    tx.send(M::pack(Is::Ping(index))).expect("the child lives");
                }
            }
            Is::Pong(index) => {
                sum += index;
                if index == n - 1 {
                    me.send(M::pack(Is::Stop)).expect("our own");
                }
            }
            _ => break,
        }
    }
    let taken_by_child = join(children.expect("Start came first"))?;
    Ok(Counts {
        msgs: taken + taken_by_child,
        units: 2,
        check: sum,
    })
}

fn fan<M: Form>(n: i64) -> Result<Counts, Fault> {
    let (tx, rx) = unbounded::<M>();
    let address = tx.clone();
    let parent = spawn(move || fan_parent(n, &rx, &address));
    tx.send(M::pack(Is::Start)).expect("the parent lives");
    join(parent)?
}

enum Message {
    Add(i64),
    GetAndReset(Sender<i64>),
}

fn counter(inbox: Receiver<Message>) {
    let mut sum = 0;
    for message in inbox {
        match message {
            Message::Add(value) => sum += value,
            Message::GetAndReset(answer) => {
                answer.send(sum).expect("the asker waits");
                sum = 0;
            }
        }
    }
}

fn ask(inbox: &Sender<Message>) -> i64 {
    let (answer, sum) = bounded(1);
    inbox
        .send(Message::GetAndReset(answer))
        .expect("the counter lives");
    sum.recv().expect("the counter answers")
}

/// Runs the producers and adds what they did.
fn produce(
    p: Params,
    producer: impl Fn() -> Result<Counts, Fault> + Sync,
) -> Result<Counts, Fault> {
    scope(|s| {
        let producers: Vec<ScopedJoinHandle<'_, _>> =
            (0..p.P).map(|_| s.spawn(&producer)).collect();
        let mut counts = Counts::default();
        for producer in producers {
            counts += producer
                .join()
                .map_err(|_| Fault::Bug("a thread panicked".into()))??;
        }
        Ok(counts)
    })
}

fn plain(p: Params, room: Option<usize>, each: bool) -> Result<Counts, Fault> {
    let (tx, rx) = channel(room);
    let actor = spawn(move || counter(rx));
    let mut counts = produce(p, || {
        for _ in 0..p.n {
            tx.send(Message::Add(STEP)).expect("the counter lives");
        }
        Ok(side(p.n, if each { ask(&tx) } else { 0 }))
    })?;
    if !each {
        counts.check = ask(&tx);
    }
    counts.units += 1;
    drop(tx);
    join(actor)?;
    Ok(counts)
}

fn selecting(p: Params, room: usize, timer: bool) -> Result<Counts, Fault> {
    let (add, adds) = bounded::<i64>(room);
    let (get, gets) = bounded::<Sender<i64>>(room);
    let actor = spawn(move || {
        let mut sum = 0;
        loop {
            select! {
                recv(adds) -> add => match add { Ok(value) => sum += value, Err(_) => return },
                recv(gets) -> get => {
                    let Ok(answer) = get else { return };
                    sum += adds.try_iter().sum::<i64>();
                    answer.send(sum).expect("the asker waits");
                    sum = 0;
                }
            }
        }
    });
    let mut counts = produce(p, || {
        for _ in 0..p.n {
            if timer {
                let sent = add.send_timeout(STEP, PATIENCE);
                sent.map_err(|_| Fault::Bug("a timeout of 100 ms fired".into()))?;
            } else {
                add.send(STEP).expect("the counter lives");
            }
        }
        Ok(side(p.n, 0))
    })?;
    let (answer, sum) = bounded(1);
    get.send(answer).expect("the counter lives");
    counts.check = sum.recv().expect("the counter answers");
    counts.units += 1;
    drop((add, get));
    join(actor)?;
    Ok(counts)
}

fn mutex(p: Params) -> Result<Counts, Fault> {
    let sum = Mutex::new(0);
    let mut counts = produce(p, || {
        for _ in 0..p.n {
            *sum.lock().expect("no producer panics") += STEP;
        }
        Ok(side(p.n, 0))
    })?;
    counts.check = sum.into_inner().expect("no producer panics");
    counts.units += 1;
    Ok(counts)
}

type Start = fn(i64, i64) -> [Side; 2];

fn pairs_cell(params: Params, window: i64, start: Start) -> Result<Sample, Fault> {
    let Params { p, n, w, .. } = params;
    let w = if w == 0 { window } else { w };
    within(&[("p", p, 10_000), ("n", n, 1 << 31), ("w", w, 1_000_000)])?;
    Ok(repeat_on_threads(move || pairs(p, || start(n, w))))
}

fn fan_cell(p: Params, scenario: fn(i64) -> Result<Counts, Fault>) -> Result<Sample, Fault> {
    within(&[("N", p.N, 100_000_000)])?;
    Ok(repeat_on_threads(move || scenario(p.N)))
}

fn counter_cell(p: Params, run: fn(Params) -> Result<Counts, Fault>) -> Result<Sample, Fault> {
    sizes(p)?;
    within(&[("P", p.P, 10_000)])?;
    Ok(repeat_on_threads(move || run(p)))
}

pub(crate) fn cells() -> Cells {
    Cells::from([
        (
            "pingpong/tell",
            (|p| pairs_cell(p, 1, |n, _| tell(n, 1, None))) as Cell,
        ),
        ("pingpong/tell-w100", |p| {
            pairs_cell(p, 100, |n, w| tell(n, w, None))
        }),
        ("pingpong/tell-w1000", |p| {
            pairs_cell(p, 1000, |n, w| tell(n, w, None))
        }),
        ("pingpong/tell-bounded", |p| {
            pairs_cell(p, 1, |n, _| tell(n, 1, Some(1)))
        }),
        ("pingpong/give", |p| {
            pairs_cell(p, 1, |n, _| tell(n, 1, Some(0)))
        }),
        ("pingpong/tell-fixed", |p| {
            pairs_cell(p, 1, |n, _| fixed(n, None))
        }),
        ("pingpong/give-fixed", |p| {
            pairs_cell(p, 1, |n, _| fixed(n, Some(0)))
        }),
        ("pingpong/call", |p| {
            pairs_cell(p, 1, |n, _| call(n, Some(0)))
        }),
        ("pingpong/call-send", |p| {
            pairs_cell(p, 1, |n, _| call(n, None))
        }),
        ("pingpong/choice", |p| pairs_cell(p, 1, |n, _| choice(n))),
        ("fan/struct", |p| fan_cell(p, fan::<Is>)),
        ("fan/obj", |p| fan_cell(p, fan::<Obj>)),
        ("counter/send", |p| {
            counter_cell(p, |p| plain(p, None, false))
        }),
        ("counter/threads", |p| {
            counter_cell(p, |p| plain(p, None, false))
        }),
        ("counter/give", |p| {
            counter_cell(p, |p| plain(p, Some(0), false))
        }),
        ("counter/bounded-1024", |p| {
            counter_cell(p, |p| plain(p, Some(1024), false))
        }),
        ("counter/ask-each", |p| {
            counter_cell(p, |p| plain(p, None, true))
        }),
        ("counter/select", |p| {
            counter_cell(p, |p| selecting(p, 0, true))
        }),
        ("counter/select-no-timer", |p| {
            counter_cell(p, |p| selecting(p, 0, false))
        }),
        ("counter/select-buffered", |p| {
            counter_cell(p, |p| selecting(p, 1024, true))
        }),
        ("counter/select-buffered-no-timer", |p| {
            counter_cell(p, |p| selecting(p, 1024, false))
        }),
        ("counter/mutex", |p| counter_cell(p, mutex)),
    ])
}
