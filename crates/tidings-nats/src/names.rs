//! Names of actors in the cluster: claimed, found, lost.

use std::any::{Any, TypeId};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{self, Either};
use futures_util::stream;
use tidings::Event;
use tidings::actor::{AnyRef, Reference};
use tidings::channel::ivar::IVar;
use tidings::remote::{Remote, interface, quietly};

use crate::cluster::{Cluster, Inner, State};
use crate::engine::{EngineError, Entry, Expect};
use crate::lookup::{self, LookupError};
use crate::member::{Ended, Member};
use crate::record::{Owner, Record, Registered, json, name_key, node_key};

/// So many names are written at a time, when an engine has lost them.
const AT_ONCE: usize = 64;

/// No name is longer: a subject of NATS, in which it is, has some kilobytes.
const LONGEST: usize = 1 << 10;

/// What is under a name of ours.
pub(crate) struct Held {
    pub(crate) lost: Arc<IVar<()>>,
    /// The reference, for those who ask here.
    local: Box<dyn Any + Send + Sync>,
    registered: Registered,
    stage: Stage,
}

impl Held {
    /// It is ours, and not being given back.
    pub(crate) fn is_ours(&self) -> bool {
        self.stage == Stage::Ours
    }
}

/// How far a name of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is asked for: it may be another's, and is not found here.
    Asked,
    /// It is written down as ours.
    Ours,
    /// It was given back or lost, and is nobody's here once it is no longer exported.
    Going,
}

/// A name that is ours: [`Cluster::register`]. Dropped, it is given back. It has a clone of its [`Cluster`]: for as
/// long as it is there we do not leave by dropping the others.
pub struct Name {
    cluster: Cluster,
    name: String,
    lost: Arc<IVar<()>>,
}

impl Name {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The name is no longer ours: its actor has ended, or it has become another's, or our membership has
    /// ended: an event.
    ///
    /// The second happens when the engine has lost its keys and another node was faster, and when the
    /// others took us for down.
    pub fn lost(&self) -> impl Event<Output = (), Lost = ()> + Send + '_ {
        self.lost.read().map(|&()| ())
    }

    /// Whether it is ours, as far as we know.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.lost.is_full()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.cluster.inner.give_back(&self.name, &self.lost);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Name").field(&self.name).finish()
    }
}

/// Why a name was not given. Its text has the name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// It is none: letters, digits and `-_./=`, 1,024 at most, and no `.` at an end.
    Malformed {
        /// The name that was asked for.
        name: String,
    },
    /// It is this node's.
    Taken {
        /// The name that was asked for.
        name: String,
        /// The node.
        node: String,
    },
    /// The engine could not be reached, or refused.
    Engine {
        /// The name that was asked for.
        name: String,
        /// Why not.
        why: EngineError,
    },
    /// We are no member any more.
    Ended {
        /// The name that was asked for.
        name: String,
        /// Why not.
        why: Ended,
    },
}

impl NameError {
    fn engine(name: &str, why: EngineError) -> Self {
        let name = name.to_owned();
        Self::Engine { name, why }
    }

    fn ended(name: &str, why: Ended) -> Self {
        let name = name.to_owned();
        Self::Ended { name, why }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { name } => write!(f, "{name:?} is no name"),
            Self::Taken { name, node } => write!(f, "the name {name:?} is node {node:?}'s"),
            Self::Engine { name, why } => write!(f, "the name {name:?} cannot be given: {why}"),
            Self::Ended { name, why } => write!(f, "the name {name:?} cannot be given: {why}"),
        }
    }
}

impl Error for NameError {}

fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_./=".contains(c);
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(good)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
}

impl Cluster {
    /// Gives an actor a name, by which every member finds it. It is kept alive by that, until the
    /// [`Name`] is dropped or lost.
    ///
    /// A name is one member's at a time. It is written down until it is given back or its actor has ended
    /// (a restart by its supervisor is no end), and nobody's when its node is down: then who asks first takes
    /// it over. If the engine loses it, it is claimed anew
    /// within a lease. While the engine is cut in two, or a node stands still, two nodes may
    /// think for a lease that it is theirs: it is no lock.
    ///
    /// # Errors
    /// If it is taken, by another node or by this one; if we are leaving.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn register<R>(&self, name: &str, reference: &R) -> Result<Name, NameError>
    where
        R: Reference<Message: Remote>,
    {
        if !is_name(name) {
            let name = name.to_owned();
            return Err(NameError::Malformed { name });
        }
        let lost = Arc::new(IVar::new());
        let inner = &self.inner;
        let registered = inner.hold(name, reference, &lost)?;
        // Who finds the name is to find the actor.
        drop(inner.exports.clone().add(name, reference));
        let guard = Name {
            cluster: self.clone(),
            name: name.to_owned(),
            lost: Arc::clone(&lost),
        };
        if let Err(ended) = inner.alive() {
            // Our end may have come between the two, and have found nothing to take back.
            inner.exports.remove(name);
            return Err(NameError::ended(name, ended));
        }
        inner.claim(name, &registered).await?;
        {
            let mut state = inner.lock();
            // Who leaves has given its names back meanwhile.
            inner.stays(&state, name)?;
            if let Some(held) = state.held.get_mut(name) {
                held.stage = Stage::Ours;
            }
        }
        inner.regroup();
        inner.give_back_at_end(name, reference.recipient().any(), lost);
        Ok(guard)
    }

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
    fn hold<R>(
        &self,
        name: &str,
        reference: &R,
        lost: &Arc<IVar<()>>,
    ) -> Result<Registered, NameError>
    where
        R: Reference<Message: Remote>,
    {
        let local = Box::new(reference.clone());
        let mut state = self.lock();
        // Our end is known before it takes what is held: what is held after it would be so for ever.
        self.stays(&state, name)?;
        if state.held.contains_key(name) {
            let (name, node) = (name.to_owned(), self.me.node.clone());
            return Err(NameError::Taken { name, node });
        }
        let registered = Registered::new(&self.me, interface::<R::Message>(), state.number());
        let held = Held {
            lost: Arc::clone(lost),
            local,
            registered: registered.clone(),
            stage: Stage::Asked,
        };
        state.held.insert(name.to_owned(), held);
        Ok(registered)
    }

    /// We are a member, and are not leaving.
    fn stays(&self, state: &State, name: &str) -> Result<(), NameError> {
        let stays = match state.leaving {
            true => Err(Ended::Left),
            false => self.alive(),
        };
        stays.map_err(|why| NameError::ended(name, why))
    }

    /// Sees to it that a name does not outlive its actor.
    fn give_back_at_end(self: &Arc<Self>, name: &str, actor: AnyRef, lost: Arc<IVar<()>>) {
        let (this, name) = (Arc::clone(self), name.to_owned());
        self.spawn(async move {
            let gone = std::pin::pin!(lost.read().into_future());
            let ended = std::pin::pin!(actor.down().into_future());
            if let Either::Right(_) = future::select(gone, ended).await {
                quietly(|| this.give_back(&name, &lost));
            }
        });
    }

    /// A [`Name`] was dropped, or its actor has ended.
    fn give_back(&self, name: &str, lost: &Arc<IVar<()>>) {
        let held = self.let_go(name, lost);
        if held.is_some() {
            self.beat.notify_one();
        }
        // Who gives it back hears of a panic of what ends by that.
        drop(held);
    }

    /// Takes a name back here that is held with this, and gives what was under it. It is held until it is
    /// no longer exported: who asks for it next exports it anew.
    fn let_go(&self, name: &str, lost: &Arc<IVar<()>>) -> Option<Held> {
        {
            let mut state = self.lock();
            let held = state.held.get_mut(name)?;
            // One does it.
            if !Arc::ptr_eq(&held.lost, lost) || held.stage == Stage::Going {
                return None;
            }
            held.stage = Stage::Going;
        }
        self.exports.remove(name);
        let held = {
            let mut state = self.lock();
            state.free.insert(name.to_owned());
            state.held.remove(name)
        };
        quietly(|| {
            let _ = lost.fill(());
        });
        self.regroup();
        held
    }

    /// Writes a name down as ours.
    async fn claim(&self, name: &str, registered: &Registered) -> Result<(), NameError> {
        let key = name_key(name);
        let failed = |why| NameError::engine(name, why);
        let mut expect = Expect::Absent;
        loop {
            let value = json(registered);
            let written = self.engine.write(&key, value, expect, None).await;
            match written {
                Ok(_) => return Ok(()),
                Err(EngineError::Conflict) => {}
                Err(error) => return Err(failed(error)),
            }
            let there = self.engine.read(&key).await.map_err(failed)?;
            expect = match there {
                None => Expect::Absent,
                Some(there) => {
                    let theirs = there.value.as_deref();
                    let theirs = theirs.map(serde_json::from_slice::<Registered>);
                    match theirs {
                        Some(Ok(Registered { owner, .. }))
                            if owner != self.me && self.lives(&owner).await.map_err(failed)? =>
                        {
                            let (name, node) = (name.to_owned(), owner.node);
                            return Err(NameError::Taken { name, node });
                        }
                        // Ours, too, is written again: what was given back may be being removed.
                        _ => Expect::Revision(there.revision),
                    }
                }
            };
        }
    }

    /// Is it a member? The engine knows of those that we have not heard of yet.
    async fn lives(&self, owner: &Owner) -> Result<bool, EngineError> {
        {
            let state = self.lock();
            if state.view.is_dead(owner) {
                return Ok(false);
            }
            if state.view.living(owner).is_some() {
                return Ok(true);
            }
        }
        let there = self.engine.read(&node_key(&owner.node)).await;
        let there = there?.and_then(|e| e.value);
        let record = there.map(|value| serde_json::from_slice::<Record>(&value));
        let same =
            |record: Record| record.incarnation == owner.incarnation && record.down.is_none();
        Ok(record.is_some_and(|record| record.is_ok_and(same)))
    }

    /// Claims what is ours and is not written so; frees what is written so and is not ours.
    pub(crate) async fn assert(&self) {
        let (free, missing) = {
            let mut state = self.lock();
            let mut free = std::mem::take(&mut state.free);
            // Beside what was given back: a write whose asker had given up may have been done after all.
            let written = state.view.names_of(&self.me);
            let unheld = written.filter(|name| !state.held.contains_key(*name));
            free.extend(unheld.map(str::to_owned));
            // Who asks for a name claims it himself.
            let held = state.held.iter().filter(|(_, held)| held.is_ours());
            let held = held.map(|(name, held)| {
                (
                    name.clone(),
                    held.registered.clone(),
                    Arc::clone(&held.lost),
                )
            });
            let is_missing = |(name, registered, _): &(String, Registered, _)| {
                state.view.registered(name) != Some(registered)
            };
            let missing: Vec<_> = held.filter(is_missing).collect();
            (free, missing)
        };
        let free = stream::iter(free).for_each_concurrent(AT_ONCE, async |name| {
            if !self.free(&name).await {
                self.lock().free.insert(name);
            }
        });
        free.await;
        let claimed = stream::iter(missing).for_each_concurrent(AT_ONCE, async |missing| {
            let (name, registered, lost) = missing;
            // Who leaves has given back what it holds.
            if self.lock().leaving {
                return;
            }
            if let Err(NameError::Taken { .. }) = self.claim(&name, &registered).await
                && let Some(held) = self.let_go(&name, &lost)
            {
                // It is another's.
                quietly(|| drop(held));
            }
        });
        claimed.await;
    }

    /// Removes a name of ours that was given back, unless it is held again. `false`: try again.
    async fn free(&self, name: &str) -> bool {
        if self.lock().held.contains_key(name) {
            return true;
        }
        let Ok(written) = self.written(name, &self.me).await else {
            return false;
        };
        // Who has asked for it meanwhile may have found it written as ours.
        let is_held = self.lock().held.contains_key(name);
        match written {
            Some(revision) if !is_held => self.remove(name, revision).await,
            _ => true,
        }
    }

    /// Removes a name that is this life's. `false`: try again.
    pub(crate) async fn release(&self, name: &str, owner: &Owner) -> bool {
        match self.written(name, owner).await {
            Ok(Some(revision)) => self.remove(name, revision).await,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// The revision of a name, if it is written down as this life's.
    async fn written(&self, name: &str, owner: &Owner) -> Result<Option<u64>, EngineError> {
        let there = self.engine.read(&name_key(name)).await?;
        let is_its = |there: &Entry| {
            let registered = there.value.as_deref();
            let registered = registered.map(serde_json::from_slice::<Registered>);
            matches!(registered, Some(Ok(there)) if there.owner == *owner)
        };
        Ok(there.filter(is_its).map(|there| there.revision))
    }

    /// Removes a name if it was not written since. `false`: try again.
    async fn remove(&self, name: &str, revision: u64) -> bool {
        let removed = self.engine.remove(&name_key(name), revision).await;
        matches!(removed, Ok(()) | Err(EngineError::Conflict))
    }

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
        // To an engine it may be a pattern, or malformed.
        if !is_name(name) {
            return Err(LookupError::no_such_name(name));
        }
        let (registered, member) = match self.seen(name) {
            Some(seen) => seen,
            None => self.ask_whose(name).await?,
        };
        let fits = |theirs, ours| lookup::fits(name, theirs, ours);
        fits(&registered, interface::<R::Message>())?;
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
