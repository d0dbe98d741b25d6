//! Ten thousand links at once. `cargo bench -p tidings-link --bench mux -- links` says what they take.

use tidings::{JoinSet, actor};
use tidings_link::{Broken, Exports, Limits, Options, link, memory};

use crate::nodes::{CounterRef, LONG, Tally};

const LINKS: i64 = 10_000;

/// So many at once, in a build for tests, take a while to greet each other: no link is to end for that, and no
/// words that are asked for all the time are to make it longer.
fn options(node: String) -> Options {
    let patience = 6 * LONG;
    Options::new(node).limits(Limits {
        handshake: patience,
        silence: patience,
        stall: patience,
        idle: patience,
        ..Limits::default()
    })
}

#[tidings::test]
async fn ten_thousand_links_are_there_at_once_and_each_is_served() {
    let counter: CounterRef = actor::start(Tally::default());
    let exports = Exports::new().add("counter", &counter);
    let mut linking = JoinSet::new();
    for n in 0..LINKS {
        let (ours, theirs) = memory::pipe();
        let (server, driver) = link(ours, options("server".to_owned()).exports(exports.clone()));
        drop(tidings::spawn(driver));
        let (client, driver) = link(theirs, options(format!("client {n}")));
        drop(tidings::spawn(driver));
        linking.spawn(async move {
            let there: CounterRef = client.get("counter").await.unwrap();
            there.add(1).await.unwrap();
            // What another link asks for later may overtake what is only on its way here.
            assert!(there.get().await.unwrap() >= 1);
            (server, client, there)
        });
    }
    let mut links = Vec::new();
    while let Some(linked) = linking.join_next().await {
        links.push(linked.unwrap());
    }
    // All are there; those that came first are served as well as the last.
    let mut asking = JoinSet::new();
    for (_, _, there) in &links {
        let there = there.clone();
        asking.spawn(async move { there.get().await.unwrap() });
    }
    while let Some(sum) = asking.join_next().await {
        assert_eq!(sum.unwrap(), LINKS);
    }
    for (server, client, there) in links {
        drop((client, there));
        assert!(matches!(
            server.down().await,
            Broken::Drained | Broken::Closed
        ));
    }
    assert_eq!(counter.get().await.unwrap(), LINKS);
}
