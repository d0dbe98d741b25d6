//! Trace context over links: the feature `tracing`.
//! `cargo test -p tidings-link --features tracing --test trace`; CI's test stage runs it.

use std::sync::{Arc, Mutex};

use tidings::actor;
use tidings::sync::Notify;
use tidings::trace::Trace;
use tidings_link::{Exports, Link, Options, link, memory};

#[tidings::interface(remote)]
trait Relay {
    async fn ask(&self, with: Option<RelayRef>) -> Vec<String>;
    async fn tell(&self, with: Option<RelayRef>);
    async fn told(&self) -> Vec<String>;
    async fn wait(&self) -> ();
}

/// Says as a part of what it and the other were asked, and itself was told.
#[derive(Default)]
struct Station(Mutex<Vec<String>>, Arc<Notify>);

fn now() -> String {
    Trace::current().map_or_else(String::new, |trace| trace.to_string())
}

impl Relay for Station {
    async fn ask(&self, with: Option<RelayRef>) -> Vec<String> {
        let mut all: Vec<String> = Trace::current().iter().map(Trace::to_string).collect();
        if let Some(with) = with {
            all.extend(with.ask(None).await.unwrap());
        }
        all
    }
    async fn tell(&self, with: Option<RelayRef>) {
        self.0.lock().unwrap().push(now());
        if let Some(with) = with {
            with.tell(None).await.unwrap();
        }
    }
    async fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
    async fn wait(&self) {
        self.1.notified().await;
    }
}

/// Two nodes: an actor of the one at the other, and the one that is there.
async fn linked(station: Station, capacity: usize) -> (RelayRef, Link, Link) {
    let (ours, theirs) = memory::pipe();
    let there: RelayRef = actor::Builder::new().capacity(capacity).start(station);
    let exports = Exports::new().add("relay", &there);
    let (server, driver) = link(ours, Options::new("server").exports(exports));
    tidings::spawn(driver);
    let (client, driver) = link(theirs, Options::new("client"));
    tidings::spawn(driver);
    (client.get("relay").await.unwrap(), server, client)
}

#[tidings::test]
async fn a_call_over_a_link_is_handled_as_a_part_of_its_callers_trace() {
    let (there, _server, _client) = linked(Station::default(), 8).await;
    let here: RelayRef = actor::start(Station::default());
    let trace = Trace::new(0x1234, 0x56, 1);
    // There, and back again by the reference that went with it.
    let asked = trace.scope(async { there.ask(Some(here.clone())).await.unwrap() });
    assert_eq!(asked.await, [trace.to_string(), trace.to_string()]);
    assert!(there.ask(Some(here)).await.unwrap().is_empty());
    // Numbers that stand for none are none.
    let none = Trace::new(0, 0, 1).scope(async { there.ask(None).await.unwrap() });
    assert!(none.await.is_empty());
}

#[tidings::test]
async fn a_one_way_message_over_a_link_is_handled_as_a_part_of_its_senders_trace() {
    let (there, _server, _client) = linked(Station::default(), 8).await;
    let here: RelayRef = actor::start(Station::default());
    let trace = Trace::new(0x1234, 0x56, 1);
    // There, and back again by the reference that went with it.
    let told = trace.scope(async { there.tell(Some(here.clone())).await.unwrap() });
    told.await;
    there.tell(None).await.unwrap();
    assert_eq!(
        there.told().await.unwrap(),
        [trace.to_string(), String::new()]
    );
    let back = loop {
        // What came back is another's message: it may come later.
        let back = here.told().await.unwrap();
        if !back.is_empty() {
            break back;
        }
        tidings::yield_now().await;
    };
    assert_eq!(back, [trace.to_string()]);
}

#[tidings::test]
async fn a_one_way_message_that_waits_for_a_place_over_there_keeps_its_trace() {
    let goes_on = Arc::new(Notify::new());
    let station = Station(Mutex::default(), Arc::clone(&goes_on));
    let (there, _server, _client) = linked(station, 1).await;
    let waits = there.clone();
    let waits = tidings::spawn(async move { waits.wait().await.unwrap() });
    let of = |n| Trace::new(0x1234, n, 1);
    // All but the first find the mailbox full.
    for n in 1..=4 {
        let told = async { there.tell(None).await.unwrap() };
        of(n).scope(told).await;
    }
    goes_on.notify_one();
    waits.await.unwrap();
    let all = [1, 2, 3, 4].map(|n| of(n).to_string());
    assert_eq!(there.told().await.unwrap(), all);
}
