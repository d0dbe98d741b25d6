//! counter: P producers, one sum, one channel.

use std::sync::{Arc, Mutex};

use tidings::channel::oneshot::{self, oneshot};
use tidings::{JoinHandle, Receiver, Sender, bounded, channel, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, within};
use crate::pingpong::GONE;

/// What every message adds.
pub(crate) const STEP: i64 = 100;

/// How many messages the counter takes at once at most.
const BATCH: usize = 256;

pub(crate) type Answer = oneshot::Sender<i64>;

enum Message {
    Add(i64),
    GetAndReset(Answer),
}

/// What a message makes of the sum. By value: in the task's own state, which outlives its awaits, each addition would wait
/// until the one before is out in memory.
#[inline(always)]
fn after(message: Message, sum: i64) -> i64 {
    match message {
        Message::Add(value) => sum + value,
        Message::GetAndReset(answer) => {
            answer.send(sum).expect("the asker waits");
            0
        }
    }
}

async fn count(inbox: Receiver<Message>) {
    let mut sum = 0;
    let mut batch = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut batch, BATCH).await > 0 {
        sum = batch
            .drain(..)
            .fold(sum, |sum, message| after(message, sum));
    }
}

/// Of a rendezvous, where nothing piles up.
async fn count_each(inbox: Receiver<Message>) {
    let mut sum = 0;
    while let Ok(message) = inbox.recv().await {
        sum = after(message, sum);
    }
}

async fn ask(inbox: &Sender<Message>) -> Result<i64, Fault> {
    let (answer, sum) = oneshot();
    let asked = inbox.send(Message::GetAndReset(answer)).await;
    assert!(asked.is_ok(), "{GONE}");
    Ok(sum.await?)
}

/// Gives how often it sent. Awaited sends do not wait if the channel is unbounded, but let the
/// counter have its turn: a producer that never yields would queue all it sends.
async fn produce(inbox: Sender<Message>, n: i64) -> i64 {
    let mut sent = 0;
    while sent < n {
        assert!(inbox.send(Message::Add(STEP)).await.is_ok(), "{GONE}");
        sent += 1;
    }
    sent
}

/// Waits for the producers and adds up how often they sent.
pub(crate) async fn sent_by(producers: Vec<JoinHandle<i64>>) -> Result<i64, Fault> {
    let mut sent = 0;
    for producer in producers {
        sent += producer.await?;
    }
    Ok(sent)
}

/// One question after all producers have ended.
async fn once(
    p: Params,
    make: fn() -> (Sender<Message>, Receiver<Message>),
) -> Result<Counts, Fault> {
    let (tx, rx) = make();
    if tx.capacity() == Some(0) {
        tidings::spawn(count_each(rx));
    } else {
        tidings::spawn(count(rx));
    }
    let producers = (0..p.P).map(|_| tidings::spawn(produce(tx.clone(), p.n)));
    let msgs = sent_by(producers.collect()).await?;
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check: ask(&tx).await?,
    })
}

/// Every producer asks for itself, the answers are added.
async fn ask_each(p: Params) -> Result<Counts, Fault> {
    let (tx, rx) = unbounded();
    tidings::spawn(count(rx));
    let producer = |tx: Sender<Message>| async move {
        let msgs = produce(tx.clone(), p.n).await;
        Ok::<_, Fault>(Counts {
            msgs,
            units: 1,
            check: ask(&tx).await?,
        })
    };
    let producers: Vec<_> = (0..p.P)
        .map(|_| tidings::spawn(producer(tx.clone())))
        .collect();
    let mut counts = Counts {
        msgs: 0,
        units: 1,
        check: 0,
    };
    for producer in producers {
        counts += producer.await??;
    }
    Ok(counts)
}

/// The producers are threads.
async fn from_threads(p: Params) -> Result<Counts, Fault> {
    let (tx, rx) = unbounded();
    tidings::spawn(count(rx));
    let producer = |tx: Sender<Message>| {
        let (ended, end) = oneshot();
        std::thread::spawn(move || {
            let mut sent = 0;
            while sent < p.n && tx.try_send(Message::Add(STEP)).is_ok() {
                sent += 1;
            }
            let _ = ended.send(sent); // a sample that has failed does not wait
        });
        end
    };
    let producers: Vec<_> = (0..p.P).map(|_| producer(tx.clone())).collect();
    let mut msgs = 0;
    for end in producers {
        msgs += end.await?;
    }
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check: ask(&tx).await?,
    })
}

/// No messages, a floor.
async fn mutex(p: Params) -> Result<Counts, Fault> {
    let sum = Arc::new(Mutex::new(0));
    let producers = (0..p.P).map(|_| {
        let sum = Arc::clone(&sum);
        tidings::spawn(async move {
            for _ in 0..p.n {
                *sum.lock().expect("no producer panics") += STEP;
            }
            p.n
        })
    });
    let msgs = sent_by(producers.collect()).await?;
    let check = *sum.lock().expect("no producer panics");
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check,
    })
}

pub(crate) fn cell<S, R>(p: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(Params) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    within(&[("P", p.P, 100_000), ("n", p.n, 1 << 31)])?;
    Ok(repeat(move || scenario(p)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("counter/send", |p, _| cell(p, |p| once(p, unbounded))),
        ("counter/give", |p, _| cell(p, |p| once(p, channel))),
        ("counter/bounded-1024", |p, _| {
            cell(p, |p| once(p, || bounded(1024)))
        }),
        ("counter/ask-each", |p, _| cell(p, ask_each)),
        ("counter/threads", |p, _| cell(p, from_threads)),
        ("counter/mutex", |p, _| cell(p, mutex)),
    ])
}
