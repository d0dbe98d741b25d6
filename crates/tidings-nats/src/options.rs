//! How a node joins a cluster, and why it does not.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tidings_link::{Address, ConnectError, Limits, Request};

use crate::engine::EngineError;

/// Of how many characters the name of a cluster, or of a queue, is at most: NATS' names of streams, in which
/// both are, have 255.
pub(crate) const NAME: usize = 120;

/// That of a node, which is in no such name.
const NODE: usize = 255;

/// Who a node is, and how others reach it.
///
/// ```
/// use std::time::Duration;
/// use tidings_nats::Options;
///
/// let options = Options::new("shop", "till-1")
///     .listen("tcp://127.0.0.1:0")
///     .lease(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) lease: Duration,
    pub(crate) patience: Duration,
    pub(crate) hold: Duration,
    pub(crate) listen: Option<String>,
    pub(crate) advertise: Option<String>,
    pub(crate) insecure: bool,
    /// Of each link.
    pub(crate) link: tidings_link::Options,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<tidings_link::Tls>,
    #[cfg(feature = "nats")]
    pub(crate) nats: crate::nats::ConnectOptions,
    #[cfg(feature = "nats")]
    pub(crate) replicas: usize,
}

impl Options {
    /// A node of this name in this cluster. Both are of letters, digits, `-` and `_`, a cluster's of 120 at
    /// most, a node's of 255. A node that joins under the name of another takes its place: one process each.
    #[must_use]
    pub fn new(cluster: impl Into<String>, node: impl Into<String>) -> Self {
        let (cluster, node) = (cluster.into(), node.into());
        Self {
            link: tidings_link::Options::new(&node).cluster(&cluster),
            cluster,
            node,
            lease: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            hold: Duration::from_secs(30),
            listen: None,
            advertise: None,
            insecure: false,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "nats")]
            nats: crate::nats::ConnectOptions::new(),
            #[cfg(feature = "nats")]
            replicas: 1,
        }
    }

    /// A node of which nothing has been heard for so long is down: 10 s, if nobody says otherwise, and
    /// at least 1 s. All nodes of a cluster should say the same.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// So long it is tried to reach the engine, and another node: 10 s, if nobody says otherwise. An attempt
    /// that has begun by then has its time.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// A message of a [`Queue`](crate::Queue) that a node has fetched is given to another if the
    /// engine has not heard of it for so long: 30 s, if nobody says otherwise. It counts for queues
    /// that this node makes.
    #[must_use]
    pub fn hold(mut self, hold: Duration) -> Self {
        self.hold = hold.max(Duration::from_secs(1));
        self
    }

    /// Lets other nodes link to this one at an address, as
    /// [`Listener::bind`](tidings_link::Listener::bind) has them. Without it, and where it cannot be
    /// reached, links go through the engine. At `0.0.0.0` it listens at all of the machine's: which of them the
    /// others are told, [`advertise`](Self::advertise) says.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// The address that others are told, if it is another than it listens at: one that can be connected to.
    #[must_use]
    pub fn advertise(mut self, address: impl Into<String>) -> Self {
        self.advertise = Some(address.into());
        self
    }

    /// Whether links without TLS may leave this machine. Who reads or alters them is not known.
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// What peers are allowed on a link.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.link = self.link.limits(limits);
        self
    }

    /// `f` sees each request of the other nodes' on all links, direct and through the engine, before its
    /// actor does, and may refuse it: [`Options::intercept`](tidings_link::Options::intercept) of links says
    /// what that means.
    ///
    /// ```
    /// use tidings_nats::Options;
    ///
    /// let options = Options::new("shop", "till-1").intercept(|request| match request.method() {
    ///     "shut_down" if request.peer().node != "office" => Err("for the office only".into()),
    ///     _ => Ok(()),
    /// });
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn intercept<G: Send + 'static>(
        mut self,
        f: impl Fn(&Request<'_>) -> Result<G, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        self.link = self.link.intercept(f);
        self
    }

    /// By this identity, on `tls://` links. The certificates of nodes are for their names.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: tidings_link::Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How NATS is connected to: TLS, credentials, nkeys. Its times (pings, connecting, between two
    /// attempts) are set by the [`lease`](Self::lease), an event callback that is set there is replaced by
    /// ours, which counts lost messages, and attempts are not counted: they are made until we leave.
    #[cfg(feature = "nats")]
    #[must_use]
    pub fn nats(mut self, options: crate::nats::ConnectOptions) -> Self {
        self.nats = options;
        self
    }

    /// On how many servers of NATS' own cluster keys and queues lie: one, if nobody says otherwise.
    #[cfg(feature = "nats")]
    #[must_use]
    pub fn replicas(mut self, servers: usize) -> Self {
        self.replicas = servers;
        self
    }

    pub(crate) fn check(&self) -> Result<(), JoinError> {
        for (name, longest) in [(&self.cluster, NAME), (&self.node, NODE)] {
            if !is_word(name, longest) {
                return Err(JoinError::Name(name.clone()));
            }
        }
        self.told().map_err(JoinError::Listen)
    }

    /// Is it an address that the others are told of us?
    fn told(&self) -> Result<(), ConnectError> {
        let Some(told) = self.advertise.as_ref().or(self.listen.as_ref()) else {
            return Ok(());
        };
        let (Address::Tcp(at) | Address::Tls(at)) = told.parse()? else {
            return Ok(());
        };
        // A listener is given a port.
        let is_nowhere = self.advertise.is_some() && at.ends_with(":0");
        let is_any = |at: SocketAddr| at.ip().is_unspecified();
        if is_nowhere || at.parse().is_ok_and(is_any) {
            let why = format!("nobody can connect to {told}: `Options::advertise` says where");
            let error = io::Error::new(io::ErrorKind::InvalidInput, why);
            return Err(ConnectError::Io(Arc::new(error)));
        }
        Ok(())
    }
}

/// The name of a cluster, a node or a queue.
pub(crate) fn is_word(name: &str, longest: usize) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= longest && name.chars().all(good)
}

/// Why a node has not joined.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// This name, of the cluster or the node, is not valid: it is empty or too long, or has other characters
    /// than letters, digits, `-` and `_`.
    Name(String),
    /// The engine could not be reached in time, or refused.
    Engine(EngineError),
    /// It cannot listen at its address, or others cannot connect to what they are told.
    Listen(ConnectError),
    /// The engine is another cluster's, of this name.
    OtherCluster(String),
    /// Another process joined under the same name meanwhile.
    Replaced,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?} is no name of a cluster or node"),
            Self::Engine(error) => error.fmt(f),
            Self::Listen(error) => write!(f, "cannot listen: {error}"),
            Self::OtherCluster(theirs) => write!(f, "the engine is cluster {theirs:?}'s"),
            Self::Replaced => f.write_str("another process joined under the same name"),
        }
    }
}

impl Error for JoinError {}

impl From<EngineError> for JoinError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}
