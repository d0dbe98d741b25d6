//! What users see of a cluster: its members, their ends, and what has changed.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidings::Event;
use tidings::channel::ivar::IVar;

/// Why a member is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Down {
    /// It has left.
    Left,
    /// Nothing was heard of it for a lease: it has ended, stands still, or cannot reach the engine.
    Expired,
    /// Another process has joined under its name.
    Replaced,
    /// We are no member any more, and see nothing of the others.
    Unseen,
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "it has left",
            Self::Expired => "nothing was heard of it for a lease",
            Self::Replaced => "another process has its name",
            Self::Unseen => "we are no member any more",
        })
    }
}

/// A node in one of its lives. Clones are the same member.
#[derive(Clone)]
pub struct Member {
    pub(crate) node: Arc<str>,
    pub(crate) incarnation: u64,
    pub(crate) address: Option<Arc<str>>,
    pub(crate) down: Arc<IVar<Down>>,
}

impl Member {
    /// The name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Which of its lives this is.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Where it can be linked to; `None`: through the engine only.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// The end of this life: an event, at once if it is over. Links with it end then.
    pub fn down(&self) -> impl Event<Output = Down, Lost = ()> + Send + '_ {
        self.down.read().map(|&down| down)
    }

    /// Why this life is over; `None` while it is not.
    #[must_use]
    pub fn exit(&self) -> Option<Down> {
        self.down.try_read().copied()
    }

    pub(crate) fn id(&self) -> (String, u64) {
        (self.node.to_string(), self.incarnation)
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        (&self.node, self.incarnation) == (&other.node, other.incarnation)
    }
}

impl Eq for Member {}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{:x}", self.node, self.incarnation)
    }
}

/// What has become of whom: [`Cluster::changes`](crate::Cluster::changes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A member that was not there before.
    Up(Member),
    /// Its end. It is the only one of this life, and the last that is told of it.
    Down(Member, Down),
}

impl Change {
    /// Those who wait for the end hear of it.
    pub(crate) fn happen(&self) {
        if let Self::Down(member, down) = self {
            // One end each: a life that is dead has left the view.
            let _ = member.down.fill(*down);
        }
    }
}

/// How a membership has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// We have left.
    Left,
    /// The others have not heard of us for a lease: we stood still, or could not reach the engine.
    /// They have given up this life; another can [`join`](crate::Cluster::join).
    Expired,
    /// Another process has joined under our name.
    Replaced,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "we have left",
            Self::Expired => "the others have not heard of us for a lease",
            Self::Replaced => "another process has joined under our name",
        })
    }
}
