//! Timers of a mailbox loop: messages to itself, by key.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::event::{Event, never};
use crate::time::{Instant, Interval, MissedTicks, at, interval_at};

/// Messages that come later, or again and again: for a loop that waits for them beside its mailbox.
///
/// Each has a key, by which it is replaced or cancelled. They are values of the loop: nothing is in
/// a queue, so one that is cancelled never comes, also if its time had come; and all of them end
/// with the loop. (A deadline or an interval by itself needs no `Timers`:
/// [`after`](crate::after) and [`interval`](crate::time::interval) stand in the same choice. An
/// actor made of an interface has [`Shared::after`](super::Shared::after).)
///
/// ```
/// use std::time::Duration;
/// use tidings::{actor::{self, Mailbox, Timers}, select};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (closed, sessions) = tidings::unbounded();
/// let actor = actor::spawn(move |mut mailbox: Mailbox<u32>| async move {
///     // A session ends when nothing of it has come for a while.
///     let mut quiet = Timers::new();
///     loop {
///         select! {
///             message = mailbox.recv() => match message {
///                 Ok(session) => quiet.after(session, Duration::from_millis(2), session),
///                 Err(_) => return,
///             },
///             session = quiet.recv() => closed.send(session).await.unwrap(),
///         }
///     }
/// });
/// actor.send(1).await.unwrap();
/// actor.send(2).await.unwrap();
/// actor.send(1).await.unwrap();
/// assert_eq!(sessions.recv().await, Ok(2));
/// assert_eq!(sessions.recv().await, Ok(1));
/// # });
/// ```
pub struct Timers<K, M> {
    /// In the order in which they fire; those of one instant in the order set.
    due: BTreeMap<(Instant, u64), (K, M, Again<M>)>,
    keys: BTreeMap<K, (Instant, u64)>,
    set: u64,
}

/// How a timer goes on after it has fired: its ticks, and what makes the next message.
type Again<M> = Option<(Interval, fn(&M) -> M)>;

impl<K: Ord + Clone, M> Timers<K, M> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            due: BTreeMap::new(),
            keys: BTreeMap::new(),
            set: 0,
        }
    }

    /// `message` comes once, after `duration`. It replaces what has this key.
    pub fn after(&mut self, key: K, duration: Duration, message: M) {
        self.insert(Instant::now() + duration, key, message, None);
    }

    /// `message` comes every `period`, first after one. It replaces what has this key. Ticks for
    /// which the loop was too late are left out.
    ///
    /// # Panics
    /// If `period` is zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut timers = tidings::actor::Timers::new();
    /// timers.every("tick", Duration::from_millis(1), 7);
    /// assert_eq!(timers.recv().await, 7);
    /// assert_eq!(timers.recv().await, 7);
    /// assert_eq!(timers.cancel(&"tick"), Some(7));
    /// # });
    /// ```
    pub fn every(&mut self, key: K, period: Duration, message: M)
    where
        M: Clone,
    {
        let start = Instant::now() + period;
        let ticks = interval_at(start, period).missed_ticks(MissedTicks::Skip);
        self.insert(start, key, message, Some((ticks, M::clone)));
    }

    fn insert(&mut self, instant: Instant, key: K, message: M, again: Again<M>) {
        self.set += 1;
        let place = (instant, self.set);
        if let Some(old) = self.keys.insert(key.clone(), place) {
            self.due.remove(&old);
        }
        self.due.insert(place, (key, message, again));
    }

    /// Cancels a timer; gives the message that does not come.
    pub fn cancel(&mut self, key: &K) -> Option<M> {
        let place = self.keys.remove(key)?;
        self.due.remove(&place).map(|(_, message, _)| message)
    }

    /// The message of the timer that is due first, when it is due: an event. Waits for ever if none
    /// is set. A wait that is dropped, or loses a choice, leaves it for the next.
    pub fn recv(&mut self) -> impl Event<Output = M, Lost = ()> + Send + '_
    where
        K: Send,
        M: Send,
    {
        let first = self.due.first_key_value().map(|(&(instant, _), _)| instant);
        let due = first.map_or_else(|| never().boxed(), |instant| at(instant).boxed());
        due.map(|()| self.fire())
    }

    /// Takes the first, and sets it again if it goes on.
    fn fire(&mut self) -> M {
        let due = self.due.pop_first();
        let (_, (key, message, again)) = due.expect("a timer is due");
        self.keys.remove(&key);
        if let Some((mut ticks, clone)) = again {
            ticks.advance();
            self.insert(ticks.next(), key, clone(&message), Some((ticks, clone)));
        }
        message
    }

    /// How many are set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Is none set?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }
}

impl<K: Ord + Clone, M> Default for Timers<K, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, M> fmt::Debug for Timers<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.keys).finish()
    }
}
