//! Actors whose messages are the methods of a trait (`#[tidings::interface]`).

use std::future::Future;

use super::Builder;
use super::actor_ref::ActorRef;
use super::mailbox::Mailbox;

/// Messages that an actor whose state is an `A` handles. The macros implement it.
pub trait Dispatch<A>: Send + Sized + 'static {
    #[doc(hidden)]
    fn dispatch(self, actor: &mut A) -> impl Future<Output = ()> + Send;
}

/// A typed reference: an [`ActorRef`], or what `#[tidings::interface]` makes.
pub trait Reference {
    /// What it sends.
    type Message: Send + 'static;

    #[doc(hidden)]
    fn of(actor: ActorRef<Self::Message>) -> Self;
}

impl<M: Send + 'static> Reference for ActorRef<M> {
    type Message = M;

    fn of(actor: Self) -> Self {
        actor
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

/// Handles one message after the other, until the actor is to end; gives the state back.
///
/// This is all that [`start`] does with a mailbox. What an actor does when it starts, starts anew
/// or stops in order is what stands around it (others call these hooks):
///
/// ```
/// use tidings::actor::{self, Child, Mailbox, Strategy, Supervisor};
///
/// #[tidings::interface]
/// trait Journal {
///     async fn write(&mut self, line: String) -> usize;
/// }
///
/// struct File(Vec<String>);
///
/// impl File {
///     async fn open() -> std::io::Result<Self> {
///         Ok(Self(Vec::new()))
///     }
///     async fn close(self) -> std::io::Result<()> {
///         Ok(())
///     }
/// }
///
/// impl Journal for File {
///     async fn write(&mut self, line: String) -> usize {
///         self.0.push(line);
///         self.0.len()
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let child = Child::new(|mut mailbox: Mailbox<JournalMessage>| async move {
///     // Started, or started anew: `mailbox.incarnation()` says which. An error is a failed start.
///     let file = File::open().await?;
///     mailbox.on_undelivered(|_message, why| eprintln!("not written: the journal {why}"));
///     let file = actor::serve(file, &mut mailbox).await;
///     // To stop in order. After a panic or a kill only `drop` runs.
///     file.close().await
/// });
/// let journal: JournalRef = child.reference();
/// let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
/// assert_eq!(journal.write("begun".to_owned()).await.unwrap(), 1);
/// supervisor.stop();
/// assert!(journal.down().await.is_orderly());
/// # });
/// ```
#[expect(
    clippy::manual_async_fn,
    reason = "the future of one keeps its arguments twice"
)]
pub fn serve<A: Send, M: Dispatch<A>>(
    mut actor: A,
    mailbox: &mut Mailbox<M>,
) -> impl Future<Output = A> + Send {
    async move {
        while let Ok(message) = mailbox.recv().await {
            message.dispatch(&mut actor).await;
        }
        actor
    }
}
