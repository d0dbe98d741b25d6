//! What a channel has carried: counters that whoever has its lock keeps anyway, so that they cost
//! nothing until somebody looks.

use super::chan::Chan;
use super::source::Side;
use super::{Receiver, Sender};

/// A channel, as [`Sender::counts`] or [`Receiver::counts`] found it: one moment's picture, but for
/// the handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ChannelCounts {
    /// Values that it has taken from senders. One whose send waits, or was given back, is none of them.
    pub sent: u64,
    /// Values that have left it: received, or dropped because no receiver was left. One that came
    /// back because its receive was dropped has not left.
    pub received: u64,
    /// Values in the queue: `sent - received`.
    pub queued: usize,
    /// Handles that send, the weak ones apart.
    pub senders: usize,
    /// Handles that receive, the weak ones apart.
    pub receivers: usize,
    /// Does a send wait? With `receiver_waits` false, its receivers are slower than its senders.
    pub sender_waits: bool,
    /// Does a receive wait?
    pub receiver_waits: bool,
}

impl<T> Chan<T> {
    fn counts(&self) -> ChannelCounts {
        let (senders, receivers) = (self.count(Side::Sender), self.count(Side::Receiver));
        self.locked(|state| ChannelCounts {
            sent: state.come(),
            received: state.left(),
            queued: state.len(),
            senders,
            receivers,
            sender_waits: state.is_offered(),
            receiver_waits: state.is_awaited(),
        })
    }
}

impl<T> Sender<T> {
    /// What the channel has carried so far, and who waits: for metrics. It takes the channel's lock
    /// for a moment.
    ///
    /// ```
    /// let (tx, rx) = tidings::unbounded();
    /// tx.try_send('a').unwrap();
    /// tx.try_send('b').unwrap();
    /// assert_eq!(rx.try_recv(), Ok('a'));
    /// let counts = tx.counts();
    /// assert_eq!((counts.sent, counts.received, counts.queued), (2, 1, 1));
    /// assert_eq!((counts.senders, counts.receivers), (1, 1));
    /// ```
    #[must_use]
    pub fn counts(&self) -> ChannelCounts {
        self.chan().counts()
    }
}

impl<T> Receiver<T> {
    /// As [`Sender::counts`].
    #[must_use]
    pub fn counts(&self) -> ChannelCounts {
        self.chan().counts()
    }
}
