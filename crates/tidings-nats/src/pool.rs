//! Pools: the members of a group share the calls, on whichever nodes they are.
//!
//! They are the members that names know of, and who calls chooses among them; not a queue group of
//! NATS, which chooses by chance, knows nothing of who is down or busy, and carries each message through
//! a server (docs/decisions/10-pools-by-names.md). For work that must not be lost there is
//! [`Queue`](crate::Queue): there it is the workers who take.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tidings::actor::{CallError, Reference, Routing};
use tidings::remote::Remote;

use crate::cluster::Cluster;
use crate::lock::lock;
use crate::lookup::LookupError;

/// Calls under way, by the names of the members.
type Load = Mutex<BTreeMap<String, usize>>;

/// The members of a group, as one who calls them has them: [`Cluster::pool`]. Clones share what they
/// know of who is busy, and whose turn it is.
///
/// ```
/// use tidings::actor::{self, Routing};
/// use tidings_nats::memory::Server;
/// use tidings_nats::{Cluster, Options, Pool};
///
/// #[tidings::interface(remote)]
/// trait Square {
///     async fn of(&mut self, n: u64) -> u64;
/// }
/// struct Worker;
/// impl Square for Worker {
///     async fn of(&mut self, n: u64) -> u64 {
///         n * n
///     }
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let server = Server::new();
/// # let one = Cluster::join_on(server.connect(), Options::new("shop", "one")).await.unwrap();
/// # let two = Cluster::join_on(server.connect(), Options::new("shop", "two")).await.unwrap();
/// let workers: [SquareRef; 2] = [actor::start(Worker), actor::start(Worker)];
/// let _first = one.join_group("squares", &workers[0]).await.unwrap();
/// let _second = two.join_group("squares", &workers[1]).await.unwrap();
///
/// let squares: Pool<SquareRef> = one.pool("squares", Routing::LeastLoaded);
/// assert_eq!(squares.call(|worker| async move { worker.of(12).await }).await.unwrap(), 144);
/// # });
/// ```
pub struct Pool<R> {
    cluster: Cluster,
    group: Arc<str>,
    routing: Routing,
    load: Arc<Load>,
    turns: Arc<AtomicUsize>,
    of: PhantomData<fn() -> R>,
}

/// A member that was picked: its reference. Until it is dropped, it counts as busy with one thing more.
#[derive(Debug)]
pub struct Picked<R> {
    reference: R,
    busy: Busy,
}

/// A member is busy with one thing more.
#[derive(Debug)]
struct Busy {
    name: String,
    load: Arc<Load>,
}

impl Busy {
    fn new(name: &str, load: &Arc<Load>) -> Self {
        *lock(load).entry(name.to_owned()).or_default() += 1;
        Self {
            name: name.to_owned(),
            load: Arc::clone(load),
        }
    }
}

impl<R> Deref for Picked<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.reference
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut load = lock(&self.load);
        if let Some(n) = load.get_mut(&self.name) {
            *n -= 1;
            if *n == 0 {
                load.remove(&self.name);
            }
        }
    }
}

/// Why a pool gave no answer. Its text has the name of the group, or of a member, which begins with it and has the node.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// There is no member, or none that can be reached: why the last could not.
    Nobody(LookupError),
    /// The call has failed. If it was not executed, so it was with every member.
    Call {
        /// The name of the member that was the last to be asked.
        member: String,
        /// Why it has no answer.
        why: CallError,
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody(error) => write!(f, "no member can be reached: {error}"),
            Self::Call { member, why } => write!(f, "member {member:?}: {why}"),
        }
    }
}

impl Error for PoolError {}

impl Cluster {
    /// The members of a [group](Self::join_group), as a pool: it follows who comes and goes.
    #[must_use]
    pub fn pool<R>(&self, group: &str, routing: Routing) -> Pool<R> {
        Pool {
            cluster: self.clone(),
            group: group.into(),
            routing,
            load: Arc::default(),
            turns: Arc::default(),
            of: PhantomData,
        }
    }
}

impl<R> Pool<R>
where
    R: Reference<Message: Remote>,
{
    /// A member: the next in turn, any, or the one with the fewest calls under way that were picked
    /// through this pool; what others ask of the members is not known here.
    ///
    /// Members that cannot be reached are passed over.
    ///
    /// # Errors
    /// If none can be reached.
    pub async fn pick(&self) -> Result<Picked<R>, LookupError> {
        self.pick_but(&mut BTreeSet::new()).await
    }

    /// Calls a member. If that has certainly not executed the call
    /// ([`NotExecuted`](CallError::NotExecuted), [`Full`](CallError::Full)), another gets it, and
    /// each at most once: so the call is executed at most once, and one whose outcome is not known is
    /// not repeated.
    ///
    /// `call` is to make one call of the reference that it is given.
    ///
    /// # Errors
    /// The error of the call; that of the last if several were asked.
    pub async fn call<T, F>(&self, call: impl Fn(R) -> F) -> Result<T, PoolError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let mut tried = BTreeSet::new();
        let mut last = None;
        loop {
            let picked = match (self.pick_but(&mut tried).await, last) {
                (Ok(picked), _) => picked,
                (Err(_), Some(error)) => return Err(error),
                (Err(error), None) => return Err(PoolError::Nobody(error)),
            };
            let why = match call(picked.reference.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            };
            let again = matches!(why, CallError::NotExecuted(_) | CallError::Full);
            let member = picked.busy.name.clone();
            let failed = PoolError::Call { member, why };
            if !again {
                return Err(failed);
            }
            last = Some(failed);
        }
    }

    /// One that is not among these; it is afterwards.
    async fn pick_but(&self, tried: &mut BTreeSet<String>) -> Result<Picked<R>, LookupError> {
        let mut last = LookupError::no_such_name(&self.group);
        for name in self.order() {
            if !tried.insert(name.clone()) {
                continue;
            }
            // From here on, for those who pick meanwhile.
            let busy = Busy::new(&name, &self.load);
            match self.cluster.lookup(&name).await {
                Ok(reference) => {
                    return Ok(Picked { reference, busy });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The members, the one that is to be asked first at the beginning.
    fn order(&self) -> Vec<String> {
        let mut names = self.cluster.inner.below(&self.group);
        if names.is_empty() {
            return names;
        }
        let first = match self.routing {
            Routing::Random => tidings::sched::random(names.len()),
            _ => self.turns.fetch_add(1, Ordering::Relaxed) % names.len(),
        };
        names.rotate_left(first);
        if self.routing == Routing::LeastLoaded {
            let load = lock(&self.load);
            names.sort_by_key(|name| load.get(name).copied().unwrap_or(0));
        }
        names
    }
}

impl<R> Clone for Pool<R> {
    fn clone(&self) -> Self {
        Self {
            cluster: self.cluster.clone(),
            group: Arc::clone(&self.group),
            routing: self.routing,
            load: Arc::clone(&self.load),
            turns: Arc::clone(&self.turns),
            of: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Pool<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("group", &self.group)
            .field("routing", &self.routing)
            .field("load", &self.load)
            .finish_non_exhaustive()
    }
}
