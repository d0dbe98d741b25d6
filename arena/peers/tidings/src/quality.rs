//! quality: how long a task is late while another computes; how fair pairs are served; what idling takes.

use std::future::{IntoFuture as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tidings::time::sleep;
use tidings::{JoinError, Receiver, Sender, oneshot, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, within};

/// How long it computes at most.
const TURN: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(1);
/// An operation of `idle`.
const IDLE: Duration = Duration::from_millis(10);

/// Computes, and does not stop, until the other has run.
fn compute(other: &AtomicBool) {
    let begun = Instant::now();
    while !other.load(Ordering::Acquire) && begun.elapsed() < TURN {
        std::hint::spin_loop();
    }
}

/// It has started the other just before.
async fn hog_spawn(n: i64) -> Result<Counts, Fault> {
    let hog = tidings::spawn(async move {
        let mut ran = 0;
        while ran < n {
            let flag = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&flag);
            let other = tidings::spawn(async move {
                seen.store(true, Ordering::Release);
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

/// What the other does for each request: it says when its timer runs, if it has one, and when it has run.
type Serve<R> = fn(Receiver<()>, Sender<()>, Arc<AtomicBool>) -> R;

/// It has sent the other something just before; `armed`: and has heard that its timer runs.
async fn hog<R>(n: i64, armed: bool, serve: Serve<R>) -> Result<Counts, Fault>
where
    R: Future<Output = i64> + Send + 'static,
{
    let ((ask, asked), (tell, told)) = (unbounded(), unbounded());
    let flag = Arc::new(AtomicBool::new(false));
    let other = tidings::spawn(serve(asked, tell, Arc::clone(&flag)));
    let hog = tidings::spawn(async move {
        for _ in 0..n {
            ask.send(()).await?;
            if armed {
                told.recv().await?;
            }
            compute(&flag);
            told.recv().await?;
            // RELAXED: the other sets it in the next round, which begins with a message.
            flag.store(false, Ordering::Relaxed);
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

async fn woken(asked: Receiver<()>, tell: Sender<()>, flag: Arc<AtomicBool>) -> i64 {
    let mut ran = 0;
    while asked.recv().await.is_ok() {
        ran += 1;
        flag.store(true, Ordering::Release);
        if tell.send(()).await.is_err() {
            break;
        }
    }
    ran
}

async fn slept(asked: Receiver<()>, tell: Sender<()>, flag: Arc<AtomicBool>) -> i64 {
    let mut ran = 0;
    while asked.recv().await.is_ok() {
        let mut nap = pin!(sleep(NAP).into_future());
        let early = poll_fn(|cx| Poll::Ready(nap.as_mut().poll(cx))).await;
        if early.is_ready() || tell.send(()).await.is_err() {
            break;
        }
        nap.await;
        ran += 1;
        flag.store(true, Ordering::Release);
        if tell.send(()).await.is_err() {
            break;
        }
    }
    ran
}

/// Pairs of which none stops before the slowest has made `n` round trips.
async fn fair(p: i64, n: i64) -> Result<Counts, Fault> {
    let behind = Arc::new(AtomicI64::new(p));
    let mut clients = Vec::new();
    for _ in 0..p {
        let (ask, asked) = unbounded::<Sender<i64>>();
        let server = tidings::spawn(async move {
            while let Ok(reply) = asked.recv().await {
                reply.send(1).await?;
            }
            Ok::<_, Fault>(())
        });
        let behind = Arc::clone(&behind);
        clients.push(tidings::spawn(async move {
            let (reply, replies) = unbounded();
            let mut made = 0;
            // RELAXED: it says when to stop, and publishes nothing.
            while behind.load(Ordering::Relaxed) > 0 {
                ask.send(reply.clone()).await?;
                made += replies.recv().await?;
                if made == n {
                    behind.fetch_sub(1, Ordering::Relaxed);
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
            let (end, ended) = oneshot::<()>();
            (
                end,
                tidings::spawn(async move { i64::from(ended.await.is_err()) }),
            )
        })
        .collect();
    sleep(IDLE * n as u32).await;
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
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let Params { p, n, .. } = params;
    within(&[("p", p, 1_000_000), ("n", n, 1_000_000)])?;
    Ok(repeat(move || scenario(p, n)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("quality/hog-spawn", |p, _| cell(p, |_, n| hog_spawn(n))),
        ("quality/hog-wake", |p, _| {
            cell(p, |_, n| hog(n, false, woken))
        }),
        ("quality/hog-timer", |p, _| {
            cell(p, |_, n| hog(n, true, slept))
        }),
        ("quality/pairs", |p, _| cell(p, fair)),
        ("quality/idle", |p, _| cell(p, idle)),
    ])
}
