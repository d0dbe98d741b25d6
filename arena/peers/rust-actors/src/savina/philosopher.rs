//! philosopher: A philosophers ask an arbitrator for both their forks, again and again, until each has eaten n times.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct Philosopher;

enum ToArbitrator<S: System> {
    /// The philosopher with this place would like to eat.
    Hungry(usize, S::Ref<Thinker<S>>),
    /// It has eaten, for the nth time.
    Done(usize, i64),
    End,
}

enum ToThinker {
    Go,
    Eat,
    Denied,
}

struct Thinker<S: System> {
    place: usize,
    n: i64,
    meals: i64,
    arbitrator: S::Ref<Arbitrator>,
    /// Lives as long as it does.
    _share: Share,
}

impl<S: System> Behaviour<S> for Thinker<S> {
    type Message = ToThinker;

    async fn receive(&mut self, message: ToThinker, context: &mut Context<S, Self>) -> Next {
        if let ToThinker::Eat = message {
            S::tell(&self.arbitrator, ToArbitrator::Done(self.place, self.meals));
            self.meals += 1;
            if self.meals == self.n {
                S::tell(&self.arbitrator, ToArbitrator::End);
                return Next::End;
            }
            S::tell(&context.me, ToThinker::Go);
        } else {
            S::tell(
                &self.arbitrator,
                ToArbitrator::Hungry(self.place, context.me.clone()),
            );
        }
        Next::Go
    }
}

struct Arbitrator {
    taken: Vec<bool>,
    dining: usize,
    share: Share,
}

impl<S: System> Behaviour<S> for Arbitrator {
    type Message = ToArbitrator<S>;

    async fn receive(&mut self, message: ToArbitrator<S>, _: &mut Context<S, Self>) -> Next {
        let forks = self.taken.len();
        match message {
            ToArbitrator::Hungry(place, from) => {
                let next = (place + 1) % forks;
                let may = !self.taken[place] && !self.taken[next];
                if may {
                    (self.taken[place], self.taken[next]) = (true, true);
                }
                S::tell(
                    &from,
                    if may {
                        ToThinker::Eat
                    } else {
                        ToThinker::Denied
                    },
                );
            }
            ToArbitrator::Done(place, meal) => {
                let next = (place + 1) % forks;
                assert!(
                    self.taken[place] && self.taken[next],
                    "who eats has two forks"
                );
                (self.taken[place], self.taken[next]) = (false, false);
                self.share.msgs += 1;
                self.share.check += meal;
            }
            ToArbitrator::End => self.dining -= 1,
        }
        if self.dining == 0 {
            Next::End
        } else {
            Next::Go
        }
    }
}

impl Program for Philosopher {
    const ID: &'static str = "philosopher";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let arbitrator = Arbitrator {
            taken: vec![false; sizes.A as usize],
            dining: sizes.A as usize,
            share: share.actor(),
        };
        let arbitrator = system.start(arbitrator).await;
        for place in 0..sizes.A as usize {
            let thinker = Thinker::<S> {
                place,
                n: sizes.n,
                meals: 0,
                arbitrator: arbitrator.clone(),
                _share: share.actor(),
            };
            S::tell(&system.start(thinker).await, ToThinker::Go);
        }
    }
}
