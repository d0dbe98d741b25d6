//! Connections that end while a cut link holds what was sent.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::{sleep, timeout};
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

/// The bytes that came of some, the last of which is under way while a cut link holds those before it. Then their sender
/// crashes, or is dropped and sends none of them again, and the link is healed.
async fn comes(crashes: bool, last: u8) -> Vec<u8> {
    const MS: Duration = Duration::from_millis(1);
    let here = world().program();
    world().latency(MS..=MS);
    let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
    let to = here.address(PORT);
    let node = world().node("writes", move || async move {
        let mut stream = TcpStream::connect(to).await?;
        stream.set_zero_linger()?;
        stream.write_all(&[1]).await?;
        for byte in 2..=last {
            sleep(2 * MS).await;
            stream.write_all(&[byte]).await?;
        }
        if crashes {
            std::future::pending::<()>().await;
        }
        io::Result::Ok(())
    });
    let (mut stream, _) = listener.accept().await.unwrap();
    node.cut_to(&here);
    // The first is sent when a millisecond has passed.
    sleep(MS * 2 * u32::from(last) - MS / 2).await;
    if crashes {
        node.crash();
    }
    here.heal(&node);
    let mut got = Vec::new();
    let ended = stream.read_to_end(&mut got).await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    got
}

#[test]
fn a_connection_has_no_hole_where_what_a_cut_link_held_is_lost() {
    for (crashes, last) in [(true, 2), (true, 3), (false, 2), (false, 3)] {
        let seen = Arc::new(Mutex::new([0; 2]));
        let counts = Arc::clone(&seen);
        Sim::new(0).seeds(100).run(move || {
            let counts = Arc::clone(&counts);
            async move {
                let got = comes(crashes, last).await;
                assert!([1, 2, 3].starts_with(&got), "{got:?}");
                counts.lock().unwrap()[usize::from(got.is_empty())] += 1;
            }
        });
        let [came, lost] = *seen.lock().unwrap();
        assert!(lost > 0 && (came > 0) == crashes, "{came} {lost}");
    }
}

#[test]
fn a_machine_that_is_cut_off_before_it_crashes_is_silent_until_it_is_healed() {
    const SECOND: Duration = Duration::from_secs(1);
    Sim::new(0).seeds(10).run(|| async {
        let here = world().program();
        let node = world().node("off", || async {
            let listener = TcpListener::bind(([0, 0, 0, 0], PORT))?;
            let mut streams = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(b"x").await?;
                streams.push(stream);
            }
            Ok::<(), io::Error>(())
        });
        sleep(SECOND).await;
        let to = node.address(PORT);
        let mut before = TcpStream::connect(to).await.unwrap();
        let mut byte = [0];
        before.read_exact(&mut byte).await.unwrap();
        node.partition(&here);
        node.crash();
        let connected = timeout(SECOND, TcpStream::connect(to)).await;
        assert!(connected.is_err(), "nobody answers");
        assert!(timeout(SECOND, before.read(&mut byte)).await.is_err());
        node.restart();
        node.heal(&here);
        let error = before.read(&mut byte).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        sleep(SECOND).await;
        let mut after = TcpStream::connect(to).await.unwrap();
        after.read_exact(&mut byte).await.unwrap();
    });
}
