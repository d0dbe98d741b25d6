//! Our sockets below crates that read and write by other traits than those of `futures-io`, and codecs; and child
//! processes by the feature `tokio`.
//! `cargo test -p tidings-ecosystem-test --features all --test io`; a stage of CI runs it.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use hyper_util::rt::TokioIo;
use tidings::net::{TcpListener, TcpStream};
use tidings::{JoinHandle, Runtime};
use tokio_util::compat::FuturesAsyncReadCompatExt;

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path();
    Ok(Response::new(Full::from(format!("hello, {path}"))))
}

/// Serves one connection, over HTTP/1.
async fn serve(listener: TcpListener) -> hyper::Result<()> {
    let (stream, _) = listener.accept().await.unwrap();
    let connection = TokioIo::new(stream.compat());
    server::conn::http1::Builder::new()
        .serve_connection(connection, service_fn(hello))
        .await
}

#[test]
fn hyper_serves_and_asks_over_our_sockets() {
    // No runtime of tokio's is there.
    Runtime::new().unwrap().block_on(async {
        let listener = TcpListener::bind(HERE).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap());
        let server = tidings::spawn(serve(listener));
        let connection = TokioIo::new(stream.await.unwrap().compat());
        let (mut asks, connection) = client::conn::http1::handshake(connection).await.unwrap();
        let client: JoinHandle<_> = tidings::spawn(connection);
        for path in ["/one", "/two"] {
            let request = Request::get(path).header("host", "here");
            let request = request.body(Empty::<Bytes>::new()).unwrap();
            // hyper refuses a request while its connection has not heard that the last answer was read.
            asks.ready().await.unwrap();
            let answer = asks.send_request(request).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, format!("hello, {path}"));
        }
        drop(asks);
        client.await.unwrap().unwrap();
        server.await.unwrap().unwrap();
    });
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(HERE).unwrap();
    let connecting = tidings::spawn(TcpStream::connect(listener.local_addr().unwrap()));
    let (a, _) = listener.accept().await.unwrap();
    (a, connecting.await.unwrap().unwrap())
}

#[test]
fn codecs_frame_our_sockets() {
    Runtime::new().unwrap().block_on(async {
        let (a, b) = pair().await;
        let mut a = asynchronous_codec::Framed::new(a, asynchronous_codec::LengthCodec);
        a.send(Bytes::from("one")).await.unwrap();
        a.send(Bytes::from("two")).await.unwrap();
        drop(a);
        // By the codecs of tokio-util: a length of eight bytes before each.
        let lengths = tokio_util::codec::LengthDelimitedCodec::builder()
            .length_field_length(8)
            .new_codec();
        let b = tokio_util::codec::Framed::new(b.compat(), lengths);
        let frames: Vec<_> = b.try_collect().await.unwrap();
        assert_eq!(frames, ["one", "two"]);
    });
}

async fn cat(word: &str) -> io::Result<String> {
    use std::process::Stdio;
    use tokio::io::AsyncWriteExt;
    let mut cat = tokio::process::Command::new("cat");
    let mut cat = cat
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut tells = cat.stdin.take().unwrap();
    tells.write_all(word.as_bytes()).await?;
    drop(tells);
    let output = cat.wait_with_output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_child_process_of_tokios_is_waited_for_in_our_tasks() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let tokio = builder.worker_threads(1).enable_all().build().unwrap();
    let builder = Runtime::builder().tokio_handle(tokio.handle().clone());
    let runtime = builder.build().unwrap();
    let said = runtime.block_on(async { tidings::spawn(cat("hello")).await.unwrap() });
    assert_eq!(said.unwrap(), "hello");
}
