//! Who comes where, and does not get in: what they and the server are told.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tidings::net::{Accept, Connecting, Network, Socket};
use tidings::time::timeout;
use tidings::{Runtime, actor};
use tidings_link::{Broken, ConnectError, Connector, Exports, Listener, Options, Peers, Refusal};

use crate::authority::Authority;
use crate::nodes::{CounterRef, LONG, Tally};

/// What somebody hears who tries until he is told that it is of no use.
async fn told(connector: Connector) -> ConnectError {
    let connector = connector.backoff(Duration::from_millis(1), Duration::from_millis(10));
    let told = timeout(LONG, connector.connect_until_up()).await;
    told.expect("it goes on for ever").unwrap_err()
}

#[tidings::test]
async fn a_connector_speaks_with_the_node_that_it_names_and_no_other() {
    let listener = Listener::bind("tcp://127.0.0.1:0", Options::new("server")).await;
    let server = listener.unwrap().serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let error = told(connector.clone().node("other")).await;
    assert!(
        matches!(&error, ConnectError::Broken { why: Broken::Refused(Refusal::Node(node)), .. } if node == "server"),
        "{error:?}"
    );
    assert!(connector.node("server").connect().await.is_ok());
}

#[tidings::test]
async fn who_has_no_good_certificate_does_not_try_for_ever() {
    let (ours, others) = (Authority::new(), Authority::new());
    let expired = ours.identity("client", true);
    for client in [expired, others.trusting(&ours, "client", false)] {
        let listener = Listener::bind("tls://127.0.0.1:0", Options::new("server")).await;
        let server = listener
            .unwrap()
            .tls(ours.identity("server", false))
            .serve();
        let connector = Connector::new(&server.address().to_string()).unwrap();
        let error = told(connector.node("server").tls(client)).await;
        assert!(error.to_string().contains("alert"), "{error}");
    }
}

#[tidings::test]
async fn where_another_protocol_is_spoken_nobody_tries_for_ever() {
    for (says, what) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP"),
        ("SSH-2.0-OpenSSH_9.2p1\r\n", "it speaks SSH"),
        ("\x15\x03\x01\0\x02\x02\x46", "it speaks TLS"),
        ("+OK ready\r\n", "too large"),
        ("\x05\0\0\0hello", "a greeting"),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        // It ends with the first that comes, or with this test's process.
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.read(&mut [0; 64]);
                let _ = stream.write_all(says.as_bytes());
                // Read to its end, so that what was written arrives.
                let _ = io::copy(&mut stream, &mut io::sink());
            }
        });
        let at = format!("tcp://{at}");
        let error = told(Connector::new(&at).unwrap()).await;
        assert!(matches!(error, ConnectError::Broken { .. }), "{error}");
        let said = error.to_string();
        assert!(said.starts_with(&at) && said.contains(what), "{said}");
    }
}

#[tidings::test]
async fn whom_a_server_refuses_has_no_link_and_does_not_try_for_ever() {
    let options = Options::new("server").cluster("blue").expect(["client"]);
    let listener = Listener::bind("tcp://127.0.0.1:0", options).await;
    let server = listener.unwrap().serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let client = |node: &str, cluster: &str| {
        let options = Options::new(node).cluster(cluster);
        connector.clone().options(options)
    };
    for (refused, why) in [
        (client("client", "red"), Refusal::Cluster("blue".to_owned())),
        (client("other", "blue"), Refusal::Node("other".to_owned())),
    ] {
        for error in [
            told(refused.clone()).await,
            refused.connect().await.unwrap_err(),
        ] {
            let ConnectError::Broken {
                why: Broken::RefusedByPeer(heard),
                ..
            } = &error
            else {
                panic!("{error:?}");
            };
            assert_eq!(*heard, why);
        }
    }
    assert!(client("client", "blue").connect().await.is_ok());
    assert_eq!(server.arrivals().failed, 4);
}

#[tidings::test]
async fn who_says_no_name_has_no_place_that_another_could_take() {
    let (counter, peers) = (
        actor::start::<_, CounterRef>(Tally::default()),
        Peers::new(),
    );
    let options = Options::new("server").exports(Exports::new().add("counter", &counter));
    let listener = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap();
    let server = listener.peers(&peers).serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let first = connector.connect().await.unwrap();
    // Of another process.
    let other = connector.options(Options::default().incarnation(1));
    let second = other.connect().await.unwrap();
    for link in [first, second] {
        let counter: CounterRef = link.get("counter").await.unwrap();
        assert_eq!(counter.get().await.unwrap(), 0);
    }
    assert!(peers.get("").is_none());
}

/// A system that has no descriptors.
struct Exhausted;

impl Network for Exhausted {
    fn connect(&self, _: SocketAddr) -> Connecting {
        Box::pin(async { Err(ErrorKind::Other.into()) })
    }
    fn bind(&self, at: SocketAddr) -> io::Result<Box<dyn Accept>> {
        Ok(Box::new(Fails(at)))
    }
}

struct Fails(SocketAddr);

impl Accept for Fails {
    fn poll_accept(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Box<dyn Socket>>> {
        Poll::Ready(Err(io::Error::other("too many open files")))
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0)
    }
}

#[test]
fn a_server_counts_that_it_could_not_let_somebody_in() {
    let runtime = Runtime::builder().network(Arc::new(Exhausted)).build();
    runtime.unwrap().block_on(async {
        let listener = Listener::bind("tcp://127.0.0.1:7", Options::new("server"));
        let server = listener.await.unwrap().serve();
        while server.arrivals().unaccepted < 3 {
            tidings::yield_now().await;
        }
        assert_eq!(server.arrivals().linked, 0);
    });
}
