//! apsp: all shortest paths of a graph. An actor has a block of the matrix and tells it to those in its row and column, for each
//! of n steps.

use std::collections::HashMap;
use std::sync::Arc;

use savina::{Block, Graph, Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

enum ToBlock {
    Neighbours(Vec<ActorRef<Self>>),
    Start,
    /// A block before a step, with its place.
    Before(usize, usize, Block),
}

/// The block of each neighbour before step k. One that is a step ahead has sent the next already, which waits.
async fn around(
    k: usize,
    neighbours: usize,
    mailbox: &mut Mailbox<ToBlock>,
) -> HashMap<usize, Block> {
    let mut blocks = HashMap::with_capacity(neighbours);
    while blocks.len() < neighbours {
        let this = mailbox.scan(|message| match message {
            ToBlock::Before(step, place, block) if step == k => Ok((place, block)),
            other => Err(other),
        });
        let Ok((place, block)) = this.await else {
            break;
        };
        blocks.insert(place, block);
    }
    blocks
}

async fn block(id: usize, graph: Arc<Graph>, mut mailbox: Mailbox<ToBlock>, mut share: Share) {
    let mut mine = graph.first(id);
    let neighbours = mailbox.scan(|message| match message {
        ToBlock::Neighbours(all) => Ok(all),
        other => Err(other),
    });
    let Ok(neighbours) = neighbours.await else {
        return;
    };
    let started = mailbox.scan(|message| match message {
        ToBlock::Start => Ok(()),
        other => Err(other),
    });
    let Ok(()) = started.await else { return };
    for k in 0..graph.nodes {
        for neighbour in &neighbours {
            tell(neighbour, ToBlock::Before(k, id, Arc::clone(&mine))).await;
        }
        let others = around(k, neighbours.len(), &mut mailbox).await;
        mine = graph.step(id, k, &mine, |place| &others[&place]);
        share.msgs += mine.len() as i64;
    }
    share.check = mine.iter().sum();
}

async fn run(graph: Arc<Graph>, share: Share) {
    let places = 0..graph.blocks() * graph.blocks();
    let new = |id| start(|mailbox| block(id, Arc::clone(&graph), mailbox, share.actor()));
    let blocks: Vec<_> = places.map(new).collect();
    for (id, block) in blocks.iter().enumerate() {
        let neighbours = graph.neighbours(id).map(|other| blocks[other].clone());
        tell(block, ToBlock::Neighbours(neighbours.collect())).await;
    }
    for block in &blocks {
        tell(block, ToBlock::Start).await;
    }
}

pub(super) fn program(sizes: Sizes) -> Program {
    let graph = Arc::new(Graph::new(sizes.n, sizes.S, sizes.w));
    super::program(move |share| run(Arc::clone(&graph), share))
}
