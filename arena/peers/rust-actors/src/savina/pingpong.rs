//! pingpong: two actors and one message between them, n times there and back.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct PingPong;

enum ToPing {
    /// Also from itself, after each pong.
    Go,
    Pong(i64),
}

enum ToPong<S: System> {
    Ping(i64, S::Ref<Ping<S>>),
    Stop,
}

struct Ping<S: System> {
    n: i64,
    sent: i64,
    pong: S::Ref<Pong>,
    share: Share,
}

struct Pong {
    share: Share,
}

impl<S: System> Behaviour<S> for Ping<S> {
    type Message = ToPing;

    async fn receive(&mut self, message: ToPing, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToPing::Go => {
                S::tell(&self.pong, ToPong::Ping(self.sent, context.me.clone()));
                self.sent += 1;
            }
            ToPing::Pong(number) => {
                self.share.check += number;
                if self.sent == self.n {
                    S::tell(&self.pong, ToPong::Stop);
                    return Next::End;
                }
                S::tell(&context.me, ToPing::Go);
            }
        }
        Next::Go
    }
}

impl<S: System> Behaviour<S> for Pong {
    type Message = ToPong<S>;

    async fn receive(&mut self, message: ToPong<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToPong::Ping(number, from) => {
                self.share.check += number;
                S::tell(&from, ToPing::Pong(number));
                Next::Go
            }
            ToPong::Stop => Next::End,
        }
    }
}

impl Program for PingPong {
    const ID: &'static str = "pingpong";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let pong = system
            .start(Pong {
                share: share.actor(),
            })
            .await;
        let ping = Ping {
            n: sizes.n,
            sent: 0,
            pong,
            share: share.actor(),
        };
        S::tell(&system.start(ping).await, ToPing::Go);
    }
}
