//! Links over TCP, Unix sockets and TLS.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::AsyncReadExt;
use rustix::io::Errno;
use tidings::net::TcpStream;
use tidings::time::timeout;
use tidings::{Event, JoinSet, actor};
use tidings_link::{
    Address, Broken, ConnectError, Connector, Exports, Limits, Link, Listener, Options, Refusal,
    Server, Tls, link,
};

use crate::authority::Authority;
use crate::nodes::{CounterRef, LONG, Tally};

fn options(node: &str) -> Options {
    let counter: CounterRef = actor::start(Tally::default());
    Options::new(node).exports(Exports::new().add("counter", &counter))
}

#[tidings::test]
async fn a_link_over_tcp_carries_calls() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"))
        .await
        .unwrap();
    let server = listener.serve();
    let address = server.address().to_string();
    let mut clients = JoinSet::new();
    for n in 0..10 {
        let address = address.clone();
        clients.spawn(async move {
            let link = Link::connect(&address).await.unwrap();
            let counter: CounterRef = link.get("counter").await.unwrap();
            for _ in 0..100 {
                counter.add(n).await.unwrap();
            }
            let bytes = vec![n as u8; 300_000];
            assert!(counter.echo(bytes.clone()).await.unwrap() == bytes);
            counter.get().await.unwrap()
        });
    }
    let mut largest = 0;
    while let Some(sum) = clients.join_next().await {
        largest = largest.max(sum.unwrap());
    }
    assert_eq!(largest, 4500);
}

#[cfg(unix)]
#[tidings::test]
async fn a_link_over_a_unix_socket_carries_calls() {
    let path = std::env::temp_dir().join(format!("tidings-link-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let at = format!("unix:{}", path.display());
    let server = Listener::bind(&at, options("server"))
        .await
        .unwrap()
        .serve();
    let link = Link::connect(&at).await.unwrap();
    let counter: CounterRef = link.get("counter").await.unwrap();
    counter.add(4).await.unwrap();
    assert_eq!(counter.get().await.unwrap(), 4);
    drop(server);
    link.down().timeout(LONG).await.unwrap();
    for file in [path.with_extension("sock.lock"), path] {
        std::fs::remove_file(file).unwrap();
    }
}

#[tidings::test]
async fn without_tls_nothing_leaves_this_machine_unless_it_is_said_so() {
    let refused = Listener::bind("tcp://0.0.0.0:0", options("server")).await;
    assert!(matches!(refused, Err(ConnectError::Insecure { at }) if at == "tcp://0.0.0.0:0"));
    let refused = Link::connect("tcp://192.0.2.1:7").await.unwrap_err();
    assert!(matches!(refused, ConnectError::Insecure { .. }));
    let said = "tcp://192.0.2.1:7: a link that leaves this machine needs TLS";
    assert_eq!(refused.to_string(), said);
    let refused = Link::connect("tls://127.0.0.1:7").await;
    assert!(matches!(refused, Err(ConnectError::NoIdentity { at }) if at == "tls://127.0.0.1:7"));
    let open = Listener::bind_insecure("tcp://0.0.0.0:0", options("server")).await;
    assert!(open.is_ok());
    assert!(matches!(
        Link::connect("nowhere").await,
        Err(ConnectError::Address(_))
    ));
}

#[tidings::test]
async fn an_identity_and_an_address_over_tls_go_together() {
    let identity = || Authority::new().identity("server", false);
    let bind = |address| Listener::bind(address, options("server"));
    let nobody_gets_in = bind("tls://127.0.0.1:0").await.unwrap();
    assert!(matches!(
        nobody_gets_in.check(),
        Err(ConnectError::NoIdentity { .. })
    ));
    let served = std::panic::catch_unwind(AssertUnwindSafe(|| nobody_gets_in.serve()));
    let panic = served.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("tls://127.0.0.1:") && text.contains("needs an identity"));
    let everybody_does = bind("tcp://127.0.0.1:0").await.unwrap().tls(identity());
    let why = everybody_does.check().unwrap_err();
    let at = format!("{}: ", everybody_does.address());
    assert!(matches!(why, ConnectError::NotTls { .. }) && why.to_string().starts_with(&at));
    let plain = Listener::bind_insecure("tcp://127.0.0.1:0", options("server"));
    let server = plain.await.unwrap().tls(identity()).serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let connector = connector.tls(identity());
    let unguarded = connector.connect().await.unwrap_err();
    let at = format!("{}: ", server.address());
    assert!(matches!(unguarded, ConnectError::NotTls { .. }) && !unguarded.may_pass());
    assert!(unguarded.to_string().starts_with(&at), "{unguarded}");
    connector.insecure(true).connect().await.unwrap();
}

/// The system's, of the error that says where it was met.
fn number(met: &ConnectError) -> Option<i32> {
    let source = met.source()?.downcast_ref::<std::io::Error>()?;
    source.raw_os_error()
}

#[tidings::test]
async fn an_error_says_where_it_was_met_and_has_the_systems_number() {
    let (free, at) = {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        let taken = Listener::bind(&format!("tcp://{at}"), options("server")).await;
        let taken = taken.unwrap_err();
        assert!(taken.to_string().starts_with(&at.to_string()));
        assert_eq!(number(&taken), Some(Errno::ADDRINUSE.raw_os_error()));
        (format!("tcp://{at}"), at.to_string())
    };
    let nobody = Link::connect(&free).await.unwrap_err();
    assert!(nobody.to_string().starts_with(&at) && nobody.may_pass());
    assert_eq!(number(&nobody), Some(Errno::CONNREFUSED.raw_os_error()));
    let nowhere = Link::connect("unix:/nowhere/socket").await.unwrap_err();
    assert!(nowhere.to_string().starts_with("/nowhere/socket: "));
    #[cfg(unix)]
    assert_eq!(number(&nowhere), Some(Errno::NOENT.raw_os_error()));
    #[cfg(not(unix))]
    assert!(nowhere.to_string().contains("no Unix sockets"));
    let nobody = Link::connect("tcp://no name:7").await.unwrap_err();
    assert!(nobody.to_string().starts_with("no name:7: "), "{nobody}");
}

#[cfg(unix)]
#[tidings::test]
async fn a_socket_that_a_process_has_left_is_taken_away_and_another_is_not() {
    let path = std::env::temp_dir().join(format!("tidings-left-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let address = format!("unix:{}", path.display());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let server = Listener::bind(&address, options("server")).await.unwrap();
    let server = server.serve();
    let link = Link::connect(&address).await.unwrap();
    let taken = Listener::bind(&address, options("server"))
        .await
        .unwrap_err();
    assert!(matches!(&taken, ConnectError::Io(error) if error.kind() == ErrorKind::AddrInUse));
    let _: CounterRef = link.get("counter").await.unwrap();
    drop(server);
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, "no socket").unwrap();
    let taken = Listener::bind(&address, options("server")).await;
    assert!(taken.is_err() && std::fs::read(&path).unwrap() == b"no socket");
    for file in [path.with_extension("lock"), path] {
        std::fs::remove_file(file).unwrap();
    }
}

#[tidings::test]
async fn a_server_counts_who_came_and_what_became_of_them() {
    let authority = Authority::new();
    let listener = Listener::bind("tls://127.0.0.1:0", options("server"));
    let listener = listener.await.unwrap().links(1);
    let server = listener.tls(authority.identity("server", false)).serve();
    let Address::Tls(at) = server.address() else {
        panic!("it is {}", server.address());
    };
    // No TLS; nothing at all; TLS, and then another name than that of the certificate.
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[]] {
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        stream.write_all(bytes).unwrap();
    }
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let connector = connector
        .node("server")
        .tls(authority.identity("client", false));
    let as_mallory = connector.clone().options(Options::new("mallory"));
    if let Ok(link) = as_mallory.connect().await {
        link.down().await;
    }
    while server.arrivals().unsecured < 2 || server.arrivals().failed < 1 {
        tidings::yield_now().await;
    }
    let connector = connector.options(Options::new("client"));
    let _first = connector.connect().await.unwrap();
    server.next().await;
    if let Ok(second) = connector.connect().await {
        second.down().await;
    }
    let arrivals = server.arrivals();
    assert_eq!((arrivals.linked, arrivals.overloaded), (1, 1));
    assert_eq!((arrivals.unsecured, arrivals.failed), (2, 1));
    // Why it failed; the first has not ended.
    assert_eq!(server.ends(), BTreeMap::from([("refused", 1)]));
}

#[tidings::test]
async fn a_wait_for_the_next_link_that_is_dropped_takes_none() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"))
        .await
        .unwrap();
    let server = listener.serve();
    let mut first = Box::pin(server.next());
    let mut second = Box::pin(server.next());
    for wait in [&mut first, &mut second] {
        assert!(futures::poll!(wait).is_pending());
    }
    let address = server.address().to_string();
    let _link = Link::connect(&address).await.unwrap();
    while server.count() < 1 {
        tidings::yield_now().await;
    }
    // It may have been woken for the link.
    drop(first);
    let link = timeout(LONG, second).await.expect("the link is there");
    assert_eq!(link.up().await.unwrap().node, "");
}

#[tidings::test]
async fn a_connect_that_is_dropped_leaves_no_link() {
    let listener = tidings::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let connect = tidings::spawn(async move { Link::connect(&address).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    // It has greeted, and waits to be greeted.
    let mut greeting = [0; 20];
    stream.read_exact(&mut greeting).await.unwrap();
    connect.abort();
    let mut rest = Vec::new();
    let end = timeout(LONG, stream.read_to_end(&mut rest)).await;
    assert!(end.is_ok());
}

#[tidings::test]
async fn a_server_has_so_many_links_and_refuses_others_with_the_reason() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"))
        .await
        .unwrap();
    let server = listener.links(1).serve();
    let address = server.address().to_string();
    let first = Link::connect(&address).await.unwrap();
    let _ = server.next().await;
    let refused = Link::connect(&address).await.unwrap_err();
    assert!(
        matches!(
            refused,
            ConnectError::Broken {
                why: Broken::RefusedByPeer(Refusal::Overloaded),
                ..
            }
        ),
        "{refused}"
    );
    first.close();
    // There is room again.
    let connector = Connector::new(&address).unwrap();
    let connector = connector.backoff(Duration::from_millis(1), Duration::from_millis(10));
    connector.connect_until_up().await.unwrap();
}

/// Connected to the server, which waits for the first word.
pub(crate) async fn in_handshake(server: &Server) -> TcpStream {
    let Address::Tcp(at) = server.address() else {
        panic!("it is {}", server.address());
    };
    TcpStream::connect(at.parse::<SocketAddr>().unwrap())
        .await
        .unwrap()
}

#[tidings::test]
async fn those_in_their_handshakes_have_the_places_of_links() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server")).await;
    let server = listener.unwrap().links(1).serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let mut silent = Vec::new();
    let refused = loop {
        // Whoever comes after it may be before it, and then it is refused.
        silent.push(in_handshake(&server).await);
        assert!(silent.len() < 100, "nobody is refused");
        match connector.connect().await {
            Ok(link) => {
                server.next().await;
                link.close();
                while server.count() > 0 {
                    tidings::yield_now().await;
                }
            }
            Err(why) => break why,
        }
    };
    let overloaded = Broken::RefusedByPeer(Refusal::Overloaded);
    assert!(
        matches!(&refused, ConnectError::Broken { why, .. } if *why == overloaded),
        "{refused}"
    );
    drop(silent);
    let connector = connector.backoff(Duration::from_millis(1), Duration::from_millis(10));
    let _link = connector.connect_until_up().await.unwrap();
    // Each of those before it had ended when the next came.
    server.next().await;
    assert_eq!(server.count(), 1);
}

#[tidings::test]
async fn a_server_that_has_ended_has_no_link_of_a_handshake_that_was_under_way() {
    for drains in [false, true] {
        let listener = Listener::bind("tcp://127.0.0.1:0", options("server")).await;
        let server = listener.unwrap().serve();
        let stream = in_handshake(&server).await;
        // It may have been accepted, or not.
        tidings::after(Duration::from_millis(20)).await;
        assert_eq!(server.count(), 0);
        match drains {
            true => server.drain(LONG).await,
            false => drop(server),
        }
        let (client, driver) = link(stream, Options::new("client"));
        drop(tidings::spawn(driver));
        // The server's first word may have been there.
        client.down().timeout(LONG).await.unwrap();
    }
}

#[tidings::test]
async fn a_server_that_has_ended_gives_up_its_address_though_somebody_is_in_a_handshake_of_tls() {
    let authority = Authority::new();
    let hours = Limits {
        handshake: Duration::from_secs(3600),
        ..Limits::default()
    };
    let patient = || options("server").limits(hours);
    let listener = Listener::bind("tls://127.0.0.1:0", patient()).await;
    let listener = listener.unwrap().tls(authority.identity("server", false));
    let address = listener.address().to_string();
    let at = address.strip_prefix("tls://").unwrap().to_owned();
    let server = listener.serve();
    let silent = std::net::TcpStream::connect(at).unwrap();
    // It has begun, or is refused by who listens no more.
    tidings::after(Duration::from_millis(20)).await;
    drop(server);
    while Listener::bind(&address, patient()).await.is_err() {
        tidings::yield_now().await;
    }
    drop(silent);
}

#[tidings::test]
async fn a_server_keeps_nothing_of_links_that_have_ended_before_anybody_asked_for_them() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server")).await;
    let server = listener.unwrap().serve();
    let address = server.address().to_string();
    for n in 0..10 {
        Link::connect(&address).await.unwrap().close();
        while server.arrivals().linked + server.arrivals().failed <= n || server.count() > 0 {
            tidings::yield_now().await;
        }
    }
    let _living = Link::connect(&address).await.unwrap();
    let next = server.next().await;
    assert!(next.exit().is_none());
}

#[tidings::test]
async fn a_server_that_drains_lets_its_links_finish() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"))
        .await
        .unwrap();
    let server = listener.serve();
    let link = Link::connect(&server.address().to_string()).await.unwrap();
    let counter: CounterRef = link.get("counter").await.unwrap();
    counter.add(1).await.unwrap();
    assert_eq!(counter.get().await.unwrap(), 1);
    server.drain(LONG).await;
    assert_eq!(link.down().timeout(LONG).await.unwrap(), Broken::Drained);
}

#[tidings::test]
async fn a_server_that_drains_listens_no_more_while_it_waits_for_a_call() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"));
    let server = listener.await.unwrap().serve();
    let address = server.address().to_string();
    let link = Link::connect(&address).await.unwrap();
    let counter: CounterRef = link.get("counter").await.unwrap();
    let call = tidings::spawn({
        let counter = counter.clone();
        async move { counter.wait().await }
    });
    // Behind it in the actor's mailbox: the call is under way.
    counter.get().await.unwrap();
    let drain = tidings::spawn(server.drain(LONG));
    let successor = loop {
        match Listener::bind(&address, options("server")).await {
            Ok(listener) => break listener,
            Err(_) => tidings::yield_now().await,
        }
    };
    assert!(!drain.is_finished(), "the address was taken all the time");
    drop(successor);
    let nobody = Link::connect(&address).await.unwrap_err();
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    assert!(
        matches!(&nobody, ConnectError::Io(error) if refused(error)),
        "{nobody}"
    );
    assert!(!drain.is_finished() && link.exit().is_none());
    link.close();
    drain.await.unwrap();
    assert!(call.await.unwrap().is_err());
}

#[tidings::test]
async fn who_connects_until_it_is_up_waits_for_the_other_and_a_node_that_returns_is_new() {
    let listener = Listener::bind("tcp://127.0.0.1:0", options("server"))
        .await
        .unwrap();
    let address = listener.address().to_string();
    drop(listener);
    let connector = Connector::new(&address).unwrap();
    let connector = connector.backoff(Duration::from_millis(1), Duration::from_millis(20));
    let waits = tidings::spawn({
        let connector = connector.clone();
        async move { connector.connect_until_up().await }
    });
    let server = Listener::bind(&address, options("server"))
        .await
        .unwrap()
        .serve();
    let link = waits.await.unwrap().unwrap();
    let before: CounterRef = link.get("counter").await.unwrap();
    before.add(1).await.unwrap();
    assert_eq!(before.get().await.unwrap(), 1);
    drop(server);
    link.down().timeout(LONG).await.unwrap();
    // The task that listened ends where it ran: its socket may be closed a moment after the link.
    let listener = loop {
        match Listener::bind(&address, options("server")).await {
            Ok(listener) => break listener,
            Err(_) => tidings::yield_now().await,
        }
    };
    let _server = listener.serve();
    let link = connector.connect_until_up().await.unwrap();
    let after: CounterRef = link.get("counter").await.unwrap();
    assert_eq!(after.get().await.unwrap(), 0);
    // The old reference is not bound to the new node.
    assert!(before.get().await.is_err());
}

/// What comes of a client that connects so to a server called `server`.
async fn over_tls(server: Tls, client: Tls, node: &str) -> Result<i64, ConnectError> {
    let listener = Listener::bind("tls://127.0.0.1:0", options("server")).await?;
    let server = listener.tls(server).serve();
    let connector = Connector::new(&server.address().to_string())?;
    let connector = connector
        .node("server")
        .options(Options::new(node))
        .tls(client);
    let link = connector.connect().await?;
    let counter: CounterRef = match link.get("counter").await {
        Ok(counter) => counter,
        Err(_) => {
            let (at, why) = (server.address().to_string(), link.down().await);
            return Err(ConnectError::Broken { at, why });
        }
    };
    counter.add(3).await.unwrap();
    let bytes = vec![5; 200_000];
    assert!(counter.echo(bytes.clone()).await.unwrap() == bytes);
    Ok(counter.get().await.unwrap())
}

#[tidings::test]
async fn over_tls_only_those_who_are_expected_get_in() {
    let authority = Authority::new();
    let expects = options("server").expect(["client", "other"]);
    let listener = Listener::bind("tls://127.0.0.1:0", expects).await.unwrap();
    let server = listener.tls(authority.identity("server", false)).serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let connector = connector.node("server");
    // Each has a certificate for its name; the last says another one that is expected.
    for (node, says, gets_in) in [
        ("client", "client", true),
        ("mallory", "mallory", false),
        ("client", "other", false),
    ] {
        let connector = connector.clone().tls(authority.identity(node, false));
        let connected = connector.options(Options::new(says)).connect().await;
        let got = match connected {
            Ok(link) => link.get::<CounterRef>("counter").await.is_ok(),
            Err(_) => false,
        };
        assert_eq!(got, gets_in, "{node}");
    }
}

#[tidings::test]
async fn over_tls_both_sides_know_each_other() {
    let authority = Authority::new();
    let (server, client) = (
        authority.identity("server", false),
        authority.identity("client", false),
    );
    assert_eq!(over_tls(server, client, "client").await.unwrap(), 3);
}

#[tidings::test]
async fn an_identity_is_renewed_for_those_who_come_and_links_that_are_there_stay() {
    let (old, new) = (Authority::new(), Authority::new());
    let identity = old.identity("server", false);
    let listener = Listener::bind("tls://127.0.0.1:0", options("server")).await;
    let server = listener.unwrap().tls(identity.clone()).serve();
    let connector = Connector::new(&server.address().to_string()).unwrap();
    let connector = connector.node("server").options(Options::new("client"));
    let ours = old.identity("client", false);
    let connector = connector.tls(ours.clone());
    let up = async || -> Result<(Link, CounterRef), Box<dyn Error>> {
        let link = connector.connect().await?;
        let counter = link.get("counter").await?;
        Ok((link, counter))
    };
    let (_before, counter) = up().await.unwrap();
    identity.renew(&new.identity("server", false));
    assert!(up().await.is_err());
    ours.renew(&new.identity("client", false));
    let (_after, same) = up().await.unwrap();
    counter.add(3).await.unwrap();
    counter.get().await.unwrap();
    assert_eq!(same.get().await.unwrap(), 3);
}

#[tidings::test]
async fn a_certificate_of_another_authority_or_of_the_past_is_refused_on_either_side() {
    let (ours, others) = (Authority::new(), Authority::new());
    let server = || ours.identity("server", false);
    let client = || ours.identity("client", false);
    let strangers = [
        (others.trusting(&ours, "server", false), client()),
        (server(), others.trusting(&ours, "client", false)),
        (ours.identity("server", true), client()),
        (server(), ours.identity("client", true)),
        // A certificate for another name than is asked for.
        (ours.identity("other", false), client()),
    ];
    for (server, client) in strangers {
        let refused = over_tls(server, client, "client").await.unwrap_err();
        assert!(
            matches!(refused, ConnectError::Io(_) | ConnectError::Broken { .. }),
            "{refused:?}"
        );
        let said = refused.to_string();
        assert!(said.starts_with("tls://127.0.0.1:"), "{said}");
    }
}

#[tidings::test]
async fn a_node_that_is_not_who_its_certificate_says_is_refused() {
    let authority = Authority::new();
    let (server, client) = (
        authority.identity("server", false),
        authority.identity("client", false),
    );
    let refused = over_tls(server, client, "mallory").await.unwrap_err();
    let why = Refusal::Node("mallory".to_owned());
    assert!(
        matches!(&refused, ConnectError::Broken { why: Broken::RefusedByPeer(told), .. } if *told == why),
        "{refused}"
    );
}
