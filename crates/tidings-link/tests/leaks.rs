//! Calls leave nothing behind: a process of its own, so that its memory is this test's.

use tidings::JoinSet;
use tidings::actor::{self, Reply};
use tidings_link::{Exports, Options, link, memory};

#[tidings::interface(remote)]
trait Target {
    async fn echo(&self, text: String) -> String;
    async fn hang(&mut self, reply: Reply<u32>);
    async fn refer(&mut self, it: TargetRef) -> TargetRef;
}

#[derive(Default)]
struct Mirror(Option<Reply<u32>>);

impl Target for Mirror {
    async fn echo(&self, text: String) -> String {
        text
    }
    async fn hang(&mut self, reply: Reply<u32>) {
        self.0 = Some(reply);
    }
    async fn refer(&mut self, it: TargetRef) -> TargetRef {
        it
    }
}

/// Kibibytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn work(there: &TargetRef, rounds: usize) {
    let mut callers = JoinSet::new();
    for caller in 0..50 {
        let there = there.clone();
        callers.spawn(async move {
            for round in 0..rounds {
                let text = format!("{caller} {round}");
                assert_eq!(there.echo(text.clone()).await.unwrap(), text);
                if round % 20 == 0 {
                    // One that is given up, and an actor that travels there and back and ends.
                    drop(there.hang().timeout(std::time::Duration::ZERO).await);
                    let it: TargetRef = actor::start(Mirror::default());
                    assert_eq!(there.refer(it.clone()).await.unwrap(), it);
                }
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads /proc")]
fn a_hundred_thousand_calls_leave_nothing_behind() {
    // A release counts to a million: TIDINGS_CALLS=1000000.
    let calls = std::env::var("TIDINGS_CALLS").map_or(100_000, |calls| calls.parse().unwrap());
    tidings::Runtime::new().unwrap().block_on(async {
        let (ours, theirs) = memory::pipe();
        let here: TargetRef = actor::start(Mirror::default());
        let options = Options::new("server").exports(Exports::new().add("target", &here));
        let (_server, driver) = link(ours, options);
        drop(tidings::spawn(driver));
        let (client, driver) = link(theirs, Options::new("client"));
        drop(tidings::spawn(driver));
        let there: TargetRef = client.get("target").await.unwrap();
        work(&there, 400).await;
        let before = resident();
        work(&there, calls / 50).await;
        let after = resident();
        println!("{before} KiB, and {after} KiB after {calls} calls more");
        // A leak of 40 bytes a call would be 4,000.
        assert!(after < before + 3000, "{before} KiB, then {after} KiB");
    });
}
