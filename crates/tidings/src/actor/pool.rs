//! Pools: workers that share the work, and how it is routed among them.
//!
//! A pool gives references, and the caller sends or calls through them: so all that a reference can
//! do, a pool can. A pick is a snapshot of the list (`group.rs`) and a count; no lock is held
//! meanwhile.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::actor_ref::Reference;
use super::group::{Changes, broadcast};
use super::members::{Listed, Members};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::sched;

/// How [`Pool::pick`] finds a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Routing {
    /// One after the other.
    #[default]
    RoundRobin,
    /// One that waits for a message and handles none; if there is none, who has the fewest in its mailbox and among its
    /// [reentrant](super::Shared) handlers. The eldest of several. Looks into every mailbox.
    LeastLoaded,
    /// Anyone, with the same chance (under a seam, the seam's).
    Random,
}

/// Workers of one kind. Clones are the same pool.
///
/// The pool keeps its workers alive. One that is taken out by [`resize`](Self::resize) ends when it
/// has handled what it was sent, by whoever still has a reference of it: nothing is lost. One that
/// ends otherwise leaves the pool by itself; [`resize`](Self::resize) makes up for it. A worker that is a
/// supervisor's [`Child`](super::Child) goes on outside of the pool: its supervisor has a reference of it.
///
/// ```
/// use tidings::actor::{self, ActorRef, Mailbox, Pool, Reply, Routing};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let squares = Pool::start(Routing::RoundRobin, 4, || {
///     actor::spawn(|mut mailbox: Mailbox<(u64, Reply<u64>)>| async move {
///         while let Ok((n, reply)) = mailbox.recv().await {
///             let _ = reply.send(n * n);
///         }
///     })
/// });
/// let worker = squares.pick().unwrap();
/// assert_eq!(worker.call(|reply| (12, reply)).await.unwrap(), 144);
/// squares.resize(2);
/// assert_eq!(squares.len(), 2);
/// # });
/// ```
pub struct Pool<R: Reference> {
    inner: Arc<Inner<R>>,
}

struct Inner<R: Reference> {
    workers: Arc<Members<R>>,
    routing: Routing,
    /// For taking turns.
    next: AtomicUsize,
    make: Box<dyn Fn() -> R + Send + Sync>,
    /// How many workers were asked for last.
    size: AtomicUsize,
}

impl<R: Reference> Pool<R> {
    /// Starts a pool of `n` workers that `make` starts. It is called again when the pool grows.
    ///
    /// Workers that are a supervisor's are started anew where they fail, and stay in the pool:
    ///
    /// ```
    /// use tidings::actor::{Child, Pool, Routing, Strategy, Supervisor};
    /// #[tidings::interface]
    /// trait Calculator {
    ///     async fn divide(&self, n: u32, by: u32) -> u32;
    /// }
    /// struct Careless;
    /// impl Calculator for Careless {
    ///     async fn divide(&self, n: u32, by: u32) -> u32 {
    ///         n / by
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let supervisor = Supervisor::new(Strategy::Dynamic).start();
    /// let pool: Pool<CalculatorRef> = Pool::start(Routing::RoundRobin, 1, move || {
    ///     let worker = Child::interface(|| Careless);
    ///     let reference = worker.reference();
    ///     let supervisor = supervisor.clone();
    ///     // What is sent to it meanwhile waits for its start.
    ///     tidings::spawn(async move { supervisor.start_child(worker).await });
    ///     reference
    /// });
    /// assert!(pool.pick().unwrap().divide(1, 0).await.is_err());
    /// assert_eq!(pool.pick().unwrap().divide(6, 2).await.unwrap(), 3);
    /// # });
    /// ```
    pub fn start(routing: Routing, n: usize, make: impl Fn() -> R + Send + Sync + 'static) -> Self {
        let inner = Inner {
            workers: Members::new(),
            routing,
            next: AtomicUsize::new(0),
            make: Box::new(make),
            size: AtomicUsize::new(n),
        };
        let pool = Self {
            inner: Arc::new(inner),
        };
        pool.resize(n);
        pool
    }

    /// Starts workers, or takes the youngest out, until there are `n`. Does not wait for the ends of
    /// those taken out. There are fewer if what `make` gives has ended already, or is in the pool. Of several at
    /// once the one that is said last counts.
    pub fn resize(&self, n: usize) {
        let Inner { workers, size, .. } = &*self.inner;
        // RELAXED: who resizes looks at it after the list, whose lock orders it.
        size.store(n, Ordering::Relaxed);
        loop {
            // RELAXED: as above.
            let (now, n) = (workers.len(), size.load(Ordering::Relaxed));
            if now > n {
                if let Some(youngest) = workers.youngest() {
                    workers.leave(&youngest);
                }
            } else if now < n {
                let worker = (self.inner.make)();
                // Another may have made one meanwhile: then there is no room for it.
                if !workers.join(&worker, worker.clone(), n) && workers.len() < n {
                    return;
                }
            } else {
                return;
            }
        }
    }

    /// A worker, by the pool's [`Routing`]; `None` if there is none.
    #[must_use]
    pub fn pick(&self) -> Option<R> {
        let workers = self.inner.workers.get();
        let n = workers.len();
        let picked = match self.inner.routing {
            // RELAXED: only its going round counts.
            _ if n < 2 => 0,
            Routing::RoundRobin => self.inner.next.fetch_add(1, Ordering::Relaxed) % n,
            Routing::Random => sched::random_below(n),
            Routing::LeastLoaded => least_loaded(&workers),
        };
        workers.get(picked).map(|(_, worker)| worker.clone())
    }

    /// The worker for this key, whatever the pool's [`Routing`]: the same one each time, as long as
    /// it is in the pool, and in every run of a simulation. When the pool grows to `n` workers one key in `n` moves, to
    /// the new worker; when one leaves, only its keys move.
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox, Pool, Routing};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let carts = Pool::start(Routing::default(), 8, || {
    ///     actor::spawn(|mut mailbox: Mailbox<u32>| async move { while mailbox.recv().await.is_ok() {} })
    /// });
    /// assert_eq!(carts.pick_for("alice"), carts.pick_for("alice"));
    /// # });
    /// ```
    #[must_use]
    pub fn pick_for<K: Hash + ?Sized>(&self, key: &K) -> Option<R> {
        // Rendezvous hashing (Thaler and Ravishankar 1998): needs no ring, moves no more than it must.
        let weight = |turn: u64| {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            turn.hash(&mut hasher);
            hasher.finish()
        };
        let workers = self.inner.workers.get();
        let highest = workers.iter().max_by_key(|&&(turn, _)| weight(turn));
        highest.map(|(_, worker)| worker.clone())
    }

    /// All workers, the eldest first.
    #[must_use]
    pub fn workers(&self) -> Vec<R> {
        all(&self.inner.workers.get())
    }

    /// Hears of workers that come or go from now on. Keeps the workers, as the pool does.
    ///
    /// So the pool can be made whole again:
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox, Pool, Routing};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let pool = Pool::start(Routing::default(), 2, || {
    ///     actor::spawn(|mut mailbox: Mailbox<u32>| async move { while mailbox.recv().await.is_ok() {} })
    /// });
    /// let mut changes = pool.changes();
    /// pool.pick().unwrap().kill();
    /// assert_eq!(changes.changed().await.len(), 1);
    /// pool.resize(2);
    /// assert_eq!(changes.changed().await.len(), 2);
    /// # });
    /// ```
    #[must_use]
    pub fn changes(&self) -> Changes<R> {
        Changes::new(&self.inner.workers, all)
    }

    /// How many workers it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.workers.len()
    }

    /// Has it no worker?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a copy of the message into the mailbox of every worker, and waits for those that are
    /// full. Gives how many got one: not those that have ended, or whose policy refused or dropped it.
    ///
    /// Those that come meanwhile get none. Dropping the wait leaves the copies that are sent.
    pub async fn broadcast(&self, message: R::Message) -> usize
    where
        R::Message: Clone,
    {
        broadcast(self.workers().iter().map(R::recipient).collect(), message).await
    }
}

fn all<R: Reference>(workers: &Listed<R>) -> Vec<R> {
    workers.iter().map(|(_, worker)| worker.clone()).collect()
}

fn least_loaded<R: Reference>(workers: &Listed<R>) -> usize {
    let load = |&n: &usize| workers[n].1.recipient().inlet().load();
    (0..workers.len()).min_by_key(load).unwrap_or(0)
}

impl<R: Reference> Clone for Pool<R> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<R: Reference> fmt::Debug for Pool<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("routing", &self.inner.routing)
            .field("workers", &self.len())
            .finish()
    }
}
