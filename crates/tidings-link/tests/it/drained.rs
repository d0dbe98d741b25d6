//! A link that drains over a stream that keeps what it takes while it cannot give it away, as TLS does.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite};
use tidings::actor::{self, Reply};
use tidings_link::memory::{self, Pipe};
use tidings_link::{Exports, Options, link};

use crate::faults::run;

#[derive(Default)]
struct Way {
    blocked: bool,
    waits: Option<Waker>,
}

struct Keeps {
    pipe: Pipe,
    bytes: Vec<u8>,
    way: Arc<Mutex<Way>>,
}

impl AsyncRead for Keeps {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_read(cx, to)
    }
}

impl AsyncWrite for Keeps {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bytes.extend_from_slice(from);
        let _ = self.poll_flush(cx)?;
        Poll::Ready(Ok(from.len()))
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let mut way = this.way.lock().unwrap();
        if way.blocked {
            way.waits = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(way);
        while !this.bytes.is_empty() {
            let n = ready!(Pin::new(&mut this.pipe).poll_write(cx, &this.bytes))?;
            this.bytes.drain(..n);
        }
        Poll::Ready(Ok(()))
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.pipe).poll_close(cx)
    }
}

#[tidings::interface(remote)]
trait Later {
    async fn ask(&mut self, reply: Reply<i64>);
}

struct Hands(tidings::Sender<Reply<i64>>);

impl Later for Hands {
    async fn ask(&mut self, reply: Reply<i64>) {
        let _ = self.0.try_send(reply);
    }
}

#[test]
fn the_last_answer_is_given_away_before_a_link_that_drains_ends() {
    run(10, || async {
        let (to, replies) = tidings::unbounded();
        let here: LaterRef = actor::start(Hands(to));
        let way = Arc::<Mutex<Way>>::default();
        let (ours, theirs) = memory::pipe();
        let ours = Keeps {
            pipe: ours,
            bytes: Vec::new(),
            way: Arc::clone(&way),
        };
        let exports = Exports::new().add("later", &here);
        let (_server, driver) = link(ours, Options::new("server").exports(exports));
        drop(tidings::spawn(driver));
        let (client, driver) = link(theirs, Options::new("client"));
        drop(tidings::spawn(driver));
        let there: LaterRef = client.get("later").await.unwrap();
        let call = tidings::spawn(async move { there.ask().await });
        let reply = replies.recv().await.unwrap();
        client.drain();
        // Both have said so.
        tidings::after(Duration::from_secs(1)).await;
        way.lock().unwrap().blocked = true;
        let _ = reply.send(7);
        tidings::after(Duration::from_secs(1)).await;
        let waits = {
            let mut way = way.lock().unwrap();
            way.blocked = false;
            way.waits.take()
        };
        if let Some(waker) = waits {
            waker.wake();
        }
        assert_eq!(call.await.unwrap().unwrap(), 7);
    });
}
