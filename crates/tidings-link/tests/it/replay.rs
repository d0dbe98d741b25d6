//! A proxy that plays a client's bytes again, on a second connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tidings::{Event, actor};
use tidings_link::{Address, Connector, Exports, Listener, Options, Server};

use crate::authority::Authority;
use crate::nodes::{CounterRef, LONG, Tally};

/// Stands between one client and a server, and keeps what the client says.
struct Proxy {
    at: SocketAddr,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let said = Arc::<Mutex<Vec<u8>>>::default();
        let keeps = Arc::clone(&said);
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(server).unwrap();
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || pass(back.0, back.1, |_| ()));
            pass(client, server, |bytes| {
                keeps.lock().unwrap().extend_from_slice(bytes);
            });
        });
        Self { at, said }
    }

    /// Says it all again to the server, as a connection that stays for as long as what is returned.
    fn again(&self, server: SocketAddr) -> TcpStream {
        let mut second = TcpStream::connect(server).unwrap();
        second.write_all(&self.said.lock().unwrap()).unwrap();
        second
    }
}

/// Passes bytes on until either side ends; `sees` has them first.
fn pass(mut from: TcpStream, mut to: TcpStream, mut sees: impl FnMut(&[u8])) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        sees(&bytes[..n]);
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn options() -> (CounterRef, Options) {
    let counter: CounterRef = actor::start(Tally::default());
    let exports = Exports::new().add("counter", &counter);
    (counter, Options::new("server").exports(exports))
}

fn at(server: &Server) -> SocketAddr {
    match server.address() {
        Address::Tcp(at) | Address::Tls(at) => at.parse().unwrap(),
        other => panic!("it is {other}"),
    }
}

#[tidings::test]
async fn a_plain_stream_that_is_played_again_is_another_link_and_does_it_all_again() {
    let (counter, options) = options();
    let listener = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap();
    let server = listener.serve();
    let proxy = Proxy::before(at(&server));
    let link = Connector::new(&format!("tcp://{}", proxy.at)).unwrap();
    let link = link.connect().await.unwrap();
    let there: CounterRef = link.get("counter").await.unwrap();
    for n in 1..=10 {
        there.add(n).await.unwrap();
    }
    assert_eq!(there.get().await.unwrap(), 55);
    let second = proxy.again(at(&server));
    while counter.get().await.unwrap() < 110 {
        tidings::yield_now().await;
    }
    // Another link beside the first, which it has done nothing to.
    assert_eq!((server.count(), server.arrivals().linked), (2, 2));
    there.add(1).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 111);
    drop(second);
    while server.count() > 1 {
        tidings::yield_now().await;
    }
    assert_eq!(there.get().await.unwrap(), 111);
}

#[tidings::test]
async fn a_stream_over_tls_that_is_played_again_is_refused_and_does_nothing() {
    let authority = Authority::new();
    let (counter, options) = options();
    let listener = Listener::bind("tls://127.0.0.1:0", options).await.unwrap();
    let server = listener.tls(authority.identity("server", false)).serve();
    let proxy = Proxy::before(at(&server));
    let link = Connector::new(&format!("tls://{}", proxy.at)).unwrap();
    let link = link
        .node("server")
        .options(Options::new("client"))
        .tls(authority.identity("client", false))
        .connect()
        .await
        .unwrap();
    let there: CounterRef = link.get("counter").await.unwrap();
    there.add(55).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 55);
    let mut second = proxy.again(at(&server));
    while server.arrivals().unsecured == 0 {
        tidings::yield_now().await;
    }
    // It is closed, and the first is as it was.
    let ended = tidings::spawn_blocking(move || {
        let mut rest = Vec::new();
        let read = second.read_to_end(&mut rest);
        read.is_ok() || read.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
    });
    assert!(ended.await.unwrap());
    assert_eq!((server.count(), server.arrivals().linked), (1, 1));
    there.add(1).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 56);
    assert_eq!(counter.get().await.unwrap(), 56);
    link.close();
    link.down().timeout(LONG).await.unwrap();
}
