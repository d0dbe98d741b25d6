//! bitonicsort: a sorting network, in which each comparator, splitter and joiner is an actor.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, values};
use std::collections::VecDeque;

pub(super) struct BitonicSort;

#[derive(Clone, Copy)]
enum Sort {
    /// To the source: not sent on.
    Go,
    Value(i64),
    /// A value from the branch with this place.
    Data(usize, i64),
    End,
}

type To<S> = <S as System>::Ref<Part<S>>;

/// What an actor of the network does: all get values and give values.
enum Role<S: System> {
    Source(i64, To<S>),
    /// Passes values on: as those of a branch, or as values whatever they were.
    Forward(Option<usize>, To<S>),
    /// Runs of so many values to one branch after the other; how many there were.
    Split(usize, Vec<To<S>>, usize),
    /// Runs of so many values from one branch after the other; how many were sent, how many branches have ended.
    Join(usize, Vec<VecDeque<i64>>, To<S>, usize, usize),
    /// In a branch, rising or not; a value that waits for another.
    Compare(usize, bool, To<S>, Option<i64>),
    /// The last value.
    Validate(i64),
}

struct Part<S: System> {
    role: Role<S>,
    share: Share,
}

impl<S: System> Behaviour<S> for Part<S> {
    type Message = Sort;

    async fn receive(&mut self, message: Sort, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        let is_end = matches!(message, Sort::End);
        match &mut self.role {
            Role::Source(n, next) => {
                for value in values(2048, *n) {
                    S::tell(next, Sort::Value(value));
                }
                S::tell(next, Sort::End);
                return Next::End;
            }
            Role::Forward(place, next) => {
                let passed = match (message, *place) {
                    (Sort::Value(value), Some(place)) => Sort::Data(place, value),
                    (Sort::Data(_, value), None) => Sort::Value(value),
                    (other, _) => other,
                };
                S::tell(next, passed);
            }
            Role::Split(length, branches, seen) => {
                if is_end {
                    for branch in branches.iter() {
                        S::tell(branch, Sort::End);
                    }
                } else {
                    S::tell(&branches[*seen / *length % branches.len()], message);
                    *seen += 1;
                }
            }
            Role::Join(length, waiting, next, sent, ended) => {
                let branches = waiting.len();
                if let Sort::Data(place, value) = message {
                    waiting[place].push_back(value);
                    while let Some(value) = waiting[*sent / *length % branches].pop_front() {
                        S::tell(next, Sort::Value(value));
                        *sent += 1;
                    }
                    return Next::Go;
                }
                *ended += 1;
                if *ended < branches {
                    return Next::Go;
                }
                S::tell(next, Sort::End);
            }
            Role::Compare(place, rising, next, before) => match (message, before.take()) {
                (Sort::Value(value), None) => *before = Some(value),
                (Sort::Value(value), Some(other)) => {
                    let (low, high) = (value.min(other), value.max(other));
                    let (first, second) = if *rising { (low, high) } else { (high, low) };
                    S::tell(next, Sort::Data(*place, first));
                    S::tell(next, Sort::Data(*place, second));
                }
                _ => S::tell(next, Sort::End),
            },
            Role::Validate(last) => {
                if let Sort::Value(value) = message {
                    assert!(*last <= value, "values arrive sorted");
                    self.share.check += value;
                    *last = value;
                }
            }
        }
        if is_end { Next::End } else { Next::Go }
    }
}

/// Makes the network from its end to its beginning.
struct Network<'a, S> {
    system: S,
    share: &'a Share,
}

impl<S: System> Network<'_, S> {
    async fn part(&self, role: Role<S>) -> To<S> {
        let share = self.share.actor();
        self.system.start(Part { role, share }).await
    }

    async fn join(&self, length: usize, branches: usize, next: To<S>) -> To<S> {
        let waiting = vec![VecDeque::new(); branches];
        self.part(Role::Join(length, waiting, next, 0, 0)).await
    }

    /// Compares each value of a sequence with the one half a length further.
    async fn partition(&self, place: usize, length: usize, rising: bool, next: To<S>) -> To<S> {
        let forward = self.part(Role::Forward(Some(place), next)).await;
        let joiner = self.join(1, length / 2, forward).await;
        let mut workers = Vec::new();
        for i in 0..length / 2 {
            workers.push(
                self.part(Role::Compare(i, rising, joiner.clone(), None))
                    .await,
            );
        }
        let splitter = self.part(Role::Split(1, workers, 0)).await;
        self.part(Role::Forward(None, splitter)).await
    }

    /// All sequences of a length. `turn`: how many follow each other in the same direction; the last stage has one only.
    async fn step(
        &self,
        length: usize,
        sequences: usize,
        turn: Option<usize>,
        next: To<S>,
    ) -> To<S> {
        let next = match turn {
            Some(_) => self.part(Role::Forward(None, next)).await,
            None => next,
        };
        let joiner = self.join(length, sequences, next).await;
        let mut workers = Vec::new();
        for i in 0..sequences {
            let rising = turn.is_none_or(|turn| (i / turn).is_multiple_of(2));
            let next = joiner.clone();
            workers.push(if length > 2 {
                self.partition(i, length, rising, next).await
            } else {
                self.part(Role::Compare(i, rising, next, None)).await
            });
        }
        let splitter = self.part(Role::Split(length, workers, 0)).await;
        self.part(Role::Forward(None, splitter)).await
    }

    /// Stages from the last, which merges all, to the first; each with steps of shorter sequences after those of longer ones.
    async fn kernel(&self, n: usize, mut next: To<S>) -> To<S> {
        for p in std::iter::successors(Some(n), |p| (*p > 2).then_some(p / 2)) {
            for length in
                std::iter::successors(Some(2), |length| (*length < p).then_some(length * 2))
            {
                let turn = (p < n).then_some(p / length);
                next = self.step(length, n / length, turn, next).await;
            }
            next = self.part(Role::Forward(None, next)).await;
        }
        self.part(Role::Forward(None, next)).await
    }
}

impl Program for BitonicSort {
    const ID: &'static str = "bitonicsort";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let network = Network {
            system,
            share: &share,
        };
        let validator = network.part(Role::Validate(0)).await;
        let adapter = network.part(Role::Forward(None, validator)).await;
        let kernel = network.kernel(sizes.n as usize, adapter).await;
        let source = network.part(Role::Source(sizes.n, kernel)).await;
        S::tell(&source, Sort::Go);
    }
}
