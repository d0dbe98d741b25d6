//! fjcreate: n actors, each for one message, which costs a sine.

use savina::{Share, Sizes, theta};
use tidings::actor::Mailbox;

use super::{Program, start, tell};

async fn work(mut mailbox: Mailbox<i64>, mut share: Share) {
    if let Ok(number) = mailbox.recv().await {
        share.msgs += 1;
        share.check += number;
        assert!(theta(37.2) > 0.0);
    }
}

async fn run(n: i64, share: Share) {
    for number in 0..n {
        let actor = start(|mailbox| work(mailbox, share.actor()));
        tell(&actor, number).await;
    }
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
