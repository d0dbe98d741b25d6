//! A pipeline: a source, four workers and a sink, with bounded channels between them. A token ends the source, and
//! what is under way is finished: nothing is lost. `cargo run -p tidings --example pipeline`.

use std::time::Duration;

use tidings::{CancellationToken, JoinSet, Receiver, Sender, after, bounded, select};

/// Sends numbers until it is cancelled. Gives how many it has sent.
async fn source(jobs: Sender<u64>, stop: CancellationToken) -> u64 {
    let mut n = 0;
    loop {
        // A send that loses a choice has had no effect.
        select! {
            sent = jobs.send(n) => match sent {
                Ok(()) => n += 1,
                Err(_) => return n, // no worker is left
            },
            () = stop.cancelled() => return n,
        }
    }
}

/// Works until no job is left and none will come. Each job goes to one of those who share the receiver.
async fn worker(jobs: Receiver<u64>, results: Sender<(u64, u64)>) {
    while let Ok(n) = jobs.recv().await {
        if results.send((n, n * n)).await.is_err() {
            return;
        }
    }
}

/// Has at least `enough` numbers squared, and gives all that were, in their order.
pub(crate) async fn squares(enough: usize) -> Result<Vec<u64>, &'static str> {
    // The source waits when eight jobs wait, and the workers when eight results do.
    let (jobs, work) = bounded(8);
    let (results, done) = bounded(8);
    let stop = CancellationToken::new();

    let mut workers = JoinSet::new();
    for _ in 0..4 {
        workers.spawn(worker(work.clone(), results.clone()));
    }
    // The channels close when those who work with them have ended.
    drop((work, results));
    let source = tidings::spawn(source(jobs, stop.clone()));

    let mut squares = Vec::new();
    loop {
        select! {
            result = done.recv() => match result {
                Ok(square) => squares.push(square),
                Err(_) => break, // all is done
            },
            () = after(Duration::from_secs(10)) => return Err("the workers are stuck"),
        }
        if squares.len() == enough {
            stop.cancel();
        }
    }
    assert_eq!(source.await.unwrap(), squares.len() as u64);
    squares.sort_unstable();
    Ok(squares.into_iter().map(|(_, square)| square).collect())
}

#[tidings::main]
async fn main() -> Result<(), &'static str> {
    let squares = squares(1000).await?;
    let last = squares.last().unwrap_or(&0);
    println!("{} squares, the last of them {last}", squares.len());
    Ok(())
}
