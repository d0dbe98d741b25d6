//! net/local: request and answer without a socket.

use crate::cells::{Cell, Cells, Counts, Fault, Sample, Stopwatch, within};
use crate::flavour::{AsyncUnbounded, Flavour, FlumeUnbounded, KanalUnbounded, TokioUnbounded};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Barrier, oneshot};

type Request = (i64, oneshot::Sender<i64>);

async fn echo<F: Flavour>(server: &F::Tx<Request>, number: i64) -> i64 {
    let (reply, answer) = oneshot::channel();
    F::send(server, (number, reply)).await;
    let answer = answer.await.expect("the server answers");
    assert_eq!(answer, number, "a wrong answer");
    answer
}

/// Makes the pairs, lets each client have one verified echo, and times only the rest.
async fn local<F: Flavour>(n: i64, m: i64) -> Result<(Duration, Counts), Fault> {
    let all = n as usize + 1;
    let gates = Arc::new((Barrier::new(all), Barrier::new(all))); // ready, go
    let tasks: Vec<_> = (0..n)
        .flat_map(|_| {
            let (tx, mut rx) = F::channel::<Request>(1);
            let gates = Arc::clone(&gates);
            let server = tokio::spawn(async move {
                let mut served = -1; // the echo before the start
                while let Some((number, reply)) = F::recv(&mut rx).await {
                    reply.send(number).expect("the client waits");
                    served += 1;
                }
                Counts {
                    msgs: served,
                    units: 1,
                    check: 0,
                }
            });
            let client = tokio::spawn(async move {
                echo::<F>(&tx, -1).await;
                gates.0.wait().await;
                gates.1.wait().await;
                let mut sum = 0;
                for number in 0..m {
                    sum += echo::<F>(&tx, number).await;
                }
                Counts {
                    msgs: m,
                    units: 1,
                    check: sum,
                }
            });
            [server, client]
        })
        .collect();
    gates.0.wait().await;
    let watch = Stopwatch::start();
    gates.1.wait().await;
    let mut counts = Counts::default();
    for task in tasks {
        counts += task.await?;
    }
    Ok((watch.stop(), counts))
}

fn of<F: Flavour>() -> Cells {
    let cell: Cell = |params| {
        let (n, m) = (params.N, params.M);
        within(&[("N", n, 1_000_000), ("M", m, 1 << 31)])?;
        Ok(Sample::Task(Box::new(move |inner| {
            Box::pin(async move {
                let (mut time, mut total) = (Duration::ZERO, Counts::default());
                for _ in 0..inner {
                    let (elapsed, counts) = local::<F>(n, m).await?;
                    time += elapsed;
                    total += counts;
                }
                Ok((time, total))
            })
        })))
    };
    Cells::from([("net/local", cell)])
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => of::<TokioUnbounded>(),
        "async-channel" => of::<AsyncUnbounded>(),
        "flume" => of::<FlumeUnbounded>(),
        _ => of::<KanalUnbounded>(),
    }
}
