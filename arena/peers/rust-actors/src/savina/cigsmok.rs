//! cigsmok: an arbiter gives one of A smokers after the other what it lacks, n times.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes, busy_wait};

pub(super) struct CigSmok;

enum ToArbiter {
    /// Makes the smokers.
    Start,
    /// A smoker smokes: the table is free again.
    Smoking,
}

enum ToSmoker {
    /// For so long.
    Smoke(i64),
    End,
}

struct Smoker<S: System> {
    arbiter: S::Ref<Arbiter<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Smoker<S> {
    type Message = ToSmoker;

    async fn receive(&mut self, message: ToSmoker, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        let ToSmoker::Smoke(time) = message else {
            return Next::End;
        };
        self.share.check += time;
        S::tell(&self.arbiter, ToArbiter::Smoking);
        busy_wait(time);
        Next::Go
    }
}

struct Arbiter<S: System> {
    sizes: Sizes,
    rounds: i64,
    random: PseudoRandom,
    smokers: Vec<S::Ref<Smoker<S>>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Arbiter<S> {
    type Message = ToArbiter;

    async fn receive(&mut self, message: ToArbiter, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToArbiter::Start => {
                for i in 0..self.sizes.A {
                    let smoker = Smoker::<S> {
                        arbiter: context.me.clone(),
                        share: self.share.actor(),
                    };
                    self.smokers
                        .push(context.system.start_apart(i, smoker).await);
                }
            }
            ToArbiter::Smoking => self.rounds += 1,
        }
        if self.rounds == self.sizes.n {
            for smoker in &self.smokers {
                S::tell(smoker, ToSmoker::End);
            }
            return Next::End;
        }
        let smoker = &self.smokers[self.random.below(self.sizes.A) as usize];
        S::tell(smoker, ToSmoker::Smoke(self.random.below(1000) + 10));
        Next::Go
    }
}

impl Program for CigSmok {
    const ID: &'static str = "cigsmok";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let arbiter = Arbiter::<S> {
            sizes,
            rounds: 0,
            random: PseudoRandom::new(sizes.n * sizes.A),
            smokers: Vec::new(),
            share: share.actor(),
        };
        S::tell(&system.start(arbiter).await, ToArbiter::Start);
    }
}
