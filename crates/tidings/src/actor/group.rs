//! Groups: actors that are reached together, as Erlang's `pg`.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::task::Poll;

use super::actor_ref::{Recipient, Reference};
use super::life::Overflow;
use super::members::{Listed, Members};
use super::tell::unsent;
use crate::channel::chan::Sent;
use crate::channel::watch;
use crate::event::Event;
use crate::primitive::Arc;

/// Puts a copy into the mailbox of each; gives how many got one.
pub(super) async fn broadcast<I: Clone + Send + 'static>(
    to: Vec<Recipient<I>>,
    message: I,
) -> usize {
    let mut sent = 0;
    let (mut full, mut copies) = (Vec::new(), Vec::new());
    // Nobody waits behind a mailbox that is full, nor one of those behind another.
    for recipient in to {
        let policy = recipient.life().overflow;
        let mut copy = Some(message.clone());
        let put = recipient.inlet().put_now(&mut copy);
        let Some(copy) = copy else {
            sent += 1;
            continue;
        };
        if put == Sent::Full && policy == Overflow::Wait {
            full.push(recipient);
            copies.push(copy);
        } else {
            let came = unsent(recipient.inlet(), put, copy).is_ok();
            sent += usize::from(came && policy != Overflow::DropNewest);
        }
    }
    let sends = full.iter().zip(copies);
    let sends = sends.map(|(recipient, copy)| Box::pin(recipient.send(copy).into_future()));
    let mut sends: Vec<_> = sends.collect();
    poll_fn(|cx| {
        sends.retain_mut(|send| match send.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(came) => {
                sent += usize::from(came.is_ok());
                false
            }
        });
        match sends.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    sent
}

/// Actors that are reached together. Clones are the same group.
///
/// A group keeps no actor alive; members leave by themselves when they end.
///
/// ```
/// use tidings::actor::{self, ActorRef, Group, Mailbox};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (said, heard) = tidings::unbounded();
/// let group = Group::new();
/// let members: Vec<ActorRef<u32>> = (0..3)
///     .map(|_| {
///         let said = said.clone();
///         actor::spawn(|mut mailbox: Mailbox<u32>| async move {
///             while let Ok(n) = mailbox.recv().await {
///                 said.send(n).await.unwrap();
///             }
///         })
///     })
///     .collect();
/// members.iter().for_each(|member| assert!(group.join(member)));
/// assert_eq!(group.broadcast(7).await, 3);
/// for _ in 0..3 {
///     assert_eq!(heard.recv().await, Ok(7));
/// }
/// members[0].stop();
/// members[0].down().await;
/// assert_eq!(group.members(), members[1..]);
/// # });
/// ```
pub struct Group<R: Reference> {
    members: Arc<Members<R::Weak>>,
}

impl<R: Reference> Group<R> {
    /// A group without members.
    #[must_use]
    pub fn new() -> Self {
        Self {
            members: Members::new(),
        }
    }

    /// Takes an actor in. `false` if it is a member already, or has ended.
    pub fn join(&self, actor: &R) -> bool {
        self.members.join(actor, actor.weak(), usize::MAX)
    }

    /// Takes an actor out. `false` if it is no member.
    pub fn leave(&self, actor: &R) -> bool {
        self.members.leave(actor)
    }

    /// The members, in the order in which they came.
    #[must_use]
    pub fn members(&self) -> Vec<R> {
        strong::<R>(&self.members.get())
    }

    /// Puts a copy of the message into the mailbox of every member, and waits for those that are
    /// full. Gives how many got one: not those that have ended, or whose policy refused or dropped it.
    ///
    /// Those that come meanwhile get none. Dropping the wait leaves the copies that are sent.
    pub async fn broadcast(&self, message: R::Message) -> usize
    where
        R::Message: Clone,
    {
        let members = self.members();
        broadcast(members.iter().map(R::recipient).collect(), message).await
    }

    /// Hears of the changes from now on (`pg:monitor`).
    #[must_use]
    pub fn changes(&self) -> Changes<R> {
        Changes::new(&self.members, strong::<R>)
    }
}

fn strong<R: Reference>(list: &Listed<R::Weak>) -> Vec<R> {
    list.iter()
        .filter_map(|(_, weak)| R::strong(weak))
        .collect()
}

impl<R: Reference> Default for Group<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Reference> Clone for Group<R> {
    fn clone(&self) -> Self {
        Self {
            members: Arc::clone(&self.members),
        }
    }
}

impl<R: Reference> fmt::Debug for Group<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u64> = self
            .members()
            .iter()
            .map(|it| it.recipient().id())
            .collect();
        f.debug_struct("Group").field("members", &ids).finish()
    }
}

/// The changes of a group or a pool, from [`Group::changes`] or [`Pool::changes`](super::Pool::changes).
pub struct Changes<R: Reference> {
    receiver: watch::Receiver<u64>,
    members: Box<dyn Fn() -> Vec<R> + Send + Sync>,
}

impl<R: Reference> Changes<R> {
    pub(super) fn new<T: Clone + Send + Sync + 'static>(
        members: &Arc<Members<T>>,
        references: fn(&Listed<T>) -> Vec<R>,
    ) -> Self {
        let receiver = members.changes();
        // It does not close: while somebody listens, the list is there.
        let members = Arc::clone(members);
        let members = Box::new(move || references(&members.get()));
        Self { receiver, members }
    }

    /// Waits until members have come or gone since the last time: an event, which gives those who
    /// are there now. Changes in between are seen as one.
    ///
    /// ```
    /// use tidings::actor::{self, ActorRef, Group, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let group = Group::<ActorRef<u32>>::new();
    /// let mut changes = group.changes();
    /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move { mailbox.recv().await.map(drop) });
    /// group.join(&actor);
    /// assert_eq!(changes.changed().await, [actor]);
    /// # });
    /// ```
    pub fn changed(&mut self) -> impl Event<Output = Vec<R>, Lost = ()> + '_ {
        let members = &self.members;
        self.receiver.changed().map(|_| members())
    }
}

impl<R: Reference> fmt::Debug for Changes<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}
