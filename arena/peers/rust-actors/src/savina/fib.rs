//! fib: an actor for each call of the plain recursion.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct Fib;

enum ToCall {
    Request(i64),
    Response(i64),
}

struct Call<S: System> {
    parent: Option<S::Ref<Self>>,
    sum: i64,
    missing: i64,
    share: Share,
}

impl<S: System> Call<S> {
    fn new(parent: Option<S::Ref<Self>>, share: Share) -> Self {
        Self {
            parent,
            sum: 0,
            missing: 0,
            share,
        }
    }
}

impl<S: System> Behaviour<S> for Call<S> {
    type Message = ToCall;

    async fn receive(&mut self, message: ToCall, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToCall::Request(n) if n <= 2 => self.sum = 1,
            ToCall::Request(n) => {
                self.missing = 2;
                for n in [n - 1, n - 2] {
                    let child = Self::new(Some(context.me.clone()), self.share.actor());
                    S::tell(&context.system.start(child).await, ToCall::Request(n));
                }
            }
            ToCall::Response(value) => {
                self.sum += value;
                self.missing -= 1;
            }
        }
        if self.missing > 0 {
            return Next::Go;
        }
        match &self.parent {
            Some(parent) => S::tell(parent, ToCall::Response(self.sum)),
            None => self.share.check = self.sum,
        }
        Next::End
    }
}

impl Program for Fib {
    const ID: &'static str = "fib";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let root = Call::<S>::new(None, share.actor());
        S::tell(&system.start(root).await, ToCall::Request(sizes.n));
    }
}
