//! What the tests of cells share: polling by hand, and chance without a clock.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tidings::{Event, Runtime};

pub(crate) fn rt() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

/// Polls a pinned future once, with a waker that does nothing.
pub(crate) fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a new wait once, which must not be ready, and drops it.
pub(crate) fn poll_and_drop<F: IntoFuture>(wait: F) {
    assert!(poll(pin!(wait.into_future())).is_pending());
}

/// Runs a future on a tokio runtime with two workers.
pub(crate) fn on_tokio<F>(future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    tokio.block_on(async { tokio::spawn(future).await.unwrap() })
}

/// xorshift: the same numbers every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// Performs an event, or drops it after one poll, or after a time that may be too short.
    pub(crate) async fn maybe<E: Event>(&mut self, event: E) -> Option<E::Output> {
        match self.below(4) {
            0 => {
                let mut event = pin!(event.into_future());
                let mut polled = false;
                std::future::poll_fn(|cx| match event.as_mut().poll(cx) {
                    Poll::Ready(output) => Poll::Ready(Some(output)),
                    Poll::Pending if polled => Poll::Ready(None),
                    Poll::Pending => {
                        polled = true;
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                })
                .await
            }
            n => event.timeout(Duration::from_micros(n * n * 20)).await.ok(),
        }
    }
}
