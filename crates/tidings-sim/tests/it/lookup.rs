//! Names of nodes.

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
