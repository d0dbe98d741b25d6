//! Polls that take long, as their neighbours see them.
//!
//! A worker that keeps watch (`Worker::rescue`) sees that another has not taken a turn for a
//! millisecond; it notes who that is. So the workers measure nothing themselves. A runtime with one
//! worker has nobody to see it.

use std::collections::VecDeque;
use std::panic::Location;
use std::time::Duration;

use crate::primitive::{Mutex, lock};
use crate::time::Instant;

/// So many are kept.
const KEPT: usize = 32;

/// A poll that was seen to take a millisecond or longer.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LongPoll {
    /// The actor, by its name and number, or the task, by where it was spawned.
    pub who: String,
    /// The worker that it held.
    pub worker: usize,
    /// How long it was seen to take, at least.
    pub took: Duration,
}

#[derive(Debug, Default)]
pub(super) struct LongPolls(Mutex<VecDeque<Seen>>);

#[derive(Debug)]
struct Seen {
    worker: usize,
    turn: u32,
    since: Instant,
    poll: LongPoll,
}

/// Who is polled: as waits know the task, and where it was spawned.
pub(super) type Polled = (usize, &'static Location<'static>);

impl LongPolls {
    /// The worker has been in this turn since `since` or longer, as of `now`.
    #[cold]
    pub(super) fn note(
        &self,
        worker: usize,
        turn: u32,
        since: Instant,
        now: Instant,
        polled: Polled,
    ) {
        let known = |seen: &&mut Seen| seen.worker == worker && seen.turn == turn;
        if let Some(seen) = lock(&self.0).iter_mut().rev().find(known) {
            seen.poll.took = now.saturating_since(seen.since);
            return;
        }
        let (address, at) = polled;
        let who = match crate::actor::names_of_tasks().remove(&address) {
            Some(actor) => actor.name.to_string(),
            None => format!("the task spawned at {at}"),
        };
        let poll = LongPoll {
            who,
            worker,
            took: now.saturating_since(since),
        };
        let seen = Seen {
            worker,
            turn,
            since,
            poll,
        };
        let mut kept = lock(&self.0);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(seen);
    }

    pub(super) fn all(&self) -> Vec<LongPoll> {
        lock(&self.0).iter().map(|seen| seen.poll.clone()).collect()
    }
}
