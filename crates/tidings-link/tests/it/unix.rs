//! Unix sockets: who listens at one, and who waits in its queue.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener as StdListener;
use std::pin::pin;
use std::sync::{Arc, Barrier};

use tidings::Runtime;
use tidings::net::UnixStream;
use tidings_link::{ConnectError, Connector, Link, Listener, Options, link};

#[test]
fn of_many_who_listen_at_once_where_another_has_ended_one_does_and_keeps_it() {
    const MANY: usize = 4;
    let path = std::env::temp_dir().join(format!("tidings-race-{}", std::process::id()));
    let address = format!("unix:{}", path.display());
    let runtime = Runtime::new().unwrap();
    for _ in 0..100 {
        let _ = std::fs::remove_file(&path);
        drop(StdListener::bind(&path).unwrap());
        let start = Arc::new(Barrier::new(MANY));
        let all: Vec<_> = std::iter::repeat_n((runtime.handle(), address.clone(), start), MANY)
            .map(|(runtime, address, start)| {
                std::thread::spawn(move || {
                    runtime.block_on(async {
                        start.wait();
                        Listener::bind(&address, Options::new("server")).await
                    })
                })
            })
            .collect();
        let bound: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
        let in_use = |error: &ConnectError| matches!(error, ConnectError::Io(error) if error.kind() == ErrorKind::AddrInUse);
        let lost = bound.iter().filter_map(|one| one.as_ref().err());
        assert_eq!(
            lost.filter(|error| in_use(error)).count(),
            MANY - 1,
            "{bound:?}"
        );
        let listener = bound.into_iter().find_map(Result::ok).unwrap();
        runtime.block_on(async {
            let _server = listener.serve();
            Link::connect(&address).await.unwrap();
        });
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(path.with_extension("lock")).unwrap();
}

#[tidings::test]
async fn who_finds_the_queue_of_a_unix_socket_full_waits_for_his_place_in_it() {
    let path = std::env::temp_dir().join(format!("tidings-full-{}", std::process::id()));
    let socket = StdListener::bind(&path).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        match UnixStream::connect(&path) {
            Ok(stream) => waiting.push(stream),
            Err(full) => break full,
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    let connector = Connector::new(&format!("unix:{}", path.display())).unwrap();
    let mut connecting = pin!(connector.connect());
    assert!(futures::poll!(&mut connecting).is_pending());
    let accepting = tidings::spawn_blocking(move || {
        let served = waiting.len();
        let mut streams: Vec<_> = (0..=served).map(|_| socket.accept().unwrap().0).collect();
        streams.pop().unwrap()
    });
    let greeting = async {
        let stream = UnixStream::from_std(accepting.await.unwrap()).unwrap();
        let (link, driver) = link(stream, Options::new("server"));
        drop(tidings::spawn(driver));
        link
    };
    let (connected, _link) = futures::future::join(connecting, greeting).await;
    assert_eq!(connected.unwrap().up().await.unwrap().node, "server");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn where_the_file_beside_a_socket_cannot_be_locked_that_is_said_of_it() {
    let path = std::env::temp_dir().join(format!("tidings-locked-{}", std::process::id()));
    let beside = path.with_extension("lock");
    std::fs::create_dir_all(&beside).unwrap();
    let address = format!("unix:{}", path.display());
    let bound = Runtime::new()
        .unwrap()
        .block_on(Listener::bind(&address, Options::new("server")));
    std::fs::remove_dir(&beside).unwrap();
    let why = bound.unwrap_err().to_string();
    let said = format!("{}: its lock file: ", path.display());
    assert!(why.starts_with(&said), "{why}");
    assert!(!path.exists());
}
