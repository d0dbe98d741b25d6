//! Actors whose messages are the methods of a trait (`#[tidings::interface]`).

use std::future::Future;

use super::Builder;
use super::actor_ref::{ActorRef, Recipient, WeakActorRef, WeakRecipient};
use super::mailbox::Mailbox;

/// Messages that an actor whose state is an `A` handles. The macros implement it.
pub trait Dispatch<A>: Send + Sized + 'static {
    #[doc(hidden)]
    fn dispatch(self, actor: &mut A) -> impl Future<Output = ()> + Send;
}

/// A typed reference: an [`ActorRef`], a [`Recipient`], or what `#[tidings::interface]` makes.
pub trait Reference: Clone + Send + Sync + 'static {
    /// What it sends.
    type Message: Send + 'static;

    /// The same, not keeping the actor alive.
    #[doc(hidden)]
    type Weak: Clone + Send + Sync + 'static;

    #[doc(hidden)]
    fn of(actor: ActorRef<Self::Message>) -> Self;

    #[doc(hidden)]
    fn weak(&self) -> Self::Weak;

    #[doc(hidden)]
    fn strong(weak: &Self::Weak) -> Option<Self>;

    #[doc(hidden)]
    fn recipient(&self) -> Recipient<Self::Message>;
}

impl<M: Send + 'static> Reference for ActorRef<M> {
    type Message = M;
    type Weak = WeakActorRef<M>;

    fn of(actor: Self) -> Self {
        actor
    }
    fn weak(&self) -> Self::Weak {
        self.downgrade()
    }
    fn strong(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade()
    }
    fn recipient(&self) -> Recipient<M> {
        self.narrow()
    }
}

impl<I: Send + 'static> Reference for Recipient<I> {
    type Message = I;
    type Weak = WeakRecipient<I>;

    fn of(actor: ActorRef<I>) -> Self {
        actor.narrow()
    }
    fn weak(&self) -> Self::Weak {
        self.downgrade()
    }
    fn strong(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade()
    }
    fn recipient(&self) -> Self {
        self.clone()
    }
}

/// Starts an actor with this state, whose interface is that of the reference it gives.
///
/// Its methods run one after the other. It ends when it is stopped, when its last reference is
/// dropped, or when a method panics.
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// use std::time::Duration;
/// use tidings::actor;
///
/// #[tidings::interface]
/// pub trait Counter {
///     async fn add(&mut self, n: i64); // one-way: no reply
///     async fn get_and_reset(&mut self) -> i64; // call: a reply
/// }
///
/// #[derive(Default)]
/// struct Tally(i64);
///
/// impl Counter for Tally {
///     async fn add(&mut self, n: i64) {
///         self.0 += n;
///     }
///     async fn get_and_reset(&mut self) -> i64 {
///         std::mem::take(&mut self.0)
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter: CounterRef = actor::start(Tally::default());
/// counter.add(100).await.unwrap();
/// let n = counter.get_and_reset().timeout(Duration::from_secs(1)).await.unwrap();
/// assert_eq!(n, 100);
/// # });
/// ```
pub fn start<A, R>(actor: A) -> R
where
    A: Send + 'static,
    R: Reference<Message: Dispatch<A>>,
{
    Builder::new().start(actor)
}

/// Handles one message after the other.
pub(super) async fn serve<A, M: Dispatch<A>>(mut actor: A, mut mailbox: Mailbox<M>) {
    while let Ok(message) = mailbox.recv().await {
        let handled = message.dispatch(&mut actor);
        #[cfg(feature = "tracing")]
        let handled = tracing::Instrument::instrument(handled, tracing::info_span!("message"));
        handled.await;
    }
}
