//! sieve: candidates go down a pipeline of filters, which each know M primes and make the next.

use savina::{Filter, Share, Sizes, Verdict};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

/// Ends when nobody is left who could send.
async fn filter(first: i64, room: i64, mut mailbox: Mailbox<i64>, mut share: Share) {
    let mut primes = Filter::new(first, room);
    let mut next: Option<ActorRef<i64>> = None;
    while let Ok(candidate) = mailbox.recv().await {
        if primes.look(candidate) == Verdict::Passed {
            match &next {
                Some(next) => tell(next, candidate).await,
                None => next = Some(new(candidate, room, share.actor())),
            }
        }
    }
    share.msgs = primes.divisions;
    share.check = primes.primes();
}

/// Not an `async fn`, or the type of its future would contain itself.
fn new(first: i64, room: i64, share: Share) -> ActorRef<i64> {
    start(|mailbox| filter(first, room, mailbox, share))
}

async fn produce(limit: i64, mut mailbox: Mailbox<ActorRef<i64>>, _share: Share) {
    let Ok(filter) = mailbox.recv().await else {
        return;
    };
    for candidate in (3..limit).step_by(2) {
        tell(&filter, candidate).await;
    }
}

async fn run(sizes: Sizes, share: Share) {
    let producer = start(|mailbox| produce(sizes.n, mailbox, share.actor()));
    let filter = new(2, sizes.M, share.actor());
    tell(&producer, filter).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
