//! Connections that are severed while a cut link holds what was sent.

use std::io::{self, ErrorKind};
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::sleep;
use tidings_sim::{Sim, world};

const PORT: u16 = 7;

#[test]
fn nothing_comes_over_a_severed_connection_though_a_cut_link_held_it() {
    Sim::new(0).seeds(10).run(|| async {
        let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
        let here = world().program();
        let to = here.address(PORT);
        let node = world().node("writes", move || async move {
            let mut stream = TcpStream::connect(to).await?;
            sleep(Duration::from_millis(10)).await;
            stream.write_all(b"x").await?;
            if tidings::sched::random(2) == 0 {
                stream.close().await?;
            }
            std::future::pending::<io::Result<()>>().await
        });
        let (mut stream, _) = listener.accept().await.unwrap();
        node.cut_to(&here);
        sleep(Duration::from_millis(100)).await;
        node.sever(&here);
        let mut byte = [0];
        for _ in 0..2 {
            let error = stream.read(&mut byte).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            here.heal(&node);
            sleep(Duration::from_millis(100)).await;
        }
    });
}
