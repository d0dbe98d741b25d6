//! What the interceptor of a node sees of the other nodes.

use std::sync::{Arc, Mutex};

use tidings::actor::{self, CallError};
use tidings_nats::{Cluster, Options};

use crate::cluster::{LEASE, node, server};
use crate::counter::{CounterRef, Tally};

/// Calls an actor of a node that has one, and listens for direct links or not.
async fn is_seen(listens: bool) {
    let server = server();
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let to = Arc::clone(&seen);
    let options = Options::new("test", "one").lease(LEASE);
    let mut options = options.intercept(move |request| {
        let node = request.peer().node.clone();
        let direct = request.peer_addr().is_some();
        to.lock().unwrap().push((node, request.method(), direct));
        match request.method() {
            "inc" => Err("no more".into()),
            _ => Ok(()),
        }
    });
    if listens {
        options = options.listen("tcp://127.0.0.1:0");
    }
    let one = Cluster::join_on(server.connect(), options).await.unwrap();
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let there: CounterRef = two.lookup("counter").await.unwrap();
    assert_eq!(there.get().await.unwrap(), 0);
    match there.inc().await {
        Err(CallError::Refused(why)) => assert_eq!(why.to_string(), "no more"),
        other => panic!("{other:?}"),
    }
    // Who is here asks without it.
    assert_eq!(counter.inc().await.unwrap(), 1);
    let two = || "two".to_owned();
    let expected = [(two(), "get", listens), (two(), "inc", listens)];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tidings::test(sim, seeds = 10)]
async fn requests_that_come_through_the_engine_are_seen_and_refused() {
    is_seen(false).await;
}

#[tidings::test]
async fn requests_that_come_over_a_direct_link_are_seen_and_refused() {
    is_seen(true).await;
}
