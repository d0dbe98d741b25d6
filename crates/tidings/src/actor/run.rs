//! The task of an actor: runs its function, and settles what it leaves behind.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::call::CallError;
use super::cycle;
use super::exit::{Exit, IntoExit, handling, leaving};
use super::life::Life;
use crate::channel::refs::ReceiverRef;

/// The future of an actor's task.
///
/// The end, in this order: the function's state is dropped, and callers whose requests it holds hear
/// why; the exit is recorded; the mailbox is closed and emptied, whose callers hear it, too; its
/// names and memberships end; and whoever waits for the end hears of it. So a send that fails knows the exit. It keeps a receiver
/// of the mailbox: what the function leaves there is dropped when the reason is known.
pub(super) struct Run<M, F> {
    /// With the mailbox and the actor's state in it.
    future: Option<F>,
    chan: ReceiverRef<M, Life>,
    /// Entered whenever it runs.
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl<M, F> Run<M, F> {
    pub(super) fn new(future: F, chan: ReceiverRef<M, Life>) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            span: {
                let life = chan.beside();
                let name = life.name();
                tracing::info_span!("actor", id = life.id, name = name.as_deref())
            },
            future: Some(future),
            chan,
        }
    }

    fn end(&mut self, exit: Exit) {
        let future = &mut self.future;
        // Its drop is user code: a panic there is the actor's.
        let dropped = leaving(CallError::Ended(exit.clone()), || {
            catch_unwind(AssertUnwindSafe(|| *future = None))
        });
        let exit = match dropped {
            Ok(()) => exit,
            Err(panic) => Exit::panicked(&*panic),
        };
        self.chan.beside().record(&exit);
        self.discard(exit);
        self.chan.beside().leave();
        self.chan.beside().announce();
    }

    /// Nobody will receive any more.
    fn discard(&self, exit: Exit) {
        // The drop of a message is user code, too; there is nobody left whose panic it could be.
        let _ = leaving(CallError::NotExecuted(exit), || {
            catch_unwind(AssertUnwindSafe(|| self.chan.discard()))
        });
    }
}

impl<M, F: Future<Output: IntoExit>> Future for Run<M, F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future stays pinned until it is dropped in place; nothing else is pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let Some(mut future) = future.as_pin_mut() else {
            return Poll::Ready(());
        };
        #[cfg(feature = "tracing")]
        let span = this.span.clone();
        #[cfg(feature = "tracing")]
        let _entered = span.enter();
        let polled = loop {
            cycle::begin(this.chan.beside());
            let polled = handling(|| future.as_mut().poll(cx));
            if !cycle::end(this.chan.beside(), matches!(polled, Ok(Poll::Pending))) {
                break polled;
            }
        };
        let exit = match polled {
            Ok(Poll::Pending) => {
                if this.chan.beside().is_deaf() {
                    this.discard(Exit::Normal);
                }
                return Poll::Pending;
            }
            Ok(Poll::Ready(output)) => match output.into_exit() {
                Exit::Normal if this.chan.beside().was_stopped() => Exit::Stopped,
                exit => exit,
            },
            Err(exit) => exit,
        };
        this.end(exit);
        Poll::Ready(())
    }
}

impl<M, F> Drop for Run<M, F> {
    fn drop(&mut self) {
        // Aborted, or its runtime has shut down.
        if self.future.is_some() {
            self.end(Exit::Killed);
        }
    }
}
