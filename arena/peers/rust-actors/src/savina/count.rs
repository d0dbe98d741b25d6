//! count: one actor sends n additions to another, and asks for the sum.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct Count;

enum ToCounter<S: System> {
    Add(i64),
    Get(S::Ref<Producer<S>>),
}

enum ToProducer {
    Go,
    Sum(i64),
}

struct Counter {
    sum: i64,
    share: Share,
}

struct Producer<S: System> {
    n: i64,
    counter: S::Ref<Counter>,
    share: Share,
}

impl<S: System> Behaviour<S> for Counter {
    type Message = ToCounter<S>;

    async fn receive(&mut self, message: ToCounter<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToCounter::Add(number) => {
                self.sum += number;
                Next::Go
            }
            ToCounter::Get(from) => {
                S::tell(&from, ToProducer::Sum(self.sum));
                Next::End
            }
        }
    }
}

impl<S: System> Behaviour<S> for Producer<S> {
    type Message = ToProducer;

    async fn receive(&mut self, message: ToProducer, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToProducer::Go => {
                for _ in 0..self.n {
                    S::tell(&self.counter, ToCounter::Add(1));
                }
                S::tell(&self.counter, ToCounter::Get(context.me.clone()));
                Next::Go
            }
            ToProducer::Sum(sum) => {
                self.share.check = sum;
                Next::End
            }
        }
    }
}

impl Program for Count {
    const ID: &'static str = "count";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let counter = Counter {
            sum: 0,
            share: share.actor(),
        };
        let producer = Producer {
            n: sizes.n,
            counter: system.start(counter).await,
            share: share.actor(),
        };
        S::tell(&system.start(producer).await, ToProducer::Go);
    }
}
