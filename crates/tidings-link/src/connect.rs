//! Links to nodes at addresses: connecting, once or until it succeeds.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tidings::net::{TcpStream, lookup_host};
use tidings::time::{Instant, timeout};

use crate::address::{Address, AddressError};
use crate::backoff::Backoff;
use crate::driver::link_to;
use crate::limits::{Broken, Refusal};
use crate::link::{Link, Options};
use crate::peers::{Peers, came};
use crate::place::met_at;
use crate::stream::Stream;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::unix;

/// Connects to a node.
///
/// ```
/// use tidings_link::{Connector, Listener, Options};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let server = Listener::bind("tcp://127.0.0.1:0", Options::new("server")).await?.serve();
/// # let address = server.address().to_string();
/// // Such as "tcp://127.0.0.1:7000".
/// let connector = Connector::new(&address)?.options(Options::new("client"));
/// let link = connector.connect().await?;
/// assert_eq!(server.next().await.up().await?.node, "client");
/// # drop(link);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Connector {
    address: Address,
    options: Options,
    insecure: bool,
    backoff: Backoff,
    node: Option<String>,
    peers: Option<Peers>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

/// A stream, and the names that the certificate at its other end is for, if there is one.
type Secured = (Stream, Option<Vec<String>>);

impl Connector {
    /// To this address, such as `tcp://127.0.0.1:7000`.
    ///
    /// # Errors
    /// If it is not a valid address.
    pub fn new(address: &str) -> Result<Self, AddressError> {
        Ok(Self {
            address: address.parse()?,
            options: Options::default(),
            insecure: false,
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(30)),
            node: None,
            peers: None,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// Who we are, and what we export.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Connects with this identity, to `tls://` only: any other address is an error
    /// ([`ConnectError::NotTls`]), unless [`insecure`](Self::insecure) is set.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The node that is expected there, which its certificate must be for: no other is spoken with. If it is not
    /// given, any may be there, with a certificate for the address's host.
    #[must_use]
    pub fn node(mut self, name: impl Into<String>) -> Self {
        self.node = Some(name.into());
        self
    }

    /// To this node, to which there is one link at most: that in the table is given, if there is one,
    /// and if that node connects to us at the same time, both get the same ([`Peers`]).
    #[must_use]
    pub fn peer(mut self, name: impl Into<String>, peers: &Peers) -> Self {
        self.peers = Some(peers.clone());
        self.node(name)
    }

    /// Whether TCP without TLS may leave this machine. Who reads or alters such a link is not known.
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// How long [`connect_until_up`](Self::connect_until_up) waits before it tries again: at most the first
    /// after one failure, or after the end of a link that had been up for 10 s; at most twice as long after
    /// each that follows, an earlier end being one; and never longer than the second. 100 ms and 30 s, if
    /// nobody says otherwise.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff = Backoff::new(first, longest);
        self
    }

    /// Connects, and waits for the end of the handshake.
    ///
    /// [`Limits::handshake`](crate::Limits::handshake) is a limit twice, so it takes at most twice as long
    /// (10 s by default): for the stream, from the look-up of the name to the handshake of TLS
    /// ([`ConnectError::Late`]), and for the handshake of the link
    /// ([`Broken::Handshake`]). With [`peer`](Self::peer) it also waits for another
    /// that connects to the same node, and fails with it if that fails there by what may pass; and it gives a link
    /// that comes from there meanwhile, and one that there is, which may be about to end in order
    /// ([`Link::drain`]). Of several addresses of a name each is tried when the one before it has
    /// failed, or has not answered for 250 ms; the first that does is taken. Where the queue of a Unix socket is full
    /// it waits for a place.
    ///
    /// Dropped before it is done, it leaves no link behind, and no attempt at one.
    ///
    /// # Errors
    /// If there is no such node, or it will not speak with us.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn connect(&self) -> Result<Link, ConnectError> {
        self.options.check()?;
        let (Some(peers), Some(node)) = (&self.peers, &self.node) else {
            return self.greet(self.dial().await?).await;
        };
        let turn = peers.turn(node, &self.address);
        let _turn = turn.comes().await?;
        let done = self.only_one(peers, node).await;
        if let Err(why) = &done {
            turn.fails(why);
        }
        done
    }

    /// The one link to this node.
    async fn only_one(&self, peers: &Peers, node: &str) -> Result<Link, ConnectError> {
        let (dialing, comes) = match peers.dial(node) {
            Ok(both) => both,
            Err(link) => return self.up(link).await,
        };
        let made = async {
            let stream = self.dial().await?;
            dialing.greets(true);
            let made = self.greet(stream).await;
            if matches!(&made, Err(ConnectError::Broken { why, .. }) if why.is_linked()) {
                // It is about to come from there.
                dialing.greets(false);
                tidings::after(self.options.limits.handshake).await;
            }
            made
        };
        // Neither a stream nor an answer to our greeting that does not come hides a link that does.
        let (mut comes, mut made) = (pin!(came(comes)), pin!(made));
        let first = poll_fn(|cx| match comes.as_mut().poll(cx) {
            Poll::Ready(link) => Poll::Ready(Ok(link)),
            Poll::Pending => made.as_mut().poll(cx).map(Err),
        });
        match first.await {
            Ok(link) => self.up(link).await,
            Err(made) => made,
        }
    }

    /// A stream to there, and for whom its certificate is.
    async fn dial(&self) -> Result<Secured, ConnectError> {
        let stream = timeout(self.options.limits.handshake, self.stream()).await;
        stream.unwrap_or_else(|_| Err(ConnectError::Late { at: self.at() }))
    }

    /// For errors.
    fn at(&self) -> String {
        self.address.to_string()
    }

    /// A new link.
    async fn greet(&self, (stream, names): Secured) -> Result<Link, ConnectError> {
        let mut options = self.options.clone();
        options.only(names);
        if let Some(node) = &self.node {
            // A certificate may be for others, too, whose places it is not to take.
            options.only(Some(vec![node.clone()]));
        }
        self.up(start(stream, options, self.peers.as_ref())).await
    }

    /// Waits for the handshake.
    async fn up(&self, link: Link) -> Result<Link, ConnectError> {
        let up = link.up().await;
        up.map(|_| link)
            .map_err(|why| ConnectError::Broken { at: self.at(), why })
    }

    /// As [`connect`](Self::connect), again and again until it succeeds, after a time between
    /// nothing and a limit that grows (exponential backoff with full jitter).
    ///
    /// The limit is the connector's, and so is the last link that came of this: called again when that has
    /// ended, it waits before it tries for the first time, too, so that those who have lost the same server
    /// come back one after the other, and one that greets and dies is left alone for ever longer
    /// ([`backoff`](Self::backoff)). Keep the connector, then: a clone goes its own way.
    ///
    /// When a link has ended, a new one is another link, and the node there may be another: what
    /// came over the old one stays dead, and is to be asked for anew. It may be dropped as `connect` may.
    ///
    /// # Errors
    /// If waiting cannot help: the node will not speak with us.
    ///
    /// ```no_run
    /// # async fn work(_: &tidings_link::Link) {}
    /// # async fn always(connector: tidings_link::Connector) -> Result<(), Box<dyn std::error::Error>> {
    /// loop {
    ///     let link = connector.connect_until_up().await?;
    ///     work(&link).await;
    ///     link.down().await;
    /// }
    /// # }
    /// ```
    pub async fn connect_until_up(&self) -> Result<Link, ConnectError> {
        loop {
            if let Some(due) = self.backoff.due(Instant::now()) {
                tidings::time::at(due).await;
            }
            match self.connect().await {
                Err(error) if error.may_pass() => self.backoff.failed(Instant::now()),
                Err(error) => return Err(error),
                Ok(link) => {
                    self.backoff.up(Instant::now());
                    return Ok(link);
                }
            }
        }
    }

    async fn stream(&self) -> Result<Secured, ConnectError> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() && !self.insecure && !matches!(self.address, Address::Tls(_)) {
            return Err(ConnectError::NotTls { at: self.at() });
        }
        match &self.address {
            Address::Unix(path) => {
                let stream = unix::connect(path).await?;
                Ok((Stream::Unix(stream), None))
            }
            Address::Tcp(at) => {
                let stream = self.tcp(at, self.insecure).await?;
                Ok((Stream::Tcp(stream), None))
            }
            #[cfg(feature = "tls")]
            Address::Tls(at) => {
                let none = || ConnectError::NoIdentity { at: self.at() };
                let tls = self.tls.as_ref().ok_or_else(none)?;
                let node = self.node.as_deref().or(self.address.host());
                let stream = self.tcp(at, true).await?;
                let secured = tls.with_server(node.unwrap_or_default(), stream).await;
                let (stream, names) = secured.map_err(|error| met_at(&self.address, error))?;
                Ok((Stream::Tls(Box::new(stream)), Some(names)))
            }
            #[cfg(not(feature = "tls"))]
            Address::Tls(_) => Err(ConnectError::NoIdentity { at: self.at() }),
        }
    }

    async fn tcp(&self, at: &str, anywhere: bool) -> Result<TcpStream, ConnectError> {
        let found = lookup_host(at.to_owned()).await;
        let mut addresses = found.map_err(|error| met_at(at, error))?;
        if !anywhere {
            addresses.retain(|address| is_here(*address));
            if addresses.is_empty() {
                return Err(ConnectError::Insecure { at: self.at() });
            }
        }
        let dial = async |address| {
            let stream = TcpStream::connect(address).await;
            stream.map_err(|error| met_at(address, error))
        };
        let stream = first_of(addresses, dial).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// How long an address is waited for before the next is tried beside it (RFC 8305).
const APART: Duration = Duration::from_millis(250);

/// What comes first of the addresses, each of which is tried when the one before it has failed or has not
/// answered for a while: one that never does hides none.
async fn first_of<T>(
    addresses: Vec<SocketAddr>,
    dial: impl AsyncFn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut dials = Vec::new();
    let mut addresses = addresses.into_iter();
    loop {
        let next = addresses.next();
        dials.extend(next.map(|address| Box::pin(dial(address))));
        if dials.is_empty() {
            return Err(last);
        }
        let any = poll_fn(|cx| {
            for (place, dial) in dials.iter_mut().enumerate() {
                if let Poll::Ready(done) = dial.as_mut().poll(cx) {
                    drop(dials.swap_remove(place));
                    return Poll::Ready(done);
                }
            }
            Poll::Pending
        });
        let done = match next {
            Some(_) => timeout(APART, any).await.ok(),
            None => Some(any.await),
        };
        match done {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last = error,
            None => {}
        }
    }
}

/// Does what is sent there stay on this machine?
pub(crate) fn is_here(address: SocketAddr) -> bool {
    // One of IPv4 that comes to a listener of both is as good.
    address.ip().to_canonical().is_loopback()
}

/// Puts a link on a stream, in a task of its own.
fn start(stream: Stream, options: Options, peers: Option<&Peers>) -> Link {
    let (link, driver) = link_to(
        stream,
        options,
        false,
        peers,
        Stream::origin,
        Stream::give_up,
    );
    drop(tidings::spawn(driver));
    link
}

impl Link {
    /// Connects to a node, as [`Connector`] does with nothing but an address: for how long, and what of
    /// being dropped, see [`Connector::connect`].
    ///
    /// # Errors
    /// If there is no such node, or it will not speak with us.
    ///
    /// # Panics
    /// Outside of a runtime.
    ///
    /// ```
    /// use tidings_link::{ConnectError, Link, Listener, Options};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let server = Listener::bind("tcp://127.0.0.1:0", Options::new("server")).await?.serve();
    /// let link = Link::connect(&server.address().to_string()).await?;
    /// assert_eq!(link.up().await?.node, "server");
    /// // Where nobody listens.
    /// let nobody = Link::connect("unix:/nowhere/at-all.sock").await;
    /// assert!(matches!(nobody, Err(ConnectError::Io(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn connect(address: &str) -> Result<Self, ConnectError> {
        Connector::new(address)?.connect().await
    }
}

/// Why there is no link. Its text says where to: the address, or the node to which a stream leads that was given
/// (`Tls::connect`), or that it is somebody who has come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is none.
    Address(AddressError),
    /// Nobody can be reached there; or its certificate is not good. What says where it was met has the system's
    /// own error, and its number, as its source ([`Error::source`]).
    Io(Arc<io::Error>),
    /// It took too long.
    Late {
        /// Where to.
        at: String,
    },
    /// The peer will not speak with us, or we not with it; or it ended the link at once.
    Broken {
        /// Where to.
        at: String,
        /// Why the link has ended.
        why: Broken,
    },
    /// It would leave this machine without TLS ([`Connector::insecure`]).
    Insecure {
        /// The address.
        at: String,
    },
    /// The address is `tls://`, and there is no identity (`Connector::tls`, `Listener::tls`), or this
    /// build has no TLS.
    NoIdentity {
        /// The address.
        at: String,
    },
    /// There is an identity for TLS, and the address is another: what was to be guarded would not be.
    NotTls {
        /// The address.
        at: String,
    },
}

impl ConnectError {
    /// Can it be better later?
    #[must_use]
    pub fn may_pass(&self) -> bool {
        use Broken::{Credit, Flood, FrameTooLarge, MessageTooLarge, Protocol};
        use Broken::{Refused, RefusedByPeer};
        use io::ErrorKind::{InvalidData, InvalidInput};
        let why = match self {
            Self::Address(_) | Self::Insecure { .. } => return false,
            Self::NoIdentity { .. } | Self::NotTls { .. } => return false,
            Self::Late { .. } => return true,
            // A certificate, ours or theirs, that is not good: the second, of which TLS 1.3 tells when its
            // handshake is done here.
            Self::Io(error) => return !matches!(error.kind(), InvalidData | InvalidInput),
            Self::Broken { why, .. } => why,
        };
        match why {
            Broken::Io(kind, _) => !matches!(kind, InvalidData | InvalidInput),
            RefusedByPeer(Refusal::Overloaded | Refusal::Linked) => true,
            Refused(_) | RefusedByPeer(_) => false,
            // What listens there is none of ours.
            Protocol(_) | FrameTooLarge | MessageTooLarge | Credit | Flood => false,
            _ => true,
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.into())
    }
}

impl From<AddressError> for ConnectError {
    fn from(error: AddressError) -> Self {
        Self::Address(error)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Late { at } => write!(f, "{at}: it took too long to connect"),
            Self::Broken { at, why } => write!(f, "{at}: {why}"),
            Self::Insecure { at } => write!(f, "{at}: a link that leaves this machine needs TLS"),
            Self::NoIdentity { at } => write!(
                f,
                "{at}: a link over TLS needs an identity: a certificate and its key"
            ),
            Self::NotTls { at } => write!(
                f,
                "{at}: there is an identity for TLS, and the address is not tls://"
            ),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // It is shown as this one.
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::Ipv4Addr;
    use std::sync::Mutex;

    use tidings::sched::{Runtime, Seeded};

    use super::*;

    /// Dials addresses of which the last part says what becomes of it, in virtual time. Gives which were
    /// tried.
    fn dialled(parts: &[u8]) -> (io::Result<u8>, Vec<u8>) {
        let tried = Mutex::new(Vec::new());
        let addresses = parts
            .iter()
            .map(|part| (Ipv4Addr::new(192, 0, 2, *part), 7).into());
        let dial = async |address: SocketAddr| {
            let SocketAddr::V4(address) = address else {
                unreachable!("they are of that kind");
            };
            let [.., part] = address.ip().octets();
            tried.lock().unwrap().push(part);
            match part {
                0..10 => pending().await,
                10..20 => Err(io::ErrorKind::ConnectionRefused.into()),
                part => {
                    tidings::after(Duration::from_millis(u64::from(part))).await;
                    Ok(part)
                }
            }
        };
        let runtime = Runtime::builder().seam(Seeded::new(1)).build().unwrap();
        let all = timeout(Duration::from_secs(5), first_of(addresses.collect(), dial));
        let done = runtime.block_on(all);
        let done = done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        (done, tried.into_inner().unwrap())
    }

    #[test]
    fn an_address_of_this_machine_is_one_however_it_is_written() {
        for (address, here) in [
            ("127.0.0.1:7", true),
            ("127.9.9.9:7", true),
            ("[::1]:7", true),
            ("[::ffff:127.0.0.1]:7", true),
            ("[::ffff:192.0.2.1]:7", false),
            ("192.0.2.1:7", false),
            ("[2001:db8::1]:7", false),
        ] {
            assert_eq!(is_here(address.parse().unwrap()), here, "{address}");
        }
    }

    #[test]
    fn names_that_go_into_no_greeting_are_refused_before_anybody_is_asked() {
        let runtime = Runtime::builder().seam(Seeded::new(1)).build().unwrap();
        runtime.block_on(async {
            let long = Options::new("n".repeat(3_000)).cluster("c".repeat(993));
            let connector = Connector::new("unix:/nowhere/at-all.sock").unwrap();
            let refused = connector.options(long.clone()).connect().await.unwrap_err();
            assert!(!refused.may_pass(), "{refused}");
            let refused = crate::Listener::bind("tcp://127.0.0.1:0", long).await;
            assert!(matches!(refused, Err(ConnectError::Io(_))));
        });
    }

    #[test]
    fn an_address_that_never_answers_does_not_hide_the_others() {
        assert_eq!(dialled(&[0, 1, 100]).0.unwrap(), 100);
        // One that fails is not waited for, and what is slow is not given up.
        let (done, tried) = dialled(&[255, 10, 11, 40]);
        assert_eq!((done.unwrap(), tried), (255, vec![255, 10, 11, 40]));
        let (done, tried) = dialled(&[0, 200, 100]);
        assert_eq!((done.unwrap(), tried), (200, vec![0, 200]));
        let refused = dialled(&[10, 11]).0.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let none = dialled(&[]).0.unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
