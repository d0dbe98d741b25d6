//! radixsort: n values go through 60 actors, each of which sorts by one bit.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, values};

pub(super) struct RadixSort;

/// One kind of actor in two roles: both get values from the one before.
enum Role<S: System> {
    Sort {
        bit: i64,
        with_bit: Vec<i64>,
        next: S::Ref<Stage<S>>,
    },
    Validate {
        last: i64,
    },
}

struct Stage<S: System> {
    left: i64,
    role: Role<S>,
    share: Share,
}

impl<S: System> Behaviour<S> for Stage<S> {
    type Message = i64;

    async fn receive(&mut self, value: i64, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        self.left -= 1;
        match &mut self.role {
            Role::Sort {
                bit,
                with_bit,
                next,
            } => {
                if value & *bit == 0 {
                    S::tell(next, value);
                } else {
                    with_bit.push(value);
                }
                if self.left == 0 {
                    for value in with_bit {
                        S::tell(next, *value);
                    }
                }
            }
            Role::Validate { last } => {
                assert!(*last <= value, "values arrive sorted");
                *last = value;
                self.share.check += value;
            }
        }
        if self.left == 0 { Next::End } else { Next::Go }
    }
}

struct Source {
    n: i64,
    share: Share,
}

impl<S: System> Behaviour<S> for Source {
    type Message = S::Ref<Stage<S>>;

    async fn receive(&mut self, next: S::Ref<Stage<S>>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        for value in values(2048, self.n) {
            S::tell(&next, value);
        }
        Next::End
    }
}

impl Program for RadixSort {
    const ID: &'static str = "radixsort";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let source = Source {
            n: sizes.n,
            share: share.actor(),
        };
        let source = system.start(source).await;
        let stage = |role| Stage::<S> {
            left: sizes.n,
            role,
            share: share.actor(),
        };
        let mut next = system.start(stage(Role::Validate { last: 0 })).await;
        for place in (0..60).rev() {
            let role = Role::Sort {
                bit: 1 << place,
                with_bit: Vec::new(),
                next,
            };
            next = system.start(stage(role)).await;
        }
        S::tell::<Source>(&source, next);
    }
}
