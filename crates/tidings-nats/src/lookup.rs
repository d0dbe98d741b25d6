//! Why a name gave no reference (`names.rs`).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tidings::remote::Interface;
use tidings_link::{ConnectError, GetError};

use crate::engine::EngineError;
use crate::links::Unlinked;
use crate::member::{Down, Ended};
use crate::record::Registered;

/// Why a name gave no reference. Its text has the name. Nothing was sent to the actor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LookupError {
    /// No member has this name; of a [pool](crate::Pool), nobody is in its group.
    NoSuchName {
        /// The name that was asked for, or the group's.
        name: String,
    },
    /// It is the name of an actor of another interface.
    OtherInterface {
        /// The name that was asked for.
        name: String,
        /// The interface that it has.
        theirs: String,
        /// The interface of the reference.
        ours: &'static str,
    },
    /// A method of its interface has another shape there: there is another version of the program.
    OtherShape {
        /// The name that was asked for.
        name: String,
        /// The method, with its interface.
        method: String,
        /// The node.
        node: String,
        /// The hash of its shape there.
        theirs: u32,
        /// The hash of its shape here.
        ours: u32,
    },
    /// Its node gave no reference, or the link ended.
    Get(GetError),
    /// There is no way to its node: neither direct nor through the engine.
    Link {
        /// The name that was asked for.
        name: String,
        /// The node.
        node: String,
        /// Why the last way is none.
        why: Arc<ConnectError>,
    },
    /// The engine could not be asked, or has not made the link.
    Engine {
        /// The name that was asked for.
        name: String,
        /// Why not.
        why: EngineError,
    },
    /// Its node has gone down.
    Down {
        /// The name that was asked for.
        name: String,
        /// The node.
        node: String,
        /// How it has.
        why: Down,
    },
    /// We are no member any more.
    Ended {
        /// The name that was asked for.
        name: String,
        /// Why not.
        why: Ended,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName { name } => write!(f, "no member has the name {name:?}"),
            Self::OtherInterface { name, theirs, ours } => {
                write!(f, "{name:?} is the name of a {theirs}, not of a {ours}")
            }
            Self::OtherShape {
                name,
                method,
                node,
                theirs,
                ours,
            } => write!(
                f,
                "{name:?}: {method} has another shape on node {node:?}: {theirs:08x}, and {ours:08x} here"
            ),
            Self::Get(error) => error.fmt(f),
            Self::Link { name, node, why } => {
                write!(
                    f,
                    "{name:?} is on node {node:?}, and there is no way to it: {why}"
                )
            }
            Self::Engine { name, why } => write!(f, "{name:?} cannot be looked up: {why}"),
            Self::Down { name, node, why } => write!(f, "{name:?} was on node {node:?}: {why}"),
            Self::Ended { name, why } => write!(f, "{name:?} cannot be looked up: {why}"),
        }
    }
}

impl Error for LookupError {}

impl LookupError {
    pub(crate) fn no_such_name(name: &str) -> Self {
        let name = name.to_owned();
        Self::NoSuchName { name }
    }

    /// Of a name that is on a node to which there is no link.
    pub(crate) fn unlinked(name: &str, node: &str, why: Unlinked) -> Self {
        let (name, node) = (name.to_owned(), node.to_owned());
        match why {
            Unlinked::Link(why) => Self::Link { name, node, why },
            Unlinked::Engine(why) => Self::Engine { name, why },
            Unlinked::Down(why) => Self::Down { name, node, why },
        }
    }
}

/// Is that what we take it for? As a link will find, but before there is one.
pub(crate) fn fits(name: &str, theirs: &Registered, ours: &Interface) -> Result<(), LookupError> {
    let name = || name.to_owned();
    if theirs.interface != ours.name() {
        return Err(LookupError::OtherInterface {
            name: name(),
            theirs: theirs.interface.clone(),
            ours: ours.name(),
        });
    }
    for method in ours.methods() {
        if let Some(number) = theirs.methods.get(method.name())
            && *number != method.number()
        {
            return Err(LookupError::OtherShape {
                name: name(),
                method: format!("{}.{}", ours.name(), method.name()),
                node: theirs.owner.node.clone(),
                theirs: *number,
                ours: method.number(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_the_name() {
        let late = || ConnectError::Late {
            at: "tcp://b:7".to_owned(),
        };
        let no_link = [
            Unlinked::Link(Arc::new(late())),
            Unlinked::Engine(EngineError::Timeout),
            Unlinked::Down(Down::Left),
        ];
        let no_link = no_link.map(|why| LookupError::unlinked("orders", "b", why));
        let texts = no_link.map(|error| error.to_string());
        assert_eq!(
            texts[0],
            "\"orders\" is on node \"b\", and there is no way to it: tcp://b:7: it took too long to connect"
        );
        let late = EngineError::Timeout;
        assert_eq!(texts[1], format!("\"orders\" cannot be looked up: {late}"));
        assert_eq!(texts[2], "\"orders\" was on node \"b\": it has left");
        let (name, why) = ("orders".to_owned(), Ended::Left);
        let ended = LookupError::Ended { name, why }.to_string();
        assert_eq!(ended, "\"orders\" cannot be looked up: we have left");
    }
}
