//! A node's membership: its lease, what it sees of the others, and the end of both.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{self, Either};
use tidings::channel::ivar::IVar;
use tidings::remote::quietly;
use tidings::sync::Notify;
use tidings::time::{Instant, timeout};
use tidings::{CancellationToken, DropGuard, Event, Receiver, Sender};
use tidings_link::{Exports, Server};

use crate::engine::{Engine, EngineError, Entry, Subscription};
use crate::feed::{Fed, Work};
use crate::groups::Watched;
use crate::links::{Links, number, serve};
use crate::lock::lock;
use crate::member::{Change, Down, Ended, Member};
use crate::names::Held;
use crate::options::{JoinError, Options};
use crate::record::{Owner, Record, node_key};
use crate::stats::Stats;
use crate::tries::Tries;
use crate::view::{Condemned, Effect, View};

/// The first pause between two attempts to write our record.
const ENTERING: Duration = Duration::from_millis(50);

/// A node's place in a cluster: one life of it. Clones are the same membership.
///
/// It ends when the node [leaves](Self::leave), when the last clone is dropped, and when the others
/// have not heard of it for a lease: then it is down for them for good, and joins anew as another life.
/// A [`Name`](crate::Name) has a clone, and names keep actors alive: of an actor that has a name, and
/// holds a clone itself, the last one is not dropped.
///
/// ```
/// use tidings::actor;
/// use tidings_nats::memory::Server;
/// use tidings_nats::{Cluster, Options};
///
/// #[tidings::interface(remote)]
/// trait Counter {
///     async fn add(&mut self, n: u64) -> u64;
/// }
/// # #[derive(Default)]
/// # struct Tally(u64);
/// # impl Counter for Tally {
/// #     async fn add(&mut self, n: u64) -> u64 {
/// #         self.0 += n;
/// #         self.0
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// // In production: `Cluster::join("nats://nats.example:4222", options)`.
/// let server = Server::new();
/// let one = Cluster::join_on(server.connect(), Options::new("shop", "one")).await.unwrap();
/// let other = Cluster::join_on(server.connect(), Options::new("shop", "other")).await.unwrap();
///
/// let counter: CounterRef = actor::start(Tally::default());
/// let _name = one.register("counter", &counter).await.unwrap();
///
/// let counter: CounterRef = other.lookup("counter").await.unwrap();
/// assert_eq!(counter.add(7).await.unwrap(), 7);
/// # });
/// ```
#[derive(Clone)]
pub struct Cluster {
    pub(crate) inner: Arc<Inner>,
    // The last clone ends the membership.
    _guard: Arc<DropGuard>,
}

pub(crate) struct Inner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) options: Options,
    pub(crate) me: Owner,
    pub(crate) record: Record,
    pub(crate) exports: Exports,
    pub(crate) links: Links,
    state: Mutex<State>,
    /// Names are to be asserted or freed.
    pub(crate) beat: Notify,
    /// Another watch is to begin.
    pub(crate) anew: Notify,
    joined: IVar<()>,
    ended: IVar<Ended>,
    /// The same, when nobody listens for us any more.
    gone: IVar<Ended>,
    over: CancellationToken,
}

/// What was found, by the type of its reference and by its name.
type Found = BTreeMap<TypeId, BTreeMap<String, Box<dyn Any + Send + Sync>>>;

pub(crate) struct State {
    pub(crate) view: View,
    /// Of our record.
    pub(crate) revision: u64,
    /// Why the engine has given no watch, if it has not.
    unwatched: Option<EngineError>,
    pub(crate) held: BTreeMap<String, Held>,
    /// Names that were given back, and are still written as ours.
    pub(crate) free: BTreeSet<String>,
    /// How many names there have been, and places in groups.
    asked: u64,
    pub(crate) found: Found,
    feeds: Vec<Fed>,
    listeners: Vec<Sender<Change>>,
    /// What has changed, for those who listened then, in its order.
    untold: VecDeque<(Change, Vec<Sender<Change>>)>,
    /// Somebody tells it.
    telling: bool,
    pub(crate) watched: Watched,
    pub(crate) counted: Stats,
    pub(crate) leaving: bool,
    /// Our membership has ended: nothing changes any more.
    pub(crate) over: bool,
}

impl State {
    /// A number of this life of this node: the same in every run of a simulation.
    pub(crate) fn number(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// What follows from a change of the view. What listeners are to hear is kept for them; the rest is
    /// given back.
    fn note(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut rest = Vec::new();
        for effect in effects {
            match effect {
                Effect::Tell(change) => {
                    self.counted.count(&change);
                    self.untold.push_back((change, self.listeners.clone()));
                }
                effect => rest.push(effect),
            }
        }
        rest
    }
}

impl Cluster {
    /// Joins a cluster by an engine that is there.
    ///
    /// # Errors
    /// If the engine cannot be reached in time, or refuses; or if a name or an address is malformed.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn join_on(engine: impl Engine, options: Options) -> Result<Self, JoinError> {
        options.check()?;
        let tries = Tries::new(options.patience, ENTERING);
        Self::join_by(Arc::new(engine), options, tries).await
    }

    /// The same, for as long as is left.
    pub(crate) async fn join_by(
        engine: Arc<dyn Engine>,
        options: Options,
        tries: Tries,
    ) -> Result<Self, JoinError> {
        let me = Owner {
            node: options.node.clone(),
            incarnation: number(),
        };
        let exports = Exports::new();
        let link = options.link.clone();
        let link = link.incarnation(me.incarnation).exports(exports.clone());
        let server = serve(&options, link.clone()).await?;
        let advertise = options.advertise.clone();
        let record = Record {
            incarnation: me.incarnation,
            address: advertise.or_else(|| Some(server.as_ref()?.address().to_string())),
            down: None,
        };
        let over = CancellationToken::new();
        let inner = Arc::new(Inner {
            links: Links::new(Arc::clone(&engine), options.clone(), link),
            state: Mutex::new(State {
                view: View::new(me.clone(), options.lease),
                revision: 0,
                unwatched: None,
                held: BTreeMap::new(),
                free: BTreeSet::new(),
                asked: 0,
                found: BTreeMap::new(),
                feeds: Vec::new(),
                listeners: Vec::new(),
                untold: VecDeque::new(),
                telling: false,
                watched: Watched::new(),
                counted: Stats::default(),
                leaving: false,
                over: false,
            }),
            engine,
            me,
            record,
            exports,
            options,
            beat: Notify::new(),
            anew: Notify::new(),
            joined: IVar::new(),
            ended: IVar::new(),
            gone: IVar::new(),
            over: over.clone(),
        });
        let cluster = Self {
            inner: Arc::clone(&inner),
            _guard: Arc::new(over.drop_guard()),
        };
        inner.listen(server);
        if let Err(error) = inner.begin(tries).await {
            inner.end(Ended::Left);
            inner.gone.read().await;
            return Err(error);
        }
        Ok(cluster)
    }

    /// Our name among the nodes, and our number among its lives.
    #[must_use]
    pub fn me(&self) -> (&str, u64) {
        (&self.inner.me.node, self.inner.me.incarnation)
    }

    /// The members, ourselves among them, by their names.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.inner.lock().view.members().cloned().collect()
    }

    /// The members, and then who comes and goes. Of each life it tells that it is up, and after that,
    /// once, that it is down; if our membership ends, of all. Then it closes.
    #[must_use]
    pub fn changes(&self) -> Receiver<Change> {
        let (tell, changes) = tidings::unbounded();
        let mut state = self.inner.lock();
        for member in state.view.members() {
            // Nobody waits for it yet, so nobody is woken under the lock.
            let _ = tell.try_send(Change::Up(member.clone()));
        }
        if !state.over {
            state.listeners.push(tell);
        }
        drop(state);
        changes
    }

    /// Whether our own record comes back from the engine: if not, nobody is declared down here, names
    /// cannot be claimed, and references that are there work on. For health checks.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.inner.alive().is_ok() && !self.inner.lock().view.is_blind(Instant::now())
    }

    /// The end of our membership: an event. Nobody [listens](Options::listen) for it any more: the next one
    /// may, at the same address.
    pub fn ended(&self) -> impl Event<Output = Ended, Lost = ()> + Send + '_ {
        self.inner.gone.read().map(|&ended| ended)
    }

    /// Leaves: gives all names back, feeds no actor any more, ends the links in order, and tells the others.
    /// Messages of queues have half of this time to end, and calls that are under way what is left. After
    /// it, the others are told: that is tried three times.
    ///
    /// Dropped before it is ready, it ends our membership at once; the others hear when the lease is over.
    pub async fn leave(&self, limit: Duration) {
        struct Leaves<'a>(&'a Inner);
        impl Drop for Leaves<'_> {
            fn drop(&mut self) {
                self.0.end(Ended::Left);
            }
        }
        let inner = &self.inner;
        let leaves = Leaves(inner);
        let held: Vec<String> = {
            let mut state = inner.lock();
            state.leaving = true;
            state.held.keys().cloned().collect()
        };
        let over = async {
            // What cannot be freed is nobody's once we are down.
            let names = held.iter().map(|name| inner.release(name, &inner.me));
            let feeds = inner.feeds(None);
            let feeds = feeds.iter().map(|feed| feed.stop(limit / 2));
            // Their handlers may need links; calls of others must have time left, too.
            future::join(future::join_all(names), future::join_all(feeds)).await;
            inner.links.drain().await;
        };
        let _ = timeout(limit, over).await;
        // Its revision changes while the lease is kept.
        for _ in 0..3 {
            let revision = inner.lock().revision;
            let us = Condemned {
                node: inner.me.node.clone(),
                incarnation: inner.me.incarnation,
                revision,
            };
            if inner.condemn(&us, Down::Left).await {
                break;
            }
        }
        drop(leaves);
        inner.gone.read().await;
    }
}

impl Inner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn alive(&self) -> Result<(), Ended> {
        match self.ended.try_read() {
            None => Ok(()),
            Some(&ended) => Err(ended),
        }
    }

    /// Lets the others in, until our membership is over: who holds no more of it has left.
    fn listen(self: &Arc<Self>, server: Option<Server>) {
        let this = Arc::clone(self);
        drop(tidings::spawn(async move {
            let comes = async {
                let Some(server) = &server else {
                    return future::pending().await;
                };
                loop {
                    let link = server.next().await;
                    this.links.arrived(link, |life| this.is_dead(life)).await;
                }
            };
            this.over.run_until_cancelled(comes).await;
            this.end(Ended::Left);
            if let Some(server) = server {
                server.drain(Duration::ZERO).await;
            }
            if let Err(ended) = this.alive() {
                quietly(|| {
                    let _ = this.gone.fill(ended);
                });
            }
        }));
    }

    /// Becomes a member.
    async fn begin(self: &Arc<Self>, mut tries: Tries) -> Result<(), JoinError> {
        let inbox = self.enter(&mut tries).await?;
        self.start(inbox);
        let joined = timeout(tries.left(), self.joined.read());
        match (joined.await, self.alive()) {
            (Ok(()), Ok(())) => Ok(()),
            (_, Err(_)) => Err(JoinError::Replaced),
            (Err(_), Ok(())) => {
                let why = self.lock().unwatched.take();
                Err(why.unwrap_or(EngineError::Timeout).into())
            }
        }
    }

    /// Starts the tasks of this membership, which end with it.
    fn start(self: &Arc<Self>, inbox: Subscription) {
        let this = Arc::clone(self);
        self.spawn(async move { this.follow().await });
        let this = Arc::clone(self);
        self.spawn(async move { this.keep_lease().await });
        let this = Arc::clone(self);
        self.spawn(async move { this.keep().await });
        let this = Arc::clone(self);
        self.spawn(async move { this.answer(inbox).await });
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        drop(tidings::spawn(async move {
            over.run_until_cancelled(work).await;
        }));
    }

    /// The token that is cancelled when our membership is over.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// The feeds that are there, and another. What those have counted that are gone is ours from here on: it is
    /// never in neither.
    pub(crate) fn feeds(&self, another: Option<&Arc<Work>>) -> Vec<Arc<Work>> {
        let mut state = self.lock();
        let State { feeds, counted, .. } = &mut *state;
        feeds.extend(another.map(Fed::new));
        let mut living = Vec::new();
        feeds.retain(|fed| match fed.work() {
            Ok(work) => {
                living.push(work);
                true
            }
            Err((queue, stats)) => {
                counted.add(queue, stats);
                false
            }
        });
        living
    }

    fn is_dead(&self, life: &Owner) -> bool {
        self.lock().view.is_dead(life)
    }

    /// Nodes that cannot reach us ask for streams through the engine; those that have not heard of us, by a
    /// message that says nothing, whether we live.
    async fn answer(self: &Arc<Self>, mut inbox: Subscription) {
        while let Some(message) = inbox.next().await {
            if message.payload.is_empty() {
                if let Some(reply) = &message.reply {
                    // Who does not hear it asks again.
                    let _ = self.engine.publish(reply, Bytes::new()).await;
                }
                continue;
            }
            let this = Arc::clone(self);
            self.spawn(async move {
                this.links.asked(&message, |life| this.is_dead(life)).await;
            });
        }
    }

    /// Follows what the engine tells, for ever.
    async fn follow(self: &Arc<Self>) {
        loop {
            self.lock().view.ask(Instant::now());
            let watch = self.engine.watch().await;
            self.lock().unwatched = watch.as_ref().err().cloned();
            if let Ok(mut watch) = watch {
                {
                    let mut state = self.lock();
                    let written = state.revision;
                    state.view.begin(written);
                }
                loop {
                    let anew = std::pin::pin!(self.anew.notified().into_future());
                    let next = std::pin::pin!(watch.next());
                    let Either::Left((Some(entry), _)) = future::select(next, anew).await else {
                        break;
                    };
                    self.take_in(&entry);
                    if entry.key == node_key(&self.me.node) {
                        let _ = self.joined.fill(());
                    }
                }
            }
            tidings::after(self.options.lease / 12).await;
        }
    }

    /// Takes in what the engine says.
    pub(crate) fn take_in(self: &Arc<Self>, entry: &Entry) {
        let effects = {
            let mut state = self.lock();
            if state.over {
                return;
            }
            let written = state.revision;
            let effects = state.view.apply(entry, written, Instant::now());
            if effects.is_empty() {
                return;
            }
            state.note(effects)
        };
        self.tell();
        self.regroup();
        for effect in effects {
            self.effect(effect);
        }
    }

    fn effect(self: &Arc<Self>, effect: Effect) {
        match effect {
            Effect::Tell(_) => unreachable!("it was kept for those who listen"),
            Effect::Named(name) => {
                let mut state = self.lock();
                let gone: Vec<_> = state
                    .found
                    .values_mut()
                    .map(|of| of.remove(&name))
                    .collect();
                drop(state);
                quietly(|| drop(gone));
            }
            Effect::Condemn(condemned) => {
                let this = Arc::clone(self);
                self.spawn(async move {
                    this.condemn(&condemned, Down::Expired).await;
                });
            }
            Effect::Ended(ended) => self.end(ended),
        }
    }

    /// Tells what is untold. One at a time does, so that all hear all in its order.
    fn tell(&self) {
        if std::mem::replace(&mut self.lock().telling, true) {
            return;
        }
        loop {
            let (change, listeners) = {
                let mut state = self.lock();
                let Some(next) = state.untold.pop_front() else {
                    state.telling = false;
                    break;
                };
                next
            };
            quietly(|| change.happen());
            if let Change::Down(member, down) = &change {
                quietly(|| self.links.end(&member.id(), *down));
            }
            for listener in listeners {
                // Who does not listen any more is left out below.
                quietly(|| drop(listener.try_send(change.clone())));
            }
        }
        let gone: Vec<_> = {
            let mut state = self.lock();
            state.listeners.extract_if(.., |l| l.is_closed()).collect()
        };
        drop(gone);
    }

    /// Our membership is over.
    pub(crate) fn end(&self, ended: Ended) {
        if self.ended.fill(ended).is_err() {
            return;
        }
        let (held, found, listeners, watched) = {
            let mut state = self.lock();
            let effects = state.view.end();
            state.note(effects);
            state.over = true;
            let listeners = std::mem::take(&mut state.listeners);
            let held = std::mem::take(&mut state.held);
            let watched = std::mem::take(&mut state.watched);
            (held, std::mem::take(&mut state.found), listeners, watched)
        };
        quietly(|| self.links.close());
        for (name, held) in held {
            quietly(|| self.exports.remove(&name));
            quietly(|| {
                let _ = held.lost.fill(());
            });
            quietly(|| drop(held));
        }
        quietly(|| drop(found));
        self.tell();
        quietly(|| drop(listeners));
        self.tell_groups(&watched);
        quietly(|| drop(watched));
        let _ = self.joined.fill(());
        self.over.cancel();
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.inner.options.cluster)
            .field("me", &self.inner.me)
            .field("ended", &self.inner.ended.try_read())
            .finish_non_exhaustive()
    }
}
