//! A node: a worker in the pool, a name of its own, and a claim to be the leader. `leave` makes it leave
//! in order.
//!
//! What it does, it notes in its ledger before it answers: `NUMBER LIFE MICROSECONDS`, a write each, so
//! that it is there after a `kill -9`.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

use futures_util::future::{Either, select};
use tidings::actor;
use tidings::time::sleep;
use tidings_nats::{Cluster, Ended, Name, NameError};

use crate::member::{self, LEADER, WORKERS, Worker, WorkerRef, own_name};

struct Noting {
    life: u64,
    ledger: File,
}

impl Worker for Noting {
    async fn work(&mut self, number: u64) -> u64 {
        let line = format!("{number} {:x} {}\n", self.life, member::now());
        self.ledger
            .write_all(line.as_bytes())
            .expect("the ledger is written");
        self.life
    }

    async fn who(&self) -> u64 {
        self.life
    }
}

/// `NAME URLS LEDGER [LISTEN]`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [name, urls, ledger, listen @ ..] = arguments else {
        return Err("node NAME URLS LEDGER [LISTEN]".into());
    };
    tidings::Runtime::new()?.block_on(lives(name, urls, ledger, listen.first()))
}

async fn lives(
    name: &str,
    urls: &str,
    ledger: &str,
    listen: Option<&String>,
) -> Result<(), Box<dyn Error>> {
    let commands = member::commands();
    loop {
        let mut options = member::options(name);
        if let Some(listen) = listen {
            options = options.listen(listen);
        }
        let cluster = member::join(urls, options).await?;
        let (_, life) = cluster.me();
        let ledger = File::options().create(true).append(true).open(ledger)?;
        let worker: WorkerRef = actor::start(Noting { life, ledger });
        let mut tasks = member::tell(&cluster);
        let own = own_name(name);
        let _own = claimed(async || cluster.register(&own, &worker).await).await;
        let _place = claimed(async || cluster.join_group(WORKERS, &worker).await).await;
        tasks.spawn(lead(cluster.clone(), worker));
        let command = std::pin::pin!(commands.recv().into_future());
        let ended = std::pin::pin!(cluster.ended().into_future());
        match select(ended, command).await {
            Either::Left((Ended::Expired, _)) => println!("ended {life:x} Expired"),
            Either::Left((why, _)) => return Err(why.to_string().into()),
            Either::Right(_) => {
                cluster.leave(Duration::from_secs(5)).await;
                println!("ended {life:x} Left");
                return Ok(());
            }
        }
    }
}

/// A name, as soon as the engine can be asked for it; none if we are no member any more by then.
async fn claimed(claim: impl AsyncFn() -> Result<Name, NameError>) -> Option<Name> {
    loop {
        match claim().await {
            Ok(name) => return Some(name),
            Err(NameError::Ended { .. }) => return None,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Is the leader whenever it can be.
async fn lead(cluster: Cluster, worker: WorkerRef) {
    loop {
        match cluster.register(LEADER, &worker).await {
            Ok(name) => name.lost().await,
            Err(NameError::Ended { .. }) => return,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}
