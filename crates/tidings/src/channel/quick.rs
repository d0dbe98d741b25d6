//! A send or a receive that concerns nobody but who does it and the queue: most of them, where a channel is
//! busy. For `Protocol::quick` and for the mailboxes of actors.
//!
//! What is left out is what need not be done: no partner is looked for, for there is none in the list; so
//! nobody is woken, and there is no `Attempt` to carry a waker out of the lock; no wait is on record, no branch
//! committed or withdrawn. Whatever else is to be done is the long way's (`chan.rs`), from the beginning and
//! under the same lock: here nothing has happened then.

use super::chan::State;
use crate::task::here;

impl<T> State<T> {
    /// As `try_send_as`, if the value has only to be put into the queue: nobody waits for one, and nothing
    /// is noted. `false`: nothing has happened.
    #[inline(always)]
    pub(crate) fn put_quickly<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
    ) -> bool {
        let awaited = self.is_awaited();
        if awaited || self.closed | self.noted || self.is_full() {
            return false;
        }
        let Some(value) = value.take() else {
            return false;
        };
        here::gave::<T>();
        self.queue.push_back(wrap(value));
        self.grant();
        true
    }

    /// As `put_quickly`, where that was found to be so for some values to come, and nothing has changed since:
    /// nothing is looked at, and nothing is called, not even for memory, so the code is short, and saves no
    /// registers.
    #[inline(always)]
    pub(crate) fn put_behind<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
    ) -> bool {
        let put = self.queue.push_granted(value, wrap);
        if put {
            here::gave::<T>();
        }
        put
    }

    /// The next values may be put behind the one that was put just now. What ends that: who closes, who takes a
    /// place for a permit, and, in the queue, whoever takes the last value or brings one back.
    #[inline(always)]
    fn grant(&mut self) {
        // `put_quickly` has seen that there were as many places, and one more.
        let places = self.capacity() - self.reserved - self.queue.len();
        self.queue.grant(places);
    }

    /// As `try_recv`, if a value has only to be taken out of the queue: nobody waits to send one, and nothing
    /// is noted. `None`: nothing has happened.
    #[inline(always)]
    pub(crate) fn take_quickly(&mut self) -> Option<T> {
        if self.noted || !self.senders.is_empty() {
            return None;
        }
        let value = self.queue.pop_front()?;
        self.left += 1;
        Some(value)
    }

    /// Is there no place for a value, nobody to take one, and no end to hear of?
    #[inline(always)]
    pub(crate) fn is_stuffed(&self) -> bool {
        self.is_full() && !self.is_awaited() && !self.closed
    }

    /// Is there nothing to receive, nobody to receive it from, and no end to hear of?
    #[inline(always)]
    pub(crate) fn is_barren(&self) -> bool {
        self.queue.is_empty() && self.senders.is_empty() && !self.closed
    }
}
