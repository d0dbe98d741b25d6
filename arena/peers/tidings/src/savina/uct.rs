//! uct: a tree grows until it has n nodes; then it is walked, and each node computes.

use savina::{Grant, Growth, Share, Sizes, busy_wait};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum ToRoot {
    /// A node asks whether it has children.
    MayI(ActorRef<ToNode>),
    Granted,
}

enum ToNode {
    Try,
    /// It has children that compute so much.
    Generate(i64),
    Granted,
    Walk,
    End,
}

/// Who hears that a node has children.
enum Parent {
    Root(ActorRef<ToRoot>),
    Node(ActorRef<ToNode>),
}

struct Node {
    work: i64,
    parent: Parent,
    root: ActorRef<ToRoot>,
    sizes: Sizes,
    share: Share,
}

impl Node {
    fn start(self) -> ActorRef<ToNode> {
        start(|mailbox| self.live(me(&mailbox), mailbox))
    }

    async fn live(mut self, me: ActorRef<ToNode>, mut mailbox: Mailbox<ToNode>) {
        let mut children: Vec<ActorRef<ToNode>> = Vec::new();
        while let Ok(message) = mailbox.recv().await {
            match message {
                ToNode::Try => {
                    busy_wait(100);
                    // Nobody is there to answer once the tree is full.
                    let _ = self.root.send(ToRoot::MayI(me.clone())).await;
                }
                ToNode::Generate(work) => {
                    // The parents of the last nodes may have ended.
                    match &self.parent {
                        Parent::Root(root) => drop(root.send(ToRoot::Granted).await),
                        Parent::Node(node) => drop(node.send(ToNode::Granted).await),
                    }
                    let child = |_| {
                        let child = Self {
                            work,
                            parent: Parent::Node(me.clone()),
                            root: self.root.clone(),
                            sizes: self.sizes,
                            share: self.share.actor(),
                        };
                        child.start()
                    };
                    children = (0..self.sizes.A).map(child).collect();
                    for child in &children {
                        tell(child, ToNode::Try).await;
                    }
                }
                ToNode::Granted => {}
                ToNode::Walk => {
                    busy_wait(self.work);
                    self.share.msgs += 1;
                    self.share.check += self.work;
                    for child in &children {
                        tell(child, ToNode::Walk).await;
                    }
                }
                ToNode::End => {
                    for child in &children {
                        tell(child, ToNode::End).await;
                    }
                    return;
                }
            }
        }
    }
}

async fn root(sizes: Sizes, me: ActorRef<ToRoot>, mut mailbox: Mailbox<ToRoot>, share: Share) {
    let mut growth = Growth::new(sizes);
    let work = growth.begin();
    let child = |_| {
        let child = Node {
            work,
            parent: Parent::Root(me.clone()),
            root: me.clone(),
            sizes,
            share: share.actor(),
        };
        child.start()
    };
    let children: Vec<_> = (0..sizes.A).map(child).collect();
    for child in &children {
        tell(child, ToNode::Try).await;
    }
    while let Ok(message) = mailbox.recv().await {
        let ToRoot::MayI(node) = message else {
            continue;
        };
        match growth.ask() {
            Grant::Leaf => {}
            Grant::Children(work) => tell(&node, ToNode::Generate(work)).await,
            Grant::Full => break,
        }
    }
    for message in [|| ToNode::Walk, || ToNode::End] {
        for child in &children {
            tell(child, message()).await;
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| root(sizes, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
