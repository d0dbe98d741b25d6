//! Links to the other nodes: one to each life of a node, made when it is first needed, direct if the
//! node can be reached, through the engine (`route.rs`) if not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{self, Either};
use tidings::JoinHandle;
use tidings::sync::{self, Semaphore};
use tidings::time::timeout;
use tidings_link::{Broken, ConnectError, Connector, Link, Listener, Server, Stats, link};

use crate::engine::{Engine, EngineError};
use crate::lock::lock;
use crate::member::{Down, Member};
use crate::options::{JoinError, Options};
use crate::record::Owner;
use crate::route;

/// As many as a listener has, if nobody has said otherwise: links that others have made, and such as are
/// being made through the engine.
const INWARD: usize = 1 << 10;
const HANDSHAKES: usize = 64;

/// All links of a node.
#[derive(Debug)]
pub(crate) struct Links {
    engine: Arc<dyn Engine>,
    options: Options,
    /// Who we are, and what we export.
    me: tidings_link::Options,
    outward: Mutex<BTreeMap<(String, u64), Arc<Outward>>>,
    inward: Mutex<Vec<Inward>>,
    /// Those who ask for a link through the engine, until it is up or has failed.
    handshakes: Semaphore,
    /// What moves the bytes of links through the engine.
    streams: Mutex<Vec<JoinHandle<()>>>,
    counted: Arc<Mutex<Counted>>,
}

/// What there is to count of links.
#[derive(Debug, Default)]
struct Counted {
    /// How many there have been.
    all: u64,
    /// Those that live, by their places among all.
    living: BTreeMap<u64, Link>,
    ended: Sum,
}

/// What links have come to, together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    /// What they have counted.
    pub(crate) stats: Stats,
    /// Why they have ended.
    pub(crate) ends: BTreeMap<&'static str, u64>,
}

/// The link to one life of a node.
#[derive(Debug, Default)]
struct Outward {
    /// Held by who makes it: why the last attempt has failed.
    making: sync::Mutex<Option<Unlinked>>,
    /// How many have failed.
    failures: AtomicUsize,
    link: Mutex<Option<Link>>,
}

/// Why there is no link to a life of a node.
#[derive(Clone, Debug)]
pub(crate) enum Unlinked {
    /// There is no way to it.
    Link(Arc<ConnectError>),
    /// The engine has made none.
    Engine(EngineError),
    /// It has gone down.
    Down(Down),
}

impl From<EngineError> for Unlinked {
    fn from(why: EngineError) -> Self {
        Self::Engine(why)
    }
}

/// A link that a life of a node has made to us.
#[derive(Debug)]
struct Inward {
    life: (String, u64),
    link: Link,
}

impl Sum {
    fn add(&mut self, why: &Broken, stats: Stats) {
        self.stats += stats;
        *self.ends.entry(why.name()).or_default() += 1;
    }
}

/// Where a link through the engine leads, for errors.
fn place(member: &Member) -> String {
    format!("node {:?}", member.node())
}

fn unlinked(error: ConnectError) -> Unlinked {
    Unlinked::Link(Arc::new(error))
}

/// Ends a link with a life that is over: at once, or in order if that has left in order.
fn end(link: &Link, down: Down) {
    match down {
        Down::Left => link.drain(),
        _ => link.close(),
    }
}

/// A number that is unlikely to be anybody else's.
pub(crate) fn number() -> u64 {
    let quarter = |_| tidings::sched::random(1 << 16) as u64;
    (0..4)
        .map(quarter)
        .fold(0, |number, next| number << 16 | next)
}

/// Listens for links of others, if we are to.
pub(crate) async fn serve(
    options: &Options,
    link: tidings_link::Options,
) -> Result<Option<Server>, JoinError> {
    let Some(address) = &options.listen else {
        return Ok(None);
    };
    let listener = match options.insecure {
        true => Listener::bind_insecure(address, link).await,
        false => Listener::bind(address, link).await,
    };
    let listener = listener.map_err(JoinError::Listen)?;
    #[cfg(feature = "tls")]
    let listener = match &options.tls {
        Some(tls) => listener.tls(tls.clone()),
        None => listener,
    };
    listener.check().map_err(JoinError::Listen)?;
    Ok(Some(listener.serve()))
}

impl Links {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        options: Options,
        me: tidings_link::Options,
    ) -> Self {
        Self {
            engine,
            options,
            me,
            outward: Mutex::default(),
            inward: Mutex::default(),
            handshakes: Semaphore::new(HANDSHAKES),
            streams: Mutex::default(),
            counted: Arc::default(),
        }
    }

    /// The link to a member: the one that is there, or a new one. Nobody waits longer for it than it
    /// lives, nor for more than one attempt beside that which is under way.
    pub(crate) async fn to(&self, member: &Member) -> Result<Link, Unlinked> {
        let down = std::pin::pin!(member.down().into_future());
        match future::select(std::pin::pin!(self.linked(member)), down).await {
            Either::Left((link, _)) => link,
            Either::Right((down, _)) => Err(Unlinked::Down(down)),
        }
    }

    async fn linked(&self, member: &Member) -> Result<Link, Unlinked> {
        let outward = Arc::clone(lock(&self.outward).entry(member.id()).or_default());
        let failures = outward.failures.load(Ordering::Relaxed);
        let mut failed = outward.making.lock().await;
        if let Some(link) = lock(&outward.link).clone()
            && link.exit().is_none()
        {
            return Ok(link);
        }
        // The attempt that was waited for is that of all who did.
        if failures != outward.failures.load(Ordering::Relaxed)
            && let Some(error) = &*failed
        {
            return Err(error.clone());
        }
        let made = match self.make(member).await {
            Ok(made) => made,
            Err(error) => {
                *failed = Some(error.clone());
                outward.failures.fetch_add(1, Ordering::Relaxed);
                return Err(error);
            }
        };
        self.is_new(&made);
        let before = lock(&outward.link).replace(made.clone());
        drop(before);
        // Who ends all links of a member has told of its end before.
        match member.exit() {
            None => Ok(made),
            Some(down) => {
                self.end(&member.id(), down);
                // Who did so may have forgotten its place before the link was there.
                end(&made, down);
                Err(Unlinked::Down(down))
            }
        }
    }

    async fn make(&self, member: &Member) -> Result<Link, Unlinked> {
        let patience = self.options.patience;
        let at = || place(member);
        let direct = match member.address() {
            Some(address) => timeout(patience / 2, self.direct(member, address))
                .await
                .ok(),
            None => None,
        };
        let made = match direct {
            Some(Ok(link)) => link,
            // Who can be reached and will not speak with us will not through the engine.
            Some(Err(
                error @ ConnectError::Broken {
                    why: Broken::Refused(_) | Broken::RefusedByPeer(_),
                    ..
                },
            )) if !error.may_pass() => {
                return Err(unlinked(error));
            }
            _ => timeout(patience, self.routed(member))
                .await
                .unwrap_or_else(|_| Err(unlinked(ConnectError::Late { at: at() })))?,
        };
        let peer = made.up().await;
        let is_it = |peer: &tidings_link::Peer| {
            (&*peer.node, peer.incarnation) == (member.node(), member.incarnation())
        };
        if peer.as_ref().is_ok_and(is_it) {
            return Ok(made);
        }
        made.close();
        Err(unlinked(match peer {
            Err(why) => ConnectError::Broken { at: at(), why },
            // Another life of it is there: this one will be down soon.
            Ok(_) => ConnectError::Late { at: at() },
        }))
    }

    fn to_member(&self, member: &Member) -> tidings_link::Options {
        self.me.clone().expect([member.node()])
    }

    async fn direct(&self, member: &Member, address: &str) -> Result<Link, ConnectError> {
        let connector = Connector::new(address)?
            .options(self.to_member(member))
            .node(member.node())
            .insecure(self.options.insecure);
        #[cfg(feature = "tls")]
        let connector = match &self.options.tls {
            Some(tls) => connector.tls(tls.clone()),
            None => connector,
        };
        connector.connect().await
    }

    async fn routed(&self, member: &Member) -> Result<Link, Unlinked> {
        let cluster = &self.options.cluster;
        let inbox = route::inbox(cluster, member.node(), member.incarnation());
        let patience = self.options.patience;
        let lease = self.options.lease;
        let stream = route::open(&self.engine, cluster, &inbox, number(), patience, lease).await;
        let made = self.over(stream?, self.to_member(member));
        let up = made.up().await;
        up.map(|_| made).map_err(|why| {
            let at = place(member);
            unlinked(ConnectError::Broken { at, why })
        })
    }

    /// A node asks for a link through the engine. While there are too many it hears nothing, and asks again
    /// later.
    pub(crate) async fn asked(
        &self,
        message: &crate::engine::Message,
        is_dead: impl Fn(&Owner) -> bool,
    ) {
        let Ok(_place) = self.handshakes.try_acquire(1) else {
            return;
        };
        let living = |inward: &&Inward| inward.link.exit().is_none();
        if lock(&self.inward).iter().filter(living).count() >= INWARD {
            return;
        }
        if let Ok(stream) = route::accept(&self.engine, message, self.options.lease).await {
            self.arrived(self.over(stream, self.me.clone()), is_dead)
                .await;
        }
    }

    /// A link over a stream through the engine.
    fn over(&self, stream: route::Stream, options: tidings_link::Options) -> Link {
        let (made, driver) = link(stream.pipe, options);
        let open = stream.open;
        drop(tidings::spawn(async move {
            driver.await;
            drop(open);
        }));
        let mut streams = lock(&self.streams);
        streams.retain(|stream| !stream.is_finished());
        streams.push(stream.moved);
        made
    }

    /// A node has made a link to us.
    pub(crate) async fn arrived(&self, link: Link, is_dead: impl Fn(&Owner) -> bool) {
        let Ok(peer) = link.up().await else { return };
        self.is_new(&link);
        let life = Owner {
            node: peer.node,
            incarnation: peer.incarnation,
        };
        let inward = Inward {
            life: (life.node.clone(), life.incarnation),
            link: link.clone(),
        };
        let ended = {
            let mut all = lock(&self.inward);
            let ended: Vec<_> = all.extract_if(.., |i| i.link.exit().is_some()).collect();
            all.push(inward);
            ended
        };
        drop(ended);
        // Who ends all links of a life has taken it for dead before.
        if is_dead(&life) {
            link.close();
        }
    }

    /// Ends all links with a life of a node.
    pub(crate) fn end(&self, life: &(String, u64), down: Down) {
        let outward = lock(&self.outward).remove(life);
        let link = outward.and_then(|outward| lock(&outward.link).take());
        let inward: Vec<_> = lock(&self.inward)
            .extract_if(.., |inward| inward.life == *life)
            .collect();
        for link in inward.into_iter().map(|inward| inward.link).chain(link) {
            end(&link, down);
        }
    }

    /// Ends all that there are, in order, and waits until what they said is with the engine.
    pub(crate) async fn drain(&self) {
        let links = self.all();
        for link in &links {
            link.drain();
        }
        for link in &links {
            link.down().await;
        }
        let streams = std::mem::take(&mut *lock(&self.streams));
        for stream in streams {
            let _ = stream.await;
        }
    }

    /// Ends all that there are, at once.
    pub(crate) fn close(&self) {
        for link in self.all() {
            link.close();
        }
    }

    /// It is counted from here on.
    fn is_new(&self, link: &Link) {
        let (counted, link) = (Arc::clone(&self.counted), link.clone());
        let place = {
            let mut counted = lock(&counted);
            counted.all += 1;
            let place = counted.all;
            counted.living.insert(place, link.clone());
            place
        };
        drop(tidings::spawn(async move {
            let why = link.down().await;
            let stats = link.stats().await;
            let mut counted = lock(&counted);
            counted.ended.add(&why, stats);
            let link = counted.living.remove(&place);
            drop(counted);
            drop(link);
        }));
    }

    /// What all links have come to, and how many live.
    pub(crate) async fn stats(&self) -> (Sum, u64) {
        let (mut sum, links) = {
            let counted = lock(&self.counted);
            let links: Vec<Link> = counted.living.values().cloned().collect();
            (counted.ended.clone(), links)
        };
        let mut living = 0;
        for link in links {
            let stats = link.stats().await;
            match link.exit() {
                // Who waits for it has not had his turn.
                Some(why) => sum.add(&why, stats),
                None => {
                    sum.stats += stats;
                    living += 1;
                }
            }
        }
        (sum, living)
    }

    fn all(&self) -> Vec<Link> {
        let outward = lock(&self.outward).values().cloned().collect::<Vec<_>>();
        let outward = outward
            .iter()
            .filter_map(|outward| lock(&outward.link).clone());
        let mut all: Vec<Link> = outward.collect();
        all.extend(lock(&self.inward).iter().map(|inward| inward.link.clone()));
        all
    }
}
