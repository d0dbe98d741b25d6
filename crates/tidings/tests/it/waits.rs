//! Waits for sockets: who is woken and who is not any more, and what becomes of what they had.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Write};
use std::net::{self, SocketAddr};
use std::os::unix::net as std_unix;
use std::sync::Arc;
use std::time::Duration;

use futures::io::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tidings::{Event, always, guard, never, spawn, yield_now};

use crate::both::{pool, run, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Lets the others run, and the poller be asked, until that holds.
async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        yield_now().await;
    }
}

/// Of three who wait for the same thing the one that is dropped before it happens lets go of its waker,
/// and the others are woken.
async fn the_others_are_woken<E: IntoFuture>(wait: impl Fn() -> E, happen: impl FnOnce()) {
    let all = [(); 3].map(|()| Wakes::new());
    let mut waits = all.each_ref().map(|_| pinned(wait()));
    for (wait, (_, waker)) in waits.iter_mut().zip(&all) {
        assert!(poll_with(wait.as_mut(), waker).is_pending());
    }
    let [first, gone, last] = waits;
    drop(gone);
    // The test has two of each.
    let copies = || all.each_ref().map(|(wakes, _)| Arc::strong_count(wakes));
    let [one, none, another] = copies();
    assert!(one > 2 && none == 2 && another > 2, "{:?}", copies());
    happen();
    until(|| all[0].0.count() > 0 && all[2].0.count() > 0).await;
    assert_eq!(all[1].0.count(), 0);
    drop((first, last));
    assert_eq!(copies(), [2; 3]);
}

#[test]
fn all_who_wait_for_a_socket_are_woken_and_who_is_gone_is_not() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let listener = TcpListener::bind(HERE).unwrap();
        let at = listener.local_addr().unwrap();
        let mut client = None;
        let connect = || client = Some(net::TcpStream::connect(at).unwrap());
        the_others_are_woken(|| listener.accept(), connect).await;
        let (a, mut b) = std_unix::UnixStream::pair().unwrap();
        let a = UnixStream::from_std(a).unwrap();
        let nothing = a.try_read(&mut [0]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        the_others_are_woken(|| a.readable(), || b.write_all(b"!").unwrap()).await;
    });
}

#[test]
fn a_choice_that_prefers_an_accept_or_a_readable_stream_takes_it() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let listener = TcpListener::bind(HERE).unwrap();
        let mut client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = loop {
            let accept = listener.accept().map(Some);
            if let Some(accepted) = accept.or(always(None)).biased().await {
                break accepted.unwrap().0;
            }
            // The system has not passed it on yet.
            yield_now().await;
        };
        stream.try_read(&mut [0]).unwrap_err();
        client.write_all(b"!").unwrap();
        let readable = || stream.readable().map(|()| true);
        while !readable().or(always(false)).biased().await {
            yield_now().await;
        }
    });
}

#[test]
fn a_connection_of_an_accept_whose_neighbour_panics_is_the_next_ones() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let folder = std::env::temp_dir();
        let at = folder.join(format!("tidings-waits-{}", std::process::id()));
        let _ = std::fs::remove_file(&at);
        let (tcp, unix) = (TcpListener::bind(HERE), UnixListener::bind(&at));
        let (tcp, unix) = (Arc::new(tcp.unwrap()), Arc::new(unix.unwrap()));
        let _clients = (
            net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap(),
            std_unix::UnixStream::connect(&at).unwrap(),
        );
        std::fs::remove_file(&at).unwrap();
        for panics in [true, false] {
            let (tcp, unix) = (Arc::clone(&tcp), Arc::clone(&unix));
            let both = spawn(async move {
                let neighbour = || {
                    guard(|| {
                        assert!(!panics, "as it should");
                        never()
                    })
                };
                // The guard is asked when the accept has its connection.
                let first = tcp.accept().map(drop).or(neighbour());
                let first = std::panic::AssertUnwindSafe(first.into_future());
                let first = futures::FutureExt::catch_unwind(first).await;
                let second = unix.accept().map(drop).or(neighbour());
                let second = std::panic::AssertUnwindSafe(second.into_future());
                let second = futures::FutureExt::catch_unwind(second).await;
                (first.is_err(), second.is_err())
            });
            assert_eq!(both.await.unwrap(), (panics, panics));
        }
    });
}

#[test]
fn a_connect_that_has_no_answer_yet_waits() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        // Beyond its backlog the system lets connects wait.
        let listener = net::TcpListener::bind(SocketAddr::from(HERE)).unwrap();
        let at = listener.local_addr().unwrap();
        let patience = Duration::from_millis(30);
        let mut clients = Vec::new();
        while let Ok(client) = net::TcpStream::connect_timeout(&at, patience) {
            clients.push(client);
        }
        let mut late = pinned(TcpStream::connect(at));
        for _ in 0..500 {
            assert!(poll(late.as_mut()).is_pending());
            yield_now().await;
        }
    });
}

#[test]
fn a_stream_that_its_peer_has_broken_off_can_be_closed() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let listener = TcpListener::bind(HERE).unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let peer = peer.await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        peer.set_zero_linger().unwrap();
        drop(peer);
        let broken = stream.read(&mut [0]).await.unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
        stream.close().await.unwrap();
    });
}

#[test]
fn what_is_set_of_a_stream_is_set() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let listener = net::TcpListener::bind(SocketAddr::from(HERE)).unwrap();
        let stream = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let same = stream.try_clone().unwrap();
        let stream = TcpStream::from_std(stream).unwrap();
        for on in [true, false] {
            stream.set_nodelay(on).unwrap();
            assert_eq!(same.nodelay().unwrap(), on);
        }
    });
}

#[test]
fn halves_take_all_their_buffers() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (a, b) = UnixStream::pair().unwrap();
        let ((_, mut write), (mut read, _)) = (a.into_split(), b.into_split());
        let parts = [&b"ab"[..], &b"cde"[..]].map(IoSlice::new);
        assert_eq!(write.write_vectored(&parts).await.unwrap(), 5);
        let (mut one, mut two) = ([0; 3], [0; 8]);
        let mut parts = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(read.read_vectored(&mut parts).await.unwrap(), 5);
        assert_eq!((&one, &two[..2]), (b"abc", &b"de"[..]));
    });
}
