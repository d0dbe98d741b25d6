//! A stream whose items come one after another out of what gives them: as `futures::stream::unfold`, but that it may
//! be moved between polls, as who polls a stream likes to.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

/// See [`unfold`].
struct Unfold<S, F, W, G> {
    next: F,
    give: G,
    /// Not there while it is waited for the next item, and after the last.
    from: Option<S>,
    /// The place of the wait is allocated once.
    wait: Pin<Box<Option<W>>>,
}

/// What `next` gives: what `give` makes an item of, and what the one after it comes from, or the end. A wait that is
/// dropped with the stream is a dropped wait of what it comes from. `give` may panic, and the stream go on; `next` not.
pub(crate) fn unfold<S, T, U, F, W, G>(from: S, next: F, give: G) -> impl Stream<Item = U> + Unpin
where
    S: Unpin,
    F: FnMut(S) -> W + Unpin,
    W: Future<Output = Option<(T, S)>>,
    G: FnMut(T) -> U + Unpin,
{
    Unfold {
        next,
        give,
        from: Some(from),
        wait: Box::pin(None),
    }
}

impl<S, T, U, F, W, G> Stream for Unfold<S, F, W, G>
where
    S: Unpin,
    F: FnMut(S) -> W + Unpin,
    W: Future<Output = Option<(T, S)>>,
    G: FnMut(T) -> U + Unpin,
{
    type Item = U;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<U>> {
        let this = self.get_mut();
        if let Some(from) = this.from.take() {
            this.wait.set(Some((this.next)(from)));
        }
        let Some(wait) = this.wait.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let Poll::Ready(given) = wait.poll(cx) else {
            return Poll::Pending;
        };
        this.wait.set(None);
        Poll::Ready(given.map(|(item, from)| {
            this.from = Some(from);
            (this.give)(item)
        }))
    }
}
