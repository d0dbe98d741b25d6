//! Links that others make to this node.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings::net::{TcpListener, UnixListener, UnixStream};
use tidings::sync::Semaphore;
use tidings::time::Instant;

use crate::address::{Address, resolve};
use crate::connect::{ConnectError, at_address, at_path, before, is_here};
use crate::driver::{Driver, link_to};
use crate::frame::write_refusal;
use crate::limits::Refusal;
use crate::link::{Link, Options};
use crate::peers::Peers;
use crate::stream::Stream;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// Handshakes at a time.
const HANDSHAKES: usize = 64;

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
    address: Address,
    options: Options,
    links: usize,
    rate: u32,
    peers: Option<Peers>,
    insecure: bool,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens at an address: `tcp://127.0.0.1:7000`, `tls://0.0.0.0:7000`, `unix:/run/db.sock`;
    /// port 0 is any that is free. TCP without TLS stays on this machine. The socket of a Unix address at
    /// which nobody listens any more is taken away.
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
        let (socket, address) = match address {
            Address::Unix(path) => (Socket::Unix(unix(&path)?), Address::Unix(path)),
            Address::Tcp(at) | Address::Tls(at) if at.is_empty() => unreachable!("it was parsed"),
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
        Ok(Self {
            socket,
            address,
            options,
            links: 1024,
            rate: u32::MAX,
            peers: None,
            insecure,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// By this identity, for `tls://`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How many links there may be at a time, those in their handshakes with them: 1024 if nobody says
    /// otherwise. Others are refused.
    #[must_use]
    pub fn links(mut self, links: usize) -> Self {
        self.links = links;
        self
    }

    /// How many may begin in one second: any number if nobody says otherwise, of which 64 are in their
    /// handshakes at a time. Others wait in the system's queue.
    #[must_use]
    pub fn rate(mut self, begin: u32) -> Self {
        self.rate = begin;
        self
    }

    /// There may be one link to each node, and it has its place in this table.
    #[must_use]
    pub fn peers(mut self, peers: &Peers) -> Self {
        self.peers = Some(peers.clone());
        self
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next stream that comes, before any handshake.
    async fn accept(&self) -> io::Result<Stream> {
        match &self.socket {
            Socket::Tcp(socket) => {
                let (stream, _) = socket.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Socket::Unix(socket) => Ok(Stream::Unix(socket.accept().await?.0)),
        }
    }

    /// Can it [`serve`](Self::serve)?
    ///
    /// # Errors
    /// If it listens at `tls://` without an identity, or has one and listens elsewhere (but by
    /// [`bind_insecure`](Self::bind_insecure)).
    pub fn check(&self) -> Result<(), ConnectError> {
        #[cfg(feature = "tls")]
        let identity = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let identity = false;
        match (&self.address, identity) {
            (Address::Tls(_), false) => Err(ConnectError::NoIdentity),
            (Address::Tcp(_) | Address::Unix(_), true) if !self.insecure => {
                Err(ConnectError::NotTls)
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
            panic!("{}: {why}", self.address);
        }
        let address = self.address.clone();
        let (arrivals, links) = tidings::unbounded();
        let served = Arc::new(Served {
            listener: self,
            handshakes: Semaphore::new(HANDSHAKES),
            state: Mutex::default(),
            arrivals,
        });
        let task = tidings::spawn(Arc::clone(&served).run()).abort_handle();
        Server {
            address,
            served,
            links,
            task,
        }
    }
}

/// A socket that was left by a process which has ended is taken away.
fn unix(path: &Path) -> io::Result<UnixListener> {
    let bound = UnixListener::bind(path);
    let bound = match bound {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    };
    bound.map_err(|error| at_path(path, &error))
}

/// Is it a socket at which nobody listens?
fn is_left(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

async fn tcp(at: &str, anywhere: bool) -> Result<TcpListener, ConnectError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in resolve(at).await? {
        if !anywhere && !is_here(address) {
            return Err(ConnectError::Insecure);
        }
        match TcpListener::bind(address) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = at_address(address, &error),
        }
    }
    Err(last.into())
}

struct Served {
    listener: Listener,
    handshakes: Semaphore,
    state: Mutex<State>,
    arrivals: tidings::Sender<Link>,
}

#[derive(Default)]
struct State {
    /// Those that are up, and those in their handshakes.
    links: Vec<Link>,
    /// What became of those who are not among them.
    counts: Arrivals,
    /// Nobody is let in any more.
    ended: bool,
}

impl State {
    /// Those that are up.
    fn up(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.is_up())
    }

    fn over(&mut self, link: &Link) {
        self.links
            .retain(|other| !Arc::ptr_eq(&other.shared, &link.shared));
        match link.is_up() {
            true => self.counts.linked += 1,
            false => self.counts.failed += 1,
        }
    }

    /// All that there are; no others come.
    fn end(&mut self) -> Vec<Link> {
        self.ended = true;
        std::mem::take(&mut self.links)
    }
}

impl Served {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>) {
        let mut rate = Rate::new(self.listener.rate, Instant::now());
        loop {
            if let Some(later) = rate.next(Instant::now()) {
                tidings::time::at(later).await;
                continue;
            }
            // Whoever comes waits in the system's queue while there are too many handshakes.
            let Ok(permit) = self.handshakes.acquire(1).await else {
                return;
            };
            drop(permit);
            match self.listener.accept().await {
                Ok(stream) => {
                    let this = Arc::clone(&self);
                    drop(tidings::spawn(async move { this.arrive(stream).await }));
                }
                // It broke off before; or there are no descriptors: others will be closed.
                Err(_) => tidings::after(Duration::from_millis(10)).await,
            }
        }
    }

    async fn arrive(self: Arc<Self>, stream: Stream) {
        let Ok(_permit) = self.handshakes.acquire(1).await else {
            return;
        };
        let options = &self.listener.options;
        let limit = options.limits.handshake;
        let Some(Ok((stream, names))) = before(limit, self.secure(stream)).await else {
            self.lock().counts.failed += 1;
            return;
        };
        let mut options = options.clone();
        options.expected = names.or(options.expected);
        let (link, driver) = match self.begin(stream, &options) {
            Ok(begun) => begun,
            Err(Some(stream)) => return refuse(stream, &options).await,
            Err(None) => return,
        };
        drop(tidings::spawn(driver));
        if link.up().await.is_err() {
            return self.lock().over(&link);
        }
        // Nobody may look.
        let _ = self.arrivals.try_send(link.clone());
        let this = Arc::downgrade(&self);
        drop(tidings::spawn(async move {
            link.down().await;
            if let Some(this) = this.upgrade() {
                this.lock().over(&link);
            }
        }));
    }

    /// A link that has its place before it can do anything: so there are never more than may be, a server
    /// that ends leaves none behind, and one whose message was handled is counted. The stream, if there
    /// are too many; nothing, if the server has ended.
    fn begin(&self, stream: Stream, options: &Options) -> Result<(Link, Driver), Option<Stream>> {
        let mut state = self.lock();
        if state.ended {
            return Err(None);
        }
        if state.links.len() >= self.listener.links {
            state.counts.overloaded += 1;
            return Err(Some(stream));
        }
        let peers = self.listener.peers.as_ref().map(|peers| (peers, false));
        let (link, driver) = link_to(stream, options.clone(), peers, Stream::give_up);
        state.links.push(link.clone());
        Ok((link, driver))
    }

    async fn secure(&self, stream: Stream) -> io::Result<(Stream, Option<Vec<String>>)> {
        match (&self.listener.address, stream) {
            #[cfg(feature = "tls")]
            (Address::Tls(_), Stream::Tcp(stream)) => {
                let none = || io::Error::other("no identity for TLS");
                let tls = self.listener.tls.as_ref().ok_or_else(none)?;
                let (stream, names) = tls.accept(stream).await?;
                Ok((Stream::Tls(Box::new(stream)), Some(names)))
            }
            #[cfg(not(feature = "tls"))]
            (Address::Tls(_), _) => Err(io::Error::other("without TLS")),
            (_, stream) => Ok((stream, None)),
        }
    }
}

/// What has become of those who came to a [`Server`], each counted once that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrivals {
    /// They got a link.
    pub linked: u64,
    /// There were too many links ([`Listener::links`]); they were told so.
    pub overloaded: u64,
    /// They had no good certificate, or spoke another protocol, or were refused by what they said they
    /// are, or took too long.
    pub failed: u64,
}

/// How many begin in a second.
struct Rate {
    limit: u32,
    since: Instant,
    begun: u32,
}

impl Rate {
    fn new(limit: u32, now: Instant) -> Self {
        Self {
            limit: limit.max(1),
            since: now,
            begun: 0,
        }
    }

    /// One begins; or none may before the time that it gives.
    fn next(&mut self, now: Instant) -> Option<Instant> {
        let due = self.since + Duration::from_secs(1);
        if now >= due {
            (self.since, self.begun) = (now, 0);
        } else if self.begun == self.limit {
            return Some(due);
        }
        self.begun += 1;
        None
    }
}

/// Tells a peer that there are too many.
async fn refuse(mut stream: Stream, options: &Options) {
    use futures_io::AsyncWrite;
    let mut bytes = Vec::new();
    write_refusal(&mut bytes, &Refusal::Overloaded);
    let mut written = 0;
    let write = std::future::poll_fn(|cx| {
        while written < bytes.len() {
            let stream = std::pin::Pin::new(&mut stream);
            written += std::task::ready!(stream.poll_write(cx, &bytes[written..]))?;
        }
        std::pin::Pin::new(&mut stream).poll_close(cx)
    });
    let _: Option<io::Result<()>> = before(options.limits.handshake, write).await;
}

/// A node that lets others in, until it is dropped.
pub struct Server {
    address: Address,
    served: Arc<Served>,
    links: tidings::Receiver<Link>,
    task: tidings::AbortHandle,
}

impl Server {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next link that was made to this node.
    pub async fn next(&self) -> Link {
        self.links.recv().await.expect("the server has a sender")
    }

    /// What has become of those who came.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        let state = self.served.lock();
        let mut counts = state.counts;
        counts.linked += state.up().count() as u64;
        counts
    }

    /// How many links there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.served.lock().up().count()
    }

    /// Lets nobody in any more, and ends the links in order ([`Link::drain`]); those that have not
    /// ended after this time, at once.
    pub async fn drain(self, limit: Duration) {
        self.task.abort();
        let links = Ended(self.served.lock().end());
        for link in &links.0 {
            match link.is_up() {
                true => link.drain(),
                false => link.close(),
            }
        }
        let all = async {
            for link in &links.0 {
                link.down().await;
            }
        };
        let _ = before(limit, all).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        drop(Ended(self.served.lock().end()));
    }
}

/// Those of a server that has ended, which end at the latest with this.
struct Ended(Vec<Link>);

impl Drop for Ended {
    fn drop(&mut self) {
        for link in &self.0 {
            link.close();
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("at", &self.address)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("at", &self.address)
            .field("links", &self.count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_begin_in_a_second_than_may_and_the_next_can_go_on() {
        let start = Instant::now();
        let millis = |n| start + Duration::from_millis(n);
        let mut rate = Rate::new(3, start);
        for n in [0, 10, 999] {
            assert_eq!(rate.next(millis(n)), None);
        }
        assert_eq!(rate.next(millis(999)), Some(millis(1000)));
        for n in [1000, 1000, 1999] {
            assert_eq!(rate.next(millis(n)), None);
        }
        assert_eq!(rate.next(millis(1999)), Some(millis(2000)));
        let mut any = Rate::new(u32::MAX, start);
        assert!((0..100_000).all(|_| any.next(start).is_none()));
    }
}
