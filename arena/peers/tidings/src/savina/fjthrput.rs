//! fjthrput: n messages to each of A actors, in turn; each message costs a sine.

use savina::{Share, Sizes, theta};
use tidings::actor::Mailbox;

use super::{Program, start, tell};

async fn work(mut mailbox: Mailbox<i64>, mut share: Share) {
    while let Ok(number) = mailbox.recv().await {
        share.msgs += 1;
        share.check += number;
        assert!(theta(37.2) > 0.0);
    }
}

async fn run(sizes: Sizes, share: Share) {
    let actors: Vec<_> = (0..sizes.A)
        .map(|_| start(|mailbox| work(mailbox, share.actor())))
        .collect();
    for number in 0..sizes.n {
        for actor in &actors {
            tell(actor, number).await;
        }
    }
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
