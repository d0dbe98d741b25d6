//! One link for each peer, whichever of two nodes connects, and when both do at once: the table of
//! nodes that link to each other. Used by connectors and listeners that share one.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tidings::channel::oneshot::{self, oneshot};
use tidings::sync::{Permit, Semaphore};

use crate::address::Address;
use crate::connect::ConnectError;
use crate::limits::Refusal;
use crate::link::{Link, State};
use crate::shared::Shared;

/// The links of a node to others, one for each: shared by its [`Listener`](crate::Listener::peers)
/// and its [`Connector`](crate::Connector::peer)s. Clones are the same table.
///
/// Whoever connects to a node to which there is a link gets that one. If two nodes connect to each
/// other at once, the connection of the one whose name is greater stays (as between nodes of
/// Erlang), and both get it. A node that comes anew, with another incarnation, takes the place of
/// what it was before, whose link ends.
///
/// Names are as good as certificates make them: without TLS, whoever says a name has its place. Who says none,
/// as [`Link::connect`] does, has no place here: there may be any number of such links.
///
/// ```
/// use tidings_link::{Connector, Listener, Options, Peers};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # async fn node(name: &str) -> (Peers, tidings_link::Server) {
/// let peers = Peers::new();
/// let listener = Listener::bind("tcp://127.0.0.1:0", Options::new(name)).await.unwrap();
/// let server = listener.peers(&peers).serve();
/// # (peers, server)
/// # }
/// # let (alice, first) = node("alice").await;
/// # let (bob, second) = node("bob").await;
/// # async fn to(node: &str, at: &tidings_link::Server, peers: &Peers, us: &str) {
/// let connector = Connector::new(&at.address().to_string()).unwrap();
/// let connector = connector.options(Options::new(us)).peer(node, peers);
/// let link = connector.connect().await.unwrap();
/// assert_eq!(link.up().await.unwrap().node, node);
/// # }
/// # let both = (to("bob", &second, &alice, "alice"), to("alice", &first, &bob, "bob"));
/// # futures::future::join(both.0, both.1).await;
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Peers {
    table: Arc<Mutex<HashMap<String, Known>>>,
}

/// What is known of a node.
struct Known {
    /// Its incarnation, and the link to it.
    link: Option<(u64, Weak<Shared>, Weak<State>)>,
    /// One of this side greets it: there is a stream.
    dialing: bool,
    turns: Arc<Turns>,
    /// Who connects there is given the link that comes from there meanwhile.
    came: Option<oneshot::Sender<Link>>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            link: None,
            dialing: false,
            turns: Arc::new(Turns {
                free: Semaphore::new(1),
                failed: Mutex::default(),
            }),
            came: None,
        }
    }
}

impl Known {
    /// What the link consists of, if it lives, and the incarnation of who is there. Not the link
    /// itself: its drop wakes its driver, and the table is locked.
    fn live(&self) -> Option<(u64, Arc<Shared>, Arc<State>)> {
        let (incarnation, shared, state) = self.link.as_ref()?;
        let (shared, state) = (shared.upgrade()?, state.upgrade()?);
        let lives = state.down.try_read().is_none();
        lives.then_some((*incarnation, shared, state))
    }
}

impl Peers {
    /// No links.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The link to this node, if there is one; it may be about to end in order ([`Link::drain`]), and begins
    /// nothing more then.
    #[must_use]
    pub fn get(&self, node: &str) -> Option<Link> {
        let live = self.lock().get(node)?.live();
        live.map(|(_, shared, state)| Link::again(shared, state))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a turn to connect there at this address is waited for with.
    pub(crate) fn turn<'a>(&'a self, node: &'a str, address: &'a Address) -> Turn<'a> {
        let turns = {
            let mut table = self.lock();
            Arc::clone(&table.entry(node.to_owned()).or_default().turns)
        };
        let failed = turns.failed().0;
        Turn {
            peers: self,
            node,
            address,
            failed,
            turns: Some(turns),
        }
    }

    /// Connects from here on, and is given the link that comes from there meanwhile; or gives the link that
    /// there is.
    pub(crate) fn dial<'a>(
        &'a self,
        node: &'a str,
    ) -> Result<(Dialing<'a>, oneshot::Receiver<Link>), Link> {
        let (came, comes) = oneshot();
        let live = {
            let mut table = self.lock();
            let known = table.entry(node.to_owned()).or_default();
            let live = known.live();
            if live.is_none() {
                known.came = Some(came);
            }
            live
        };
        match live {
            Some((_, shared, state)) => Err(Link::again(shared, state)),
            None => Ok((Dialing { peers: self, node }, comes)),
        }
    }

    /// Forgets a node of which there is nothing to know.
    fn forget(&self, node: &str) {
        let mut table = self.lock();
        let idle = |known: &Known| {
            let nobody = !known.dialing && Arc::strong_count(&known.turns) == 1;
            let waits = |came: &oneshot::Sender<Link>| !came.is_closed();
            nobody && known.link.is_none() && !known.came.as_ref().is_some_and(waits)
        };
        if table.get(node).is_some_and(idle) {
            table.remove(node);
        }
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

/// Those of this side who connect to a node: one at a time.
struct Turns {
    free: Semaphore,
    /// How many have failed, and of the last how and where.
    failed: Mutex<(u64, Option<(Address, ConnectError)>)>,
}

impl Turns {
    fn failed(&self) -> MutexGuard<'_, (u64, Option<(Address, ConnectError)>)> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of this side who connects, or waits until it is its turn.
pub(crate) struct Turn<'a> {
    peers: &'a Peers,
    node: &'a str,
    address: &'a Address,
    /// `None` in its drop.
    turns: Option<Arc<Turns>>,
    /// How many had failed when it came.
    failed: u64,
}

impl Turn<'_> {
    fn turns(&self) -> &Turns {
        self.turns.as_ref().expect("it is not dropped")
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// If another has failed there meanwhile, by what may pass, and there is no link: nobody tries that
    /// again at once.
    pub(crate) async fn comes(&self) -> Result<Option<Permit<&Semaphore>>, ConnectError> {
        let turn = self.turns().free.acquire(1).await.ok();
        if self.peers.get(self.node).is_some() {
            return Ok(turn);
        }
        match &*self.turns().failed() {
            (failed, Some((at, why))) if *failed > self.failed && at == self.address => {
                Err(why.clone())
            }
            _ => Ok(turn),
        }
    }

    /// It has failed.
    pub(crate) fn fails(&self, why: &ConnectError) {
        if why.may_pass() {
            let mut failed = self.turns().failed();
            *failed = (failed.0 + 1, Some((self.address.clone(), why.clone())));
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        drop(self.turns.take());
        self.peers.forget(self.node);
    }
}

/// The link that comes from there: it is kept until it is asked for, even if nobody uses it.
pub(crate) async fn came(comes: oneshot::Receiver<Link>) -> Link {
    match comes.await {
        Ok(link) => link,
        // It has ended already.
        Err(_) => pending().await,
    }
}

/// One of this side connects, until this is dropped.
pub(crate) struct Dialing<'a> {
    peers: &'a Peers,
    node: &'a str,
}

impl Dialing<'_> {
    /// There is a stream, and the greeting goes: from here on a link that comes from there may be refused.
    /// Or it was refused, and none is any more.
    pub(crate) fn greets(&self, it: bool) {
        if let Some(known) = self.peers.lock().get_mut(self.node) {
            known.dialing = it;
        }
    }
}

impl Drop for Dialing<'_> {
    fn drop(&mut self) {
        self.greets(false);
        self.peers.forget(self.node);
    }
}

/// The place that a link has in the table, or is to have.
pub(crate) struct Seat {
    peers: Peers,
    us: String,
    /// We have connected; otherwise the peer has.
    dialed: bool,
    link: (Weak<Shared>, Weak<State>),
    taken: Option<String>,
}

impl Seat {
    pub(crate) fn new(peers: Peers, us: &str, dialed: bool, link: &Link) -> Self {
        Self {
            peers,
            us: us.to_owned(),
            dialed,
            link: (Arc::downgrade(&link.shared), Arc::downgrade(&link.state)),
            taken: None,
        }
    }

    /// The peer says who it is.
    ///
    /// # Errors
    /// If there is another link to it, or is to be.
    pub(crate) fn take(&mut self, node: &str, incarnation: u64) -> Result<(), Refusal> {
        if node.is_empty() {
            // They are many.
            return Ok(());
        }
        let (live, came) = {
            let mut table = self.peers.lock();
            let known = table.entry(node.to_owned()).or_default();
            let live = known.live();
            let free = match &live {
                Some((there, ..)) => *there != incarnation,
                // Both connect: the other does the same, from its side.
                None => self.dialed || !known.dialing || node > &*self.us,
            };
            let came = free.then(|| {
                let (shared, state) = self.link.clone();
                known.link = Some((incarnation, shared, state));
                known.came.take()
            });
            (live, came)
        };
        let came = came.ok_or(Refusal::Linked)?;
        self.taken = Some(node.to_owned());
        if let Some((_, shared, state)) = live {
            // What it was before.
            Link::again(shared, state).close();
        }
        let (shared, state) = &self.link;
        if let (Some(came), Some(shared), Some(state)) = (came, shared.upgrade(), state.upgrade()) {
            let _ = came.send(Link::again(shared, state));
        }
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(node) = &self.taken else {
            return;
        };
        if let Some(known) = self.peers.lock().get_mut(node) {
            known.link.take_if(|link| link.1.ptr_eq(&self.link.0));
        }
        self.peers.forget(node);
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("dialed", &self.dialed)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}
