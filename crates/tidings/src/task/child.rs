//! A task that belongs to somebody: a set or a scope, which is told when the task ends.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::handle::panic_message;
use super::waker::quietly;

/// Who is told of a task's end.
pub(crate) trait Parent<T> {
    /// What the task itself gives.
    type Output;

    /// The future is gone, and has given `output` or panicked. Not called if it was aborted.
    fn ended(&mut self, output: Result<T, Box<dyn Any + Send>>) -> Poll<Self::Output>;
}

/// The future of a child. Its own future is dropped before its parent hears that it has ended.
pub(crate) struct Child<F, P> {
    /// Dropped first: fields are dropped in this order.
    future: Option<F>,
    parent: P,
}

impl<F, P> Child<F, P> {
    /// Without a future it stays pending.
    pub(crate) fn new(future: Option<F>, parent: P) -> Self {
        Self { future, parent }
    }
}

impl<F: Future, P: Parent<F::Output>> Future for Child<F, P> {
    type Output = P::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<P::Output> {
        // SAFETY: the future stays pinned; the parent is not pinned at all.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let Some(running) = future.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let output = match catch_unwind(AssertUnwindSafe(|| running.poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        // Its drop is user code too: a panic there is the child's.
        let dropped = catch_unwind(AssertUnwindSafe(|| future.set(None)));
        let output = match dropped {
            Ok(()) => output,
            Err(panic) => {
                quietly(|| drop(output));
                Err(panic)
            }
        };
        this.parent.ended(output)
    }
}

/// What a panic says.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    panic_message(panic)
        .unwrap_or("a panic that is not text")
        .to_owned()
}

/// Ends the task as panicked, for its own handle and the runtime's count, while the panic itself
/// has gone to the parent. The panic hook has run and does not run again.
pub(crate) fn resume(text: String) -> ! {
    std::panic::resume_unwind(Box::new(text));
}
