//! What is done to the cluster, one thing after the other, and one line about each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::client::CALLERS;
use crate::judge;
use crate::member::{LEASE, now};
use crate::network::{self, Failure};
use crate::servers::{SERVERS, meta_leader, stream_leader, streams};
use crate::world::{CLIENT, NODES, ROUTED, World};

/// After a disturbance all see the same within a lease, and this: a node is heard of every third of a
/// lease, looked after every third, and what is seen here is a call each tenth of a second.
const SLACK: Duration = Duration::from_millis(2500);

/// NATS takes so long to choose another leader of a stream, at most, and meanwhile keys cannot be
/// written.
const ELECTION: Duration = Duration::from_secs(10);

/// The load must reach so much of what it was before, within [`RECOVERY`] after all see the same.
const SHARE: f64 = 0.8;
const RECOVERY: Duration = Duration::from_secs(10);

/// After so long a link ends whose other end says nothing: by default, as here.
const SILENCE: Duration = Duration::from_secs(15);

/// What all callers can have under way to one node: each asks again after a deadline, until the node is
/// down.
const HELD: usize = 2 * CALLERS;

/// What was done.
struct Done {
    /// It was over then.
    at: Instant,
    /// Who runs now.
    living: Vec<&'static str>,
    /// Which lives have ended by it.
    dead: Vec<(&'static str, String)>,
    /// All see the same so long after it.
    within: Duration,
    /// So many requests may be begun after they were given up, as not known: those that the kernel has
    /// for a direct link when the network or the process stands still. A link through NATS has none.
    late: usize,
}

impl Done {
    fn new(at: Instant) -> Self {
        Self {
            at,
            living: NODES.to_vec(),
            dead: Vec::new(),
            within: LEASE + SLACK,
            late: 0,
        }
    }
}

impl Done {
    /// The members that were there all the time.
    fn lasting(&self) -> Vec<&'static str> {
        let is_dead = |node: &&str| self.dead.iter().any(|(dead, _)| dead == node);
        let all = NODES.into_iter().chain([CLIENT]);
        all.filter(|node| !is_dead(node)).collect()
    }
}

type Scenario = (&'static str, fn(&mut World) -> Result<Done, Failure>);

const SCENARIOS: &[Scenario] = &[
    ("kill-9-node-linked-directly", |world| {
        kill_node(world, "one")
    }),
    ("kill-9-node-linked-through-nats", |world| {
        kill_node(world, "three")
    }),
    ("kill-9-leader-of-the-keys", |world| {
        let [_, leader] = leaders()?;
        kill_server(world, leader)
    }),
    ("kill-9-leader-of-the-servers", |world| {
        let [leader, _] = leaders()?;
        kill_server(world, leader)
    }),
    ("kill-9-follower", |world| kill_server(world, follower()?)),
    ("cut-off-node-for-less-than-a-lease", |world| {
        network::cut(&["one"])?;
        sleep(LEASE / 3);
        network::heal()?;
        settle(world)
    }),
    ("cut-off-node", |world| cut_off(world, "two", &["two"])),
    ("cut-off-node-linked-through-nats", |world| {
        cut_off(world, "three", &["three"])
    }),
    ("cut-off-node-and-server", |world| {
        cut_off(world, "one", &["one", follower()?])
    }),
    ("cut-off-server", |world| cut_off_server(world, follower()?)),
    ("cut-off-leader-of-the-keys", |world| {
        let [_, leader] = leaders()?;
        cut_off_server(world, leader)
    }),
    ("stop-and-continue-node", |world| {
        let dead = vec![("two", world.life("two"))];
        world.signal("two", "STOP")?;
        let apart = given_up(world, &dead, LEASE + SLACK);
        sleep(LEASE / 2);
        world.signal("two", "CONT")?;
        apart?;
        Ok(Done {
            dead,
            late: HELD,
            ..Done::new(Instant::now())
        })
    }),
    ("rolling-restart", |world| {
        let mut dead = Vec::new();
        for node in NODES {
            dead.push((node, world.life(node)));
            world.leave(node, LEASE + SLACK)?;
            world.start_node(node)?;
            world.converge(&NODES, LEASE + SLACK)?;
        }
        Ok(Done {
            dead,
            ..Done::new(Instant::now())
        })
    }),
];

/// Those of the short form.
const SHORT: [&str; 3] = [
    "kill-9-node-linked-directly",
    "cut-off-node",
    "rolling-restart",
];

/// Who leads the servers, and the stream of the keys, as soon as all agree.
fn leaders() -> Result<[&'static str; 2], Failure> {
    let until = Instant::now() + 2 * ELECTION;
    loop {
        match (meta_leader(), stream_leader()) {
            (Some(of_servers), Some(of_keys)) => return Ok([of_servers, of_keys]),
            _ if Instant::now() > until => return Err("the servers have no leaders".to_owned()),
            _ => sleep(Duration::from_millis(100)),
        }
    }
}

fn follower() -> Result<&'static str, Failure> {
    let leaders = leaders()?;
    let follows = |server: &&str| !leaders.contains(server);
    Ok(SERVERS.into_iter().find(follows).expect("two lead at most"))
}

fn kill_node(world: &mut World, node: &'static str) -> Result<Done, Failure> {
    let life = world.life(node);
    world.kill_node(node);
    Ok(Done {
        living: NODES.into_iter().filter(|other| *other != node).collect(),
        dead: vec![(node, life)],
        ..Done::new(Instant::now())
    })
}

fn kill_server(world: &mut World, server: &str) -> Result<Done, Failure> {
    world.kill_server(server);
    settle(world)
}

/// Nobody is to be down. It takes a while to see that.
fn settle(_: &mut World) -> Result<Done, Failure> {
    let at = Instant::now();
    sleep(ELECTION + LEASE);
    Ok(Done {
        within: ELECTION + LEASE + SLACK,
        ..Done::new(at)
    })
}

/// Waits until those who run have given up one that does not, and see the same.
fn given_up(
    world: &World,
    dead: &[(&'static str, String)],
    limit: Duration,
) -> Result<(), Failure> {
    let line = world.said().lines.len();
    let is_dead = |node: &&str| dead.iter().any(|(dead, _)| dead == node);
    let rest: Vec<&str> = NODES.into_iter().filter(|node| !is_dead(node)).collect();
    let all: Vec<&str> = rest.iter().copied().chain([CLIENT]).collect();
    world.wait(limit, |said| judge::all_told(said, line, dead, &all))?;
    world.converge(&rest, SLACK).map(|_| ())
}

/// Cuts a node off, until the others have given it up, and a while longer.
fn cut_off(world: &mut World, node: &'static str, hosts: &[&str]) -> Result<Done, Failure> {
    let dead = vec![(node, world.life(node))];
    network::cut(hosts)?;
    // Where a server goes, too, some lose sight, and then give all others a lease to be heard.
    let servers = if hosts.len() > 1 {
        ELECTION
    } else {
        Duration::ZERO
    };
    let within = LEASE + SLACK + servers;
    let apart = given_up(world, &dead, within);
    sleep(LEASE);
    network::heal()?;
    apart?;
    Ok(Done {
        late: if node == ROUTED { 0 } else { HELD },
        dead,
        within,
        ..Done::new(Instant::now())
    })
}

/// Cuts a server off for long: members that spoke with it find another.
fn cut_off_server(world: &mut World, server: &str) -> Result<Done, Failure> {
    network::cut(&[server])?;
    let cut = settle(world);
    network::heal()?;
    cut?;
    Ok(Done::new(Instant::now()))
}

/// Runs the scenarios whose names contain one of the words. `false`: something did not hold.
pub(crate) fn run(arguments: &[String]) -> Result<bool, Box<dyn std::error::Error>> {
    let short = arguments.iter().any(|word| word == "--short");
    let words: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with("--"))
        .collect();
    let chosen = |name: &str| match words.is_empty() {
        true => !short || SHORT.contains(&name),
        false => words.iter().any(|word| name.contains(word.as_str())),
    };
    let chosen: Vec<Scenario> = SCENARIOS
        .iter()
        .copied()
        .filter(|(name, _)| chosen(name))
        .collect();
    if chosen.is_empty() {
        return Err("there is no such scenario".into());
    }
    let folder = folder();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    network::make()?;
    let began = Instant::now();
    let mut world = World::start(&folder)?;
    for node in NODES {
        world.start_node(node)?;
    }
    world.converge(&NODES, Duration::from_secs(60))?;
    println!("three nats-servers, three nodes, a client; a lease of {LEASE:?}");
    let mut report = String::new();
    let (mut passed, mut failed) = (0, 0);
    for (name, disturb) in chosen {
        let (line, faults) = scenario(&mut world, disturb);
        let mut text = format!("{name:<36} {line}\n");
        match faults.is_empty() {
            true => passed += 1,
            false => failed += 1,
        }
        for fault in faults.iter().take(10) {
            let _ = writeln!(text, "    FAILED: {fault}");
        }
        if faults.len() > 10 {
            let _ = writeln!(text, "    and {} more", faults.len() - 10);
        }
        print!("{text}");
        report += &text;
        world.keep(began);
        std::fs::write(folder.join("report.txt"), &report)?;
        if let Err(error) = restore(&mut world) {
            return Err(format!("{name}: nothing is as it was: {error}").into());
        }
    }
    let left = end(&mut world);
    world.keep(began);
    let last = match &left {
        Ok(()) => "all have left, and nothing is left behind".to_owned(),
        Err(error) => format!("FAILED at the end: {error}"),
    };
    println!("{last}");
    std::fs::write(folder.join("report.txt"), format!("{report}{last}\n"))?;
    println!("{}", folder.join("report.txt").display());
    match left.is_ok() {
        true => passed += 1,
        false => failed += 1,
    }
    // As tests say it, for those who count.
    println!("test result: {passed} passed; {failed} failed");
    Ok(failed == 0)
}

fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    target.join("chaos")
}

/// One of them: a line about it, and what did not hold.
fn scenario(
    world: &mut World,
    disturb: fn(&mut World) -> Result<Done, Failure>,
) -> (String, Vec<Failure>) {
    match disturbed(world, disturb) {
        Ok(told) => told,
        Err(error) => (String::new(), vec![error]),
    }
}

fn disturbed(
    world: &mut World,
    disturb: fn(&mut World) -> Result<Done, Failure>,
) -> Result<(String, Vec<Failure>), Failure> {
    let mut faults = Vec::new();
    let from = world.asked();
    let line = world.said().lines.len();
    world.go()?;
    sleep(Duration::from_secs(1));
    let before = rate(world, Duration::from_secs(3));
    let done = disturb(world);
    let told = done.and_then(|done| {
        let left = done.within.saturating_sub(done.at.elapsed());
        let seen = world.converge(&done.living, left)?;
        // Who has no links any more is no more found, before he is down.
        let left = done.within.saturating_sub(done.at.elapsed());
        let lasting = done.lasting();
        world.wait(left, |said| {
            judge::all_told(said, line, &done.dead, &lasting)
        })?;
        Ok((seen.saturating_duration_since(done.at), done))
    });
    let after = recovered(world, before);
    let to = world.pause(Duration::from_secs(30))?;
    let counts = judge::requests(world, from, to, &mut faults);
    let (seen, done) = match told {
        Ok(told) => told,
        Err(error) => {
            faults.push(error);
            return Ok((counts.to_string(), faults));
        }
    };
    if counts.late > done.late {
        faults.push(format!("{} requests were begun too late", counts.late));
    }
    match after {
        Ok(_) => {}
        Err(ref error) => faults.push(error.clone()),
    }
    let told = judge::downs(
        &world.said(),
        line,
        &done.dead,
        &done.lasting(),
        &mut faults,
    );
    for (node, life) in &done.dead {
        if done.living.contains(node) && world.life(node) == *life {
            faults.push(format!("{node} is back as the life that was over"));
        }
    }
    let lives: Vec<String> = done.living.iter().map(|node| world.life(node)).collect();
    if let Err(error) = judge::no_orphans(&lives) {
        faults.push(error);
    }
    let rates = after.map_or_else(
        |_| format!("{before:.0}/s before"),
        |(after, took)| {
            format!(
                "{before:.0}/s before, {after:.0}/s {:.1} s later",
                took.as_secs_f64()
            )
        },
    );
    let line = format!(
        "{counts}; {} down, told {told} times; all the same after {:.1} s (within {:.1}); {rates}",
        done.dead.len(),
        seen.as_secs_f64(),
        done.within.as_secs_f64(),
    );
    Ok((line, faults))
}

/// Answers a second, over this time from now.
fn rate(world: &World, time: Duration) -> f64 {
    let since = now();
    sleep(time);
    let until = now();
    let said = world.said();
    let answered = said
        .requests
        .iter()
        .rev()
        .take_while(|request| request.end + 5_000_000 > since);
    let answered = answered
        .filter(|request| request.outcome == "answered" && (since..until).contains(&request.end));
    answered.count() as f64 / ((until - since) as f64 / 1e6)
}

/// The rate when it is what it was before, and how long that took.
fn recovered(world: &World, before: f64) -> Result<(f64, Duration), Failure> {
    let since = Instant::now();
    loop {
        let begin = since.elapsed();
        let after = rate(world, Duration::from_secs(1));
        if after >= SHARE * before {
            return Ok((after, begin));
        }
        if begin > RECOVERY {
            return Err(format!("{after:.0} answers a second, {before:.0} before"));
        }
    }
}

/// All run again, and see each other.
fn restore(world: &mut World) -> Result<(), Failure> {
    network::heal()?;
    world.start_servers()?;
    for node in NODES {
        if !world.runs(node) {
            let before = world.life(node);
            world.start_node(node)?;
            world.wait(Duration::from_secs(30), |said| match said.life(node) {
                Some(life) if life != before => Ok(()),
                _ => Err(format!("{node} has not joined")),
            })?;
        }
    }
    world.converge(&NODES, Duration::from_secs(30)).map(|_| ())
}

/// All leave: nothing is to be left.
fn end(world: &mut World) -> Result<(), Failure> {
    // Of the two other nodes and the client to the third, a subscription at each end. One whose other
    // end was cut off ends when that has been silent for too long.
    let until = Instant::now() + SILENCE + SLACK;
    loop {
        let streams = streams();
        if streams.len() <= 6 {
            break;
        }
        if Instant::now() > until {
            let (n, all) = (streams.len(), streams.join("\n    "));
            return Err(format!(
                "{n} subscriptions of links through NATS:\n    {all}"
            ));
        }
        sleep(Duration::from_millis(500));
    }
    for node in NODES {
        world.leave(node, Duration::from_secs(15))?;
    }
    judge::no_orphans(&[])
}
