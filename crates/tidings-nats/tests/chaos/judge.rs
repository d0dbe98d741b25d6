//! What must hold after each disturbance: of the requests, of the ends of lives, of what is left.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use tidings::time::timeout;
use tidings_nats::Engine;
use tidings_nats::nats::{Bucket, ConnectOptions, Nats};

use crate::member::LEASE;
use crate::network::Failure;
use crate::servers::urls;
use crate::world::{NODES, Said, World};

/// A request may be begun so long after it was given up: what its handler's note of the time and the
/// client's may be apart.
const LATE: u64 = 50_000;

/// What has become of requests.
#[derive(Default)]
pub(crate) struct Counts {
    outcomes: BTreeMap<String, u64>,
    executed: usize,
    /// Those that were begun after their callers had given up.
    pub(crate) late: usize,
    slowest: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.outcomes.values().sum();
        let outcomes = self
            .outcomes
            .iter()
            .map(|(outcome, n)| format!("{outcome} {n}"));
        let outcomes: Vec<String> = outcomes.collect();
        let slowest = self.slowest as f64 / 1e6;
        write!(
            f,
            "{all} requests: {}; executed {}, late {}; slowest {slowest:.1} s",
            outcomes.join(", "),
            self.executed,
            self.late
        )
    }
}

/// Compares the requests from one number to another with what the nodes have noted.
pub(crate) fn requests(world: &World, from: u64, to: u64, faults: &mut Vec<Failure>) -> Counts {
    let mut executed: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    for node in NODES {
        let ledger = std::fs::read_to_string(world.ledger(node)).unwrap_or_default();
        for line in ledger.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            // The last line of one that was killed may be cut off.
            let (number, life, at) = (word().parse(), word().to_owned(), word().parse());
            if let (Ok(number), Ok(at)) = (number, at) {
                executed.entry(number).or_default().push((life, at));
            }
        }
    }
    let mut counts = Counts::default();
    let mut ended: BTreeMap<u64, u32> = BTreeMap::new();
    let said = world.said();
    for request in said
        .requests
        .iter()
        .filter(|r| (from..to).contains(&r.number))
    {
        let number = request.number;
        *ended.entry(number).or_default() += 1;
        *counts.outcomes.entry(request.outcome.clone()).or_default() += 1;
        counts.slowest = counts.slowest.max(request.end - request.begin);
        let done = executed.get(&number).map_or(&[][..], Vec::as_slice);
        counts.executed += done.len();
        let known = request.outcome.split(':').next().expect("there is a first");
        let fits = match known {
            "answered" => matches!(done, [(life, _)] if *life == request.life),
            "not-executed" | "unsent" => done.is_empty(),
            "unknown" => done.len() <= 1,
            _ => false,
        };
        if !fits {
            faults.push(format!(
                "request {number}: {}, executed {done:?}",
                request.outcome
            ));
        }
        let late = done.iter().filter(|(_, at)| *at > request.end + LATE);
        counts.late += late.count();
    }
    for number in from..to {
        match ended.get(&number) {
            Some(1) => {}
            Some(n) => faults.push(format!("request {number} has ended {n} times")),
            None => faults.push(format!("request {number} has no outcome")),
        }
    }
    counts
}

/// Which lives this observer was told are down, since the line `from`.
fn heard<'a>(said: &'a Said, from: usize, observer: &str) -> Vec<&'a str> {
    let lines = said.lines[from..].iter();
    let downs = lines.filter(|line| line.from == observer && line.words[0] == "down");
    downs.map(|line| &*line.words[3]).collect()
}

/// Have all members that lasted been told of all deaths?
pub(crate) fn all_told(
    said: &Said,
    from: usize,
    dead: &[(&str, String)],
    lasting: &[&str],
) -> Result<(), Failure> {
    for observer in lasting {
        let downs = heard(said, from, observer);
        if let Some((node, _)) = dead.iter().find(|(_, life)| !downs.contains(&&**life)) {
            return Err(format!("{observer} was not told that {node} is down"));
        }
    }
    Ok(())
}

/// Nobody is told of a death twice, and those who lasted of none that was not. How many were told.
pub(crate) fn downs(
    said: &Said,
    from: usize,
    dead: &[(&str, String)],
    lasting: &[&str],
    faults: &mut Vec<Failure>,
) -> usize {
    let mut told: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for line in &said.lines {
        if let [kind, mine, _, life, ..] = line.words.as_slice()
            && kind == "down"
        {
            *told.entry((line.from, mine, life)).or_default() += 1;
        }
    }
    for ((observer, mine, life), n) in told.iter().filter(|(_, n)| **n > 1) {
        faults.push(format!(
            "{observer} ({mine}) was told {n} times that {life} is down"
        ));
    }
    let mut all = 0;
    for observer in lasting {
        for life in heard(said, from, observer) {
            all += 1;
            if !dead.iter().any(|(_, dead)| dead == life) {
                faults.push(format!(
                    "{observer} was told that {life} is down, which lives"
                ));
            }
        }
    }
    all
}

/// Waits until no name in the keys is of a life that is over: three leases, at most.
pub(crate) fn no_orphans(living: &[String]) -> Result<(), Failure> {
    let until = Instant::now() + 3 * LEASE;
    loop {
        let orphans = orphans(living);
        match orphans {
            Ok(orphans) if orphans.is_empty() => return Ok(()),
            _ if Instant::now() < until => {}
            Ok(orphans) => return Err(format!("names of the dead are left: {orphans:?}")),
            Err(error) => return Err(error),
        }
    }
}

/// Names in the keys that are of lives that are over.
fn orphans(living: &[String]) -> Result<Vec<String>, Failure> {
    let read = async {
        let bucket = Bucket::new("tidings-chaos").replicas(3);
        let engine = Nats::connect(&urls(), ConnectOptions::new(), bucket).await;
        let mut watch = engine
            .map_err(|e| e.to_string())?
            .watch()
            .await
            .map_err(|e| e.to_string())?;
        let mut names = BTreeMap::new();
        loop {
            let quiet = Duration::from_millis(500);
            let Ok(Some(entry)) = timeout(quiet, watch.next()).await else {
                return Ok::<_, Failure>(names);
            };
            if let Some(name) = entry.key.strip_prefix("name.") {
                names.insert(name.to_owned(), entry.value);
            }
        }
    };
    let names = tidings::Runtime::new()
        .map_err(|e| e.to_string())?
        .block_on(read)?;
    let mut orphans = Vec::new();
    for (name, owner) in names {
        let Some(owner) = owner else { continue };
        let owner: serde_json::Value = serde_json::from_slice(&owner).map_err(|e| e.to_string())?;
        let life = format!("{:x}", owner["incarnation"].as_u64().unwrap_or_default());
        if !living.contains(&life) {
            orphans.push(name);
        }
    }
    Ok(orphans)
}
