//! What the types promise: which of them may move between threads.

use std::cell::Cell;

use tidings::actor::ActorRef;
use tidings_nats::{
    Arrivals, Aside, Body, Change, Cluster, Delivery, Down, Ended, EngineError, Entry, Expect,
    Feed, FeedEnd, FeedOptions, FeedStats, Handled, Health, JoinError, LookupError, Member,
    Message, Name, NameError, Options, Picked, Pool, PoolError, Queue, Settle, Stats, memory, nats,
};

use probe::{No, Row};

#[macro_use]
#[path = "../../tidings/tests/surface/probe.rs"]
mod probe;

/// All can be kept where users want; what a queue's messages are is no matter, as it has none; but what
/// comes from an engine has one reader.
fn all() -> Vec<Row> {
    let all = plain! {
        "memory::Faults": memory::Faults => "SYU";
        "memory::Memory": memory::Memory => "SYU";
        "memory::Server": memory::Server => "SYU";
        "nats::Bucket": nats::Bucket => "SYU";
        "nats::Nats": nats::Nats => "SYU";
        "Arrivals": Arrivals<u8> => "S-U";
        "Aside": Aside => "SYU";
        "Body": Body => "SYU";
        "Change": Change => "SYU";
        "Cluster": Cluster => "SYU";
        "Delivery": Delivery => "SYU";
        "Down": Down => "SYU";
        "Ended": Ended => "SYU";
        "EngineError": EngineError => "SYU";
        "Entry": Entry => "SYU";
        "Expect": Expect => "SYU";
        "Feed": Feed => "SYU";
        "FeedEnd": FeedEnd => "SYU";
        "FeedOptions": FeedOptions => "SYU";
        "FeedStats": FeedStats => "SYU";
        "Handled": Handled => "SYU";
        "Health": Health => "SYU";
        "JoinError": JoinError => "SYU";
        "LookupError": LookupError => "SYU";
        "Member": Member => "SYU";
        "Message": Message => "SYU";
        "Name": Name => "SYU";
        "NameError": NameError => "SYU";
        "Options": Options => "SYU";
        "Picked": Picked<ActorRef<u8>> => "SYU";
        "Pool": Pool<ActorRef<u8>> => "SYU";
        "PoolError": PoolError => "SYU";
        "Queue": Queue<Cell<u8>> => "SYU";
        "Settle": Settle => "SYU";
        "Stats": Stats => "SYU";
    };
    #[cfg(feature = "opentelemetry")]
    let all = {
        use tidings_nats::opentelemetry::Instruments;
        let instruments = plain! { "opentelemetry::Instruments": Instruments => "SYU"; };
        [&all[..], &instruments[..]].concat()
    };
    all.to_vec()
}

#[test]
fn types_move_between_threads_as_listed() {
    probe::agree(&all());
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../public-api.txt");
    let absent: &[&str] = if cfg!(feature = "opentelemetry") {
        &[]
    } else {
        &["opentelemetry::"]
    };
    probe::are_complete(&all(), api, "tidings_nats", 30, absent);
}
