//! astar: P workers search a grid of n * n * n nodes; what a worker leaves a master hands to the next.

use std::sync::Arc;

use savina::{Grid, Search, Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum ToMaster {
    /// A node from which to go on.
    Node(u32),
    Done,
}

async fn work(
    most: i64,
    search: Arc<Search>,
    master: ActorRef<ToMaster>,
    mut mailbox: Mailbox<u32>,
    mut share: Share,
) {
    while let Ok(from) = mailbox.recv().await {
        let (visited, sum, left) = search.visit(from, most);
        share.msgs += visited;
        share.check += sum;
        for node in left {
            tell(&master, ToMaster::Node(node)).await;
        }
        tell(&master, ToMaster::Done).await;
    }
}

async fn master(
    sizes: Sizes,
    search: Arc<Search>,
    me: ActorRef<ToMaster>,
    mut mailbox: Mailbox<ToMaster>,
    mut share: Share,
) {
    let worker = |_| {
        start(|mailbox| {
            work(
                sizes.w,
                Arc::clone(&search),
                me.clone(),
                mailbox,
                share.actor(),
            )
        })
    };
    let workers: Vec<_> = (0..sizes.P).map(worker).collect();
    let mut turn = workers.iter().cycle();
    let mut open = 0;
    let mut next = Some(0);
    loop {
        if let (Some(node), Some(worker)) = (next.take(), turn.next()) {
            open += 1;
            tell(worker, node).await;
        }
        match mailbox.recv().await {
            Ok(ToMaster::Node(node)) => next = Some(node),
            Ok(ToMaster::Done) => open -= 1,
            Err(_) => return,
        }
        if open == 0 && next.is_none() {
            break;
        }
    }
    share.check += i64::from(search.found());
}

async fn run(sizes: Sizes, grid: Arc<Grid>, share: Share) {
    let search = Arc::new(Search::new(grid));
    start(|mailbox| master(sizes, search, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    let grid = Arc::new(Grid::new(sizes.n));
    super::program(move |share| run(sizes, Arc::clone(&grid), share))
}
