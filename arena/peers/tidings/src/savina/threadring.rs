//! threadring: A actors in a ring, a token goes n hops.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

enum Ring {
    Next(ActorRef<Self>),
    /// So many hops are left.
    Token(i64),
    /// So many actors are left to end.
    End(i64),
}

async fn pass(actors: i64, mut mailbox: Mailbox<Ring>, mut share: Share) {
    let mut next = None;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let (answer, is_end) = match message {
            Ring::Next(actor) => {
                next = Some(actor);
                continue;
            }
            Ring::Token(0) => (Ring::End(actors - 1), false),
            Ring::Token(left) => {
                share.check += left;
                (Ring::Token(left - 1), false)
            }
            Ring::End(0) => return,
            Ring::End(left) => (Ring::End(left - 1), true),
        };
        tell(next.as_ref().expect("the ring is closed"), answer).await;
        if is_end {
            return;
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    let actors: Vec<_> = (0..sizes.A)
        .map(|_| start(|mailbox| pass(sizes.A, mailbox, share.actor())))
        .collect();
    for (actor, next) in actors.iter().zip(actors.iter().cycle().skip(1)) {
        tell(actor, Ring::Next(next.clone())).await;
    }
    tell(&actors[0], Ring::Token(sizes.n)).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
