//! Descriptors: of the user's, watched by the workers; and those of streams, to configure them. And names and addresses.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use futures::io::{AsyncReadExt, AsyncWriteExt};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, poll};
use socket2::SockRef;
use tidings::net::{Direction, Io, TcpListener, TcpStream, UnixListener, UnixStream, lookup_host};
use tidings::spawn;

use crate::both::{pool, run, seeded, watchdog};
use crate::net::everywhere;

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

#[test]
fn what_was_made_to_block_does_not_block_a_worker() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (reader, writer) = io::pipe().unwrap();
        let (reader, writer) = (Io::new(reader).unwrap(), Io::new(writer).unwrap());
        let mut buffer = [0; 4096];
        let nothing = reader.try_io(Direction::Read, |mut it| it.read(&mut buffer));
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
        let full = loop {
            if let Err(error) = writer.try_io(Direction::Write, |mut it| it.write(&buffer)) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn a_pipe_is_read_and_written_by_the_traits() {
    let _watchdog = watchdog();
    for by_reference in [false, true] {
        run(&pool(1), async move {
            let (reader, writer) = io::pipe().unwrap();
            let (mut reader, mut writer) = (Io::new(reader).unwrap(), Io::new(writer).unwrap());
            // More than it holds.
            let sent: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
            let all = sent.clone();
            let wrote = spawn(async move {
                if by_reference {
                    (&writer).write_all(&all).await.unwrap();
                    (&writer).close().await.unwrap();
                } else {
                    let parts = [io::IoSlice::new(&all[..7]), io::IoSlice::new(&all[7..])];
                    let n = writer.write_vectored(&parts).await.unwrap();
                    writer.write_all(&all[n..]).await.unwrap();
                    writer.flush().await.unwrap();
                }
            });
            let mut got = Vec::new();
            if by_reference {
                (&reader).read_to_end(&mut got).await.unwrap();
            } else {
                let (mut first, mut second) = ([0; 3], [0; 4]);
                let mut parts = [&mut first[..], &mut second].map(io::IoSliceMut::new);
                let n = reader.read_vectored(&mut parts).await.unwrap();
                got.extend([&first[..], &second].concat().into_iter().take(n));
                reader.read_to_end(&mut got).await.unwrap();
            }
            wrote.await.unwrap();
            assert!(got == sent);
        });
    }
}

#[test]
fn what_a_child_says_is_read_and_what_it_is_told_is_written() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let mut cat = Command::new("cat");
        let mut cat = cat
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut tells = Io::new(cat.stdin.take().unwrap()).unwrap();
        let mut says = Io::new(cat.stdout.take().unwrap()).unwrap();
        tells.write_all(b"hello").await.unwrap();
        let mut word = [0; 5];
        says.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"hello");
        // Given back, it is std's again.
        let mut given_back = tells.into_inner();
        given_back.write_all(b"bye").unwrap();
        drop(given_back);
        let mut rest = String::new();
        says.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "bye");
        assert!(cat.wait().unwrap().success());
    });
}

async fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(HERE).unwrap();
    SockRef::from(&listener.descriptor().unwrap())
        .set_ttl_v4(40)
        .unwrap();
    let connecting = spawn(TcpStream::connect(listener.local_addr().unwrap()));
    let (a, _) = listener.accept().await.unwrap();
    (a, connecting.await.unwrap().unwrap())
}

#[test]
fn a_streams_options_are_set_by_its_descriptor() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, b) = tcp().await;
        let descriptor = a.descriptor().unwrap();
        let options = SockRef::from(&descriptor);
        assert!(!options.keepalive().unwrap());
        options.set_keepalive(true).unwrap();
        assert!(options.keepalive().unwrap());
        a.write_all(b"hello").await.unwrap();
        // Std's own, from here on.
        let mut b = b.into_std().unwrap();
        b.set_nonblocking(false).unwrap();
        let mut word = [0; 5];
        b.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"hello");

        let (a, mut b) = UnixStream::pair().unwrap();
        SockRef::from(&a).set_recv_buffer_size(8192).unwrap();
        b.write_all(b"hello").await.unwrap();
        let mut a = a.into_std();
        a.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"hello");
        fn has_a_descriptor<T: AsFd>() {}
        has_a_descriptor::<UnixListener>();
    });
}

#[test]
fn a_peek_waits_and_takes_nothing() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, mut b) = tcp().await;
        let writes = spawn(async move {
            a.write_all(b"hello").await.unwrap();
            a
        });
        let mut word = [0; 5];
        assert_eq!(b.peek(&mut word[..1]).await.unwrap(), 1);
        drop(writes.await.unwrap());
        assert_eq!(b.peek(&mut word[..2]).await.unwrap(), 2);
        b.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"hello");
        assert_eq!(b.peek(&mut word).await.unwrap(), 0);
    });
}

#[test]
fn who_peeks_and_who_reads_wait_beside_one_another() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, b) = tcp().await;
        let mut reader = &b;
        let (mut read, mut peeked) = ([0], [0]);
        // Each is polled with a waker of its own.
        let mut both = FuturesUnordered::new();
        both.push(reader.read(&mut read).left_future());
        both.push(b.peek(&mut peeked).right_future());
        assert!(poll!(both.next()).is_pending());
        a.write_all(b"!!").await.unwrap();
        for _ in 0..2 {
            assert_eq!(both.next().await.unwrap().unwrap(), 1);
        }
        drop(both);
        assert_eq!([read, peeked].concat(), b"!!");
    });
}

#[test]
fn an_address_is_looked_up_nowhere() {
    // There is no runtime.
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let found = |addresses: io::Result<Vec<_>>| addresses.unwrap();
    let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    futures::executor::block_on(async {
        assert_eq!(found(lookup_host("127.0.0.1:1").await), [at(1)]);
        assert_eq!(found(lookup_host("127.0.0.1:2".to_owned()).await), [at(2)]);
        assert_eq!(found(lookup_host(("127.0.0.1", 3)).await), [at(3)]);
        assert_eq!(
            found(lookup_host(&("127.0.0.1".to_owned(), 4)).await),
            [at(4)]
        );
        assert_eq!(found(lookup_host(at(5)).await), [at(5)]);
        assert_eq!(found(lookup_host((v4, 6)).await), [at(6)]);
        assert_eq!(found(lookup_host((IpAddr::from(v4), 7)).await), [at(7)]);
        assert_eq!(
            found(lookup_host(&[at(8), at(9)][..]).await),
            [at(8), at(9)]
        );
        let v6 = SocketAddr::from((v6, 10));
        assert_eq!(found(lookup_host("[::1]:10").await), [v6]);
        assert_eq!(found(lookup_host(("::1", 10)).await), [v6]);
        for wrong in ["localhost", "localhost:port", "localhost:70000"] {
            let error = lookup_host(wrong).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{wrong}");
        }
    });
}

#[test]
fn the_systems_resolver_is_not_asked_under_a_seam() {
    let _watchdog = watchdog();
    seeded(1).block_on(async {
        let error = lookup_host("localhost:1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn a_connect_tries_all_addresses_and_a_bind_takes_no_name() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = gone.local_addr().unwrap();
        drop(gone);
        let there = TcpListener::bind(HERE).unwrap();
        let at = there.local_addr().unwrap();
        let stream = TcpStream::connect(&[nobody, at][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), at);
        TcpStream::connect(("localhost", at.port())).await.unwrap();
        let refused = TcpStream::connect(nobody).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let nowhere: &[SocketAddr] = &[];
        let error = TcpStream::connect(nowhere).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        // The second, where the first is taken.
        let other = TcpListener::bind(&[at, HERE.into()][..]).unwrap();
        assert_ne!(other.local_addr().unwrap(), at);
        let error = TcpListener::bind("localhost:0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_descriptor_of_another_kind_is_waited_for() {
    everywhere(|| async {
        let (a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        let a = Io::new(a).unwrap();
        let mut byte = [0];
        for n in 0..100 {
            let waited = spawn(async move {
                b.write_all(&[n]).unwrap();
                b
            });
            let got = loop {
                a.readable().await;
                match a.try_io(Direction::Read, |mut a| a.read(&mut byte)) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    done => break done.unwrap(),
                }
            };
            assert_eq!((got, byte), (1, [n]));
            b = waited.await.unwrap();
        }
        let a = a.into_inner();
        // It can be watched anew: it was given back unwatched.
        drop(Io::new(a).unwrap());
        let file = std::fs::File::open("/dev/null").unwrap();
        let _ = Io::new(file);
        let regular = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(Io::new(regular).is_err());
    });
}
