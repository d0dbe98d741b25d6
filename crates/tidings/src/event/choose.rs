//! Choice of many.

use std::pin::Pin;
use std::task::Waker;

use super::future::attempt_alone;
use super::order::Order;
use super::slice;
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, Two, into_future};
use crate::{sched, task};

/// A choice among so many looks at one after another before it locks them all: to take all locks and let
/// them go costs about as much for a branch as to look at it. Shuttle's always does.
const APART: usize = if cfg!(shuttle) { 2 } else { 9 };

/// Whichever of `events` can happen; of any two that can, each has the same chance, whatever stands beside them.
/// One that is a choice itself has that of each of its branches ([`Event::or`]).
///
/// What those that lose would give back, the unsent values of sends, is dropped with them.
///
/// An empty choice never happens. To wait costs one lock per distinct source and one place in its
/// waiters' list per branch: a thousand of each on a thousand channels. A choice among many that need not
/// wait costs a look at each branch that it tries, on average half of them if one of them can happen.
/// Afterwards nothing is left in any list.
///
/// ```
/// use tidings::{Event, choose, unbounded};
/// let (tx, rx) = unbounded();
/// let (_tx, silent) = unbounded();
/// tx.try_send('x').unwrap();
/// assert_eq!(choose([rx.recv(), silent.recv()]).wait(), Ok('x'));
/// ```
pub fn choose<E: Event>(events: impl IntoIterator<Item = E>) -> Choose<E> {
    let events: Box<[E]> = events.into_iter().collect();
    Choose {
        events: Box::into_pin(events),
        starts: None,
    }
}

/// The event of [`choose`]. It gives back what each branch gives back.
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Choose<E> {
    events: Pin<Box<[E]>>,
    /// The first turn of each event, and the end of the last, where not each has one turn.
    starts: Option<Box<[u32]>>,
}

impl<E: Event> Choose<E> {
    fn each(self: Pin<&mut Self>) -> impl DoubleEndedIterator<Item = Pin<&mut E>> {
        slice::each(self.get_mut().events.as_mut())
    }

    /// Tries the one at this index.
    #[inline]
    fn at(
        &mut self,
        index: usize,
        attempt: impl FnOnce(Pin<&mut E>) -> Option<u32>,
    ) -> Option<u32> {
        let branch = attempt(slice::at(self.events.as_mut(), index))?;
        let before: u32 = self.events[..index].iter().map(Protocol::leaves).sum();
        Some(before + branch)
    }

    /// The index of the event that has this turn, and its turn within that.
    fn in_turn(&self, turn: usize) -> (usize, u32) {
        let Some(starts) = &self.starts else {
            return (turn, 0);
        };
        let turn = turn as u32;
        let index = starts.partition_point(|&start| start <= turn) - 1;
        (index, turn - starts[index])
    }

    /// Not each of the events has one turn.
    #[cold]
    fn count_turns(&mut self) {
        let mut end = 0;
        let ends = self.events.iter().map(|event| {
            end += event.turns();
            end
        });
        self.starts = Some(std::iter::once(0).chain(ends).collect());
    }

    /// Tries in the turns of all events.
    #[cold]
    fn each_turn(
        &mut self,
        biased: bool,
        mut attempt: impl FnMut(Pin<&mut E>, u32) -> Option<u32>,
    ) -> Option<u32> {
        Order::new(self.turns() as usize, biased).find_map(|turn| {
            let (index, its) = self.in_turn(turn);
            self.at(index, |event| attempt(event, its))
        })
    }

    /// The event that has this branch, and the branch's number within it.
    fn owner(self: Pin<&mut Self>, mut branch: u32) -> (Pin<&mut E>, u32) {
        for event in self.each() {
            match branch.checked_sub(event.leaves()) {
                None => return (event, branch),
                Some(rest) => branch = rest,
            }
        }
        unreachable!("a branch of this choice")
    }
}

impl<E: Event> Protocol for Choose<E> {
    const TRACELESS: bool = E::TRACELESS;

    fn prepare(mut self: Pin<&mut Self>) {
        self.as_mut().each().for_each(Protocol::prepare);
        let this = self.get_mut();
        if this.events.iter().any(|event| event.turns() != 1) {
            this.count_turns();
        }
    }

    fn leaves(&self) -> u32 {
        self.events.iter().map(Protocol::leaves).sum()
    }

    fn waiters(&self) -> u32 {
        self.events.iter().map(Protocol::waiters).sum()
    }

    fn single(&self) -> Option<&Lock> {
        match &*self.events {
            [event] => event.single(),
            _ => None,
        }
    }

    fn waits_for(&self, waits: &mut super::waits::Waits) {
        self.events.iter().for_each(|event| event.waits_for(waits));
    }

    fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
        locks.expect(self.events.len());
        self.events.iter().for_each(|event| event.lock(locks));
    }

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let this = self.get_mut();
        if this.starts.is_some() {
            let biased = attempt.biased;
            return this.each_turn(biased, |event, its| event.attempt_turn(its, attempt));
        }
        if this.events.len() == 2 && !attempt.biased {
            // What costs something with so few is to keep an order.
            let first = sched::choose_branch(2);
            let branch = this.at(first, |event| event.attempt(attempt));
            return branch.or_else(|| this.at(1 - first, |event| event.attempt(attempt)));
        }
        Order::new(this.events.len(), attempt.biased)
            .find_map(|index| this.at(index, |event| event.attempt(attempt)))
    }

    fn turns(&self) -> u32 {
        let all = self.starts.as_ref().and_then(|starts| starts.last());
        all.copied().unwrap_or(self.events.len() as u32)
    }

    fn attempt_turn(self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32> {
        let this = self.get_mut();
        let (index, its) = this.in_turn(turn as usize);
        this.at(index, |event| event.attempt_turn(its, attempt))
    }

    fn two(&self) -> Option<Two<'_>> {
        match &*self.events {
            [a, b] if self.starts.is_none() && (a.waiters(), b.waiters()) == (1, 1) => Some(Two {
                locks: [a.single()?, b.single()?],
                biased: false,
            }),
            _ => None,
        }
    }

    fn attempt_one(self: Pin<&mut Self>, which: usize, attempt: &mut Attempt) -> Option<u32> {
        // Of `two`, each has one turn.
        self.get_mut().at(which, |event| event.attempt(attempt))
    }

    fn attempt_apart(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let events = &self.events;
        if events.len() < APART || events.iter().any(|event| event.single().is_none()) {
            return None;
        }
        let this = self.get_mut();
        if this.starts.is_some() {
            return this.each_turn(false, |event, its| {
                attempt_alone(event, |event| event.attempt_turn(its, attempt))
            });
        }
        Order::new(this.events.len(), false).find_map(|index| {
            this.at(index, |event| {
                attempt_alone(event, |event| event.attempt(attempt))
            })
        })
    }

    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        self.each().for_each(|event| event.enrol(enrol));
    }

    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        let mut base = 0;
        let mut due = None;
        for event in self.each() {
            let leaves = event.leaves();
            // All must be asked: asking is what arms them.
            let branch = event.due(waker).map(|branch| base + branch);
            due = due.or(branch);
            base += leaves;
        }
        due
    }

    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        self.each().for_each(|event| event.rewake(waker));
    }

    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        let mut base = 0;
        // As in `Pair::withdraw`.
        task::each(self.each(), |event| {
            let leaves = event.leaves();
            let mine = winner.and_then(|branch| branch.checked_sub(base));
            base += leaves;
            event.withdraw(mine.filter(|&branch| branch < leaves), locked);
        });
    }

    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let (event, branch) = self.owner(branch);
        event.finish(branch)
    }

    fn abandon(self: Pin<&mut Self>, branch: u32) {
        let (event, branch) = self.owner(branch);
        event.abandon(branch);
    }
}

impl<E: Event> Event for Choose<E> {
    type Lost = Vec<E::Lost>;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.each().map(Event::lost).collect()
    }
}

into_future!(impl[E: Event] Choose<E> => E::Output);

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::pin::pin;

    use super::{APART, Attempt, Event, Protocol, choose};
    use crate::unbounded;

    #[test]
    fn a_choice_of_many_behind_pointers_looks_at_one_after_another() {
        let all: Vec<_> = (0..APART).map(|_| unbounded()).collect();
        all[3].0.try_send(7).unwrap();
        let mut choice = pin!(choose(all.iter().map(|(_, rx)| rx.recv().boxed())));
        choice.as_mut().prepare();
        let branch = choice.as_mut().attempt_apart(&mut Attempt::default());
        assert_eq!(branch, Some(3));
        assert_eq!(choice.finish(3), Ok(7));
    }
}
