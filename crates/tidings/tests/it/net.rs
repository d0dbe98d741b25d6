//! Sockets.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::io::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::{CancellationToken, Event, after, always, scope, select, spawn, unbounded};

use crate::both::{on_pools, pool, run, seeded, watchdog};

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
/// Long enough never to come.
const LATER: Duration = Duration::from_secs(3600);

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..n]).await?;
    }
}

/// An echo server, for as long as the runtime is there.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind(HERE).unwrap();
    let at = listener.local_addr().unwrap();
    spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            spawn(echo(stream));
        }
    });
    at
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(HERE).unwrap();
    let at = listener.local_addr().unwrap();
    let connecting = spawn(TcpStream::connect(at));
    let (a, from) = listener.accept().await.unwrap();
    let b = connecting.await.unwrap().unwrap();
    assert_eq!(b.local_addr().unwrap(), from);
    assert_eq!(a.peer_addr().unwrap(), from);
    (a, b)
}

/// On pools of 1, 2 and 8 workers.
pub(crate) fn everywhere<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_pools(&body);
    let _watchdog = watchdog();
    run(&pool(1), body());
}

#[test]
fn what_is_sent_comes_back_in_order() {
    everywhere(|| async {
        let mut stream = TcpStream::connect(serve()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for n in 0..1000u32 {
            stream.write_all(&n.to_le_bytes()).await.unwrap();
            let mut back = [0; 4];
            stream.read_exact(&mut back).await.unwrap();
            assert_eq!(u32::from_le_bytes(back), n);
        }
    });
}

#[test]
fn many_connections_talk_at_once() {
    everywhere(|| async {
        let at = serve();
        let clients: Vec<_> = (0..100u32)
            .map(|n| {
                spawn(async move {
                    let mut stream = TcpStream::connect(at).await.unwrap();
                    for round in 0..50 {
                        let sent = (n * 1000 + round).to_le_bytes();
                        stream.write_all(&sent).await.unwrap();
                        let mut back = [0; 4];
                        stream.read_exact(&mut back).await.unwrap();
                        assert_eq!(back, sent);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
    });
}

#[test]
fn one_direction_ends_before_the_other() {
    everywhere(|| async {
        let (mut a, mut b) = pair().await;
        a.write_all(b"question").await.unwrap();
        a.close().await.unwrap();
        let mut text = String::new();
        b.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "question");
        b.write_all(b"answer").await.unwrap();
        drop(b);
        text.clear();
        a.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "answer");
    });
}

#[test]
fn the_end_is_heard_after_a_short_read_that_came_with_it() {
    everywhere(|| async {
        for _ in 0..200 {
            let (mut a, mut b) = pair().await;
            a.write_all(b"last").await.unwrap();
            drop(a);
            let mut buffer = [0; 64];
            b.readable().await;
            assert_eq!(b.read(&mut buffer).await.unwrap(), 4);
            assert_eq!(b.read(&mut buffer).await.unwrap(), 0);
        }
    });
}

#[test]
fn a_read_that_is_dropped_has_taken_nothing() {
    everywhere(|| async {
        let (mut a, mut b) = pair().await;
        let mut buffer = [0; 8];
        for _ in 0..3 {
            let mut read = b.read(&mut buffer);
            let first = poll_fn(|cx| Poll::Ready(pin!(&mut read).poll(cx).is_pending())).await;
            assert!(first);
        }
        a.write_all(b"whole").await.unwrap();
        let n = b.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..n], b"whole");
    });
}

#[test]
fn nobody_listens_is_an_error() {
    everywhere(|| async {
        let listener = TcpListener::bind(HERE).unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let refused = TcpStream::connect(at).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let listener = TcpListener::bind(at).unwrap();
        let taken = TcpListener::bind(at).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
        drop(listener);
    });
}

#[test]
fn a_connection_of_an_accept_that_loses_is_the_next_ones() {
    everywhere(|| async {
        let listener = TcpListener::bind(HERE).unwrap();
        let at = listener.local_addr().unwrap();
        let mut first = TcpStream::connect(at).await.unwrap();
        first.write_all(b"1").await.unwrap();
        for _ in 0..20 {
            // The accept is ready, and loses all the same.
            let won = always(1).or(listener.accept().map(|_| 2)).biased().await;
            assert_eq!(won, 1);
        }
        let mut second = TcpStream::connect(at).await.unwrap();
        second.write_all(b"2").await.unwrap();
        for expected in ["1", "2"] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut got = [0];
            stream.read_exact(&mut got).await.unwrap();
            assert_eq!(std::str::from_utf8(&got).unwrap(), expected);
        }
        assert!(listener.accept().try_now().is_err());
    });
}

#[test]
fn an_accept_stands_in_a_choice_with_messages_and_time() {
    everywhere(|| async {
        let listener = TcpListener::bind(HERE).unwrap();
        let at = listener.local_addr().unwrap();
        let (tx, rx) = unbounded();
        let clients: Vec<_> = (0..20)
            .map(|n| {
                let tx = tx.clone();
                spawn(async move {
                    let stream = TcpStream::connect(at).await.unwrap();
                    tx.send(n).await.unwrap();
                    stream
                })
            })
            .collect();
        let (mut accepted, mut heard) = (0, 0);
        while accepted + heard < 40 {
            select! {
                stream = listener.accept() => { stream.unwrap(); accepted += 1; }
                _ = rx.recv() => heard += 1,
                () = after(LATER) => panic!("it is not that late"),
            }
        }
        assert_eq!((accepted, heard), (20, 20));
        drop(clients);
        let stop = CancellationToken::new();
        let stopped = spawn({
            let stop = stop.clone();
            async move {
                select! {
                    () = stop.cancelled() => {}
                    _ = listener.accept() => panic!("nobody connects"),
                }
            }
        });
        stop.cancel();
        stopped.await.unwrap();
    });
}

#[test]
fn two_that_accept_get_a_connection_each() {
    everywhere(|| async {
        let listener = Arc::new(TcpListener::bind(HERE).unwrap());
        let at = listener.local_addr().unwrap();
        scope(async move |s| {
            for _ in 0..2 {
                let listener = Arc::clone(&listener);
                s.spawn(async move { listener.accept().await.unwrap() });
            }
            s.spawn(async move {
                TcpStream::connect(at).await.unwrap();
                TcpStream::connect(at).await.unwrap();
            });
        })
        .await;
    });
}

#[test]
fn a_reader_has_a_deadline() {
    everywhere(|| async {
        let (mut a, mut b) = pair().await;
        let mut buffer = [0; 8];
        // Two lengths, because the poller counts in milliseconds.
        for wait in [Duration::from_micros(200), Duration::from_millis(3)] {
            let nothing = b.try_read(&mut buffer).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
            assert!(b.readable().timeout(wait).await.is_err());
        }
        a.write_all(b"late").await.unwrap();
        assert!(b.readable().timeout(LATER).await.is_ok());
        assert_eq!(b.read(&mut buffer).await.unwrap(), 4);
    });
}

#[test]
fn a_slow_reader_makes_its_writer_wait() {
    everywhere(|| async {
        let (a, mut b) = pair().await;
        let chunk = [7; 65536];
        let mut sent = 0;
        loop {
            match a.try_write(&chunk) {
                Ok(n) => sent += n,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        assert!(a.writable().try_now().is_err(), "there is no room");
        let writer = spawn(async move {
            let mut a = a;
            a.write_all(&chunk).await.unwrap();
            chunk.len()
        });
        let (mut got, mut buffer) = (0, vec![0; 1 << 20]);
        loop {
            match b.read(&mut buffer).await.unwrap() {
                0 => break,
                n => got += n,
            }
        }
        assert_eq!(got, sent + writer.await.unwrap());
    });
}

#[test]
fn two_tasks_share_a_stream() {
    everywhere(|| async {
        let (a, b) = pair().await;
        let back = spawn(echo(b));
        let (mut reads, mut writes) = a.into_split();
        let writer = spawn(async move {
            for _ in 0..100 {
                writes.write_all(&[1; 10_000]).await.unwrap();
            }
            writes.close().await.unwrap();
        });
        let mut all = Vec::new();
        reads.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, [1; 1_000_000]);
        writer.await.unwrap();
        back.await.unwrap().unwrap();
    });
}

#[test]
fn vectored_calls_take_all_their_buffers() {
    everywhere(|| async {
        let (mut a, mut b) = pair().await;
        let parts = [&b"ab"[..], &b""[..], &b"cde"[..]].map(io::IoSlice::new);
        assert_eq!(a.write_vectored(&parts).await.unwrap(), 5);
        let (mut one, mut two) = ([0; 3], [0; 8]);
        let mut parts = [io::IoSliceMut::new(&mut one), io::IoSliceMut::new(&mut two)];
        assert_eq!(b.read_vectored(&mut parts).await.unwrap(), 5);
        assert_eq!((&one, &two[..2]), (b"abc", &b"de"[..]));
    });
}

#[test]
fn sockets_are_used_under_a_scope() {
    everywhere(|| async {
        let (a, b) = pair().await;
        let (a, b) = (Arc::new(a), Arc::new(b));
        let heard = scope(async move |s| {
            let reading = s.spawn(async move {
                let mut buffer = [0; 4];
                (&*b).read_exact(&mut buffer).await.unwrap();
                buffer
            });
            s.spawn(async move { (&*a).write_all(b"ping").await.unwrap() });
            reading.await.unwrap()
        })
        .await;
        assert_eq!(&heard, b"ping");
    });
}

#[test]
fn a_stream_is_used_from_another_runtime_and_from_a_plain_thread() {
    let _watchdog = watchdog();
    let (rt, other) = (pool(2), pool(1));
    let (mut a, mut b) = run(&rt, pair());
    let echo = other.spawn(async move {
        let mut buffer = [0; 5];
        b.read_exact(&mut buffer).await.unwrap();
        b.write_all(&buffer).await.unwrap();
    });
    futures::executor::block_on(async {
        a.write_all(b"there").await.unwrap();
        let mut buffer = [0; 5];
        a.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"there");
    });
    other.block_on(echo).unwrap();
}

#[test]
fn a_runtime_ends_with_its_sockets_open() {
    let _watchdog = watchdog();
    for workers in [1, 2, 8] {
        let rt = pool(workers);
        let (a, mut b, listener) = rt.block_on(async {
            for _ in 0..10 {
                let (mut a, b) = pair().await;
                spawn(async move { a.read(&mut [0; 1]).await });
                spawn(async move { b.readable().await });
            }
            let (a, b) = pair().await;
            (a, b, TcpListener::bind(HERE).unwrap())
        });
        let waiting = std::thread::spawn(move || {
            futures::executor::block_on(async move {
                let error = b.read(&mut [0; 1]).await.unwrap_err();
                (b, error)
            })
        });
        drop(rt);
        let (mut b, error) = waiting.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::Other);
        // What does not have to wait goes on.
        assert_eq!(a.try_write(b"x").unwrap(), 1);
        futures::executor::block_on(async {
            assert_eq!(b.read(&mut [0; 8]).await.unwrap(), 1);
            assert_eq!(
                b.read(&mut [0; 8]).await.unwrap_err().kind(),
                ErrorKind::Other
            );
            b.readable().await;
            let error = b.try_read(&mut [0; 8]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other);
            let error = listener.accept().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other);
        });
    }
}

#[test]
fn a_poll_that_takes_long_keeps_nobody_from_its_socket() {
    let _watchdog = watchdog();
    let rt = pool(2);
    run(&rt, async {
        let mut stream = TcpStream::connect(serve()).await.unwrap();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let hog = spawn(async move { gone.recv() });
        for _ in 0..100 {
            stream.write_all(b"innocent").await.unwrap();
            let mut buffer = [0; 8];
            stream.read_exact(&mut buffer).await.unwrap();
        }
        // The hog held a worker, with whatever was queued there, until here.
        go.send(()).unwrap();
        hog.await.unwrap().unwrap();
    });
}

#[test]
fn a_task_that_never_waits_lets_sockets_in() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let at = serve();
        let done = CancellationToken::new();
        let busy = spawn({
            let done = done.clone();
            async move {
                while !done.is_cancelled() {
                    tidings::yield_now().await;
                }
            }
        });
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(b"innocent").await.unwrap();
        stream.read_exact(&mut [0; 8]).await.unwrap();
        done.cancel();
        busy.await.unwrap();
    });
}

#[test]
fn a_stream_that_is_always_ready_lets_others_run() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        // The other end is gone: every read is ready, with nothing.
        let (mut stream, other) = pair().await;
        drop(other);
        let (done, begun) = (CancellationToken::new(), CancellationToken::new());
        let reader = spawn({
            let (done, begun) = (done.clone(), begun.clone());
            async move {
                begun.cancel();
                while !done.is_cancelled() {
                    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
                }
            }
        });
        begun.cancelled().await;
        done.cancel();
        reader.await.unwrap();
    });
}

#[test]
fn sockets_of_the_system_are_not_for_a_runtime_under_a_seam() {
    let _watchdog = watchdog();
    seeded(1).block_on(async {
        let error = TcpListener::bind(HERE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let error = TcpStream::connect(([127, 0, 0, 1], 9)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    });
}

#[test]
#[should_panic(expected = "net needs a runtime")]
fn a_socket_needs_a_runtime() {
    let _ = TcpListener::bind(HERE);
}

#[test]
fn many_that_connect_at_once_wait_to_be_accepted() {
    run(&pool(1), async {
        let listener = TcpListener::bind(HERE).unwrap();
        let at = listener.local_addr().unwrap();
        // Beyond the backlog a connect gets no answer; std's is 128. The system may allow less.
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
        let n = most.trim().parse().unwrap_or(200).min(200);
        let waiting: Vec<_> = (0..n)
            .map(|_| std::net::TcpStream::connect_timeout(&at, Duration::from_secs(30)))
            .collect();
        assert!(waiting.iter().all(Result::is_ok));
        for _ in 0..n {
            listener.accept().await.unwrap();
        }
    });
}
