//! TLS over a stream that is given: what is checked where a link is made to an address is checked here, too.

use std::time::Duration;

use tidings::{Event, actor};
use tidings_link::{
    Broken, ConnectError, Driver, Exports, Limits, Link, Options, Refusal, Tls, memory,
};

use crate::authority::Authority;
use crate::intercept::identity;
use crate::nodes::{CounterRef, LONG, Tally};

type Made = Result<(Link, Driver), ConnectError>;

/// A link in memory to a server of these options, made by a client that expects one node and says it is
/// another.
async fn made(server: (Tls, Options), client: Tls, expects: &str, says: &str) -> (Made, Made) {
    let (here, there) = memory::pipe();
    let accepts = async move { server.0.accept(there, server.1).await };
    let connects = async move { client.connect(here, expects, Options::new(says)).await };
    futures::join!(accepts, connects)
}

fn serves(node: &str) -> Options {
    let counter: CounterRef = actor::start(Tally::default());
    Options::new(node).exports(Exports::new().add("counter", &counter))
}

/// Moves what was made.
fn moved(made: Made) -> Result<Link, ConnectError> {
    made.map(|(link, driver)| {
        drop(tidings::spawn(driver));
        link
    })
}

#[tidings::test]
async fn a_link_over_tls_on_any_stream_carries_calls_and_an_interceptor_sees_the_certificate() {
    let authority = Authority::new();
    let [server, client] = ["server", "client"].map(|node| identity(&authority, node));
    let options = serves("server").intercept(move |request| {
        match request.peer_certificate() == Some(&client.0) && request.peer_addr().is_none() {
            true => Ok(()),
            false => Err("it is shown something else".into()),
        }
    });
    let (served, link) = made((server.1, options), client.1, "server", "client").await;
    let (served, link) = (moved(served).unwrap(), moved(link).unwrap());
    let counter: CounterRef = link.get("counter").await.unwrap();
    counter.add(3).await.unwrap();
    let bytes = vec![5; 200_000];
    assert!(counter.echo(bytes.clone()).await.unwrap() == bytes);
    assert_eq!(counter.get().await.unwrap(), 3);
    assert_eq!(served.up().await.unwrap().node, "client");
    link.drain();
    assert_eq!(served.down().await, Broken::Drained);
}

#[tidings::test]
async fn over_tls_on_any_stream_no_certificate_passes_that_is_not_good() {
    let (ours, others) = (Authority::new(), Authority::new());
    let server = || ours.identity("server", false);
    let client = || ours.identity("client", false);
    for (server, client) in [
        (others.trusting(&ours, "server", false), client()),
        (server(), others.trusting(&ours, "client", false)),
        (ours.identity("server", true), client()),
        (server(), ours.identity("client", true)),
        // For another node than is asked for.
        (ours.identity("other", false), client()),
    ] {
        let (served, link) = made((server, serves("server")), client, "server", "client").await;
        let ((Err(why), _) | (Ok(_), Err(why))) = (served, link) else {
            panic!("there is a link");
        };
        assert!(matches!(why, ConnectError::Io(_)), "{why:?}");
    }
}

#[tidings::test]
async fn over_tls_on_any_stream_a_node_is_who_its_certificate_says() {
    let authority = Authority::new();
    let tls = |node| authority.identity(node, false);
    // The server says it is another, and the client.
    for (is, says) in [("other", "client"), ("server", "mallory")] {
        let server = (tls("server"), serves(is));
        let (served, link) = made(server, tls("client"), "server", says).await;
        let (served, link) = (moved(served).unwrap(), moved(link).unwrap());
        let ends = [
            served.down().timeout(LONG).await.unwrap(),
            link.down().timeout(LONG).await.unwrap(),
        ];
        let name = if is == "other" { is } else { says };
        let refusal = Refusal::Node(name.to_owned());
        assert!(ends.contains(&Broken::Refused(refusal)), "{ends:?}");
    }
}

#[tidings::test]
async fn a_handshake_of_tls_on_any_stream_takes_so_long_and_no_longer() {
    let authority = Authority::new();
    let tls = authority.identity("client", false);
    let hasty = Options::new("client").limits(Limits {
        handshake: Duration::from_millis(20),
        ..Limits::default()
    });
    let (here, _silent) = memory::pipe();
    let late = |error: ConnectError| {
        assert!(matches!(error, ConnectError::Late { .. }), "{error}");
        error.to_string()
    };
    let error = tls.connect(here, "server", hasty.clone()).await;
    let said = "node \"server\": it took too long to connect";
    assert_eq!(late(error.err().unwrap()), said);
    let (here, _silent) = memory::pipe();
    let error = tls.accept(here, hasty).await;
    let said = "who has come: it took too long to connect";
    assert_eq!(late(error.err().unwrap()), said);
}
