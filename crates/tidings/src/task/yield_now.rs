//! Lets other tasks run.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Goes to the back of the queue once, so that the other tasks of this worker run first.
///
/// Works on any executor. Dropping the future before it completes has no effect.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// tidings::yield_now().await;
/// # });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
