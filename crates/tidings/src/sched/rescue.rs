//! A task that is ready does not wait for one that computes: who has nothing to do looks at the others.
//!
//! A worker's queue is its own, so what is queued behind a long poll waits for its end, unless a neighbour
//! takes it. One that sleeps while others are busy wakes now and then, and looks whether one of them is in
//! the turn in which it was seen before; a busy one looks every so many turns (`worker.rs`). If all slept
//! when it was quiet, `watch.rs` wakes one. Long polls are noted on the way (`long.rs`).

use std::time::Duration;

use super::worker::Worker;
use crate::primitive::atomic::Ordering;
use crate::task::{Task, drop_quietly, wake_quietly};
use crate::time::{self, Instant};

/// How long a neighbour may be in one poll before its private work is taken from it.
pub(super) const STUCK: Duration = Duration::from_micros(250);
/// A poll that took so long is noted.
const LONG: Duration = Duration::from_millis(1);

/// What a worker has seen of a neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    turn: u32,
    /// When it was first seen in this turn.
    since: Instant,
    /// When something was taken from it in this turn.
    taken: Option<Instant>,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            turn: 0,
            since: Instant::from_nanos(0),
            taken: None,
        }
    }
}

impl Worker {
    /// Takes the private work of neighbours that have been in one poll for too long. `true`:
    /// there is work now.
    #[cold]
    pub(super) fn rescue(&self) -> bool {
        let now = time::system();
        let mut rescued = false;
        for (index, remote) in self.shared.remotes.iter().enumerate() {
            if index == self.index() {
                continue;
            }
            let turn = remote.turn.load(Ordering::Relaxed);
            let seen = {
                let mut watched = self.watched.borrow_mut();
                let seen = &mut watched[index];
                if seen.turn != turn {
                    *seen = Watched {
                        turn,
                        since: now,
                        taken: None,
                    };
                }
                *seen
            };
            let stands = now.saturating_since(seen.taken.unwrap_or(seen.since));
            if stands < STUCK || self.shared.idle.is_sleeping(index) {
                continue;
            }
            if now.saturating_since(seen.since) >= LONG
                && let Some(polled) = Task::polled(remote.running.load(Ordering::Relaxed))
            {
                self.shared
                    .long_polls
                    .note(index, turn, seen.since, now, polled);
            }
            let mut tasks = Vec::new();
            let mut due = self.due.take();
            remote.local.revoke(|local| {
                tasks.extend(local.drain());
                remote.sent.take_all(|task| tasks.push(task));
                if !local.timers.is_idle() {
                    local.timers.refresh(Instant::now(), &mut due.0, &mut due.1);
                }
            });
            rescued |= !tasks.is_empty() || !due.0.is_empty();
            drop_quietly(due.1.drain(..));
            // To the inbox of the stuck one: we take half of it, others the rest.
            self.shared.push_to(index, tasks);
            wake_quietly(due.0.drain(..));
            self.due.replace(due);
            self.watched.borrow_mut()[index].taken = Some(now);
        }
        rescued
    }
}
