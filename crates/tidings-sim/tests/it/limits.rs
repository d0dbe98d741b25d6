//! How far a simulation goes: to the end of time, and to the last port.

use std::io::ErrorKind;
use std::time::Duration;

use tidings::net::{TcpListener, TcpStream};
use tidings::time::{Instant, sleep};
use tidings_sim::{Kind, Sim, world};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_clock_that_nearly_stands_still_shows_a_later_day_all_the_same() {
    Sim::new(0).polls(100).run(|| async {
        world().program().skew(Duration::ZERO, -999_999);
        let start = Instant::now();
        sleep(DAY).await;
        assert!(start.elapsed() >= DAY);
        assert!(world().elapsed() >= DAY * 999_999);
    });
}

#[test]
fn a_poll_or_a_latency_may_take_as_long_as_there_is_time() {
    let work = || async {
        world().latency(Duration::ZERO..=Duration::MAX);
        let node = world().node("mute", || async {
            let listener = TcpListener::bind(([0, 0, 0, 0], 1)).unwrap();
            let (_stream, _) = listener.accept().await.unwrap();
            std::future::pending::<()>().await;
        });
        sleep(DAY).await;
        drop(TcpStream::connect(node.address(1)).await);
    };
    Sim::new(0).seeds(20).run(work);
    for seed in 0..20 {
        if let Err(failure) = Sim::new(seed).busy(Duration::MAX).check(work) {
            assert_eq!(failure.kind, Kind::Deadlock, "{failure}");
        }
    }
}

#[test]
fn a_node_whose_ports_are_all_taken_is_told_so() {
    Sim::new(0).once().run(|| async {
        let all = ([0, 0, 0, 0], 0);
        let mut listeners = Vec::new();
        let error = loop {
            match TcpListener::bind(all) {
                Ok(listener) => listeners.push(listener),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(listeners.len() > 16_000, "{}", listeners.len());
        let to = world().program().address(49_152);
        let error = TcpStream::connect(to).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        listeners.pop();
        drop(TcpListener::bind(all).unwrap());
        TcpStream::connect(to).await.unwrap();
    });
}
