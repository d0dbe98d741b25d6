//! concdict: P workers read from and write to one dictionary.

use std::collections::HashMap;

use savina::{PseudoRandom, Share, Sizes};
use tidings::actor::{ActorRef, Builder, Mailbox};

use super::{Program, start, tell};

#[tidings::interface]
pub(crate) trait Dictionary {
    async fn write(&mut self, key: i64, value: i64) -> i64;
    async fn read(&mut self, key: i64) -> i64;
}

/// At first each key has itself as its value.
struct Data {
    written: HashMap<i64, i64>,
    share: Share,
}

impl Dictionary for Data {
    async fn write(&mut self, key: i64, value: i64) -> i64 {
        self.share.msgs += 1;
        self.written.insert(key, value);
        value
    }

    async fn read(&mut self, key: i64) -> i64 {
        self.share.msgs += 1;
        self.written.get(&key).copied().unwrap_or(key)
    }
}

struct Go;
struct Done;

/// Its keys are its own, so that what it reads does not depend on the others.
async fn work(
    id: i64,
    sizes: Sizes,
    data: DictionaryRef,
    master: ActorRef<Done>,
    mut mailbox: Mailbox<Go>,
    mut share: Share,
) {
    let Ok(Go) = mailbox.recv().await else { return };
    share.msgs += 1;
    let mut random = PseudoRandom::new(id + sizes.n + sizes.w);
    for _ in 0..sizes.n {
        let is_write = random.below(100) < sizes.w;
        let key = random.next() * sizes.P + id;
        let answer = if is_write {
            data.write(key, random.next()).await
        } else {
            data.read(key).await
        };
        share.check += answer.expect("the dictionary is alive");
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
    let data: DictionaryRef = Builder::new().unbounded().start(Data {
        written: HashMap::new(),
        share: share.actor(),
    });
    for id in 0..sizes.P {
        let (data, master) = (data.clone(), master.clone());
        let worker = start(|mailbox| work(id, sizes, data, master, mailbox, share.actor()));
        tell(&worker, Go).await;
    }
    for _ in 0..sizes.P {
        if mailbox.recv().await.is_ok() {
            share.msgs += 1;
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| master(sizes, super::me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
