//! bndbuffer: P producers and N consumers with a buffer between them, which a manager keeps.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, item};
use std::collections::VecDeque;

pub(super) struct BndBuffer;

struct Produce;

struct Item<S: System> {
    number: i64,
    value: f64,
    producer: S::Ref<Producer<S>>,
}

enum ToManager<S: System> {
    /// Makes the others: not counted.
    Begin,
    Item(Item<S>),
    Free(S::Ref<Consumer<S>>),
    ProducerEnds,
}

enum ToConsumer<S: System> {
    Item(Item<S>),
    End,
}

struct Producer<S: System> {
    sizes: Sizes,
    number: i64,
    value: f64,
    manager: S::Ref<Manager<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Producer<S> {
    type Message = Produce;

    async fn receive(&mut self, _: Produce, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        if self.number == self.sizes.n {
            S::tell(&self.manager, ToManager::ProducerEnds);
            return Next::End;
        }
        self.value = item(self.value, self.sizes.S);
        let made = Item {
            number: self.number,
            value: self.value,
            producer: context.me.clone(),
        };
        S::tell(&self.manager, ToManager::Item(made));
        self.number += 1;
        Next::Go
    }
}

struct Consumer<S: System> {
    cost: i64,
    sum: f64,
    manager: S::Ref<Manager<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Consumer<S> {
    type Message = ToConsumer<S>;

    async fn receive(&mut self, message: ToConsumer<S>, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        let ToConsumer::Item(got) = message else {
            assert!(self.sum <= 0.0, "the logarithms of fractions");
            return Next::End;
        };
        self.share.check += got.number;
        self.sum = item(self.sum + got.value, self.cost);
        S::tell(&self.manager, ToManager::Free(context.me.clone()));
        Next::Go
    }
}

struct Manager<S: System> {
    sizes: Sizes,
    producing: i64,
    free: VecDeque<S::Ref<Consumer<S>>>,
    buffer: VecDeque<Item<S>>,
    waiting: VecDeque<S::Ref<Producer<S>>>,
    share: Share,
}

impl<S: System> Manager<S> {
    async fn begin(&mut self, context: &mut Context<S, Self>) {
        let mut producers = Vec::new();
        for i in 0..self.sizes.P {
            let producer = Producer::<S> {
                sizes: self.sizes,
                number: 0,
                value: 0.0,
                manager: context.me.clone(),
                share: self.share.actor(),
            };
            producers.push(context.system.start_apart(i, producer).await);
        }
        for i in 0..self.sizes.N {
            let consumer = Consumer::<S> {
                cost: self.sizes.S,
                sum: 0.0,
                manager: context.me.clone(),
                share: self.share.actor(),
            };
            self.free
                .push_back(context.system.start_apart(i, consumer).await);
        }
        for producer in &producers {
            S::tell(producer, Produce);
        }
    }
}

impl<S: System> Behaviour<S> for Manager<S> {
    type Message = ToManager<S>;

    async fn receive(&mut self, message: ToManager<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToManager::Begin => {
                self.begin(context).await;
                return Next::Go;
            }
            ToManager::Item(item) => {
                let producer = item.producer.clone();
                match self.free.pop_front() {
                    None => self.buffer.push_back(item),
                    Some(consumer) => S::tell(&consumer, ToConsumer::Item(item)),
                }
                if self.buffer.len() as i64 >= self.sizes.w - self.sizes.P {
                    self.waiting.push_back(producer);
                } else {
                    S::tell(&producer, Produce);
                }
            }
            ToManager::Free(consumer) => match self.buffer.pop_front() {
                None => self.free.push_back(consumer),
                Some(item) => {
                    S::tell(&consumer, ToConsumer::Item(item));
                    if let Some(producer) = self.waiting.pop_front() {
                        S::tell(&producer, Produce);
                    }
                }
            },
            ToManager::ProducerEnds => self.producing -= 1,
        }
        self.share.msgs += 1;
        if self.producing > 0 || (self.free.len() as i64) < self.sizes.N {
            return Next::Go;
        }
        for consumer in &self.free {
            S::tell(consumer, ToConsumer::End);
        }
        Next::End
    }
}

impl Program for BndBuffer {
    const ID: &'static str = "bndbuffer";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let manager = Manager::<S> {
            sizes,
            producing: sizes.P,
            free: VecDeque::new(),
            buffer: VecDeque::new(),
            waiting: VecDeque::new(),
            share: share.actor(),
        };
        S::tell(&system.start(manager).await, ToManager::Begin);
    }
}
