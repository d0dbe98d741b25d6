//! Machines joined by a network, and what befalls them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::{Instant, sleep};
use tidings_sim::{Kind, Node, Sim, world};

const PORT: u16 = 7;

/// Sends back what it gets, to everybody.
async fn echo() -> io::Result<()> {
    let listener = TcpListener::bind(([0, 0, 0, 0], PORT))?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        drop(tidings::spawn(async move {
            let mut buffer = [0; 1000];
            loop {
                let n = stream.read(&mut buffer).await?;
                if n == 0 {
                    return stream.close().await;
                }
                stream.write_all(&buffer[..n]).await?;
            }
        }));
    }
}

/// A node that echoes, and is ready.
async fn echoing() -> Node {
    let node = world().node("echo", echo);
    sleep(Duration::from_millis(1)).await;
    node
}

async fn ask(stream: &mut TcpStream, word: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(word).await?;
    let mut answer = vec![0; word.len()];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

#[test]
fn bytes_arrive_in_order_through_a_window() {
    Sim::new(0).seeds(10).run(|| async {
        let node = echoing().await;
        let stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), node.address(PORT));
        let sent: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let (mut reads, mut writes) = stream.split();
        let all = sent.clone();
        drop(tidings::spawn(async move {
            writes.write_all(&all).await.unwrap();
            writes.close().await.unwrap();
        }));
        let mut got = Vec::new();
        reads.read_to_end(&mut got).await.unwrap();
        assert!(got == sent);
        assert!(world().elapsed() > Duration::from_millis(2));
    });
}

#[test]
fn where_nobody_listens_a_connection_is_refused() {
    Sim::new(0).seeds(5).run(|| async {
        let node = echoing().await;
        let kind = |to: SocketAddr| async move {
            let connected = TcpStream::connect(to).await;
            connected.map(drop).unwrap_err().kind()
        };
        assert_eq!(kind(node.address(8)).await, ErrorKind::ConnectionRefused);
        let elsewhere = ([192, 168, 0, 1], 7).into();
        assert_eq!(kind(elsewhere).await, ErrorKind::NetworkUnreachable);
        let taken = TcpListener::bind(([0, 0, 0, 0], 9)).unwrap();
        let again = TcpListener::bind(([0, 0, 0, 0], 9));
        assert_eq!(again.map(drop).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(taken);
        assert!(TcpListener::bind(([0, 0, 0, 0], 9)).is_ok());
    });
}

#[test]
fn a_crash_resets_its_connections_and_a_restart_is_a_new_incarnation() {
    Sim::new(0).seeds(20).run(|| async {
        let node = echoing().await;
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        assert_eq!(ask(&mut stream, b"one").await.unwrap(), b"one");
        node.crash();
        assert!(!node.is_up());
        let mut byte = [0];
        let error = stream.read(&mut byte).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let refused = TcpStream::connect(node.address(PORT)).await;
        assert_eq!(
            refused.map(drop).unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
        node.restart();
        assert_eq!((node.is_up(), node.incarnation()), (true, 2));
        sleep(Duration::from_millis(1)).await;
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        assert_eq!(ask(&mut stream, b"two").await.unwrap(), b"two");
    });
}

#[test]
fn what_a_crash_leaves_is_what_the_program_captured() {
    Sim::new(0).seeds(5).run(|| async {
        let disk = Arc::new(AtomicU32::new(0));
        let written = Arc::clone(&disk);
        let dropped = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&dropped);
        struct Memory(Arc<AtomicU32>);
        impl Drop for Memory {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let node = world().node("writer", move || {
            let (disk, memory) = (Arc::clone(&written), Memory(Arc::clone(&count)));
            async move {
                let _memory = memory;
                loop {
                    disk.fetch_add(1, Ordering::SeqCst);
                    sleep(Duration::from_secs(1)).await;
                }
            }
        });
        sleep(Duration::from_millis(2500)).await;
        node.crash();
        sleep(Duration::from_secs(10)).await;
        assert_eq!(
            (disk.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst)),
            (3, 1)
        );
        node.restart();
        sleep(Duration::from_millis(500)).await;
        assert_eq!(disk.load(Ordering::SeqCst), 4);
    });
}

#[test]
fn the_tasks_of_a_node_that_ends_end_in_the_order_of_their_starts() {
    struct Last(u32, Arc<Mutex<Vec<u32>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    // Tasks of other runs have lain where these lie, and ended in another order.
    Sim::new(0).seeds(20).run(|| async {
        let ended = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&ended);
        let _node = world().node("many", move || {
            let all = Arc::clone(&all);
            async move {
                for n in 0..8 {
                    let last = Last(n, Arc::clone(&all));
                    drop(tidings::spawn(async move {
                        sleep(Duration::from_millis(tidings::sched::random(3) as u64)).await;
                        if n % 2 == 0 {
                            std::future::pending::<()>().await;
                        }
                        drop(last);
                    }));
                }
                sleep(Duration::from_millis(5)).await;
                all.lock().unwrap().clear();
            }
        });
        sleep(Duration::from_millis(10)).await;
        assert_eq!(*ended.lock().unwrap(), [0, 2, 4, 6]);
    });
}

#[test]
fn what_is_sent_across_a_partition_arrives_when_it_is_healed() {
    Sim::new(0).seeds(20).run(|| async {
        let (node, here) = (echoing().await, world().program());
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        for one_way in [false, true] {
            if one_way {
                // What is asked arrives; the answer does not.
                node.cut_to(&here);
            } else {
                here.partition(&node);
            }
            let start = Instant::now();
            let healer = (node.clone(), here.clone());
            drop(tidings::spawn(async move {
                sleep(Duration::from_secs(5)).await;
                healer.1.heal(&healer.0);
            }));
            assert_eq!(ask(&mut stream, b"late").await.unwrap(), b"late");
            assert!(start.elapsed() >= Duration::from_secs(5));
        }
        here.partition(&node);
        let start = Instant::now();
        let error = TcpStream::connect(node.address(PORT))
            .await
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= Duration::from_secs(30));
    });
}

#[test]
fn who_gives_up_connecting_leaves_no_connection_behind() {
    for one_way in [false, true] {
        for waits in [Duration::from_millis(5), Duration::from_secs(60)] {
            Sim::new(0).seeds(20).run(move || async move {
                let (accepted, open) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
                let counts = (Arc::clone(&accepted), Arc::clone(&open));
                let node = world().node("reads", move || reads(counts.0.clone(), counts.1.clone()));
                sleep(Duration::from_millis(1)).await;
                let here = world().program();
                if one_way {
                    node.cut_to(&here);
                } else {
                    here.partition(&node);
                }
                let to = node.address(PORT);
                let tried = tidings::time::timeout(waits, TcpStream::connect(to)).await;
                assert!(tried.is_err() || tried.is_ok_and(|connected| connected.is_err()));
                here.heal(&node);
                sleep(Duration::from_secs(1)).await;
                assert_eq!(open.load(Ordering::SeqCst), 0);
                assert_eq!(accepted.load(Ordering::SeqCst), u32::from(one_way));
            });
        }
    }
}

/// Reads from everybody and never writes; how many have come, and how many are there.
async fn reads(accepted: Arc<AtomicU32>, open: Arc<AtomicU32>) -> io::Result<()> {
    let listener = TcpListener::bind(([0, 0, 0, 0], PORT))?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        accepted.fetch_add(1, Ordering::SeqCst);
        open.fetch_add(1, Ordering::SeqCst);
        let open = Arc::clone(&open);
        drop(tidings::spawn(async move {
            let _ = stream.read(&mut [0]).await;
            open.fetch_sub(1, Ordering::SeqCst);
        }));
    }
}

#[test]
fn what_a_node_sent_into_a_cut_link_before_it_crashed_arrives_or_is_lost() {
    let seen = Arc::new(Mutex::new([0; 2]));
    let counts = Arc::clone(&seen);
    Sim::new(0).seeds(40).run(move || {
        let counts = Arc::clone(&counts);
        async move {
            let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
            let here = world().program();
            let to = here.address(PORT);
            let node = world().node("writes", move || async move {
                let mut stream = TcpStream::connect(to).await?;
                sleep(Duration::from_millis(10)).await;
                stream.write_all(b"last words").await?;
                std::future::pending::<io::Result<()>>().await
            });
            let (mut stream, _) = listener.accept().await.unwrap();
            node.cut_to(&here);
            sleep(Duration::from_millis(100)).await;
            node.crash();
            here.heal(&node);
            let mut got = Vec::new();
            let error = stream.read_to_end(&mut got).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            assert!(got.is_empty() || got == b"last words");
            counts.lock().unwrap()[usize::from(got.is_empty())] += 1;
        }
    });
    let seen = *seen.lock().unwrap();
    assert!(seen.iter().all(|&times| times > 0), "{seen:?}");
}

#[test]
fn who_waits_to_be_accepted_is_reset_when_nobody_listens_any_more() {
    Sim::new(0).seeds(5).run(|| async {
        let listener = TcpListener::bind(([0, 0, 0, 0], 9)).unwrap();
        let to = world().program().address(9);
        let mut stream = TcpStream::connect(to).await.unwrap();
        drop(listener);
        let error = stream.read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_severed_connection_fails_at_both_ends_and_another_can_be_made() {
    Sim::new(0).seeds(5).run(|| async {
        let (node, here) = (echoing().await, world().program());
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        node.sever(&here);
        assert!(ask(&mut stream, b"lost").await.is_err());
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        assert_eq!(ask(&mut stream, b"new").await.unwrap(), b"new");
    });
}

#[test]
fn what_a_cut_link_held_comes_before_what_was_sent_after_it() {
    Sim::new(0).seeds(5).run(|| async {
        let (node, here) = (echoing().await, world().program());
        let millis = Duration::from_millis;
        here.latency_to(&node, millis(10)..=millis(10));
        let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        here.cut_to(&node);
        stream.write_all(b"first ").await.unwrap();
        tidings::after(millis(11)).await;
        // Not there yet when the link is whole again.
        stream.write_all(b"second").await.unwrap();
        tidings::after(millis(1)).await;
        here.heal(&node);
        let mut all = [0; 12];
        stream.read_exact(&mut all).await.unwrap();
        assert_eq!(&all, b"first second");
    });
}

#[test]
fn latency_is_what_it_was_said_to_be() {
    Sim::new(0).seeds(20).run(|| async {
        let (node, here) = (echoing().await, world().program());
        let slow = Duration::from_secs(2)..=Duration::from_secs(3);
        here.latency_to(&node, slow);
        world().latency(Duration::from_secs(1)..=Duration::from_secs(1));
        let start = Instant::now();
        let _stream = TcpStream::connect(node.address(PORT)).await.unwrap();
        let took = start.elapsed();
        assert!(
            took >= Duration::from_secs(3) && took <= Duration::from_millis(4_001),
            "{took:?}"
        );
    });
}

#[test]
fn clocks_may_differ_and_drift() {
    Sim::new(0).seeds(5).run(|| async {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::clone(&shown);
        let node = world().node("fast", move || {
            let times = Arc::clone(&times);
            async move {
                sleep(Duration::from_millis(1)).await;
                let start = Instant::now();
                sleep(Duration::from_secs(100)).await;
                times
                    .lock()
                    .unwrap()
                    .push((world().elapsed(), start.elapsed()));
            }
        });
        // A tenth fast.
        node.skew(Duration::from_secs(1000), 100_000);
        let here = Instant::now();
        sleep(Duration::from_secs(200)).await;
        assert!(here.elapsed() < Duration::from_secs(201));
        let [(real, own)] = shown.lock().unwrap()[..] else {
            panic!("it has ended once");
        };
        assert!(own >= Duration::from_secs(100) && own < Duration::from_secs(101));
        assert!(
            real > Duration::from_secs(90) && real < Duration::from_secs(92),
            "{real:?}"
        );
    });
}

#[test]
fn a_clock_does_not_go_back_however_it_is_set() {
    Sim::new(0).seeds(5).run(|| async {
        let (here, second) = (world().program(), Duration::from_secs(1));
        sleep(100 * second).await;
        let mut before = Instant::now();
        // Slower than before, or less ahead.
        for (ahead, drift) in [
            (0, -100_000),
            (10, 0),
            (0, 200_000),
            (0, 100_000),
            (5, -900_000),
        ] {
            here.skew(ahead * second, drift);
            assert!(before <= Instant::now(), "{ahead} s ahead, {drift}");
            let (start, real) = (Instant::now(), world().elapsed());
            sleep(10 * second).await;
            let took = (start.elapsed(), world().elapsed() - real);
            let rate = 1.0 + f64::from(drift) / 1e6;
            let real = took.0.div_f64(rate).abs_diff(took.1);
            assert!(real < Duration::from_millis(1), "{took:?} at {rate}");
            before = Instant::now();
        }
    });
}

#[test]
fn a_node_that_starts_anew_by_itself_is_up_though_it_ends_at_once() {
    Sim::new(0).seeds(5).run(|| async {
        let (itself, lives) = (
            Arc::new(OnceLock::<Node>::new()),
            Arc::new(AtomicU32::new(0)),
        );
        let (own, count) = (Arc::clone(&itself), Arc::clone(&lives));
        let node = world().node("phoenix", move || {
            let (own, count) = (Arc::clone(&own), Arc::clone(&count));
            async move {
                if count.fetch_add(1, Ordering::SeqCst) == 0 {
                    own.get().unwrap().restart();
                } else {
                    sleep(Duration::from_secs(10)).await;
                }
            }
        });
        itself.set(node.clone()).unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!((node.is_up(), node.incarnation()), (true, 2));
        assert_eq!(lives.load(Ordering::SeqCst), 2);
        sleep(Duration::from_secs(10)).await;
        assert!(!node.is_up(), "it has ended");
    });
}

#[test]
fn of_two_starts_at_once_the_last_one_counts() {
    Sim::new(0).seeds(5).run(|| async {
        let lives = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&lives);
        let node = world().node("restless", move || {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>()
        });
        sleep(Duration::from_secs(1)).await;
        node.restart();
        node.restart();
        sleep(Duration::from_secs(1)).await;
        assert_eq!((node.is_up(), node.incarnation()), (true, 3));
        assert_eq!(lives.load(Ordering::SeqCst), 2, "the second never began");
    });
}

#[test]
fn a_nodes_program_may_ask_the_world_as_it_is_made() {
    let (done, ended) = mpsc::channel();
    // In a thread that may hang.
    thread::spawn(move || {
        Sim::new(0).seeds(5).run(|| async {
            let itself = Arc::new(OnceLock::<Node>::new());
            let own = Arc::clone(&itself);
            let node = world().node("curious", move || {
                let drawn = world().choose(2);
                let life = own.get().map(Node::incarnation);
                async move {
                    assert!(drawn < 2 && life == Some(1));
                }
            });
            itself.set(node).unwrap();
            sleep(Duration::from_secs(1)).await;
        });
        done.send(()).unwrap();
    });
    let ended = ended.recv_timeout(Duration::from_secs(60));
    ended.expect("it neither hangs nor fails");
}

#[test]
fn a_node_that_fails_fails_the_run_by_its_name() {
    let failure = Sim::new(0)
        .check(|| async {
            let _node = world().node("storage", || async { Err::<(), _>("the disk is full") });
            sleep(Duration::from_secs(1)).await;
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Error);
    assert!(
        failure
            .message
            .contains("node storage: \"the disk is full\""),
        "{failure}"
    );
}

#[test]
fn the_picture_shows_what_passes_between_nodes_and_what_befalls_them() {
    let failure = Sim::new(0)
        .check(|| async {
            let (node, here) = (echoing().await, world().program());
            let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
            here.cut_to(&node);
            stream.write_all(b"seven").await.unwrap();
            sleep(Duration::from_secs(1)).await;
            here.heal(&node);
            let mut answer = [0; 5];
            stream.read_exact(&mut answer).await.unwrap();
            node.sever(&here);
            node.skew(Duration::from_secs(1), 0);
            node.restart();
            sleep(Duration::from_millis(1)).await;
            let refused = TcpStream::connect(node.address(8)).await;
            refused.map(drop).unwrap();
        })
        .unwrap_err();
    let (text, picture) = (failure.chart.to_string(), failure.chart.to_svg());
    let mut rest = &text[..];
    for word in [
        ": network",
        "connects",
        "accepted",
        "cut off: echo",
        "held: 5 B",
        "healed: echo",
        " 5 B ─",
        " 5 B ─",
        "severed: program",
        "clock is set",
        "crashes",
        "starts anew",
        "connects",
        "refused",
    ] {
        let Some(at) = rest.find(word) else {
            panic!("{word:?} comes not, or too late:\n{text}");
        };
        rest = &rest[at + word.len()..];
        let word = word.trim_matches([' ', '─']);
        assert!(picture.contains(word), "{word:?} is not in {picture}");
    }
}

#[test]
fn nodes_that_wait_for_each_other_for_ever_are_a_deadlock() {
    let failure = Sim::new(0)
        .check(|| async {
            let node = echoing().await;
            let mut stream = TcpStream::connect(node.address(PORT)).await.unwrap();
            // Nothing was asked.
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadlock);
    assert!(failure.message.contains("on node echo:"), "{failure}");
}

#[test]
fn what_outlives_its_run_may_be_asked_and_dropped_after_it() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    Sim::new(0).run(move || {
        let keeps = Arc::clone(&keeps);
        async move {
            let node = echoing().await;
            let stream = TcpStream::connect(node.address(PORT)).await.unwrap();
            let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
            keeps.lock().unwrap().push((node, stream, listener));
        }
    });
    for (node, stream, listener) in kept.lock().unwrap().drain(..) {
        assert_eq!(node.incarnation(), 1);
        assert_eq!(stream.peer_addr().unwrap(), node.address(PORT));
        node.restart();
        node.sever(&node);
        drop((stream, listener));
    }
}

#[test]
fn a_latency_whose_range_is_reversed_is_refused() {
    let backwards = Duration::from_millis(2)..=Duration::from_millis(1);
    let failure = Sim::new(0)
        .check(move || {
            let backwards = backwards.clone();
            async move { world().latency(backwards) }
        })
        .unwrap_err();
    let said = "the shortest latency, 2ms, is above the longest, 1ms";
    assert!(failure.message.contains(said), "{failure}");
}
