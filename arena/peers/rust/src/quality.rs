//! quality: how long a task is late while another computes; how fair pairs are served; what idling takes. tokio only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinError;

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};

/// How long it computes at most.
const TURN: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(1);
/// An operation of `idle`.
const IDLE: Duration = Duration::from_millis(10);

/// Computes, and does not stop, until the other has run.
fn compute(other: &AtomicBool) {
    let begun = Instant::now();
    while !other.load(Acquire) && begun.elapsed() < TURN {
        std::hint::spin_loop();
    }
}

/// It has started the other just before.
async fn hog_spawn(n: i64) -> Result<Counts, Fault> {
    let hog = tokio::spawn(async move {
        let mut ran = 0;
        while ran < n {
            let flag = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&flag);
            let other = tokio::spawn(async move {
                seen.store(true, Release);
                1
            });
            compute(&flag);
            ran += other.await?;
        }
        Ok::<_, JoinError>(ran)
    });
    let ran = hog.await??;
    Ok(Counts {
        msgs: ran,
        units: ran + 1,
        check: ran,
    })
}

/// It has sent the other something just before; `armed`: and has heard that its timer runs.
async fn hog<R>(
    n: i64,
    armed: bool,
    serve: fn(UnboundedReceiver<()>, UnboundedSender<()>, Arc<AtomicBool>) -> R,
) -> Result<Counts, Fault>
where
    R: Future<Output = i64> + Send + 'static,
{
    let ((ask, asked), (tell, mut told)) = (unbounded_channel(), unbounded_channel());
    let flag = Arc::new(AtomicBool::new(false));
    let other = tokio::spawn(serve(asked, tell, Arc::clone(&flag)));
    let hog = tokio::spawn(async move {
        let ended = || Fault::Bug("the other has ended".into());
        for _ in 0..n {
            ask.send(())?;
            if armed {
                told.recv().await.ok_or_else(ended)?;
            }
            compute(&flag);
            told.recv().await.ok_or_else(ended)?;
            // The other sets it in the next round, which begins with a message.
            flag.store(false, Relaxed);
        }
        Ok::<_, Fault>(())
    });
    hog.await??;
    let ran = other.await?;
    Ok(Counts {
        msgs: ran,
        units: 2,
        check: ran,
    })
}

async fn woken(
    mut asked: UnboundedReceiver<()>,
    tell: UnboundedSender<()>,
    flag: Arc<AtomicBool>,
) -> i64 {
    let mut ran = 0;
    while asked.recv().await.is_some() {
        ran += 1;
        flag.store(true, Release);
        if tell.send(()).is_err() {
            break;
        }
    }
    ran
}

async fn slept(
    mut asked: UnboundedReceiver<()>,
    tell: UnboundedSender<()>,
    flag: Arc<AtomicBool>,
) -> i64 {
    let mut ran = 0;
    while asked.recv().await.is_some() {
        // It is armed by its first poll, the other's turn comes after that.
        let mut nap = std::pin::pin!(tokio::time::sleep(NAP));
        let early = std::future::poll_fn(|cx| std::task::Poll::Ready(nap.as_mut().poll(cx))).await;
        if early.is_ready() || tell.send(()).is_err() {
            break;
        }
        nap.await;
        ran += 1;
        flag.store(true, Release);
        if tell.send(()).is_err() {
            break;
        }
    }
    ran
}

fn gone() -> Fault {
    Fault::Bug("the partner has ended".into())
}

/// Pairs of which none stops before the slowest has made `n` round trips.
async fn fair(p: i64, n: i64) -> Result<Counts, Fault> {
    let behind = Arc::new(AtomicI64::new(p));
    let mut clients = Vec::new();
    for _ in 0..p {
        let (ask, mut asked) = unbounded_channel::<UnboundedSender<i64>>();
        let server = tokio::spawn(async move {
            while let Some(reply) = asked.recv().await {
                reply.send(1)?;
            }
            Ok::<_, Fault>(())
        });
        let behind = Arc::clone(&behind);
        clients.push(tokio::spawn(async move {
            let (reply, mut replies) = unbounded_channel();
            let mut made = 0;
            while behind.load(Relaxed) > 0 {
                ask.send(reply.clone())?;
                made += replies.recv().await.ok_or_else(gone)?;
                if made == n {
                    behind.fetch_sub(1, Relaxed);
                }
            }
            drop(ask);
            server.await??;
            Ok::<_, Fault>(made)
        }));
    }
    let mut total = Counts::default();
    for client in clients {
        let made = client.await??.min(n);
        total += Counts {
            msgs: 2 * made,
            units: 2,
            check: made,
        };
    }
    Ok(total)
}

/// Tasks that wait for what does not come.
async fn idle(p: i64, n: i64) -> Result<Counts, Fault> {
    let waiting: Vec<_> = (0..p)
        .map(|_| {
            let (end, ended) = oneshot::channel::<()>();
            let task = tokio::spawn(async move { i64::from(ended.await.is_err()) });
            (end, task)
        })
        .collect();
    tokio::time::sleep(IDLE * n as u32).await;
    let mut over = 0;
    for (end, task) in waiting {
        drop(end);
        over += task.await?;
    }
    Ok(Counts {
        msgs: n,
        units: over,
        check: over,
    })
}

fn cell<S, R>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64, i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    let Params { p, n, .. } = params;
    within(&[("p", p, 1_000_000), ("n", n, 1_000_000)])?;
    Ok(repeat(move || scenario(p, n)))
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => Cells::from([
            ("quality/hog-spawn", (|p| cell(p, |_, n| hog_spawn(n))) as Cell),
            ("quality/hog-wake", |p| cell(p, |_, n| hog(n, false, woken))),
            ("quality/hog-timer", |p| cell(p, |_, n| hog(n, true, slept))),
            ("quality/pairs", |p| cell(p, fair)),
            ("quality/idle", |p| cell(p, idle)),
        ]),
        _ => Cells::new(),
    }
}
