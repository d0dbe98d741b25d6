//! What many references of one link have in common: its credit, and how many calls may be under way.
//! Each was idle, and had looked whether it might send something, before any of them did.

use std::time::Duration;

use tidings::actor;
use tidings::remote::{encode, interface};
use tidings::time::Instant;
use tidings_link::{Exports, Grant, Incoming, Limits, Link, Options, link, memory};

use crate::by_hand::Peer;
use crate::faults::run;
use crate::nodes::{CounterMessage, CounterRef, LONG, Tally, pair_with};

const ACTORS: usize = 8;

/// As many as fill the window of a link, each by its own.
const STUCK: usize = 16;

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
fn many_actors_that_take_nothing_do_not_stop_another() {
    run(1, || async {
        let gate = tidings::channel::ivar::IVar::<()>::new();
        let gate = std::sync::Arc::new(gate);
        let mut exports = Exports::new();
        for n in 0..STUCK {
            let gate = std::sync::Arc::clone(&gate);
            let waits = |mut mailbox: actor::Mailbox<CounterMessage>| async move {
                let () = *gate.read().await;
                actor::serve(Tally::default(), &mut mailbox).await;
            };
            let stuck = actor::Builder::new().capacity(1).spawn(waits);
            exports = exports.add(n.to_string(), &CounterRef::from(&stuck));
        }
        let quick: CounterRef = actor::start(Tally::default());
        let (server, client) = pair_with(exports.add("quick", &quick), Limits::default());
        // More than its window holds, to each.
        let mut floods = Vec::new();
        for n in 0..STUCK {
            let there: CounterRef = client.get(&n.to_string()).await.unwrap();
            floods.push(tidings::spawn(async move {
                for _ in 0..1_100 {
                    there.add(1).await.unwrap();
                }
                there.get().await.unwrap()
            }));
        }
        let quick: CounterRef = client.get("quick").await.unwrap();
        // All that can be sent has been.
        tidings::time::after(Duration::from_secs(1)).await;
        let sent = server.stats().await.tells_in;
        assert!(sent >= 3 << 12, "{sent}");
        for n in 1..=10 {
            quick.add(1).await.unwrap();
            assert_eq!(quick.get().timeout(LONG).await.unwrap(), n);
        }
        gate.fill(()).unwrap();
        for flood in floods {
            assert_eq!(flood.await.unwrap(), 1_100);
        }
    });
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

#[test]
fn who_waits_for_more_of_the_window_goes_on_when_what_stands_before_it_is_written() {
    run(1, || async {
        let here: CounterRef = actor::start(Tally::default());
        let options = Options::new("client").exports(Exports::new().add("counter", &here));
        let little = Limits {
            outgoing: 1 << 10,
            ..Limits::default()
        };
        let (ours, theirs) = memory::pipe();
        let (link, driver) = link(ours, options.limits(little));
        drop(tidings::spawn(driver));
        let link_window = Grant {
            messages: 4,
            bytes: 1 << 20,
        };
        let mut peer = Peer::new(
            theirs,
            Limits {
                link_window,
                ..Limits::default()
            },
        );
        peer.up().await;
        let counter = peer.asks(1, "counter", "Counter").await;
        // Its requests are begun from here on.
        peer.session.pong(0, Instant::now());
        let mut there = Vec::new();
        for target in [5, 6] {
            let asks = tidings::spawn(link.get::<CounterRef>("there"));
            let asked = |came: Incoming<'_>| match came {
                Incoming::Bind(bind) => Some(bind.id),
                _ => None,
            };
            let id = peer.until(asked).await;
            peer.session.bound(id, Ok(target));
            peer.say().await;
            there.push(asks.await.unwrap().unwrap());
        }
        let [waits, other] = &there[..] else {
            unreachable!("there are two");
        };
        // The last quarter of the window is left.
        for to in [other, waits, waits] {
            to.add(1).await.unwrap();
            let came = |came: Incoming<'_>| matches!(came, Incoming::Request { .. }).then_some(());
            peer.until(came).await;
        }
        waits.add(1).await.unwrap();
        // More than the pipe holds.
        let methods = interface::<CounterMessage>().methods();
        let echo = methods
            .iter()
            .find(|method| method.name() == "echo")
            .unwrap();
        let mut body = Vec::new();
        encode(&(vec![7_u8; 500 << 10],), &mut body).unwrap();
        let call = peer.session.begin_call().unwrap();
        peer.session.call(
            call,
            counter,
            echo.number(),
            None,
            vec![],
            &mut body.clone(),
        );
        peer.say().await;
        tidings::time::after(Duration::from_millis(1)).await;
        // There is more of the window, and the answer before it.
        peer.session.taken(6, 1);
        peer.say().await;
        tidings::time::after(Duration::from_millis(1)).await;
        // Not when the link has something else to say: that comes later.
        let sent = peer.until(|came| match came {
            Incoming::Request { .. } => Some(true),
            Incoming::Ping(_) => Some(false),
            _ => None,
        });
        assert!(sent.await);
    });
}
