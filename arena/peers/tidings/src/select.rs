//! counter/select: P producers, one sum, two channels, and the counter chooses between them.

use std::time::Duration;

use tidings::channel::oneshot::oneshot;
use tidings::{Receiver, Sender, select};

use crate::cell::{Cells, Counts, Fault, Params, plain};
use crate::counter::{Answer, STEP, cell};
use crate::pingpong::with_room;

/// How long a producer is ready to wait for each send.
const PATIENCE: Duration = Duration::from_millis(100);

/// With a buffer, Adds sent before the question may still be in it: those come first.
async fn count(adds: Receiver<i64>, gets: Receiver<Answer>) {
    let mut sum = 0;
    loop {
        select! {
            added = adds.recv() => match added {
                Ok(value) => sum += value,
                Err(_) => return,
            },
            asked = gets.recv() => {
                let Ok(answer) = asked else { return };
                while let Ok(value) = adds.try_recv() {
                    sum += value;
                }
                answer.send(sum).expect("the asker waits");
                sum = 0;
            }
        }
    }
}

/// Gives how often it sent.
async fn produce<const TIMER: bool>(add: Sender<i64>, n: i64) -> Result<i64, Fault> {
    let bug = |what: &str| Fault::Bug(what.into());
    let mut sent = 0;
    while sent < n {
        let send = add.send(STEP);
        let result = if TIMER {
            use tidings::Event as _;
            let in_time = send.timeout(PATIENCE).await;
            in_time.map_err(|_| bug("a timeout of 100 ms fired"))?
        } else {
            send.await
        };
        result.map_err(|_| bug("the counter has ended"))?;
        sent += 1;
    }
    Ok(sent)
}

async fn select<const TIMER: bool>(p: Params, room: usize) -> Result<Counts, Fault> {
    let (add, adds) = with_room(room);
    let (get, gets) = with_room(room);
    tidings::spawn(count(adds, gets));
    let producers = (0..p.P).map(|_| tidings::spawn(produce::<TIMER>(add.clone(), p.n)));
    let mut msgs = 0;
    for producer in producers.collect::<Vec<_>>() {
        msgs += producer.await??;
    }
    let (answer, sum) = oneshot();
    let asked = get.send(answer).await;
    asked.map_err(|_| Fault::Bug("the counter has ended".into()))?;
    Ok(Counts {
        msgs,
        units: p.P + 1,
        check: sum.await?,
    })
}

pub(crate) fn cells() -> Cells {
    plain([
        ("counter/select", |p, _| cell(p, |p| select::<true>(p, 0))),
        ("counter/select-no-timer", |p, _| {
            cell(p, |p| select::<false>(p, 0))
        }),
        ("counter/select-buffered", |p, _| {
            cell(p, |p| select::<true>(p, 1024))
        }),
        ("counter/select-buffered-no-timer", |p, _| {
            cell(p, |p| select::<false>(p, 1024))
        }),
    ])
}
