//! Bytes of TCP that are urgent (out of band), which nobody here reads, among those that are not.

use std::io::Write;

use futures::io::AsyncReadExt;
use tidings::net::TcpListener;

use crate::both::{pool, run, watchdog};

/// A read ends before an urgent byte, though there is more behind it, and that comes with no word of its own.
#[test]
fn what_came_behind_an_urgent_byte_is_read() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let listener = TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        (&client).write_all(b"abc").unwrap();
        socket2::SockRef::from(&client)
            .send_out_of_band(b"!")
            .unwrap();
        (&client).write_all(b"def").unwrap();
        let mut heard = Vec::new();
        let mut buffer = [0; 64];
        while heard.len() < 6 {
            let n = server.read(&mut buffer).await.unwrap();
            heard.extend_from_slice(&buffer[..n]);
        }
        assert_eq!(heard, b"abcdef");
    });
}
