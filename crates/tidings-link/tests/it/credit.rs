//! What many references of one link have in common: its credit, and how many calls may be under way.
//! Each was idle, and had looked whether it might send something, before any of them did.

use std::time::Duration;

use tidings::actor;
use tidings_link::{Exports, Grant, Limits, Link};

use crate::faults::run;
use crate::nodes::{CounterMessage, CounterRef, LONG, Tally, pair_with};

const ACTORS: usize = 8;

/// Actors with place for one message each, who begin when their gates are opened.
struct Slow {
    here: Vec<CounterRef>,
    gates: Vec<tidings::channel::oneshot::Sender<()>>,
    there: Vec<CounterRef>,
    _links: (Link, Link),
}

async fn slow(limits: Limits) -> Slow {
    let (mut here, mut gates, mut there) = (Vec::new(), Vec::new(), Vec::new());
    let mut exports = Exports::new();
    for n in 0..ACTORS {
        let (open, gate) = tidings::oneshot();
        let waits = |mut mailbox: actor::Mailbox<CounterMessage>| async move {
            let () = gate.await.unwrap();
            actor::serve(Tally::default(), &mut mailbox).await;
        };
        let slow = CounterRef::from(&actor::Builder::new().capacity(1).spawn(waits));
        exports = exports.add(n.to_string(), &slow);
        here.push(slow);
        gates.push(open);
    }
    let (server, client) = pair_with(exports, limits);
    for n in 0..ACTORS {
        there.push(client.get(&n.to_string()).await.unwrap());
    }
    let _links = (server, client);
    Slow {
        here,
        gates,
        there,
        _links,
    }
}

/// Asks all at once, and opens the gates when all that can be sent has been.
async fn ask(slow: Slow) {
    let sums = slow.there.iter().cloned();
    let sums: Vec<_> = sums
        .map(|slow| tidings::spawn(async move { slow.get().timeout(LONG).await }))
        .collect();
    tidings::time::after(Duration::from_millis(10)).await;
    for open in slow.gates {
        open.send(()).unwrap();
    }
    for sum in sums {
        assert_eq!(sum.await.unwrap().unwrap(), 1);
    }
}

#[test]
fn references_that_were_idle_keep_within_the_credit_of_their_link() {
    for seed in 0..20 {
        run(seed, || async {
            let slow = slow(Limits {
                link_window: Grant {
                    messages: 4,
                    bytes: 1000,
                },
                ..Limits::default()
            })
            .await;
            for full in &slow.here {
                full.add(1).await.unwrap();
            }
            // Each question waits at its actor, and keeps its credit. Who sent a fifth broke the link.
            ask(slow).await;
        });
    }
}

#[test]
fn references_that_were_idle_wait_where_too_many_calls_are_under_way() {
    for seed in 0..20 {
        run(seed, || async {
            let slow = slow(Limits {
                calls: 4,
                ..Limits::default()
            })
            .await;
            for there in &slow.there {
                there.add(1).await.unwrap();
            }
            ask(slow).await;
        });
    }
}
