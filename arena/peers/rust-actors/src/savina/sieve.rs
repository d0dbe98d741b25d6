//! sieve: candidates go down a pipeline of filters, which each know M primes and make the next.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Filter, Share, Sizes, Verdict};

pub(super) struct Sieve;

enum ToStage {
    Candidate(i64),
    /// Not counted.
    End,
}

struct Stage<S: System> {
    place: i64,
    filter: Filter,
    room: i64,
    next: Option<S::Ref<Self>>,
    share: Share,
}

impl<S: System> Stage<S> {
    fn new(place: i64, first: i64, room: i64, share: Share) -> Self {
        Self {
            place,
            filter: Filter::new(first, room),
            room,
            next: None,
            share,
        }
    }
}

impl<S: System> Behaviour<S> for Stage<S> {
    type Message = ToStage;

    async fn receive(&mut self, message: ToStage, context: &mut Context<S, Self>) -> Next {
        let ToStage::Candidate(candidate) = message else {
            self.share.msgs = self.filter.divisions;
            self.share.check = self.filter.primes();
            if let Some(next) = &self.next {
                S::tell(next, ToStage::End);
            }
            return Next::End;
        };
        if self.filter.look(candidate) == Verdict::Passed {
            match &self.next {
                Some(next) => S::tell(next, ToStage::Candidate(candidate)),
                None => {
                    let place = self.place + 1;
                    let next = Self::new(place, candidate, self.room, self.share.actor());
                    self.next = Some(context.system.start_apart(place, next).await);
                }
            }
        }
        Next::Go
    }
}

struct Producer {
    limit: i64,
    _share: Share,
}

impl<S: System> Behaviour<S> for Producer {
    type Message = S::Ref<Stage<S>>;

    async fn receive(&mut self, first: S::Ref<Stage<S>>, _: &mut Context<S, Self>) -> Next {
        for candidate in (3..self.limit).step_by(2) {
            S::tell(&first, ToStage::Candidate(candidate));
        }
        S::tell(&first, ToStage::End);
        Next::End
    }
}

impl Program for Sieve {
    const ID: &'static str = "sieve";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let producer = Producer {
            limit: sizes.n,
            _share: share.actor(),
        };
        let producer = system.start(producer).await;
        let first = Stage::<S>::new(0, 2, sizes.M, share.actor());
        let first = system.start(first).await;
        S::tell::<Producer>(&producer, first);
    }
}
