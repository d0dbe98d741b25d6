//! fjcreate: n actors, each for one message, which costs a sine.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, theta};

pub(super) struct FjCreate;

struct Worker(Share);

impl<S: System> Behaviour<S> for Worker {
    type Message = i64;

    async fn receive(&mut self, number: i64, _: &mut Context<S, Self>) -> Next {
        self.0.msgs += 1;
        self.0.check += number;
        assert!(theta(37.2) > 0.0);
        Next::End
    }
}

impl Program for FjCreate {
    const ID: &'static str = "fjcreate";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        for number in 0..sizes.n {
            let worker = system.start(Worker(share.actor())).await;
            S::tell::<Worker>(&worker, number);
        }
    }
}
