//! radixsort: n values go through 60 actors, each of which sorts by one bit.

use savina::{Share, Sizes, values};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

/// Passes values without the bit at once, those with it after the last.
async fn sort(n: i64, bit: i64, next: ActorRef<i64>, mut mailbox: Mailbox<i64>, mut share: Share) {
    let mut with_bit = Vec::new();
    for _ in 0..n {
        let Ok(value) = mailbox.recv().await else {
            return;
        };
        share.msgs += 1;
        if value & bit == 0 {
            tell(&next, value).await;
        } else {
            with_bit.push(value);
        }
    }
    for value in with_bit {
        tell(&next, value).await;
    }
}

async fn validate(mut mailbox: Mailbox<i64>, mut share: Share) {
    let mut last = 0;
    while let Ok(value) = mailbox.recv().await {
        share.msgs += 1;
        share.check += value;
        assert!(last <= value, "values arrive sorted");
        last = value;
    }
}

async fn source(n: i64, mut mailbox: Mailbox<ActorRef<i64>>, mut share: Share) {
    let Ok(next) = mailbox.recv().await else {
        return;
    };
    share.msgs += 1;
    for value in values(2048, n) {
        tell(&next, value).await;
    }
}

async fn run(n: i64, share: Share) {
    let source = start(|mailbox| source(n, mailbox, share.actor()));
    let mut next = start(|mailbox| validate(mailbox, share.actor()));
    for place in (0..60).rev() {
        next = start(|mailbox| sort(n, 1 << place, next, mailbox, share.actor()));
    }
    tell(&source, next).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
