//! Where links that others make to this node come in.

use std::fmt;
use std::io;
use std::net::IpAddr;

use tidings::net::{TcpListener, lookup_host};

use crate::address::Address;
use crate::connect::{ConnectError, is_here};
use crate::link::Options;
use crate::peers::Peers;
use crate::place::met_at;
use crate::server::Server;
use crate::stream::Stream;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::unix;

/// Waits for other nodes.
///
/// ```
/// use tidings::actor;
/// use tidings_link::{Exports, Link, Listener, Options};
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
/// let counter: CounterRef = actor::start(Tally::default());
/// let options = Options::new("server").exports(Exports::new().add("counter", &counter));
/// let server = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap().serve();
///
/// let link = Link::connect(&server.address().to_string()).await.unwrap();
/// let counter: CounterRef = link.get("counter").await.unwrap();
/// assert_eq!(counter.add(7).await.unwrap(), 7);
/// # });
/// ```
pub struct Listener {
    socket: Socket,
    terms: Terms,
}

/// On which terms others are let in.
pub(crate) struct Terms {
    pub(crate) address: Address,
    pub(crate) options: Options,
    pub(crate) links: usize,
    pub(crate) rate: u32,
    pub(crate) share: usize,
    pub(crate) peers: Option<Peers>,
    insecure: bool,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
}

pub(crate) enum Socket {
    Tcp(TcpListener),
    Unix(unix::UnixListener),
}

impl Socket {
    /// The next stream that comes, before any handshake, and where it comes from, if it is not from here.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        match self {
            Self::Tcp(socket) => {
                let (stream, from) = socket.accept().await?;
                stream.set_nodelay(true)?;
                // One of IPv4 has its own share at a listener of both.
                let elsewhere = (!is_here(from)).then(|| from.ip().to_canonical());
                Ok((Stream::Tcp(stream), elsewhere))
            }
            Self::Unix(socket) => Ok((Stream::Unix(socket.accept().await?.0), None)),
        }
    }
}

impl Listener {
    /// Listens at an address: `tcp://127.0.0.1:7000`, `tls://0.0.0.0:7000`, `unix:/run/db.sock`;
    /// port 0 is any that is free. TCP without TLS stays on this machine. The socket of a Unix address at
    /// which nobody listens any more is taken away; of several that bind at once one gets it. For that there
    /// is a file beside it, whose name ends in `.lock`, and which stays. On Windows there are no Unix sockets, which is an error
    /// ([`Unsupported`](io::ErrorKind::Unsupported)), here and for who connects.
    ///
    /// # Errors
    /// If it cannot listen there.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn bind(address: &str, options: Options) -> Result<Self, ConnectError> {
        Self::bind_at(address.parse()?, options, false).await
    }

    /// As [`bind`](Self::bind), at any address also without TLS: whoever can connect is let in, and
    /// who reads or alters such a link is not known.
    ///
    /// # Errors
    /// As above.
    ///
    /// # Panics
    /// As above.
    pub async fn bind_insecure(address: &str, options: Options) -> Result<Self, ConnectError> {
        Self::bind_at(address.parse()?, options, true).await
    }

    async fn bind_at(
        address: Address,
        options: Options,
        insecure: bool,
    ) -> Result<Self, ConnectError> {
        options.check()?;
        let (socket, address) = match address {
            Address::Unix(path) => (Socket::Unix(unix::listen(&path)?), Address::Unix(path)),
            Address::Tcp(at) => {
                let socket = tcp(&at, insecure).await?;
                let address = Address::Tcp(socket.local_addr()?.to_string());
                (Socket::Tcp(socket), address)
            }
            Address::Tls(at) => {
                let socket = tcp(&at, true).await?;
                let address = Address::Tls(socket.local_addr()?.to_string());
                (Socket::Tcp(socket), address)
            }
        };
        let terms = Terms {
            address,
            options,
            links: 1024,
            rate: u32::MAX,
            share: 16,
            peers: None,
            insecure,
            #[cfg(feature = "tls")]
            tls: None,
        };
        Ok(Self { socket, terms })
    }

    /// By this identity, for `tls://`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.terms.tls = Some(tls);
        self
    }

    /// How many links there may be at a time, those in their handshakes with them: 1024 if nobody says
    /// otherwise. Others are refused.
    #[must_use]
    pub fn links(mut self, links: usize) -> Self {
        self.terms.links = links;
        self
    }

    /// How many may begin in one second: any number if nobody says otherwise, of which 64 are in their
    /// handshakes at a time. Others wait in the system's queue.
    #[must_use]
    pub fn rate(mut self, begin: u32) -> Self {
        self.terms.rate = begin;
        self
    }

    /// How many of the 64 that are in their handshakes at a time may have come from one address (of IPv6, one
    /// network of 64 bits): 16 if nobody says otherwise, so that who connects and says nothing keeps nobody
    /// else out. Three times as many wait for those, and more are closed at once
    /// ([`Arrivals::crowded`](crate::Arrivals::crowded)). Those who come from this machine are not counted.
    ///
    /// Behind a proxy all come from its address: say 64 there.
    #[must_use]
    pub fn share(mut self, handshakes: usize) -> Self {
        self.terms.share = handshakes;
        self
    }

    /// There may be one link to each node that has a name, and it has its place in this table.
    #[must_use]
    pub fn peers(mut self, peers: &Peers) -> Self {
        self.terms.peers = Some(peers.clone());
        self
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.terms.address
    }

    /// Can it [`serve`](Self::serve)?
    ///
    /// # Errors
    /// If it listens at `tls://` without an identity, or has one and listens elsewhere (but by
    /// [`bind_insecure`](Self::bind_insecure)).
    pub fn check(&self) -> Result<(), ConnectError> {
        #[cfg(feature = "tls")]
        let identity = self.terms.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let identity = false;
        let at = || self.terms.address.to_string();
        match (&self.terms.address, identity) {
            (Address::Tls(_), false) => Err(ConnectError::NoIdentity { at: at() }),
            (Address::Tcp(_) | Address::Unix(_), true) if !self.terms.insecure => {
                Err(ConnectError::NotTls { at: at() })
            }
            _ => Ok(()),
        }
    }

    /// Lets nodes in from here on, in tasks of its own.
    ///
    /// # Panics
    /// Outside of a runtime; and where [`check`](Self::check) fails, as nobody could be let in, or
    /// everybody would be.
    #[must_use = "dropped, it ends its links"]
    #[track_caller]
    pub fn serve(self) -> Server {
        if let Err(why) = self.check() {
            panic!("{why}");
        }
        Server::of(self.socket, self.terms)
    }
}

async fn tcp(at: &str, anywhere: bool) -> Result<TcpListener, ConnectError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let found = lookup_host(at.to_owned()).await;
    for address in found.map_err(|error| met_at(at, error))? {
        if !anywhere && !is_here(address) {
            let at = Address::Tcp(address.to_string()).to_string();
            return Err(ConnectError::Insecure { at });
        }
        match TcpListener::bind(address) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = met_at(address, error),
        }
    }
    Err(last.into())
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("at", self.address())
            .finish_non_exhaustive()
    }
}
