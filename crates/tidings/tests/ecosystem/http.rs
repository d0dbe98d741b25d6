//! A client of HTTP works in our tasks: reqwest, by the feature `tokio`.
//! `cargo test -p tidings-ecosystem-test --features all`; a stage of CI runs it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[test]
fn a_client_of_http_works_in_our_tasks() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let tokio = builder.worker_threads(1).enable_all().build().unwrap();
    for workers in [1, 4] {
        let builder = tidings::Runtime::builder().workers(workers);
        let builder = builder.tokio_handle(tokio.handle().clone());
        let runtime = builder.build().unwrap();
        runtime.block_on(async { tidings::spawn(asks_twice()).await.unwrap() });
    }
}

async fn asks_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = tidings::spawn(async move {
        // The second is answered in two pieces.
        let mut asked = Vec::new();
        for pieces in [&["one"][..], &["tw", "o"]] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            asked.push(String::from_utf8(request).unwrap());
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            for piece in pieces {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tidings::yield_now().await;
            }
        }
        asked
    });
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(20))
        .no_proxy()
        .build()
        .unwrap();
    for word in ["one", "two"] {
        // A name is looked up in a blocking thread of tokio's.
        let url = format!("http://localhost:{}/{word}", at.port());
        let answer = client.get(url).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), word);
    }
    let asked = server.await.unwrap();
    assert!(asked[0].starts_with("GET /one ") && asked[1].starts_with("GET /two "));
}
