//! counter: P producers, one sum.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use crate::flavour::{
    AsyncBounded, AsyncUnbounded, Flavour, FlumeBounded, FlumeUnbounded, KanalBounded,
    KanalUnbounded, TokioBounded, TokioUnbounded, Unbounded,
};
use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, unconstrained};
use tokio::time::timeout;

pub(crate) const STEP: i64 = 100;
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// How many messages the counter takes at once at most.
const BATCH: usize = 256;

type Answer = oneshot::Sender<i64>;

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

async fn counter<F: Flavour>(mut inbox: F::Rx<Message>) {
    let mut sum = 0;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        F::recv_many(&mut inbox, &mut batch).await;
        if batch.is_empty() {
            return;
        }
        sum = batch.drain(..).fold(sum, |sum, message| after(message, sum));
    }
}

async fn ask<F: Flavour>(inbox: &F::Tx<Message>) -> Result<i64, Fault> {
    let (answer, sum) = oneshot::channel();
    F::send(inbox, Message::GetAndReset(answer)).await;
    sum.await.map_err(|e| Fault::Bug(e.to_string()))
}

/// Waits for the producers and adds up how often they sent.
async fn sent_by(producers: Vec<JoinHandle<Result<i64, Fault>>>) -> Result<i64, Fault> {
    let mut sent = 0;
    for producer in producers {
        sent += producer.await??;
    }
    Ok(sent)
}

/// One channel, one question after all producers have ended.
async fn plain<F: Flavour>(p: Params, room: usize) -> Result<Counts, Fault> {
    let (tx, rx) = F::channel(room);
    tokio::spawn(counter::<F>(rx));
    let producers = (0..p.P).map(|_| {
        let tx = tx.clone();
        tokio::spawn(async move {
            for _ in 0..p.n {
                F::send(&tx, Message::Add(STEP)).await;
            }
            Ok(p.n)
        })
    });
    let msgs = sent_by(producers.collect()).await?;
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check: ask::<F>(&tx).await?,
    })
}

/// Every producer asks for itself, the answers are added.
async fn ask_each<F: Flavour>(p: Params) -> Result<Counts, Fault> {
    let (tx, rx) = F::channel(0);
    tokio::spawn(counter::<F>(rx));
    let producers: Vec<_> = (0..p.P)
        .map(|_| {
            let tx = tx.clone();
            tokio::spawn(async move {
                for _ in 0..p.n {
                    F::send(&tx, Message::Add(STEP)).await;
                }
                Ok::<_, Fault>(Counts {
                    msgs: p.n,
                    units: 1,
                    check: ask::<F>(&tx).await?,
                })
            })
        })
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
async fn from_threads<F: Unbounded>(p: Params) -> Result<Counts, Fault> {
    let (tx, rx) = F::channel(0);
    tokio::spawn(counter::<F>(rx));
    let producers: Vec<_> = (0..p.P)
        .map(|_| {
            let tx = tx.clone();
            let (ended, end) = oneshot::channel();
            std::thread::spawn(move || {
                for _ in 0..p.n {
                    F::push(&tx, Message::Add(STEP));
                }
                let _ = ended.send(p.n);
            });
            end
        })
        .collect();
    let mut msgs = 0;
    for end in producers {
        msgs += end.await.map_err(|e| Fault::Bug(e.to_string()))?;
    }
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check: ask::<F>(&tx).await?,
    })
}

/// A receive that brings its receiver back, so that it can wait across several choices: it is
/// never cancelled (kanal would lose a value handed to it) nor registered anew for each.
async fn take<F: Flavour, T: Send + 'static>(mut rx: F::Rx<T>) -> (Option<T>, F::Rx<T>) {
    (F::recv(&mut rx).await, rx)
}

/// Chooses between Add and GetAndReset. With a buffer, Adds sent before the question may still
/// wait in it, so it takes those first.
async fn selecting<F: Flavour>(adds: F::Rx<i64>, gets: F::Rx<Answer>) {
    let mut sum = 0;
    let mut add = pin!(take::<F, _>(adds));
    let mut get = pin!(take::<F, _>(gets));
    loop {
        tokio::select! { biased;
            (value, adds) = &mut add => {
                let Some(value) = value else { return };
                sum += value;
                add.set(take::<F, _>(adds));
            }
            (answer, gets) = &mut get => {
                let Some(answer) = answer else { return };
                // Not held back by tokio's budget: what is there must be seen.
                while let Some((Some(value), adds)) = unconstrained(at_once(add.as_mut())).await {
                    sum += value;
                    add.set(take::<F, _>(adds));
                }
                answer.send(sum).expect("the asker waits");
                sum = 0;
                get.set(take::<F, _>(gets));
            }
        }
    }
}

/// The value of a future that is ready.
async fn at_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    tokio::select! { biased;
        value = future => Some(value),
        () = ready(()) => None,
    }
}

async fn select<F: Flavour, const TIMER: bool>(p: Params, room: usize) -> Result<Counts, Fault> {
    let (add, adds) = F::channel(room);
    let (get, gets) = F::channel(room);
    tokio::spawn(selecting::<F>(adds, gets));
    let producers = (0..p.P).map(|_| {
        let add = add.clone();
        tokio::spawn(async move {
            for _ in 0..p.n {
                if TIMER {
                    let sent = timeout(PATIENCE, F::send(&add, STEP)).await;
                    sent.map_err(|_| Fault::Bug("a timeout of 100 ms fired".into()))?;
                } else {
                    F::send(&add, STEP).await;
                }
            }
            Ok(p.n)
        })
    });
    let msgs = sent_by(producers.collect()).await?;
    let (answer, sum) = oneshot::channel();
    F::send(&get, answer).await;
    let check = sum.await.map_err(|e| Fault::Bug(e.to_string()))?;
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check,
    })
}

/// No messages, a floor.
async fn mutex(p: Params) -> Result<Counts, Fault> {
    let sum = Arc::new(Mutex::new(0));
    let producers = (0..p.P).map(|_| {
        let sum = Arc::clone(&sum);
        tokio::spawn(async move {
            for _ in 0..p.n {
                *sum.lock().expect("no producer panics") += STEP;
            }
            Ok(p.n)
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

pub(crate) fn sizes(p: Params) -> Result<(), Fault> {
    within(&[("P", p.P, 100_000), ("n", p.n, 1 << 31)])
}

fn cell<S, R>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(Params) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    sizes(params)?;
    Ok(repeat(move || scenario(params)))
}

fn of<U: Unbounded, B: Flavour>() -> Cells {
    Cells::from([
        ("counter/send", (|p| cell(p, |p| plain::<U>(p, 0))) as Cell),
        ("counter/bounded-1024", |p| cell(p, |p| plain::<B>(p, 1024))),
        ("counter/ask-each", |p| cell(p, ask_each::<U>)),
        ("counter/threads", |p| cell(p, from_threads::<U>)),
        ("counter/select-buffered", |p| {
            cell(p, |p| select::<B, true>(p, 1024))
        }),
        ("counter/select-buffered-no-timer", |p| {
            cell(p, |p| select::<B, false>(p, 1024))
        }),
    ])
}

/// `room` is 0, or 1 for the libraries that have no rendezvous.
fn with_select<U: Unbounded, B: Flavour, const ROOM: usize>() -> Cells {
    let mut cells = of::<U, B>();
    cells.extend([
        (
            "counter/select",
            (|p| cell(p, |p| select::<B, true>(p, ROOM))) as Cell,
        ),
        ("counter/select-no-timer", |p| {
            cell(p, |p| select::<B, false>(p, ROOM))
        }),
    ]);
    if ROOM == 0 {
        cells.insert("counter/give", |p| cell(p, |p| plain::<B>(p, 0)));
    }
    cells
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => {
            let mut cells = with_select::<TokioUnbounded, TokioBounded, 1>();
            cells.insert("counter/mutex", |p| cell(p, mutex));
            cells
        }
        "async-channel" => with_select::<AsyncUnbounded, AsyncBounded, 1>(),
        "flume" => with_select::<FlumeUnbounded, FlumeBounded, 0>(),
        _ => with_select::<KanalUnbounded, KanalBounded, 0>(),
    }
}
