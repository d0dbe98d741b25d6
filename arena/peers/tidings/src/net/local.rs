//! net/local: request and answer without a socket.

use std::time::Duration;

use tidings::channel::ivar::IVar;
use tidings::channel::oneshot::{self, oneshot};
use tidings::{Receiver, Sender, unbounded};

use crate::cell::{Cells, Counts, Fault, Sample, Stopwatch, plain, sums_fit, within};
use crate::pingpong::side;

/// The request carries its number and a fresh reply cell.
type Request = (i64, oneshot::Sender<i64>);

async fn echo(server: &Sender<Request>, number: i64) -> i64 {
    let (reply, answer) = oneshot();
    assert!(
        server.try_send((number, reply)).is_ok(),
        "the server receives"
    );
    let answer = answer.await.expect("the server answers");
    assert_eq!(answer, number, "a wrong answer");
    answer
}

async fn serve(requests: Receiver<Request>) -> Counts {
    let mut served = -1; // the echo before the start
    while let Ok((number, reply)) = requests.recv().await {
        reply.send(number).expect("the client waits");
        served += 1;
    }
    side(served, 0)
}

async fn ask(server: Sender<Request>, ready: Sender<()>, go: IVar<()>, m: i64) -> Counts {
    echo(&server, -1).await;
    assert!(ready.try_send(()).is_ok(), "the driver waits");
    drop(ready);
    go.read().await;
    let mut sum = 0;
    for number in 0..m {
        sum += echo(&server, number).await;
    }
    side(m, sum)
}

/// Makes the pairs, lets each client have one verified echo, and times only the rest.
async fn local(n: i64, m: i64) -> Result<(Duration, Counts), Fault> {
    let (ready, all_ready) = unbounded();
    let go = IVar::new();
    let pair = |_| {
        let (request, requests) = unbounded();
        let client = ask(request, ready.clone(), go.clone(), m);
        [tidings::spawn(serve(requests)), tidings::spawn(client)]
    };
    let tasks: Vec<_> = (0..n).flat_map(pair).collect();
    for _ in 0..n {
        all_ready.recv().await?;
    }
    let watch = Stopwatch::start();
    go.fill(()).expect("filled here only");
    let mut counts = Counts::default();
    for task in tasks {
        counts += task.await?;
    }
    Ok((watch.stop(), counts))
}

pub(crate) fn cells() -> Cells {
    plain([("net/local", |params, _| {
        let (n, m) = (params.N, params.M);
        within(&[("N", n, 1_000_000), ("M", m, 1 << 31)])?;
        sums_fit(n, m)?;
        Ok(Sample::Task(Box::new(move |inner| {
            Box::pin(async move {
                let (mut time, mut total) = (Duration::ZERO, Counts::default());
                for _ in 0..inner {
                    let (elapsed, counts) = local(n, m).await?;
                    time += elapsed;
                    total += counts;
                }
                Ok((time, total))
            })
        })))
    })])
}
