//! Polls that take long, as their neighbours see them.
//!
//! A worker that keeps watch (`Worker::rescue`) sees that another has not taken a turn for a
//! millisecond; it notes who that is. So the workers measure nothing themselves. A runtime with one
//! worker has nobody to see it.

use std::collections::VecDeque;
use std::panic::Location;
use std::time::Duration;

use crate::primitive::{Arc, Mutex, lock};
use crate::task;
use crate::time::Instant;

/// So many are kept.
const KEPT: usize = 32;

/// A poll that was seen to take a millisecond or longer.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LongPoll {
    /// The actor, by its name or number, if it still lives; or the task, by its [name](crate::task::named) and where it
    /// was started.
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
    took: Duration,
    polled: Polled,
    /// Of the task, while it had one.
    name: Option<Arc<str>>,
    /// Actors from this number on came later.
    later: u64,
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
            seen.took = now.saturating_since(seen.since);
            return;
        }
        // Who that is takes a look at all actors, which is for those who want to know.
        let seen = Seen {
            worker,
            turn,
            since,
            took: now.saturating_since(since),
            polled,
            name: task::name_of(polled.0),
            later: crate::actor::coming_id(),
        };
        let mut kept = lock(&self.0);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(seen);
    }

    pub(super) fn all(&self) -> Vec<LongPoll> {
        if lock(&self.0).is_empty() {
            return Vec::new();
        }
        // Not under the lock, which a worker might wait for.
        let names = crate::actor::names_of_tasks();
        let who = |seen: &Seen| {
            let (address, at) = seen.polled;
            // Its place may be another's by now.
            let actor = names.get(&address);
            match actor.filter(|actor| actor.id < seen.later) {
                Some(actor) => actor.name.to_string(),
                None => format!("the {}", task::words(seen.name.as_deref(), at)),
            }
        };
        let poll = |seen: &Seen| LongPoll {
            who: who(seen),
            worker: seen.worker,
            took: seen.took,
        };
        lock(&self.0).iter().map(poll).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::Location;
    use std::time::Duration;

    use super::{Instant, KEPT, LongPolls, Seen, lock};

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// By worker and milliseconds.
    fn seen(polls: &LongPolls) -> Vec<(usize, u128)> {
        let all = polls.all().into_iter();
        all.map(|poll| (poll.worker, poll.took.as_millis()))
            .collect()
    }

    #[test]
    fn a_poll_that_is_seen_again_takes_longer_and_another_is_another() {
        let polls = LongPolls::default();
        let task = (0, Location::caller());
        polls.note(1, 7, at(10), at(11), task);
        polls.note(2, 7, at(10), at(12), task);
        polls.note(1, 8, at(20), at(23), task);
        // Each of them once more.
        polls.note(1, 7, at(10), at(14), task);
        polls.note(2, 7, at(10), at(15), task);
        polls.note(1, 8, at(20), at(26), task);
        assert_eq!(seen(&polls), [(1, 4), (2, 5), (1, 6)]);
        assert_eq!(polls.all()[0].took, Duration::from_millis(4));
    }

    #[test]
    fn of_many_long_polls_the_last_are_kept() {
        let polls = LongPolls::default();
        for worker in 0..KEPT + 3 {
            polls.note(worker, 1, at(0), at(1), (0, Location::caller()));
        }
        let workers: Vec<usize> = seen(&polls).iter().map(|poll| poll.0).collect();
        assert_eq!(workers, (3..KEPT + 3).collect::<Vec<_>>());
    }

    #[test]
    fn an_actor_that_came_later_has_nothing_to_do_with_a_poll_at_its_place() {
        let runtime = crate::Runtime::builder().workers(1).build().unwrap();
        let actor = runtime.block_on(async {
            let name = "an actor of sched/long.rs";
            let actor = crate::actor::Builder::new().name(name);
            actor.spawn(|mut mailbox: crate::actor::Mailbox<()>| async move {
                while mailbox.recv().await.is_ok() {}
            })
        });
        let (task, id) = std::iter::repeat_with(crate::actor::names_of_tasks)
            .flatten()
            .find_map(|(task, named)| (named.id == actor.id()).then_some((task, named.id)))
            .expect("it is looked for until it is there");
        let polls = LongPolls::default();
        for (turn, later) in [(1, id), (2, id + 1)] {
            lock(&polls.0).push_back(Seen {
                worker: 0,
                turn,
                since: at(0),
                took: Duration::from_millis(1),
                polled: (task, Location::caller()),
                name: None,
                later,
            });
        }
        let who = polls.all().into_iter().map(|poll| poll.who);
        let named: Vec<bool> = who.map(|who| who.contains("actor of")).collect();
        assert_eq!(named, [false, true]);
    }
}
