//! What a server knows of links that have ended: why, and what they had counted.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use futures::future::{Either, select};
use tidings::actor;
use tidings::net::TcpStream;
use tidings::time::timeout;
use tidings_link::{
    Address, Connector, Exports, Grant, Limits, Link, Listener, Options, Server, link,
};

use crate::authority::Authority;
use crate::by_hand::Peer;
use crate::nodes::{CounterRef, LONG, Tally};
use crate::sockets::in_handshake;

fn exports() -> Exports {
    let counter: CounterRef = actor::start(Tally::default());
    Exports::new().add("counter", &counter)
}

async fn serve(limits: Limits) -> Server {
    let options = Options::new("server").exports(exports()).limits(limits);
    let listener = Listener::bind("tcp://127.0.0.1:0", options);
    listener.await.unwrap().serve()
}

fn connector(server: &Server, options: Options) -> Connector {
    let connector = Connector::new(&server.address().to_string()).unwrap();
    connector.options(options)
}

async fn client(server: &Server) -> Link {
    let connector = connector(server, Options::new("client"));
    connector.connect().await.unwrap()
}

/// One that has greeted, and is moved by hand.
async fn peer(server: &Server) -> Peer<TcpStream> {
    let mut peer = Peer::new(in_handshake(server).await, Limits::default());
    peer.up().await;
    peer
}

/// The only link that the server has had ends by that.
async fn is_counted(server: &Server, why: &'static str) {
    let counted = async {
        while server.ends().is_empty() {
            tidings::yield_now().await;
        }
    };
    timeout(LONG, counted).await.expect(why);
    assert_eq!(server.ends(), BTreeMap::from([(why, 1)]));
}

/// A link to a server of these limits ends by what is done to it, and that is what is counted.
async fn ends<T>(why: &'static str, limits: Limits, by: impl AsyncFnOnce(&Server) -> T) {
    let server = serve(limits).await;
    let kept = by(&server).await;
    is_counted(&server, why).await;
    drop(kept);
    let arrivals = server.arrivals();
    assert_eq!(
        (arrivals.linked + arrivals.failed, server.count()),
        (1, 0),
        "{why}"
    );
}

#[tidings::test]
async fn a_link_that_ends_is_counted_by_why() {
    let limits = Limits::default();
    ends("closed", limits, async |server| drop(peer(server).await)).await;
    ends("drained", limits, async |server| {
        let link = client(server).await;
        link.drain();
        link
    })
    .await;
    ends("dropped", limits, async |server| {
        let link = client(server).await;
        server.next().await.close();
        link
    })
    .await;
    ends("refused", limits, async |server| {
        let other = Options::new("client").cluster("other");
        connector(server, other).connect().await
    })
    .await;
    ends("refused_by_peer", limits, async |server| {
        let expects = Options::new("client").expect(["another server"]);
        connector(server, expects).connect().await
    })
    .await;
}

#[tidings::test]
async fn a_link_that_a_limit_ends_is_counted_by_that() {
    let limits = Limits::default();
    ends("protocol", limits, async |server| {
        let mut peer = peer(server).await;
        peer.says(&[1, 0, 0, 0, 99]).await;
        peer
    })
    .await;
    ends("frame_too_large", limits, async |server| {
        let mut peer = peer(server).await;
        peer.says(&u32::MAX.to_le_bytes()).await;
        peer
    })
    .await;
    // Before it has greeted, too.
    for (why, says) in [
        ("frame_too_large", "+OK ready\r\n"),
        ("protocol", "GET / HTTP/1.1\r\n\r\n"),
    ] {
        ends(why, limits, async |server| {
            let mut stranger = Peer::new(in_handshake(server).await, limits);
            stranger.says(says.as_bytes()).await;
            stranger
        })
        .await;
    }
    let small = Limits {
        message: 1_000,
        ..limits
    };
    ends("message_too_large", small, async |server| {
        let mut peer = peer(server).await;
        peer.session.tell(0, 0, vec![], &mut vec![0; 1_001]);
        let _ = peer.tries().await;
        peer
    })
    .await;
    let mut few = limits;
    few.window.messages = 3;
    ends("credit", few, async |server| {
        let mut peer = peer(server).await;
        for _ in 0..4 {
            // As it has not said what its clock is, none of them is begun.
            peer.session.tell(0, 0, vec![], &mut vec![]);
        }
        let _ = peer.tries().await;
        peer
    })
    .await;
    let calm = Limits {
        control: 100,
        ..limits
    };
    ends("flood", calm, async |server| {
        let mut peer = peer(server).await;
        peer.says(&[2, 0, 0, 0, 13, 0].repeat(101)).await;
        peer
    })
    .await;
}

#[tidings::test]
async fn a_link_that_takes_too_long_is_counted_by_what_it_was_waited_for() {
    let (limits, moment) = (Limits::default(), Duration::from_millis(50));
    let brief = Limits {
        handshake: moment,
        ..limits
    };
    ends("handshake", brief, in_handshake).await;
    let impatient = Limits {
        silence: moment,
        ..limits
    };
    ends("silent", impatient, peer).await;
    let hasty = Limits {
        stall: moment,
        ..limits
    };
    ends("slow_peer", hasty, stands_still).await;
}

#[tidings::test]
async fn a_link_whose_stream_fails_is_counted_by_that() {
    let authority = Authority::new();
    let listener = Listener::bind("tls://127.0.0.1:0", Options::new("server"));
    let listener = listener.await.unwrap();
    let server = listener.tls(authority.identity("server", false)).serve();
    let Address::Tls(at) = server.address() else {
        panic!("it is {}", server.address());
    };
    let mut socket = std::net::TcpStream::connect(at).unwrap();
    let stream = TcpStream::from_std(socket.try_clone().unwrap()).unwrap();
    let client = authority.identity("client", false);
    let made = client.connect(stream, "server", Options::new("client"));
    let (_link, driver) = made.await.unwrap();
    drop(tidings::spawn(driver));
    server.next().await;
    // What is none of TLS.
    socket.write_all(&[0; 100]).unwrap();
    is_counted(&server, "io").await;
}

/// A client that is asked for much, and reads nothing of it.
async fn stands_still(server: &Server) -> impl Sized + use<> {
    let much = Grant {
        messages: 100,
        bytes: 100 << 20,
    };
    let limits = Limits {
        window: much,
        link_window: much,
        ..Limits::default()
    };
    let options = Options::new("client").exports(exports()).limits(limits);
    let (link, driver) = link(in_handshake(server).await, options);
    let (stand, still) = tidings::oneshot::<()>();
    let (back, moved) = tidings::oneshot();
    drop(tidings::spawn(async move {
        let still = std::pin::pin!(still.into_future());
        let moved = select(driver, still).await;
        let Either::Right((_, driver)) = moved else {
            panic!("the link has ended before it stood still");
        };
        let _ = back.send(driver);
    }));
    let there: CounterRef = server.next().await.get("counter").await.unwrap();
    stand.send(()).unwrap();
    let driver = moved.await.unwrap();
    // More than the system takes for it.
    for _ in 0..32 {
        let there = there.clone();
        drop(tidings::spawn(async move {
            let _ = there.echo(vec![0; 1_000_000]).await;
        }));
    }
    (link, driver)
}

#[tidings::test]
async fn what_links_have_counted_is_not_lost_when_they_end() {
    let server = serve(Limits::default()).await;
    let [first, second] = [client(&server).await, client(&server).await];
    for (link, calls) in [(&first, 3), (&second, 4)] {
        let counter: CounterRef = link.get("counter").await.unwrap();
        for _ in 0..calls {
            counter.get().await.unwrap();
        }
    }
    let living = first.stats().await;
    assert_eq!((living.calls_out, server.stats().await.calls_in), (3, 7));
    first.close();
    first.down().await;
    assert_eq!(first.stats().await.calls_out, 3);
    // It is the same while the server does not know of the end, and when it does.
    assert_eq!(server.stats().await.calls_in, 7);
    while server.count() > 1 {
        tidings::yield_now().await;
    }
    assert_eq!(server.stats().await.calls_in, 7);
    drop(server);
    second.down().await;
    let all = [first.stats().await, second.stats().await];
    assert_eq!(all.map(|stats| stats.calls_out), [3, 4]);
}
