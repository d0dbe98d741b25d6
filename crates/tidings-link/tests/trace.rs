//! Trace context over links: the feature `tracing`.
//! `cargo test -p tidings-link --features tracing --test trace`; CI's test stage runs it.

use tidings::actor;
use tidings::trace::Trace;
use tidings_link::{Exports, Options, link, memory};

#[tidings::interface(remote)]
trait Relay {
    async fn ask(&self, with: Option<RelayRef>) -> Vec<String>;
}

/// Says as a part of what it and the other were asked.
struct Station;

impl Relay for Station {
    async fn ask(&self, with: Option<RelayRef>) -> Vec<String> {
        let mut all: Vec<String> = Trace::current().iter().map(Trace::to_string).collect();
        if let Some(with) = with {
            all.extend(with.ask(None).await.unwrap());
        }
        all
    }
}

#[tidings::test]
async fn a_call_over_a_link_is_handled_as_a_part_of_its_callers_trace() {
    let (ours, theirs) = memory::pipe();
    let there: RelayRef = actor::start(Station);
    let exports = Exports::new().add("relay", &there);
    let (_server, driver) = link(ours, Options::new("server").exports(exports));
    tidings::spawn(driver);
    let (client, driver) = link(theirs, Options::new("client"));
    tidings::spawn(driver);
    let there: RelayRef = client.get("relay").await.unwrap();
    let here: RelayRef = actor::start(Station);
    let trace = Trace::new(0x1234, 0x56, 1);
    // There, and back again by the reference that went with it.
    let asked = trace.scope(async { there.ask(Some(here.clone())).await.unwrap() });
    assert_eq!(asked.await, [trace.to_string(), trace.to_string()]);
    assert!(there.ask(Some(here)).await.unwrap().is_empty());
    // Numbers that stand for none are none.
    let none = Trace::new(0, 0, 1).scope(async { there.ask(None).await.unwrap() });
    assert!(none.await.is_empty());
}
