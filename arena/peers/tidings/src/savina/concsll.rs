//! concsll: P workers use one sorted linked list.

use savina::{PseudoRandom, Share, Sizes, SortedList};
use tidings::actor::{ActorRef, Builder, Mailbox};

use super::{Program, start, tell};

#[tidings::interface]
pub(crate) trait List {
    async fn add(&mut self, value: i64) -> i64;
    async fn contains(&mut self, value: i64) -> bool;
    async fn size(&mut self) -> i64;
}

struct Data {
    list: SortedList,
    share: Share,
}

impl List for Data {
    async fn add(&mut self, value: i64) -> i64 {
        self.share.msgs += 1;
        self.list.add(value);
        value
    }

    async fn contains(&mut self, value: i64) -> bool {
        self.share.msgs += 1;
        self.list.contains(value)
    }

    async fn size(&mut self) -> i64 {
        self.share.msgs += 1;
        self.list.size()
    }
}

struct Go;
struct Done;

/// Its values are its own, so that what it finds does not depend on the others.
async fn work(
    id: i64,
    sizes: Sizes,
    list: ListRef,
    master: ActorRef<Done>,
    mut mailbox: Mailbox<Go>,
    mut share: Share,
) {
    let Ok(Go) = mailbox.recv().await else { return };
    share.msgs += 1;
    let mut random = PseudoRandom::new(id + sizes.n + sizes.w + sizes.S);
    let mut added = 0;
    for _ in 0..sizes.n {
        let kind = random.below(100);
        let alive = "the list is alive";
        if kind < sizes.S {
            assert!(
                list.size().await.expect(alive) >= added,
                "what was added stays"
            );
        } else if kind < sizes.S + sizes.w {
            added += 1;
            share.check += list.add(random.next() * sizes.P + id).await.expect(alive);
        } else {
            let found = list.contains(random.next() * sizes.P + id).await;
            share.check += i64::from(found.expect(alive));
        }
        share.msgs += 1;
    }
    tell(&master, Done).await;
}

async fn master(
    sizes: Sizes,
    master: ActorRef<Done>,
    mut mailbox: Mailbox<Done>,
    mut share: Share,
) {
    let list: ListRef = Builder::new().unbounded().start(Data {
        list: SortedList::new(),
        share: share.actor(),
    });
    for id in 0..sizes.P {
        let (list, master) = (list.clone(), master.clone());
        let worker = start(|mailbox| work(id, sizes, list, master, mailbox, share.actor()));
        tell(&worker, Go).await;
    }
    for _ in 0..sizes.P {
        if mailbox.recv().await.is_ok() {
            share.msgs += 1;
        }
    }
    // Ours, for the check: not counted.
    share.check += list.size().await.expect("the list is alive");
    share.msgs -= 1;
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| master(sizes, super::me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
