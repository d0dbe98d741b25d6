//! quality: how long a task is late while another computes.

use std::future::{IntoFuture as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tidings::time::sleep;
use tidings::{JoinError, Receiver, Sender, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, within};

/// How long it computes at most.
const TURN: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(1);

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

fn cell<R>(params: Params, scenario: fn(i64) -> R) -> Result<Sample, Fault>
where
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let n = params.n;
    within(&[("n", n, 1_000_000)])?;
    Ok(repeat(move || scenario(n)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("quality/hog-spawn", |p, _| cell(p, hog_spawn)),
        ("quality/hog-wake", |p, _| cell(p, |n| hog(n, false, woken))),
        ("quality/hog-timer", |p, _| cell(p, |n| hog(n, true, slept))),
    ])
}
