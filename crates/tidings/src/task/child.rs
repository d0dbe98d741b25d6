//! A task that belongs to somebody: a set or a scope, which is told when the task ends.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::panic::of_child;
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
            Err(panic) => Err(of_child(panic)),
        };
        // Its drop is user code too: a panic there is the child's.
        let dropped = catch_unwind(AssertUnwindSafe(|| future.set(None)));
        let output = match dropped {
            Ok(()) => output,
            Err(panic) => {
                quietly(|| drop(output));
                Err(of_child(panic))
            }
        };
        this.parent.ended(output)
    }
}
