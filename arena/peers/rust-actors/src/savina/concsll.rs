//! concsll: P workers use one sorted linked list.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes, SortedList};

pub(super) struct ConcSll;

enum ToList<S: System> {
    Add(i64, S::Ref<Worker<S>>),
    Contains(i64, S::Ref<Worker<S>>),
    Size(S::Ref<Worker<S>>),
    /// Not counted.
    End,
}

enum ToWorker {
    Go,
    Added(i64),
    Contained(bool),
    Size(i64),
}

struct List {
    list: SortedList,
    share: Share,
}

impl<S: System> Behaviour<S> for List {
    type Message = ToList<S>;

    async fn receive(&mut self, message: ToList<S>, _: &mut Context<S, Self>) -> Next {
        match message {
            ToList::Add(value, from) => {
                self.list.add(value);
                S::tell(&from, ToWorker::Added(value));
            }
            ToList::Contains(value, from) => {
                S::tell(&from, ToWorker::Contained(self.list.contains(value)));
            }
            ToList::Size(from) => S::tell(&from, ToWorker::Size(self.list.size())),
            ToList::End => {
                self.share.check += self.list.size();
                return Next::End;
            }
        }
        self.share.msgs += 1;
        Next::Go
    }
}

/// Its values are its own, so that what it finds does not depend on the others.
struct Worker<S: System> {
    id: i64,
    left: i64,
    added: i64,
    sizes: Sizes,
    random: PseudoRandom,
    list: S::Ref<List>,
    master: S::Ref<Master<S>>,
    share: Share,
}

impl<S: System> Worker<S> {
    fn value(&mut self) -> i64 {
        self.random.next() * self.sizes.P + self.id
    }
}

impl<S: System> Behaviour<S> for Worker<S> {
    type Message = ToWorker;

    async fn receive(&mut self, message: ToWorker, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToWorker::Go => {}
            ToWorker::Added(value) => {
                self.added += 1;
                self.share.check += value;
            }
            ToWorker::Contained(found) => self.share.check += i64::from(found),
            ToWorker::Size(size) => assert!(size >= self.added, "what was added stays"),
        }
        if self.left == 0 {
            S::tell(&self.master, ToMaster::Done);
            return Next::End;
        }
        self.left -= 1;
        let kind = self.random.below(100);
        let me = context.me.clone();
        let message = if kind < self.sizes.S {
            ToList::Size(me)
        } else if kind < self.sizes.S + self.sizes.w {
            ToList::Add(self.value(), me)
        } else {
            ToList::Contains(self.value(), me)
        };
        S::tell(&self.list, message);
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
    list: S::Ref<List>,
    share: Share,
}

impl<S: System> Behaviour<S> for Master<S> {
    type Message = ToMaster;

    async fn receive(&mut self, message: ToMaster, context: &mut Context<S, Self>) -> Next {
        if let ToMaster::Begin = message {
            let Sizes {
                n, w, P, S: size, ..
            } = self.sizes;
            for id in 0..P {
                let worker = Worker::<S> {
                    id,
                    left: n,
                    added: 0,
                    sizes: self.sizes,
                    random: PseudoRandom::new(id + n + w + size),
                    list: self.list.clone(),
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
        S::tell(&self.list, ToList::End);
        Next::End
    }
}

impl Program for ConcSll {
    const ID: &'static str = "concsll";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let list = List {
            list: SortedList::new(),
            share: share.actor(),
        };
        let master = Master::<S> {
            left: sizes.P,
            sizes,
            list: system.start(list).await,
            share: share.actor(),
        };
        S::tell(&system.start(master).await, ToMaster::Begin);
    }
}
