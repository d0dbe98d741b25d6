//! Names and addresses of nodes.

use std::collections::BTreeSet;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream, lookup_host};
use tidings::time::sleep;
use tidings_sim::{Sim, world};

const PORT: u16 = 7;

/// Greets everybody.
async fn greeter() -> io::Result<()> {
    let listener = TcpListener::bind(([0, 0, 0, 0], PORT))?;
    loop {
        listener.accept().await?.0.write_all(b"hello").await?;
    }
}

#[test]
fn a_node_is_found_by_its_name() {
    Sim::new(0).seeds(5).run(|| async {
        let node = world().node("greeter", greeter);
        sleep(Duration::from_millis(1)).await;
        let found = lookup_host(("greeter", PORT)).await.unwrap();
        assert_eq!(found, [node.address(PORT)]);
        let mut stream = TcpStream::connect(found[0]).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "hello");
        node.crash();
        assert_eq!(lookup_host("greeter:7").await.unwrap(), found);
        let here = lookup_host("localhost:1").await.unwrap();
        assert_eq!(here, [([127, 0, 0, 1], 1).into()]);
        for nobody in ["greeters:7", ":7"] {
            let error = lookup_host(nobody).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
    });
}

#[test]
fn what_listens_at_the_loopback_is_reached_from_its_own_node_alone() {
    Sim::new(0).seeds(10).run(|| async {
        let server = world().node("server", || async {
            let local = TcpListener::bind(([127, 0, 0, 1], PORT))?;
            assert_eq!(local.local_addr()?, ([127, 0, 0, 1], PORT).into());
            let _own = TcpStream::connect(([127, 0, 0, 1], PORT)).await?;
            local.accept().await?;
            let every = TcpListener::bind(([0, 0, 0, 0], 0))?;
            assert!(every.local_addr()?.ip().is_unspecified());
            pending::<io::Result<()>>().await
        });
        sleep(Duration::from_millis(1)).await;
        let refused = TcpStream::connect(server.address(PORT)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn each_node_has_an_address_of_its_own_however_many_there_are() {
    Sim::new(0).once().run(|| async {
        let mut all = BTreeSet::from([world().program().ip()]);
        // They are not started before this lets others run, and it does not.
        assert!((0..70_000).all(|_| all.insert(world().node("one", || async {}).ip())));
    });
}
