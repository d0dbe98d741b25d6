//! recmatmul: P workers multiply matrices by halves. A part of the product belongs to one worker, which adds it up and hands it
//! over in the end.

use std::collections::HashMap;
use std::sync::Arc;

use savina::{Leaf, Matrices, Part, Share, Sizes};
use tidings::actor::{ActorRef, Mailbox, Reply};

use super::{Program, me, start, tell};

enum ToWorker {
    Part(Part),
    /// All is done: the sum of what it has.
    Sum(Reply<i64>),
}

enum ToMaster {
    Part(Part),
    Done,
}

async fn work(
    threshold: i64,
    matrices: Arc<Matrices>,
    master: ActorRef<ToMaster>,
    mut mailbox: Mailbox<ToWorker>,
    mut share: Share,
) {
    let mut own: HashMap<(usize, usize), Leaf> = HashMap::new();
    while let Ok(message) = mailbox.recv().await {
        let part = match message {
            ToWorker::Part(part) => part,
            ToWorker::Sum(reply) => {
                let _ = reply.send(own.values().map(Leaf::sum).sum());
                return;
            }
        };
        if let Some(parts) = part.split(threshold) {
            for part in parts {
                tell(&master, ToMaster::Part(part)).await;
            }
        } else {
            let place = (part.row, part.column);
            let leaf = own.entry(place).or_insert_with(|| matrices.leaf(part));
            share.msgs += matrices.add(part, leaf);
        }
        tell(&master, ToMaster::Done).await;
    }
}

async fn master(
    sizes: Sizes,
    matrices: Arc<Matrices>,
    me: ActorRef<ToMaster>,
    mut mailbox: Mailbox<ToMaster>,
    mut share: Share,
) {
    let worker = |_| {
        start(|mailbox| {
            work(
                sizes.w,
                Arc::clone(&matrices),
                me.clone(),
                mailbox,
                share.actor(),
            )
        })
    };
    let workers: Vec<_> = (0..sizes.P).map(worker).collect();
    let mut open = 0;
    let mut next = Some(Part::whole(sizes.n));
    loop {
        if let Some(part) = next.take() {
            open += 1;
            tell(
                &workers[(part.row + part.column) % workers.len()],
                ToWorker::Part(part),
            )
            .await;
        }
        match mailbox.recv().await {
            Ok(ToMaster::Part(part)) => next = Some(part),
            Ok(ToMaster::Done) => open -= 1,
            Err(_) => return,
        }
        if open == 0 && next.is_none() {
            break;
        }
    }
    for worker in &workers {
        share.check += worker
            .call(ToWorker::Sum)
            .await
            .expect("the worker is alive");
    }
}

async fn run(sizes: Sizes, matrices: Arc<Matrices>, share: Share) {
    start(|mailbox| master(sizes, matrices, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    let matrices = Arc::new(Matrices::new(sizes.n));
    super::program(move |share| run(sizes, Arc::clone(&matrices), share))
}
