//! bitonicsort: a sorting network, in which each comparator, splitter and joiner is an actor.

use std::collections::VecDeque;

use savina::{Share, Sizes, values};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

#[derive(Clone, Copy)]
enum Sort {
    Value(i64),
    /// A value from the branch with this place.
    Data(usize, i64),
    End,
}

type Next = ActorRef<Sort>;

/// Passes values on: as those of a branch, or as values whatever they were.
async fn forward(place: Option<usize>, next: Next, mut mailbox: Mailbox<Sort>, mut share: Share) {
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let passed = match (message, place) {
            (Sort::Value(value), Some(place)) => Sort::Data(place, value),
            (Sort::Data(_, value), None) => Sort::Value(value),
            (other, _) => other,
        };
        tell(&next, passed).await;
        if matches!(passed, Sort::End) {
            return;
        }
    }
}

/// Runs of `length` values to one branch after the other.
async fn split(length: usize, branches: Vec<Next>, mut mailbox: Mailbox<Sort>, mut share: Share) {
    let mut seen = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        if matches!(message, Sort::End) {
            for branch in &branches {
                tell(branch, Sort::End).await;
            }
            return;
        }
        tell(&branches[seen / length % branches.len()], message).await;
        seen += 1;
    }
}

/// Runs of `length` values from one branch after the other.
async fn join(
    length: usize,
    branches: usize,
    next: Next,
    mut mailbox: Mailbox<Sort>,
    mut share: Share,
) {
    let mut waiting = vec![VecDeque::new(); branches];
    let (mut sent, mut ended) = (0, 0);
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        if let Sort::Data(place, value) = message {
            waiting[place].push_back(value);
            while let Some(value) = waiting[sent / length % branches].pop_front() {
                tell(&next, Sort::Value(value)).await;
                sent += 1;
            }
        } else {
            ended += 1;
            if ended == branches {
                return tell(&next, Sort::End).await;
            }
        }
    }
}

async fn compare(
    place: usize,
    rising: bool,
    next: Next,
    mut mailbox: Mailbox<Sort>,
    mut share: Share,
) {
    let mut before = None;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let Sort::Value(value) = message else {
            return tell(&next, Sort::End).await;
        };
        let Some(other) = before.take() else {
            before = Some(value);
            continue;
        };
        let (low, high) = (value.min(other), value.max(other));
        let (first, second) = if rising { (low, high) } else { (high, low) };
        tell(&next, Sort::Data(place, first)).await;
        tell(&next, Sort::Data(place, second)).await;
    }
}

/// Makes the network from its end to its beginning.
struct Network<'a>(&'a Share);

impl Network<'_> {
    fn forward(&self, place: Option<usize>, next: Next) -> Next {
        start(|mailbox| forward(place, next, mailbox, self.0.actor()))
    }

    fn split(&self, length: usize, branches: Vec<Next>) -> Next {
        start(|mailbox| split(length, branches, mailbox, self.0.actor()))
    }

    fn join(&self, length: usize, branches: usize, next: Next) -> Next {
        start(|mailbox| join(length, branches, next, mailbox, self.0.actor()))
    }

    fn compare(&self, place: usize, rising: bool, next: Next) -> Next {
        start(|mailbox| compare(place, rising, next, mailbox, self.0.actor()))
    }

    /// Compares each value of a sequence with the one half a length further.
    fn partition(&self, place: usize, length: usize, rising: bool, next: Next) -> Next {
        let joiner = self.join(1, length / 2, self.forward(Some(place), next));
        let worker = |i| self.compare(i, rising, joiner.clone());
        let splitter = self.split(1, (0..length / 2).map(worker).collect());
        self.forward(None, splitter)
    }

    /// All sequences of a length. `turn`: how many follow each other in the same direction; the last stage has one only.
    fn step(&self, length: usize, sequences: usize, turn: Option<usize>, next: Next) -> Next {
        let next = if turn.is_some() {
            self.forward(None, next)
        } else {
            next
        };
        let joiner = self.join(length, sequences, next);
        let worker = |i: usize| {
            let rising = turn.is_none_or(|turn| (i / turn).is_multiple_of(2));
            if length > 2 {
                self.partition(i, length, rising, joiner.clone())
            } else {
                self.compare(i, rising, joiner.clone())
            }
        };
        let splitter = self.split(length, (0..sequences).map(worker).collect());
        self.forward(None, splitter)
    }

    /// Merges sequences to some of length `p`.
    fn stage(&self, n: usize, p: usize, next: Next) -> Next {
        let lengths = std::iter::successors(Some(2), |length| (*length < p).then_some(length * 2));
        let first = lengths.fold(next, |next, length| {
            let turn = (p < n).then_some(p / length);
            self.step(length, n / length, turn, next)
        });
        self.forward(None, first)
    }

    fn kernel(&self, n: usize, next: Next) -> Next {
        let sizes = std::iter::successors(Some(n), |p| (*p > 2).then_some(p / 2));
        let first = sizes.fold(next, |next, p| self.stage(n, p, next));
        self.forward(None, first)
    }
}

async fn validate(mut mailbox: Mailbox<Sort>, mut share: Share) {
    let mut last = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let Sort::Value(value) = message else { return };
        assert!(last <= value, "values arrive sorted");
        share.check += value;
        last = value;
    }
}

struct Go;

async fn source(n: i64, next: Next, mut mailbox: Mailbox<Go>, mut share: Share) {
    let Ok(Go) = mailbox.recv().await else { return };
    share.msgs += 1;
    for value in values(2048, n) {
        tell(&next, Sort::Value(value)).await;
    }
    tell(&next, Sort::End).await;
}

async fn run(n: i64, share: Share) {
    let validator = start(|mailbox| validate(mailbox, share.actor()));
    let network = Network(&share);
    let kernel = network.kernel(n as usize, network.forward(None, validator));
    let source = start(|mailbox| source(n, kernel, mailbox, share.actor()));
    tell(&source, Go).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
