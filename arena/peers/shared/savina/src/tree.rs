//! uct: how the tree grows, which its root decides.

use crate::{PseudoRandom, Sizes};

/// What the root says to a node that asks for children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It stays a leaf.
    Leaf,
    /// It has children, each with so much to compute.
    Children(i64),
    /// The tree is as large as it may be.
    Full,
}

/// The decisions so far. Which node gets which depends on who asks first, their number does not.
#[derive(Debug)]
pub struct Growth {
    random: PseudoRandom,
    sizes: Sizes,
    nodes: i64,
}

impl Growth {
    pub fn new(sizes: Sizes) -> Self {
        Self {
            random: PseudoRandom::new(2),
            sizes,
            nodes: 1,
        }
    }

    fn work(&mut self) -> i64 {
        let Sizes {
            S: mean, M: spread, ..
        } = self.sizes;
        self.nodes += self.sizes.A;
        (mean - spread + self.random.below(2 * spread + 1)).max(1)
    }

    /// The root's own children.
    pub fn begin(&mut self) -> i64 {
        self.work()
    }

    pub fn ask(&mut self) -> Grant {
        if self.nodes + self.sizes.A > self.sizes.n {
            Grant::Full
        } else if self.random.coin() {
            Grant::Children(self.work())
        } else {
            Grant::Leaf
        }
    }

    /// All nodes, and what they compute in the end; `None` if the tree stops to grow before it is full.
    pub(crate) fn grown(mut self) -> Option<(i64, i64)> {
        let children = self.sizes.A;
        let mut work = children * self.begin();
        let mut asking = children;
        loop {
            match self.ask() {
                Grant::Full => return Some((self.nodes, work)),
                Grant::Leaf => asking -= 1,
                Grant::Children(each) => {
                    asking += children - 1;
                    work += children * each;
                }
            }
            if asking == 0 {
                return None;
            }
        }
    }
}
