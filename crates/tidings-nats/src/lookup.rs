//! Finding the actor of a name: on which node it is, and the reference that its link gives.

use std::any::TypeId;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tidings::actor::Reference;
use tidings::remote::{Interface, Remote, interface};
use tidings_link::{ConnectError, GetError};

use crate::cluster::{Cluster, Inner};
use crate::engine::EngineError;
use crate::links::Unlinked;
use crate::member::{Down, Ended, Member};
use crate::record::{Registered, name_key, node_key};

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
    fn unlinked(name: &str, node: &str, why: Unlinked) -> Self {
        let (name, node) = (name.to_owned(), node.to_owned());
        match why {
            Unlinked::Link(why) => Self::Link { name, node, why },
            Unlinked::Engine(why) => Self::Engine { name, why },
            Unlinked::Down(why) => Self::Down { name, node, why },
        }
    }
}

/// Is that what we take it for? As a link will find, but before there is one.
fn fits(name: &str, theirs: &Registered, ours: &Interface) -> Result<(), LookupError> {
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

impl Cluster {
    /// The actor of this name: on whichever node it is, as the same reference.
    ///
    /// What was found is kept, and is found again without asking anybody until it ends or the name
    /// becomes another's.
    ///
    /// # Errors
    /// If there is none, or no way to it; if it is of another interface, or one of its methods has
    /// another shape there. Nothing was sent to it.
    pub async fn lookup<R>(&self, name: &str) -> Result<R, LookupError>
    where
        R: Reference<Message: Remote>,
    {
        match self.inner.known(name) {
            Some(known) => Ok(known),
            None => self.inner.find(name).await,
        }
    }
}

impl Inner {
    /// What was found before, or is here.
    fn known<R: Reference>(&self, name: &str) -> Option<R> {
        let state = self.lock();
        let kept = state
            .found
            .get(&TypeId::of::<R>())
            .and_then(|of| of.get(name));
        let here = || {
            let held = state.held.get(name).filter(|held| held.is_ours());
            held.map(|held| &held.local)
        };
        let known: &R = kept.or_else(here)?.downcast_ref()?;
        let known = known.clone();
        drop(state);
        known.recipient().exit().is_none().then_some(known)
    }

    async fn find<R>(self: &Arc<Self>, name: &str) -> Result<R, LookupError>
    where
        R: Reference<Message: Remote>,
    {
        self.alive().map_err(|why| LookupError::Ended {
            name: name.to_owned(),
            why,
        })?;
        let (registered, member) = match self.seen(name) {
            Some(seen) => seen,
            None => self.ask_whose(name).await?,
        };
        fits(name, &registered, interface::<R::Message>())?;
        let link = self.links.to(&member).await;
        let link = link.map_err(|why| LookupError::unlinked(name, member.node(), why))?;
        let found: R = link.get(name).await.map_err(LookupError::Get)?;
        let before = {
            let mut state = self.lock();
            // It may have become another's meanwhile.
            match state.view.registered(name) == Some(&registered) {
                true => {
                    let of = state.found.entry(TypeId::of::<R>()).or_default();
                    of.insert(name.to_owned(), Box::new(found.clone()))
                }
                false => None,
            }
        };
        drop(before);
        Ok(found)
    }

    /// Whose a name is, if that is told, and a member's.
    fn seen(&self, name: &str) -> Option<(Registered, Member)> {
        let view = &self.lock().view;
        let registered = view.registered(name)?;
        let member = view.living(&registered.owner)?;
        Some((registered.clone(), member.clone()))
    }

    /// Whose a name is, by the engine's word: it may have been claimed a moment ago, by a node that has
    /// just joined.
    async fn ask_whose(self: &Arc<Self>, name: &str) -> Result<(Registered, Member), LookupError> {
        let read = async |key: &str| {
            let there = self.engine.read(key).await;
            there.map_err(|why| LookupError::Engine {
                name: name.to_owned(),
                why,
            })
        };
        let no_such_name = || LookupError::no_such_name(name);
        let there = read(&name_key(name)).await?;
        let there = there.and_then(|there| there.value);
        let there = there.and_then(|value| serde_json::from_slice(&value).ok());
        let registered: Registered = there.ok_or_else(no_such_name)?;
        let owner = &registered.owner;
        let living = || self.lock().view.living(owner).cloned();
        let mut member = living();
        // Ours is told by the watch alone.
        if member.is_none() && owner.node != self.me.node {
            if let Some(node) = read(&node_key(&owner.node)).await? {
                self.take_in(&node);
            }
            member = living();
        }
        let member = member.ok_or_else(no_such_name)?;
        Ok((registered, member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_the_name() {
        let no_link = [
            Unlinked::Link(Arc::new(ConnectError::Late)),
            Unlinked::Engine(EngineError::Timeout),
            Unlinked::Down(Down::Left),
        ];
        let no_link = no_link.map(|why| LookupError::unlinked("orders", "b", why));
        let texts = no_link.map(|error| error.to_string());
        let late = ConnectError::Late;
        assert_eq!(
            texts[0],
            format!("\"orders\" is on node \"b\", and there is no way to it: {late}")
        );
        let late = EngineError::Timeout;
        assert_eq!(texts[1], format!("\"orders\" cannot be looked up: {late}"));
        assert_eq!(texts[2], "\"orders\" was on node \"b\": it has left");
        let (name, why) = ("orders".to_owned(), Ended::Left);
        let ended = LookupError::Ended { name, why }.to_string();
        assert_eq!(ended, "\"orders\" cannot be looked up: we have left");
    }
}
