//! The load: callers that ask one of the workers after the other, each request with a number of its
//! own, never asked again. `go` starts them; `pause` waits until every request has ended, and says
//! `paused NEXT-NUMBER`.
//!
//! Of each request: `end NUMBER OUTCOME BEGIN END LIFE`, in microseconds; the life is `0` if nobody
//! answered.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidings::actor::{CallError, Routing};
use tidings::{CancellationToken, JoinSet};
use tidings_nats::{LookupError, Pool};

use crate::member::{self, WORKERS, WorkerRef, now};

/// Who ask at a time, and how long each rests after an answer.
pub(crate) const CALLERS: usize = 16;
const REST: Duration = Duration::from_millis(10);

/// So long a request waits for its answer.
const DEADLINE: Duration = Duration::from_secs(2);

type Current = Arc<Mutex<Option<Pool<WorkerRef>>>>;

/// `URLS`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [urls] = arguments else {
        return Err("client URLS".into());
    };
    tidings::Runtime::new()?.block_on(async {
        let current = Current::default();
        let lives = tidings::spawn(lives(urls.clone(), Arc::clone(&current)));
        load(&current).await;
        lives.abort();
        Ok(())
    })
}

/// Is a member, in one life after the other.
async fn lives(urls: String, current: Current) {
    let set = |pool| *current.lock().unwrap_or_else(PoisonError::into_inner) = pool;
    loop {
        match member::join(&urls, member::options("client")).await {
            Ok(cluster) => {
                let _told = member::tell(&cluster);
                set(Some(cluster.pool(WORKERS, Routing::RoundRobin)));
                let why = cluster.ended().await;
                set(None);
                println!("ended {:x} {why:?}", cluster.me().1);
            }
            Err(error) => println!("failed {error}"),
        }
    }
}

async fn load(current: &Current) {
    let next = Arc::new(AtomicU64::new(0));
    let commands = member::commands();
    let mut stop = CancellationToken::new();
    let mut callers = JoinSet::new();
    while let Ok(command) = commands.recv().await {
        match command.as_str() {
            "go" => {
                stop = CancellationToken::new();
                for _ in 0..CALLERS {
                    callers.spawn(caller(Arc::clone(current), Arc::clone(&next), stop.clone()));
                }
            }
            _ => {
                stop.cancel();
                while callers.join_next().await.is_some() {}
                println!("paused {}", next.load(Ordering::Relaxed));
            }
        }
    }
}

async fn caller(current: Current, next: Arc<AtomicU64>, stop: CancellationToken) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let begin = now();
        let workers = current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (outcome, life) = match workers {
            Some(workers) => ask(&workers, number).await,
            None => ("unsent:not-a-member", 0),
        };
        println!("end {number} {outcome} {begin} {} {life:x}", now());
        if !member::pause(REST, &stop).await {
            return;
        }
    }
}

/// Asks once.
async fn ask(workers: &Pool<WorkerRef>, number: u64) -> (&'static str, u64) {
    let worker = match workers.pick().await {
        Ok(worker) => worker,
        Err(error) => {
            let why = match error {
                LookupError::NoSuchName { .. } => "unsent:no-such-name",
                LookupError::Get(_) => "unsent:get",
                LookupError::Link { .. } => "unsent:link",
                LookupError::Engine { .. } => "unsent:engine",
                LookupError::Down { .. } => "unsent:down",
                LookupError::Ended { .. } => "unsent:ended",
                _ => "unsent:other",
            };
            return (why, 0);
        }
    };
    match worker.work(number).timeout(DEADLINE).await {
        Ok(life) => ("answered", life),
        Err(CallError::NotExecuted(_)) => ("not-executed", 0),
        Err(CallError::Full) => ("not-executed:full", 0),
        Err(CallError::Ended(_)) => ("unknown:ended", 0),
        Err(CallError::Timeout) => ("unknown:timeout", 0),
        Err(CallError::NoReply) => ("unknown:no-reply", 0),
        Err(_) => ("unknown:refused", 0),
    }
}
