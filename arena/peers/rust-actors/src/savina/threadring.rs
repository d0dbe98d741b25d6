//! threadring: A actors in a ring, a token goes n hops.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct ThreadRing;

enum Ring<S: System> {
    Next(S::Ref<Member<S>>),
    /// So many hops are left.
    Token(i64),
    /// So many actors are left to end.
    End(i64),
}

struct Member<S: System> {
    actors: i64,
    next: Option<S::Ref<Self>>,
    share: Share,
}

impl<S: System> Member<S> {
    fn pass(&self, message: Ring<S>) {
        S::tell(self.next.as_ref().expect("the ring is closed"), message);
    }
}

impl<S: System> Behaviour<S> for Member<S> {
    type Message = Ring<S>;

    async fn receive(&mut self, message: Ring<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            Ring::Next(actor) => self.next = Some(actor),
            Ring::Token(0) => self.pass(Ring::End(self.actors - 1)),
            Ring::Token(left) => {
                self.share.check += left;
                self.pass(Ring::Token(left - 1));
            }
            Ring::End(0) => return Next::End,
            Ring::End(left) => {
                self.pass(Ring::End(left - 1));
                return Next::End;
            }
        }
        Next::Go
    }
}

impl Program for ThreadRing {
    const ID: &'static str = "threadring";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let mut actors = Vec::new();
        for _ in 0..sizes.A {
            let member = Member::<S> {
                actors: sizes.A,
                next: None,
                share: share.actor(),
            };
            actors.push(system.start(member).await);
        }
        for (actor, next) in actors.iter().zip(actors.iter().cycle().skip(1)) {
            S::tell(actor, Ring::Next(next.clone()));
        }
        S::tell(&actors[0], Ring::Token(sizes.n));
    }
}
