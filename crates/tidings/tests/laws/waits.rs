//! Ways to wait for an event, among them all that an executor or a user may do to a wait.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tidings::Event;

/// What the engine lets parties do to their waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Powers {
    /// So many waits of each party are anything but plain.
    pub(crate) strange: u64,
    /// Time-outs and sleeps: there is a clock.
    pub(crate) timers: bool,
    /// A party has a thread of its own, which may wait inside a poll.
    pub(crate) blocks: bool,
    /// There are other threads, which may poll too, and wakers that take their time.
    pub(crate) threads: bool,
    /// Parties may panic between two acts.
    pub(crate) dies: bool,
}

/// One way to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Plain,
    /// Dropped after so many polls.
    GiveUp(u64),
    Timeout(Duration),
    /// Another waker at every poll; slow to wake.
    Wakers {
        slow: bool,
    },
    /// Polled once with a waker that nobody hears, on another thread if there are some.
    Moved {
        thread: bool,
    },
    /// On this thread, which waits.
    Block,
}

/// Waits; `None` if the wait was given up.
pub(crate) async fn wait<E>(way: Way, event: E) -> Option<E::Output>
where
    E: Event + Send,
    E::Output: Send,
{
    match way {
        Way::Plain => Some(event.await),
        Way::GiveUp(polls) => give_up(event.into_future(), polls).await,
        Way::Timeout(duration) => event.timeout(duration).await.ok(),
        Way::Wakers { slow } => {
            let mut wait = pin!(event.into_future());
            Some(
                poll_fn(|cx| {
                    let other = Waker::from(Arc::new(Other {
                        waker: cx.waker().clone(),
                        slow,
                    }));
                    wait.as_mut().poll(&mut Context::from_waker(&other))
                })
                .await,
            )
        }
        Way::Moved { thread } => {
            let mut wait = Box::pin(event.into_future());
            let first = if thread {
                std::thread::scope(|scope| scope.spawn(|| poll_once(wait.as_mut())).join().unwrap())
            } else {
                poll_once(wait.as_mut())
            };
            match first {
                Poll::Ready(output) => Some(output),
                Poll::Pending => Some(wait.await),
            }
        }
        Way::Block => Some(event.wait()),
    }
}

/// Polls so often, letting others run in between, and drops the wait.
pub(crate) async fn give_up<F: Future>(wait: F, polls: u64) -> Option<F::Output> {
    let mut wait = pin!(wait);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = wait.as_mut().poll(cx).map(Some);
        if polled.is_pending() {
            cx.waker().wake_by_ref();
        }
        polled
    })
    .await
}

/// Lets others run.
pub(crate) async fn pause() {
    give_up(std::future::pending::<()>(), 1).await;
}

fn poll_once<F: Future>(wait: Pin<&mut F>) -> Poll<F::Output> {
    wait.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that is not the executor's own.
struct Other {
    waker: Waker,
    slow: bool,
}

impl Wake for Other {
    fn wake(self: Arc<Self>) {
        if self.slow {
            std::thread::sleep(Duration::from_micros(20));
        }
        self.waker.wake_by_ref();
    }
}
