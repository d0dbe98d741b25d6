//! Telling a server that the client went elsewhere: CML's `withNack`.

use std::fmt;
use std::pin::Pin;

use pin_project_lite::pin_project;

use super::guard::{made, made_mut};
use super::map::wrapper_methods;
use super::{Event, Protocol, into_future};
use crate::channel::ivar::IVar;

/// An event that `f` makes when it is performed, with a [`Nack`] that happens if it loses.
///
/// `f` typically sends a server a request with a reply channel and the nack; the event it
/// returns waits for the reply. If another branch of the choice wins, or the wait is dropped,
/// the nack happens, and the server stops working. It does not happen if this event wins.
///
/// A server that lends something replies over a rendezvous ([`channel`](crate::channel())), in a choice with the nack:
/// what is sent there has been taken by a wait that won. A oneshot takes a value also for a client that goes elsewhere
/// just then, so who replies over one waits for the nack after it, and takes back what was lent.
///
/// ```
/// use tidings::{Event, Sender, always, channel, event::Nack, select, unbounded, with_nack};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (requests, inbox) = unbounded::<(Sender<&str>, Nack)>();
/// let server = tidings::spawn(async move {
///     let mut lent = 0;
///     while let Ok((reply, nack)) = inbox.recv().await {
///         select! {
///             taken = reply.send("a pen") => lent += u32::from(taken.is_ok()),
///             () = nack.lost() => {}
///         }
///     }
///     lent
/// });
///
/// let (reply, lent) = channel();
/// let ask = with_nack(|nack| {
///     requests.try_send((reply, nack)).unwrap();
///     lent.recv()
/// });
/// assert_eq!(ask.await, Ok("a pen"));
///
/// let (reply, lent) = channel();
/// let ask = with_nack(|nack| {
///     requests.try_send((reply, nack)).unwrap();
///     lent.recv()
/// });
/// // The server may be as fast, on another core.
/// let again = ask.or(always(Ok("my own"))).await == Ok("a pen");
///
/// drop(requests);
/// assert_eq!(server.await.unwrap(), 1 + u32::from(again));
/// # });
/// ```
pub fn with_nack<E: Event, F: FnOnce(Nack) -> E>(f: F) -> WithNack<F, E> {
    WithNack {
        make: Some(f),
        event: None,
        nack: None,
    }
}

/// Happens when the wait it was made for went elsewhere. Clones are the same nack.
#[derive(Clone, Debug)]
pub struct Nack {
    cell: IVar<()>,
}

impl Nack {
    /// An event: the wait went elsewhere, or was dropped. Any number may wait for it.
    pub fn lost(&self) -> impl Event<Output = (), Lost = ()> + Send + '_ {
        self.cell.read().map(|()| ())
    }

    /// Has it?
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.cell.is_full()
    }
}

pin_project! {
    /// The event of [`with_nack`].
    #[must_use = "events do nothing unless awaited"]
    pub struct WithNack<F, E> {
        make: Option<F>,
        #[pin]
        event: Option<E>,
        // Until the wait is over one way or the other.
        nack: Option<Nack>,
    }

    impl<F, E> PinnedDrop for WithNack<F, E> {
        // For the wait whose guard or neighbour panicked between prepare and commit, and for the one that
        // is dropped after its partner came.
        fn drop(this: Pin<&mut Self>) {
            this.fire();
        }
    }
}

impl<F, E> WithNack<F, E> {
    /// Nobody will look at what this event gives.
    fn fire(self: Pin<&mut Self>) {
        if let Some(nack) = self.project().nack.take() {
            let _ = nack.cell.fill(());
        }
    }
}

impl<F: FnOnce(Nack) -> E, E: Event> WithNack<F, E> {
    fn event(&self) -> &E {
        made(&self.event)
    }
    fn inner(self: Pin<&mut Self>) -> Pin<&mut E> {
        made_mut(self.project().event)
    }
}

impl<F: FnOnce(Nack) -> E, E: Event> Protocol for WithNack<F, E> {
    fn prepare(self: Pin<&mut Self>) {
        let mut this = self.project();
        let make = this.make.take().expect("an event is performed once");
        let nack = Nack { cell: IVar::new() };
        *this.nack = Some(nack.clone());
        this.event.set(Some(make(nack)));
        made_mut(this.event).prepare();
    }

    fn withdraw(mut self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.as_mut().inner().withdraw(winner, locked);
        if winner.is_none() && !locked {
            self.fire();
        }
    }

    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let this = self.project();
        // First: what the event does may panic, and has won all the same.
        *this.nack = None;
        made_mut(this.event).finish(branch)
    }

    wrapper_methods!(turns);
}

impl<F: FnOnce(Nack) -> E, E: Event> Event for WithNack<F, E> {
    type Lost = E::Lost;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.inner().lost()
    }
}

into_future!(impl[F: FnOnce(Nack) -> E, E: Event] WithNack<F, E> => E::Output);

impl<F, E: fmt::Debug> fmt::Debug for WithNack<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithNack")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
