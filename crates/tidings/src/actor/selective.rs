//! Selective receive and the stash: messages that stay in the mailbox while others are taken (Erlang's receive by pattern,
//! Akka's stash).
//!
//! They lie beside the channel, and are older than all that is in it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::life::Life;
use super::mailbox::{Ended, Mailbox};
use super::parcel::Parcel;
use crate::channel::chan::Chan;
use crate::task::here;

/// Room for so many messages that were passed over is kept when none is there.
const KEPT: usize = 4;

type Parcels<M> = VecDeque<Parcel<M>>;

/// What lies beside the channel. Every mailbox looks there, and few put something: so what is done with it is in a table
/// that those make, and is compiled for the messages of no other.
pub(super) struct Passed<M> {
    pub(super) parcels: Parcels<M>,
    /// Takes the one at this place.
    pub(super) take: fn(&mut Parcels<M>, usize) -> Option<Parcel<M>>,
    /// Puts them back into the channel.
    pub(super) give_back: fn(Parcels<M>, &Chan<Parcel<M>, Life>),
}

impl<M> Default for Passed<M> {
    fn default() -> Self {
        Self {
            parcels: Parcels::new(),
            take: |parcels, place| {
                let taken = parcels.remove(place);
                if parcels.is_empty() {
                    // Nothing stays of a burst.
                    parcels.shrink_to(KEPT);
                }
                taken
            },
            give_back: |parcels, chan| {
                for parcel in parcels.into_iter().rev() {
                    chan.give_back(parcel);
                }
            },
        }
    }
}

impl<M> Mailbox<M> {
    /// Selective receive (Erlang's `receive`, F#'s `Scan`): the first message that `choose` takes,
    /// as what it makes of it; the others stay, in their order.
    ///
    /// It looks beyond the capacity, or a full mailbox in which it finds nothing would never take what it waits for: a
    /// message that is passed over leaves its place to the next, and is [queued](super::ActorRef::queued) still. So of
    /// what comes while it waits any number is kept; a deadline bounds it.
    ///
    /// `choose` gives a message it does not want back. Dropping the wait loses nothing: so with a
    /// [`time::timeout`](crate::time::timeout) it is Erlang's `receive .. after`. It is a future, and no
    /// event that could stand in a choice.
    ///
    /// # Errors
    /// Once the actor is to end and `choose` takes nothing of what is left.
    ///
    /// ```
    /// use tidings::actor;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let even_first = actor::spawn(move |mut mailbox| async move {
    ///     let even = |n: u32| if n % 2 == 0 { Ok(n) } else { Err(n) };
    ///     let first = mailbox.scan(even).await.unwrap();
    ///     let second = mailbox.recv().await.unwrap();
    ///     done.send((first, second)).await.unwrap();
    /// });
    /// for n in [1, 3, 4] {
    ///     even_first.send(n).await.unwrap();
    /// }
    /// assert_eq!(seen.recv().await, Ok((4, 1)));
    /// # });
    /// ```
    ///
    /// With a deadline:
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{actor, time::timeout};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let patient = actor::spawn(move |mut mailbox| async move {
    ///     let even = |n: u32| if n % 2 == 0 { Ok(n) } else { Err(n) };
    ///     let first = match timeout(Duration::from_millis(5), mailbox.scan(even)).await {
    ///         Ok(first) => first.unwrap(),
    ///         // None came: all that did are still there.
    ///         Err(_) => mailbox.recv().await.unwrap(),
    ///     };
    ///     done.send(first).await.unwrap();
    /// });
    /// patient.send(1).await.unwrap();
    /// patient.send(3).await.unwrap();
    /// assert_eq!(seen.recv().await, Ok(1));
    /// # });
    /// ```
    pub async fn scan<T>(&mut self, mut choose: impl FnMut(M) -> Result<T, M>) -> Result<T, Ended> {
        self.is_up();
        if self.hears_to_end() {
            return Err(Ended::said());
        }
        let mut seen = self.stashed();
        let mut fresh = false;
        loop {
            // What was passed over before, and what `recv` gives, in one queue: nothing is in our
            // hands across the wait. While one is looked at, the last stands in its place, so that
            // the others are not moved up for each.
            while let Some(parcel) = self.passed_over().swap_remove_back(seen) {
                match catch_unwind(AssertUnwindSafe(|| choose(self.open(parcel)))) {
                    Ok(Err(message)) => {
                        let parcel = self.again(message);
                        let passed = self.passed_over();
                        passed.push_back(parcel);
                        passed.swap(seen, passed.len() - 1);
                    }
                    Ok(Ok(taken)) => {
                        self.last_goes_back(seen);
                        self.keeps();
                        if !fresh {
                            here::note(here::PASSED);
                        }
                        return Ok(taken);
                    }
                    Err(panic) => {
                        self.last_goes_back(seen);
                        self.keeps();
                        resume_unwind(panic);
                    }
                }
                seen += 1;
            }
            let message = self.fresh().await?;
            fresh = true;
            let parcel = self.again(message);
            self.passed_over().push_back(parcel);
            self.keeps();
        }
    }

    /// The message that was last among those passed over stands at `place`: back, behind the others.
    fn last_goes_back(&mut self, place: usize) {
        let passed = self.passed_over();
        if let Some(last) = passed.remove(place) {
            passed.push_back(last);
        }
    }

    /// Keeps a message for later: no receive gives it until [`unstash`](Self::unstash). It stays in
    /// the mailbox: if the actor ends first, its caller hears that it was not executed. A message that
    /// the actor has made itself can be stashed, too, and is then as one that has come.
    ///
    /// # Errors
    /// Gives the message back if as many are kept as the mailbox holds.
    ///
    /// ```
    /// use tidings::actor;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let actor = actor::spawn(move |mut mailbox| async move {
    ///     // Numbers wait until it is open.
    ///     while let Ok(message) = mailbox.recv().await {
    ///         match message {
    ///             "open" => break,
    ///             early => mailbox.stash(early).unwrap(),
    ///         }
    ///     }
    ///     mailbox.unstash();
    ///     while let Ok(number) = mailbox.recv().await {
    ///         done.send(number).await.unwrap();
    ///     }
    /// });
    /// for message in ["1", "2", "open", "3"] {
    ///     actor.send(message).await.unwrap();
    /// }
    /// for number in ["1", "2", "3"] {
    ///     assert_eq!(seen.recv().await, Ok(number));
    /// }
    /// # });
    /// ```
    pub fn stash(&mut self, message: M) -> Result<(), M> {
        let capacity = self.chan().locked(|state| state.capacity());
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        if self.stashed >= capacity {
            return Err(message);
        }
        let at = self.stashed();
        let parcel = self.again(message);
        self.passed_over().insert(at, parcel);
        self.stashed += 1;
        let kept = self.passed_over().len();
        self.chan().locked(|state| state.is_kept(kept));
        self.keeps();
        Ok(())
    }

    /// Puts the stash back, before all other messages, in the order in which it was stashed.
    pub fn unstash(&mut self) {
        self.stashed = 0;
    }

    /// How many messages are stashed.
    #[must_use]
    pub fn stashed(&self) -> usize {
        self.stashed as usize
    }

    fn passed_over(&mut self) -> &mut Parcels<M> {
        self.special = true;
        &mut self.passed.get_or_insert_default().parcels
    }
}
