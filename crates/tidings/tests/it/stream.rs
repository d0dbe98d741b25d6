//! Streams where a call takes or gives less than it was asked for: of the system, and of an installed network.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tidings::net::{
    Accept, Connecting, Network, ReadHalf, Socket, TcpListener, TcpStream, WriteHalf, lookup_host,
};
use tidings::time::timeout;
use tidings::{Runtime, spawn, yield_now};

use crate::both::{pool, run, watchdog};

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
/// What takes longer hangs.
const LONG: Duration = Duration::from_secs(10);
/// More buffers than a call of the system's takes.
const MANY: usize = 2000;

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    timeout(LONG, future).await.expect("it hangs")
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(HERE).unwrap();
    let connecting = spawn(TcpStream::connect(listener.local_addr().unwrap()));
    let (a, _) = listener.accept().await.unwrap();
    (a, connecting.await.unwrap().unwrap())
}

/// As many turns as a worker takes at most before it looks at its sockets: what is to be told of them it is told.
pub(crate) async fn settle() {
    for _ in 0..200 {
        yield_now().await;
    }
}

/// So many bytes, none the same as the one before.
fn bytes() -> Vec<u8> {
    (0..MANY).map(|n| n.to_le_bytes()[0]).collect()
}

#[test]
fn more_buffers_than_the_system_takes_at_once_are_written() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, mut b) = pair().await;
        settle().await;
        let bytes = bytes();
        let mut parts: Vec<_> = bytes.chunks(1).map(IoSlice::new).collect();
        let mut parts = &mut parts[..];
        while !parts.is_empty() {
            let n = soon(a.write_vectored(parts)).await.unwrap();
            IoSlice::advance_slices(&mut parts, n);
        }
        let mut back = vec![0; MANY];
        b.read_exact(&mut back).await.unwrap();
        assert_eq!(back, bytes);
    });
}

#[test]
fn more_buffers_than_the_system_takes_at_once_are_read() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, mut b) = pair().await;
        let bytes = bytes();
        a.write_all(&bytes).await.unwrap();
        settle().await;
        let mut back = vec![0; MANY];
        let mut parts: Vec<_> = back.chunks_mut(1).map(IoSliceMut::new).collect();
        let mut parts = &mut parts[..];
        while !parts.is_empty() {
            let read = poll_fn(|cx| Pin::new(&mut b).poll_read_vectored(cx, parts));
            let n = soon(read).await.unwrap();
            IoSliceMut::advance_slices(&mut parts, n);
        }
        assert_eq!(back, bytes);
    });
}

#[cfg(unix)]
#[test]
fn a_close_waits_for_no_room() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (mut a, mut b) = tidings::net::UnixStream::pair().unwrap();
        let mut sent = 0;
        let full = loop {
            match a.try_write(&[7; 4096]) {
                Ok(n) => sent += n,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        soon(a.close()).await.unwrap();
        let mut got = Vec::new();
        soon(b.read_to_end(&mut got)).await.unwrap();
        assert_eq!(got.len(), sent);
    });
}

/// What one end of a connection sends to the other, at most [`ROOM`] bytes at once.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

const ROOM: usize = 4;

impl Pipe {
    fn wake(waker: &mut Option<Waker>) {
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    }
}

/// An end of a connection in memory: it reads from the first pipe and writes to the second. As a [`Socket`] must it
/// remembers the waker of a poll that is pending, and of no other.
struct End([Arc<Mutex<Pipe>>; 2]);

impl End {
    fn pair() -> [Self; 2] {
        let [one, two] = [(); 2].map(|()| Arc::<Mutex<Pipe>>::default());
        [Self([two.clone(), one.clone()]), Self([one, two])]
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0[0].lock().unwrap();
        if pipe.bytes.is_empty() && !pipe.closed {
            pipe.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = into.len().min(pipe.bytes.len());
        for (place, byte) in into.iter_mut().zip(pipe.bytes.drain(..n)) {
            *place = byte;
        }
        Pipe::wake(&mut pipe.writer);
        Poll::Ready(Ok(n))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0[1].lock().unwrap();
        let n = bytes.len().min(ROOM - pipe.bytes.len());
        if n == 0 {
            pipe.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        pipe.bytes.extend(&bytes[..n]);
        Pipe::wake(&mut pipe.reader);
        Poll::Ready(Ok(n))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = self.0[1].lock().unwrap();
        pipe.closed = true;
        Pipe::wake(&mut pipe.reader);
        Poll::Ready(Ok(()))
    }
}

impl Socket for End {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(HERE.into())
    }
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(HERE.into())
    }
}

/// Connections that nobody has accepted, and who waits for one.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<(VecDeque<End>, Option<Waker>)>>);

impl Network for Memory {
    fn connect(&self, _: SocketAddr) -> Connecting {
        let [ours, theirs] = End::pair();
        let mut waiting = self.0.lock().unwrap();
        waiting.0.push_back(theirs);
        Pipe::wake(&mut waiting.1);
        Box::pin(async { Ok(Box::new(ours) as Box<dyn Socket>) })
    }
    fn bind(&self, _: SocketAddr) -> io::Result<Box<dyn Accept>> {
        Ok(Box::new(self.clone()))
    }
}

impl Accept for Memory {
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Socket>>> {
        let mut waiting = self.0.lock().unwrap();
        match waiting.0.pop_front() {
            Some(end) => Poll::Ready(Ok(Box::new(end))),
            None => {
                waiting.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(HERE.into())
    }
}

/// On a runtime with a network in memory.
fn in_memory<F>(body: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(1);
    let rt = builder.network(Arc::new(Memory::default())).build();
    run(&rt.unwrap(), body);
}

#[test]
fn a_networks_stream_is_asked_again_after_it_gave_less_than_it_was_asked_for() {
    in_memory(async {
        let (mut a, mut b) = pair().await;
        let mut buffer = [0; 8];
        for sent in [&b"abc"[..], b"de", b"f"] {
            a.write_all(sent).await.unwrap();
            let n = soon(b.read(&mut buffer)).await.unwrap();
            assert_eq!(&buffer[..n], sent);
        }
        // By hand, too.
        for sent in [&b"abc"[..], b"de", b"f"] {
            a.write_all(sent).await.unwrap();
            soon(b.readable().into_future()).await;
            let n = b.try_read(&mut buffer).unwrap();
            assert_eq!(&buffer[..n], sent);
        }
    });
}

#[test]
fn a_networks_stream_is_asked_again_after_it_took_less_than_it_was_asked_for() {
    in_memory(async {
        let (mut a, mut b) = pair().await;
        let mut buffer = [0; 8];
        for _ in 0..3 {
            assert_eq!(soon(a.write(b"abcdef")).await.unwrap(), ROOM);
            assert_eq!(b.read(&mut buffer).await.unwrap(), ROOM);
        }
        for _ in 0..3 {
            soon(a.writable().into_future()).await;
            assert_eq!(a.try_write(b"abcdef").unwrap(), ROOM);
            assert_eq!(b.read(&mut buffer).await.unwrap(), ROOM);
        }
    });
}

#[test]
fn a_close_of_a_networks_stream_waits_for_no_room() {
    in_memory(async {
        let (mut a, mut b) = pair().await;
        assert_eq!(a.try_write(b"abcd").unwrap(), ROOM);
        let full = a.try_write(b"e").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        soon(a.close()).await.unwrap();
        let mut got = Vec::new();
        soon(b.read_to_end(&mut got)).await.unwrap();
        assert_eq!(got, b"abcd");
    });
}

#[test]
fn a_network_that_resolves_no_names_and_has_no_descriptors_says_so() {
    in_memory(async {
        let unsupported = |error: io::Error| assert_eq!(error.kind(), ErrorKind::Unsupported);
        unsupported(lookup_host("localhost:1").await.unwrap_err());
        let listener = TcpListener::bind(HERE).unwrap();
        unsupported(listener.descriptor().unwrap_err());
        let (a, _b) = pair().await;
        unsupported(a.descriptor().unwrap_err());
        unsupported(a.peek(&mut [0]).await.unwrap_err());
        unsupported(a.into_std().unwrap_err());
    });
}

/// Of two streams that are each other's peers: the one's writing half is dropped, and its reading half reads on.
async fn ends<S>(ours: (ReadHalf<S>, WriteHalf<S>), mut theirs: S)
where
    S: AsyncRead + AsyncWrite + Unpin,
    for<'a> &'a S: AsyncRead + AsyncWrite,
{
    let (mut reads, mut writes) = ours;
    writes.write_all(b"ask").await.unwrap();
    drop(writes);
    let mut asked = Vec::new();
    soon(theirs.read_to_end(&mut asked)).await.unwrap();
    assert_eq!(asked, b"ask");
    theirs.write_all(b"yes").await.unwrap();
    theirs.close().await.unwrap();
    let mut answer = Vec::new();
    soon(reads.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(answer, b"yes");
}

#[test]
fn a_writing_half_that_is_dropped_ends_the_writing() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (a, b) = pair().await;
        ends(a.into_split(), b).await;
        #[cfg(unix)]
        {
            let (a, b) = tidings::net::UnixStream::pair().unwrap();
            ends(a.into_split(), b).await;
        }
    });
    in_memory(async {
        let (a, b) = pair().await;
        ends(a.into_split(), b).await;
    });
}

#[test]
fn a_writing_half_that_is_forgotten_ends_nothing() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (a, mut b) = pair().await;
        let (reads, writes) = a.into_split();
        writes.forget();
        let mut whole = reads.stream();
        whole.write_all(b"more").await.unwrap();
        let mut word = [0; 4];
        soon(b.read_exact(&mut word)).await.unwrap();
        assert_eq!(&word, b"more");
    });
}
