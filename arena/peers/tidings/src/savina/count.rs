//! count: one actor sends n additions to another, and asks for the sum.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox, Reply};

use super::{Program, start, tell};

enum Count {
    Add(i64),
    Get(Reply<i64>),
}

struct Go;

async fn produce(n: i64, counter: ActorRef<Count>, mut mailbox: Mailbox<Go>, mut share: Share) {
    let Ok(Go) = mailbox.recv().await else { return };
    for _ in 0..n {
        tell(&counter, Count::Add(1)).await;
    }
    share.check = counter
        .call(Count::Get)
        .await
        .expect("the counter is alive");
    share.msgs = 2;
}

async fn count(mut mailbox: Mailbox<Count>, mut share: Share) {
    let mut sum = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            Count::Add(number) => sum += number,
            Count::Get(reply) => {
                let _ = reply.send(sum);
            }
        }
    }
}

async fn run(n: i64, share: Share) {
    let counter = start(|mailbox| count(mailbox, share.actor()));
    let producer = start(|mailbox| produce(n, counter, mailbox, share.actor()));
    tell(&producer, Go).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
