//! piprecision: P workers compute the terms of a series for pi, to n decimals.

use savina::{Fixed, Share, Sizes, term, terms};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

/// A term, from the worker with this place.
struct Term(usize, Fixed);

async fn work(
    place: usize,
    decimals: i64,
    master: ActorRef<Term>,
    mut mailbox: Mailbox<i64>,
    mut share: Share,
) {
    while let Ok(k) = mailbox.recv().await {
        let term = term(k, decimals);
        share.msgs += term.words();
        tell(&master, Term(place, term)).await;
    }
}

async fn master(sizes: Sizes, me: ActorRef<Term>, mut mailbox: Mailbox<Term>, mut share: Share) {
    let worker =
        |place| start(|mailbox| work(place as usize, sizes.n, me.clone(), mailbox, share.actor()));
    let workers: Vec<_> = (0..sizes.P).map(worker).collect();
    let mut left = 0..terms(sizes.n);
    let first = left.end.min(10 * sizes.P);
    for (k, worker) in left
        .by_ref()
        .take(first as usize)
        .zip(workers.iter().cycle())
    {
        tell(worker, k).await;
    }
    let mut sum = Fixed::zero(sizes.n);
    for _ in 0..left.end {
        let Ok(Term(place, term)) = mailbox.recv().await else {
            return;
        };
        sum.add(&term);
        if let Some(k) = left.next() {
            tell(&workers[place], k).await;
        }
    }
    share.check = sum.decimals(sizes.n);
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| master(sizes, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
