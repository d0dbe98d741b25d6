//! concdict: P workers read from and write to one dictionary.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes};
use std::collections::HashMap;

pub(super) struct ConcDict;

enum ToData<S: System> {
    Write(i64, i64, S::Ref<Worker<S>>),
    Read(i64, S::Ref<Worker<S>>),
    /// Not counted.
    End,
}

enum ToWorker {
    Go,
    Value(i64),
}

/// At first each key has itself as its value.
struct Data {
    written: HashMap<i64, i64>,
    share: Share,
}

impl<S: System> Behaviour<S> for Data {
    type Message = ToData<S>;

    async fn receive(&mut self, message: ToData<S>, _: &mut Context<S, Self>) -> Next {
        match message {
            ToData::Write(key, value, from) => {
                self.written.insert(key, value);
                S::tell(&from, ToWorker::Value(value));
            }
            ToData::Read(key, from) => {
                let value = self.written.get(&key).copied().unwrap_or(key);
                S::tell(&from, ToWorker::Value(value));
            }
            ToData::End => return Next::End,
        }
        self.share.msgs += 1;
        Next::Go
    }
}

/// Its keys are its own, so that what it reads does not depend on the others.
struct Worker<S: System> {
    id: i64,
    left: i64,
    sizes: Sizes,
    random: PseudoRandom,
    data: S::Ref<Data>,
    master: S::Ref<Master<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Worker<S> {
    type Message = ToWorker;

    async fn receive(&mut self, message: ToWorker, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        if let ToWorker::Value(value) = message {
            self.share.check += value;
        }
        if self.left == 0 {
            S::tell(&self.master, ToMaster::Done);
            return Next::End;
        }
        self.left -= 1;
        let is_write = self.random.below(100) < self.sizes.w;
        let key = self.random.next() * self.sizes.P + self.id;
        let me = context.me.clone();
        let message = if is_write {
            ToData::Write(key, self.random.next(), me)
        } else {
            ToData::Read(key, me)
        };
        S::tell(&self.data, message);
        Next::Go
    }
}

enum ToMaster {
    /// Makes the workers: not counted.
    Begin,
    Done,
}

struct Master<S: System> {
    left: i64,
    sizes: Sizes,
    data: S::Ref<Data>,
    share: Share,
}

impl<S: System> Behaviour<S> for Master<S> {
    type Message = ToMaster;

    async fn receive(&mut self, message: ToMaster, context: &mut Context<S, Self>) -> Next {
        if let ToMaster::Begin = message {
            for id in 0..self.sizes.P {
                let worker = Worker::<S> {
                    id,
                    left: self.sizes.n,
                    sizes: self.sizes,
                    random: PseudoRandom::new(id + self.sizes.n + self.sizes.w),
                    data: self.data.clone(),
                    master: context.me.clone(),
                    share: self.share.actor(),
                };
                S::tell(&context.system.start(worker).await, ToWorker::Go);
            }
            return Next::Go;
        }
        self.share.msgs += 1;
        self.left -= 1;
        if self.left > 0 {
            return Next::Go;
        }
        S::tell(&self.data, ToData::End);
        Next::End
    }
}

impl Program for ConcDict {
    const ID: &'static str = "concdict";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let data = Data {
            written: HashMap::new(),
            share: share.actor(),
        };
        let master = Master::<S> {
            left: sizes.P,
            sizes,
            data: system.start(data).await,
            share: share.actor(),
        };
        S::tell(&system.start(master).await, ToMaster::Begin);
    }
}
