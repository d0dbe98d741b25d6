//! fjthrput: n messages to each of A actors, in turn; each message costs a sine.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, theta};

pub(super) struct FjThrput;

struct Worker {
    left: i64,
    share: Share,
}

impl<S: System> Behaviour<S> for Worker {
    type Message = i64;

    async fn receive(&mut self, number: i64, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        self.share.check += number;
        assert!(theta(37.2) > 0.0);
        self.left -= 1;
        if self.left == 0 { Next::End } else { Next::Go }
    }
}

impl Program for FjThrput {
    const ID: &'static str = "fjthrput";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let mut actors = Vec::new();
        for _ in 0..sizes.A {
            let worker = Worker {
                left: sizes.n,
                share: share.actor(),
            };
            actors.push(system.start(worker).await);
        }
        for number in 0..sizes.n {
            for actor in &actors {
                S::tell::<Worker>(actor, number);
            }
        }
    }
}
