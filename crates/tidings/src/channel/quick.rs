//! A send or a receive that concerns nobody but who does it and the queue: most of them, where a channel is
//! busy. For `Event::quick` and for the mailboxes of actors.
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
        true
    }

    /// As `put_quickly`, if values are there already (so that nobody waits for one: I2), and a place behind them:
    /// where nothing is called, not even for memory, the code is short, and saves no registers.
    #[inline(always)]
    pub(crate) fn put_behind<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
    ) -> bool {
        if self.closed | self.noted || self.is_full() {
            return false;
        }
        here::gave::<T>();
        self.queue.push_behind(value, wrap)
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
}
