//! fib: an actor for each call of the plain recursion.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum Fib {
    Request(i64),
    Response(i64),
}

async fn fib(
    parent: Option<ActorRef<Fib>>,
    address: ActorRef<Fib>,
    mut mailbox: Mailbox<Fib>,
    mut share: Share,
) {
    let (mut sum, mut missing) = (0, 0);
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            Fib::Request(n) if n <= 2 => sum = 1,
            Fib::Request(n) => {
                missing = 2;
                for n in [n - 1, n - 2] {
                    let child = new(Some(address.clone()), share.actor());
                    tell(&child, Fib::Request(n)).await;
                }
            }
            Fib::Response(value) => {
                sum += value;
                missing -= 1;
            }
        }
        if missing == 0 {
            match parent {
                Some(parent) => tell(&parent, Fib::Response(sum)).await,
                None => share.check = sum,
            }
            return;
        }
    }
}

/// Not an `async fn`, or the type of its future would contain itself.
fn new(parent: Option<ActorRef<Fib>>, share: Share) -> ActorRef<Fib> {
    start(|mailbox| fib(parent, me(&mailbox), mailbox, share))
}

async fn run(n: i64, share: Share) {
    let root = new(None, share.actor());
    tell(&root, Fib::Request(n)).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes.n, share))
}
