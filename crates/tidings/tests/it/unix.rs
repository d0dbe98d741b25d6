//! Unix sockets.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures::io::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{UnixListener, UnixStream};
use tidings::sched::Runtime;

use crate::both::{pool, run, watchdog};
use crate::net::everywhere;
#[cfg(target_os = "linux")]
use crate::threads;

#[test]
fn unix_sockets_are_sockets() {
    everywhere(|| async {
        let name = format!("tidings-it-{}", std::process::id());
        let at = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&at);
        let listener = UnixListener::bind(&at).unwrap();
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*at));
        let mut a = UnixStream::connect(&at).unwrap();
        let (mut b, _) = listener.accept().await.unwrap();
        std::fs::remove_file(&at).unwrap();
        assert!(UnixStream::connect(&at).is_err());
        a.write_all(b"hello").await.unwrap();
        a.close().await.unwrap();
        let mut text = String::new();
        b.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
        let (mut c, mut d) = UnixStream::pair().unwrap();
        c.write_all(b"!").await.unwrap();
        d.readable().await;
        assert_eq!(d.read(&mut [0; 9]).await.unwrap(), 1);
    });
}

#[test]
fn the_future_of_block_on_has_sockets_though_all_workers_sleep() {
    let _watchdog = watchdog();
    for workers in [1, 2, 8] {
        let rt = Runtime::builder().workers(workers).name("parked");
        let rt = rt.build().unwrap();
        // No task has run yet: every worker goes to its parker.
        #[cfg(target_os = "linux")]
        threads::wait_until_asleep("parked", workers);
        rt.block_on(async {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            let wait = b.readable();
            a.write_all(b"!").await.unwrap();
            wait.await;
            let mut byte = [0];
            b.read_exact(&mut byte).await.unwrap();
            let mut late = pin!(b.read(&mut byte));
            poll_fn(|cx| {
                assert!(late.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            a.write_all(b"?").await.unwrap();
            assert_eq!(late.await.unwrap(), 1);
        });
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_read_of_a_unix_socket_that_ends_at_a_descriptor_is_not_the_last() {
    use std::io::IoSlice;
    use std::os::fd::AsRawFd;

    use crate::stream::{settle, soon};

    let _watchdog = watchdog();
    run(&pool(1), async {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut stream = UnixStream::from_std(ours).unwrap();
        // struct cmsghdr of 64 bits: its length, SOL_SOCKET, SCM_RIGHTS, a descriptor.
        let mut control = [0; 24];
        control[..8].copy_from_slice(&20_usize.to_ne_bytes());
        control[8..12].copy_from_slice(&1_i32.to_ne_bytes());
        control[12..16].copy_from_slice(&1_i32.to_ne_bytes());
        control[16..20].copy_from_slice(&theirs.as_raw_fd().to_ne_bytes());
        let bytes = [IoSlice::new(b"x")];
        let message = socket2::MsgHdr::new()
            .with_buffers(&bytes)
            .with_control(&control);
        let theirs = socket2::SockRef::from(&theirs);
        assert_eq!(theirs.sendmsg(&message, 0).unwrap(), 1);
        assert_eq!(theirs.send(b"hello").unwrap(), 5);
        settle().await;
        let mut buffer = [0; 64];
        let mut got = Vec::new();
        while got.len() < 6 {
            let n = soon(stream.read(&mut buffer)).await.unwrap();
            got.extend_from_slice(&buffer[..n]);
        }
        assert_eq!(got, b"xhello");
    });
}
