//! uct: a tree grows until it has n nodes; then it is walked, and each node computes.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Grant, Growth, Share, Sizes, busy_wait};

pub(super) struct Uct;

enum ToRoot<S: System> {
    Begin,
    /// A node asks whether it has children.
    MayI(S::Ref<Node<S>>),
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

struct Node<S: System> {
    work: i64,
    /// Who hears that it has children; none is the root.
    parent: Option<S::Ref<Self>>,
    root: S::Ref<Root<S>>,
    sizes: Sizes,
    children: Vec<S::Ref<Self>>,
    share: Share,
}

impl<S: System> Node<S> {
    fn new(
        work: i64,
        parent: Option<S::Ref<Self>>,
        root: S::Ref<Root<S>>,
        sizes: Sizes,
        share: Share,
    ) -> Self {
        Self {
            work,
            parent,
            root,
            sizes,
            children: Vec::new(),
            share,
        }
    }
}

impl<S: System> Behaviour<S> for Node<S> {
    type Message = ToNode;

    async fn receive(&mut self, message: ToNode, context: &mut Context<S, Self>) -> Next {
        match message {
            ToNode::Try => {
                busy_wait(100);
                S::tell(&self.root, ToRoot::MayI(context.me.clone()));
            }
            ToNode::Generate(work) => {
                match &self.parent {
                    None => S::tell(&self.root, ToRoot::Granted),
                    Some(node) => S::tell(node, ToNode::Granted),
                }
                for _ in 0..self.sizes.A {
                    let (parent, root) = (Some(context.me.clone()), self.root.clone());
                    let node = Self::new(work, parent, root, self.sizes, self.share.actor());
                    self.children.push(context.system.start(node).await);
                }
                for child in &self.children {
                    S::tell(child, ToNode::Try);
                }
            }
            ToNode::Granted => {}
            ToNode::Walk => {
                busy_wait(self.work);
                self.share.msgs += 1;
                self.share.check += self.work;
                for child in &self.children {
                    S::tell(child, ToNode::Walk);
                }
            }
            ToNode::End => {
                for child in &self.children {
                    S::tell(child, ToNode::End);
                }
                return Next::End;
            }
        }
        Next::Go
    }
}

struct Root<S: System> {
    growth: Growth,
    sizes: Sizes,
    children: Vec<S::Ref<Node<S>>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Root<S> {
    type Message = ToRoot<S>;

    async fn receive(&mut self, message: ToRoot<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToRoot::Begin => {
                let work = self.growth.begin();
                for _ in 0..self.sizes.A {
                    let root = context.me.clone();
                    let node = Node::<S>::new(work, None, root, self.sizes, self.share.actor());
                    self.children.push(context.system.start(node).await);
                }
                for child in &self.children {
                    S::tell(child, ToNode::Try);
                }
            }
            ToRoot::Granted => {}
            ToRoot::MayI(node) => match self.growth.ask() {
                Grant::Leaf => {}
                Grant::Children(work) => S::tell(&node, ToNode::Generate(work)),
                Grant::Full => {
                    for message in [|| ToNode::Walk, || ToNode::End] {
                        for child in &self.children {
                            S::tell(child, message());
                        }
                    }
                    return Next::End;
                }
            },
        }
        Next::Go
    }
}

impl Program for Uct {
    const ID: &'static str = "uct";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let root = Root::<S> {
            growth: Growth::new(sizes),
            sizes,
            children: Vec::new(),
            share: share.actor(),
        };
        S::tell(&system.start(root).await, ToRoot::Begin);
    }
}
