//! pingpong: two actors and one message between them, n times there and back.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum ToPing {
    /// Also from itself, after each pong.
    Go,
    Pong(i64),
}

enum ToPong {
    Ping(i64, ActorRef<ToPing>),
    Stop,
}

async fn ping(
    n: i64,
    pong: ActorRef<ToPong>,
    me: ActorRef<ToPing>,
    mut mailbox: Mailbox<ToPing>,
    mut share: Share,
) {
    let mut sent = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            ToPing::Go => {
                tell(&pong, ToPong::Ping(sent, me.clone())).await;
                sent += 1;
            }
            ToPing::Pong(number) => {
                share.check += number;
                if sent == n {
                    return tell(&pong, ToPong::Stop).await;
                }
                tell(&me, ToPing::Go).await;
            }
        }
    }
}

async fn pong(mut mailbox: Mailbox<ToPong>, mut share: Share) {
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            ToPong::Ping(number, from) => {
                share.check += number;
                tell(&from, ToPing::Pong(number)).await;
            }
            ToPong::Stop => return,
        }
    }
}

async fn run(n: i64, share: Share) {
    let pong = start(|mailbox| pong(mailbox, share.actor()));
    let ping = start(|mailbox| ping(n, pong, me(&mailbox), mailbox, share.actor()));
    tell(&ping, ToPing::Go).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
