//! Names for actors: who is called what, and waiting until somebody is.
//!
//! For those who must find an actor without having been given a reference. The names lie in shards,
//! each behind a lock that is held for one look. An entry is a weak reference: a name keeps nobody
//! alive. It ends with its actor, by itself, before those who wait for the end hear of it; a restart
//! in place keeps it. Source: Erlang's `register` and `whereis`, with types.

use std::any::Any;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::actor_ref::Reference;
use super::any::AtEnd;
use crate::channel::oneshot;
use crate::event::{Event, guard};
use crate::primitive::{Arc, Mutex, OnceLock, Weak, lock};
use crate::task::{first, go_on};

const SHARDS: usize = 16;

/// Names of actors, each claimed by one. Clones are the same registry.
///
/// ```
/// use tidings::actor::{self, ActorRef, Mailbox, Registry};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let names = Registry::new();
/// let printer = actor::spawn(|mut mailbox: Mailbox<String>| async move {
///     while let Ok(line) = mailbox.recv().await {
///         println!("{line}");
///     }
/// });
/// names.register("printer", &printer).unwrap();
/// let found: ActorRef<String> = names.whereis("printer").unwrap();
/// assert_eq!(found, printer);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    shards: Arc<[Mutex<Shard>; SHARDS]>,
}

#[derive(Default)]
struct Shard {
    names: HashMap<Arc<str>, Entry>,
    /// Who waits for a name to appear.
    waiting: HashMap<Arc<str>, Vec<Box<dyn Waiting>>>,
}

struct Entry {
    /// By its key the actor's end knows this registration.
    end: AtEnd,
    /// The weak form of the reference it was registered with: a [`Named`].
    named: Box<dyn Any + Send + Sync>,
}

/// A weak reference to an actor that has a name.
struct Named<R: Reference>(R::Weak);

impl Entry {
    /// The weak reference, if it is of this type.
    fn weak<R: Reference>(&self) -> Option<&R::Weak> {
        self.named.downcast_ref::<Named<R>>().map(|named| &named.0)
    }
}

/// The sender to somebody who waits for a reference of some type.
trait Waiting: Any + Send {
    fn has_gone(&self) -> bool;
}

impl<R: Reference> Waiting for oneshot::Sender<R> {
    fn has_gone(&self) -> bool {
        self.is_closed()
    }
}

impl Registry {
    /// A registry without names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The registry of the process.
    ///
    /// ```
    /// use tidings::actor::{ActorRef, Registry};
    /// assert!(Registry::global().whereis::<ActorRef<u32>>("nobody is called this").is_none());
    /// ```
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Registry> = OnceLock::new();
        GLOBAL.get_or_init(Self::new)
    }

    fn shard(&self, name: &str) -> &Mutex<Shard> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        // The remainder is below 16.
        &self.shards[(hasher.finish() % SHARDS as u64) as usize]
    }

    /// Gives the actor a name, under which it is found by references of this type. Who waits for the
    /// name gets the reference.
    ///
    /// An actor may have several names. A name ends with its actor, or by
    /// [`unregister`](Self::unregister); it keeps no actor alive. A restart keeps it: an actor that registers
    /// itself in each of its lives has the name already from its second on, which is no error.
    ///
    /// # Errors
    /// If another has the name, or this actor under another type of reference; or the actor has ended.
    pub fn register<R: Reference>(
        &self,
        name: impl Into<Arc<str>>,
        actor: &R,
    ) -> Result<(), RegisterError> {
        let name: Arc<str> = name.into();
        let recipient = actor.recipient();
        let end = AtEnd::of(&recipient.any());
        let key = end.key();
        // Boxed without the lock.
        let entry = Entry {
            end,
            named: Box::new(Named::<R>(actor.weak())),
        };
        {
            let mut shard = lock(self.shard(&name));
            if let Some(claimed) = shard.names.get(&name) {
                let by = claimed.end.id();
                let again = by == entry.end.id() && claimed.weak::<R>().is_some();
                drop(shard);
                return match again {
                    true => Ok(()),
                    false => Err(RegisterError::Taken { name, by }),
                };
            }
            shard.names.insert(Arc::clone(&name), entry);
        }
        let (shards, of) = (Arc::downgrade(&self.shards), Arc::clone(&name));
        let alive = recipient.life().at_end(key, move || {
            if let Some(registry) = Self::upgrade(&shards) {
                // Another may have the name by now: where it is given back as its actor ends.
                registry.remove(&of, |entry| entry.end.key() == key);
            }
        });
        if !alive {
            self.remove(&name, |entry| entry.end.key() == key);
            return Err(RegisterError::Ended { name });
        }
        if !self.knows(&name, key) {
            // The name was given back meanwhile, when there was nothing to take back with it.
            recipient.life().not_at_end(key);
        }
        let mut told = Ok(());
        for waiting in self.take_waiting::<R>(&name) {
            let tell = AssertUnwindSafe(|| {
                // Who has gone elsewhere does not want it.
                let _ = waiting.send(actor.clone());
            });
            // A waker that panics must not hinder the rest.
            told = first(told, catch_unwind(tell));
        }
        go_on(told);
        Ok(())
    }

    fn upgrade(shards: &Weak<[Mutex<Shard>; SHARDS]>) -> Option<Self> {
        let shards = shards.upgrade()?;
        Some(Self { shards })
    }

    /// Takes a name out, if its entry is the one meant.
    fn remove(&self, name: &str, meant: impl FnOnce(&Entry) -> bool) -> Option<Entry> {
        let mut shard = lock(self.shard(name));
        shard.names.get(name).filter(|entry| meant(entry))?;
        shard.names.remove(name)
    }

    /// Has the name the entry with this key?
    fn knows(&self, name: &str, key: u64) -> bool {
        let shard = lock(self.shard(name));
        let entry = shard.names.get(name);
        entry.is_some_and(|entry| entry.end.key() == key)
    }

    /// Those who wait for a reference of this type, under this name.
    fn take_waiting<R: Reference>(&self, name: &str) -> Vec<oneshot::Sender<R>> {
        let mut shard = lock(self.shard(name));
        let Some(waiting) = shard.waiting.remove(name) else {
            return Vec::new();
        };
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for one in waiting {
            if (&*one as &dyn Any).is::<oneshot::Sender<R>>() {
                let one: Box<dyn Any> = one;
                ours.extend(one.downcast::<oneshot::Sender<R>>().map(|one| *one));
            } else {
                others.push(one);
            }
        }
        if !others.is_empty() {
            shard.waiting.insert(name.into(), others);
        }
        ours
    }

    /// Takes a name back; `false` if nobody had it.
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox, Registry};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let names = Registry::new();
    /// let actor = actor::spawn(|_: Mailbox<u32>| async {});
    /// assert!(!names.unregister("a"));
    /// # });
    /// ```
    pub fn unregister(&self, name: &str) -> bool {
        self.remove(name, |_| true).is_some()
    }

    /// The actor of this name, if it has one that was registered with this type of reference and
    /// can still be sent to.
    #[must_use]
    pub fn whereis<R: Reference>(&self, name: &str) -> Option<R> {
        let weak = {
            let shard = lock(self.shard(name));
            shard.names.get(name)?.weak::<R>()?.clone()
        };
        R::strong(&weak)
    }

    /// Waits until somebody has this name: an event, which gives the reference; at once if somebody
    /// has it. Who was registered with another type of reference does not count.
    ///
    /// ```
    /// use tidings::actor::{self, ActorRef, Mailbox, Registry};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let names = Registry::new();
    /// let later = names.clone();
    /// let waits = tidings::spawn(async move { later.appears::<ActorRef<u32>>("a").await.id() });
    /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// names.register("a", &actor).unwrap();
    /// assert_eq!(waits.await.unwrap(), actor.id());
    /// # });
    /// ```
    pub fn appears<R: Reference>(
        &self,
        name: &str,
    ) -> impl Event<Output = R, Lost = ()> + Send + use<R> {
        let (registry, name) = (self.clone(), Arc::from(name));
        guard(move || {
            let (sender, receiver) = oneshot();
            registry.wait_for::<R>(name, sender);
            receiver.into_recv().map(move |found| {
                // It was kept until here: its end would end the wait.
                let _registry = registry;
                found.expect("a registry keeps those who wait")
            })
        })
    }

    fn wait_for<R: Reference>(&self, name: Arc<str>, sender: oneshot::Sender<R>) {
        let mut shard = lock(self.shard(&name));
        let weak = shard.names.get(&name).and_then(Entry::weak::<R>);
        // An actor whose last reference has gone ends soon, and its name with it.
        if let Some(actor) = weak.and_then(R::strong) {
            drop(shard);
            let _ = sender.send(actor);
            return;
        }
        if shard.waiting.len() == shard.waiting.capacity() {
            // The names that nobody waits for any more: as below.
            shard.waiting.retain(|_, all| {
                all.retain(|one| !one.has_gone());
                !all.is_empty()
            });
            let names = shard.waiting.len() + 1;
            shard.waiting.reserve(names);
        }
        let waiting = shard.waiting.entry(name).or_default();
        if waiting.len() == waiting.capacity() {
            // Not at each wait: the next time when there are twice as many.
            waiting.retain(|one| !one.has_gone());
            waiting.reserve(waiting.len() + 1);
        }
        waiting.push(Box::new(sender));
    }

    /// A reference by name: looked up at each use.
    ///
    /// ```
    /// use tidings::actor::{ActorRef, Registry};
    /// let printer = Registry::new().via::<ActorRef<String>>("printer");
    /// assert_eq!(printer.get().unwrap_err().to_string(), "no actor is called \"printer\"");
    /// ```
    #[must_use]
    pub fn via<R: Reference>(&self, name: impl Into<Arc<str>>) -> Via<R> {
        Via {
            registry: self.clone(),
            name: name.into(),
            reference: PhantomData,
        }
    }

    /// All names, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let names = |shard: &Mutex<Shard>| lock(shard).names.keys().cloned().collect::<Vec<_>>();
        let mut all: Vec<_> = self.shards.iter().flat_map(names).collect();
        all.sort_unstable();
        all
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("names", &self.names())
            .finish()
    }
}

/// Whoever has a name at the moment, from [`Registry::via`]: Erlang's `{via, Module, Name}`.
pub struct Via<R> {
    registry: Registry,
    name: Arc<str>,
    reference: PhantomData<fn() -> R>,
}

impl<R: Reference> Via<R> {
    /// The actor that has the name now.
    ///
    /// # Errors
    /// If nobody has it.
    ///
    /// ```
    /// use tidings::actor::{self, ActorRef, Mailbox, Registry};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let names = Registry::new();
    /// let printer = names.via::<ActorRef<u32>>("printer");
    /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move { mailbox.recv().await.map(drop) });
    /// names.register("printer", &actor).unwrap();
    /// printer.get().unwrap().send(1).await.unwrap();
    /// # });
    /// ```
    pub fn get(&self) -> Result<R, NoSuchName> {
        let found = self.registry.whereis(&self.name);
        found.ok_or_else(|| NoSuchName(Arc::clone(&self.name)))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<R> Clone for Via<R> {
    fn clone(&self) -> Self {
        Self {
            registry: self.registry.clone(),
            name: Arc::clone(&self.name),
            reference: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Via<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Via").field(&self.name).finish()
    }
}

/// Why an actor did not get a name. Its text has the name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another has it, or it has it already, under another type of reference.
    Taken {
        /// The name.
        name: Arc<str>,
        /// The [`id`](super::ActorRef::id) of who has it.
        by: u64,
    },
    /// The actor has ended.
    Ended {
        /// The name.
        name: Arc<str>,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { name, by } => write!(f, "the name {name:?} is taken, by actor {by}"),
            Self::Ended { name } => {
                write!(f, "the name {name:?} cannot be given: the actor has ended")
            }
        }
    }
}

impl Error for RegisterError {}

/// Nobody has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchName(Arc<str>);

impl fmt::Display for NoSuchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no actor is called {:?}", &*self.0)
    }
}

impl Error for NoSuchName {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::{Future, IntoFuture};
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::super::{ActorRef, Builder};
    use super::{Registry, lock};
    use crate::primitive::{Arc, thread};

    #[test]
    fn who_has_gone_elsewhere_is_not_kept_among_those_who_wait() {
        let names = Registry::new();
        for _ in 0..100 {
            let wait = pin!(names.appears::<ActorRef<u8>>("a").into_future());
            assert!(
                wait.poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
        }
        // Those who have gone are looked for when their place is needed.
        assert!(lock(names.shard("a")).waiting["a"].len() <= 4);
    }

    #[test]
    fn a_name_that_is_taken_back_is_not_kept_for_the_end_of_its_actor() {
        let names = Registry::new();
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        let (actor, name) = (ActorRef::new(sender), Arc::<str>::from("a"));
        names.register(Arc::clone(&name), &actor).unwrap();
        assert!(names.unregister("a"));
        assert_eq!(Arc::strong_count(&name), 1);
    }

    #[test]
    fn a_name_that_is_taken_back_as_it_is_given_is_not_kept_for_the_end_of_its_actor() {
        let (names, name) = (Registry::new(), Arc::<str>::from("a"));
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        let actor = ActorRef::new(sender);
        thread::scope(|scope| {
            let gives = scope.spawn(|| {
                for _ in 0..200_000 {
                    names.register(Arc::clone(&name), &actor).unwrap();
                }
            });
            while !gives.is_finished() {
                names.unregister(&name);
            }
        });
        names.unregister(&name);
        assert_eq!(Arc::strong_count(&name), 1);
    }

    #[test]
    fn names_that_nobody_waits_for_any_more_are_not_kept() {
        let names = Registry::new();
        for n in 0..10_000 {
            let wait = pin!(names.appears::<ActorRef<u8>>(&n.to_string()).into_future());
            assert!(
                wait.poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
        }
        let kept: usize = names.shards.iter().map(|it| lock(it).waiting.len()).sum();
        assert!(kept < 500, "{kept}");
    }
}
