//! What operators ask of a node: health over HTTP, and to leave when it is told to.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::{sleep, timeout};
use tidings_nats::memory::Server;
use tidings_nats::{Cluster, Options};

async fn get(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The status, and what it says.
async fn asked(at: SocketAddr, path: &str) -> (u16, String) {
    let answer = get(at, &format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n")).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let length = format!("Content-Length: {}", body.len());
    assert!(head.contains(&length), "{head}");
    let status = head.strip_prefix("HTTP/1.1 ").unwrap();
    (status[..3].parse().unwrap(), body.to_owned())
}

#[tidings::test(deadlocks = false)]
async fn a_node_says_over_http_whether_it_lives_and_is_ready_and_why_not() {
    let engine = Server::new().connect();
    let lease = Duration::from_secs(3);
    let options = Options::new("test", "one").lease(lease);
    let cluster = Cluster::join_on(engine.clone(), options).await.unwrap();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = listener.local_addr().unwrap();
    let answers = cluster.answer_health(listener, || "members 1\n".to_owned());
    let ok = (200, "ok\n".to_owned());
    assert_eq!(asked(at, "/livez").await, ok);
    assert_eq!(asked(at, "/readyz").await, ok);
    assert_eq!(asked(at, "/metrics").await, (200, "members 1\n".to_owned()));
    assert_eq!(asked(at, "/").await.0, 404);
    assert_eq!(asked(at, "/livez?verbose").await, ok);
    let head = get(at, "HEAD /livez HTTP/1.1\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("Content-Length: 3\r\n\r\n"));
    let posted = get(at, "POST /livez HTTP/1.1\r\n\r\n").await;
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    // Who says too much, or nothing, gets no answer, and is in nobody's way.
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all("x".repeat(5000).as_bytes()).await.unwrap();
    let mut answer = String::new();
    // It may be reset.
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, "");
    let _silent = TcpStream::connect(at).await.unwrap();
    engine.cut();
    while asked(at, "/readyz").await.0 == 200 {
        sleep(Duration::from_millis(50)).await;
    }
    let (status, why) = asked(at, "/readyz").await;
    assert_eq!(
        (status, why.as_str()),
        (503, "the engine has not been heard for most of a lease\n")
    );
    assert_eq!(asked(at, "/livez").await, ok);
    engine.heal();
    while asked(at, "/readyz").await != ok {
        sleep(Duration::from_millis(50)).await;
    }
    cluster.leave(Duration::from_secs(1)).await;
    let left = (503, "we have left\n".to_owned());
    assert_eq!(asked(at, "/readyz").await, left);
    assert_eq!(asked(at, "/livez").await, left);
    answers.abort();
}

#[tidings::test(deadlocks = false)]
async fn those_who_ask_nothing_keep_no_page_from_who_asks() {
    let joined = Cluster::join_on(Server::new().connect(), Options::new("test", "one")).await;
    let cluster = joined.unwrap();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = listener.local_addr().unwrap();
    let answers = cluster.answer_health(listener, String::new);
    let mut silent = Vec::new();
    // As many as may ask at a time.
    for _ in 0..16 {
        silent.push(TcpStream::connect(at).await.unwrap());
    }
    assert_eq!(asked(at, "/livez").await.0, 200);
    // Nor was the page waited for until they were given up: the last of them may ask still.
    let mut last = silent.pop().unwrap();
    let mut answer = String::new();
    last.write_all(b"GET /livez HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    last.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    answers.abort();
}

#[tidings::test]
async fn an_address_that_nobody_can_connect_to_is_told_to_nobody() {
    let options = || Options::new("test", "one").insecure(true);
    let listens = |at: &str| options().listen(at);
    let told = |address: &str| listens("tcp://127.0.0.1:0").advertise(address);
    for (options, why) in [
        (
            listens("tcp://0.0.0.0:0"),
            "`Options::advertise` says where",
        ),
        (listens("tcp://[::]:0"), "`Options::advertise` says where"),
        (
            told("tcp://0.0.0.0:7400"),
            "`Options::advertise` says where",
        ),
        (told("tcp://till-1:0"), "`Options::advertise` says where"),
        (told("till-1:7400"), "is no address"),
    ] {
        let refused = Cluster::join_on(Server::new().connect(), options).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let any = listens("tcp://0.0.0.0:0").advertise("tcp://till-1:7400");
    let one = Cluster::join_on(Server::new().connect(), any)
        .await
        .unwrap();
    assert_eq!(one.members()[0].address(), Some("tcp://till-1:7400"));
}

#[tidings::test(deadlocks = false, panics = false)]
async fn a_page_that_panics_takes_no_place_from_those_who_ask() {
    let engine = Server::new().connect();
    let joined = Cluster::join_on(engine, Options::new("test", "one")).await;
    let cluster = joined.unwrap();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = listener.local_addr().unwrap();
    let answers = cluster.answer_health(listener, || -> String { panic!("no page") });
    let limit = Duration::from_secs(10);
    // More than may ask at a time. Who asks for it hears nothing.
    for _ in 0..20 {
        let request = get(at, "GET /metrics HTTP/1.1\r\n\r\n");
        let answer = timeout(limit, request).await;
        assert_eq!(answer.expect("it has a place"), "");
    }
    let lives = timeout(limit, asked(at, "/livez")).await;
    assert_eq!(lives.expect("it has a place").0, 200);
    answers.abort();
}

#[cfg(feature = "nats")]
mod processes {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use tidings::actor;
    use tidings_nats::{Down, Ended};

    use super::*;
    use crate::counter::{CounterRef, Tally};
    use crate::server::NatsServer;

    const URL: &str = "TIDINGS_TEST_NATS_URL";
    const TEST: &str =
        "operation::processes::a_process_that_gets_sigterm_answers_what_it_has_and_leaves";

    fn options(node: &str) -> Options {
        Options::new("test", node).lease(Duration::from_secs(2))
    }

    /// A node in a process of its own, which the test below starts.
    async fn other(url: &str) {
        let cluster = Cluster::join(url, options("other")).await.unwrap();
        let counter: CounterRef = actor::start(Tally::default());
        let _name = cluster.register("counter", &counter).await.unwrap();
        println!("joined");
        let limit = Duration::from_secs(10);
        let ended = cluster.leave_on_signal(limit).await.unwrap();
        assert_eq!(ended, Ended::Left);
    }

    #[tidings::test(deadlocks = false)]
    async fn a_process_that_gets_sigterm_answers_what_it_has_and_leaves() {
        if let Ok(url) = std::env::var(URL) {
            return other(&url).await;
        }
        let Some(server) = NatsServer::start() else {
            return;
        };
        let one = Cluster::join(&server.url(), options("one")).await.unwrap();
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(URL, server.url())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("joined")));
        let counter: CounterRef = one.lookup("counter").await.unwrap();
        let member = one
            .members()
            .into_iter()
            .find(|m| m.node() == "other")
            .unwrap();
        let same = counter.clone();
        let waiting = tidings::spawn(async move { same.slow().await });
        while !counter.is_waiting().await.unwrap() {
            sleep(Duration::from_millis(5)).await;
        }
        let told = Command::new("kill").arg(other.id().to_string()).status();
        assert!(told.unwrap().success());
        assert_eq!(waiting.await.unwrap().unwrap(), 7);
        assert_eq!(member.down().await, Down::Left);
        assert!(one.lookup::<CounterRef>("counter").await.is_err());
        let log: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(other.wait().unwrap().success(), "{log:?}");
    }
}
