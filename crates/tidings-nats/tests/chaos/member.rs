//! What a node and the client both do: join, one life after the other, and say in lines what they see.
//!
//! | line | |
//! |---|---|
//! | `joined LIFE` | it is a member |
//! | `ended LIFE WHY` | it is none any more |
//! | `up LIFE NODE ITS-LIFE`, `down LIFE NODE ITS-LIFE WHY` | what it is told of another |
//! | `connected IS` | whether it hears the engine |
//! | `sees NAME LIVES` | who answers under a name, or in a group; `-`: nobody |
//!
//! A life is an incarnation, in hexadecimal. Commands come by standard input; when that ends, so does
//! the process.

use std::io::BufRead;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidings::time::sleep;
use tidings::{CancellationToken, Event, JoinSet, Receiver};
use tidings_nats::{Change, Cluster, JoinError, Options};

/// The lease of all members.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

pub(crate) const WORKERS: &str = "workers";
pub(crate) const LEADER: &str = "leader";

#[tidings::interface(remote)]
pub(crate) trait Worker {
    /// Does what this number asks for, and gives the life that did.
    async fn work(&mut self, number: u64) -> u64;
    async fn who(&self) -> u64;
}

/// The name under which a node can be asked itself.
pub(crate) fn own_name(node: &str) -> String {
    format!("at.{node}")
}

pub(crate) fn options(name: &str) -> Options {
    Options::new("chaos", name)
        .lease(LEASE)
        .patience(Duration::from_secs(60))
        .replicas(3)
        // The network is all ours.
        .insecure(true)
}

/// Joins, and says so.
pub(crate) async fn join(urls: &str, options: Options) -> Result<Cluster, JoinError> {
    let cluster = Cluster::join(urls, options).await?;
    println!("joined {:x}", cluster.me().1);
    Ok(cluster)
}

/// Says what it sees, until it is aborted.
pub(crate) fn tell(cluster: &Cluster) -> JoinSet<()> {
    let mut all = JoinSet::new();
    all.spawn(changes(cluster.clone()));
    all.spawn(connected(cluster.clone()));
    for node in ["one", "two", "three"] {
        all.spawn(sees(cluster.clone(), own_name(node)));
    }
    for name in [LEADER, WORKERS] {
        all.spawn(sees(cluster.clone(), name.to_owned()));
    }
    all
}

async fn changes(cluster: Cluster) {
    let (_, me) = cluster.me();
    let changes = cluster.changes();
    // It does not end with our membership before all is told.
    drop(cluster);
    while let Ok(change) = changes.recv().await {
        match change {
            Change::Up(member) => {
                println!("up {me:x} {} {:x}", member.node(), member.incarnation());
            }
            Change::Down(member, why) => {
                println!(
                    "down {me:x} {} {:x} {why:?}",
                    member.node(),
                    member.incarnation()
                );
            }
        }
    }
}

async fn connected(cluster: Cluster) {
    let mut before = None;
    loop {
        let now = Some(cluster.is_connected());
        if now != before {
            println!("connected {}", now == Some(true));
            before = now;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Says who answers under a name, whenever that changes.
async fn sees(cluster: Cluster, name: String) {
    let mut before = None;
    loop {
        let mut lives = Vec::new();
        let workers: Vec<WorkerRef> = match name == WORKERS {
            true => cluster.group(&name).await,
            false => cluster.lookup(&name).await.into_iter().collect(),
        };
        for worker in workers {
            if let Ok(life) = worker.who().timeout(Duration::from_secs(1)).await {
                lives.push(format!("{life:x}"));
            }
        }
        lives.sort_unstable();
        let now = match lives.is_empty() {
            true => "-".to_owned(),
            false => lives.join(","),
        };
        if before.as_ref() != Some(&now) {
            println!("sees {name} {now}");
            before = Some(now);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// The lines of standard input.
pub(crate) fn commands() -> Receiver<String> {
    let (tell, commands) = tidings::unbounded();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if tell.try_send(line).is_err() {
                break;
            }
        }
    });
    commands
}

/// Microseconds, by a clock that all processes here share.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("it is later").as_micros()).expect("for long")
}

/// Sleeps, unless it is to stop. `false`: it is.
pub(crate) async fn pause(time: Duration, stop: &CancellationToken) -> bool {
    let late = tidings::after(time).map(|()| true);
    late.or(stop.cancelled().map(|_| false)).await
}
