//! A listener that serves: who comes, from the handshake to the end of its link, and how many there are.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings::CancellationToken;
use tidings::sync::Notify;
use tidings::time::{Instant, timeout};

use crate::address::Address;
use crate::arriving::Arriving;
use crate::driver::{Driver, link_to};
use crate::frame::write_refusal;
use crate::limits::{Refusal, Stats};
use crate::link::{Link, Options};
use crate::listen::{Socket, Terms};
use crate::stream::Stream;

struct Served {
    terms: Terms,
    arriving: Arriving,
    state: Mutex<State>,
    /// Whoever waits for the next link is woken.
    comes: Notify,
    /// Nobody is let in any more. Whoever adds a link asks under the lock, which is taken after it is said.
    ended: CancellationToken,
}

#[derive(Default)]
struct State {
    /// Those that are up, and those in their handshakes.
    links: Vec<Link>,
    /// Those that are up and that nobody has asked for.
    came: VecDeque<Link>,
    /// What became of those who are not among them.
    counts: Arrivals,
    /// Why links have ended, and what those have counted.
    ends: BTreeMap<&'static str, u64>,
    ended: Stats,
}

impl State {
    /// Those that are up.
    fn up(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.is_up())
    }

    /// A link has ended. Gives its handles, which are dropped outside of the lock.
    fn over(&mut self, link: &Link) -> Vec<Link> {
        if let Some((why, stats)) = link.state.down.try_read() {
            *self.ends.entry(why.name()).or_default() += 1;
            self.ended += *stats;
        }
        let same = |other: &Link| Arc::ptr_eq(&other.shared, &link.shared);
        let place = self.links.iter().position(same);
        let mut handles = Vec::from_iter(place.map(|place| self.links.remove(place)));
        let place = self.came.iter().position(same);
        handles.extend(place.and_then(|place| self.came.remove(place)));
        match link.is_up() {
            true => self.counts.linked += 1,
            false => self.counts.failed += 1,
        }
        handles
    }
}

impl Served {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A link has ended.
    fn over(&self, link: &Link) {
        let handles = self.lock().over(link);
        drop(handles);
    }

    /// Nobody comes any more. Gives all links, which end at the latest with what it gives.
    fn end(&self) -> Ended {
        self.ended.cancel();
        let (links, came) = {
            let mut state = self.lock();
            (
                std::mem::take(&mut state.links),
                std::mem::take(&mut state.came),
            )
        };
        drop(came);
        Ended(links)
    }

    /// Who runs this has the socket alone: nobody listens any more when it has ended.
    async fn run(self: Arc<Self>, socket: Socket) {
        let mut rate = Rate::new(self.terms.rate, Instant::now());
        loop {
            if let Some(later) = rate.next(Instant::now()) {
                tidings::time::at(later).await;
                continue;
            }
            // Whoever comes waits in the system's queue while there are too many handshakes.
            self.arriving.is_free().await;
            match socket.accept().await {
                Ok((stream, from)) => {
                    let this = Arc::clone(&self);
                    drop(tidings::spawn(
                        async move { this.arrive(stream, from).await },
                    ));
                }
                // It broke off before; or there are no descriptors: others will be closed.
                Err(_) => {
                    self.lock().counts.unaccepted += 1;
                    tidings::after(Duration::from_millis(10)).await;
                }
            }
        }
    }

    async fn arrive(self: Arc<Self>, stream: Stream, from: Option<IpAddr>) {
        let Some(arrival) = self.arriving.comes(from) else {
            self.lock().counts.crowded += 1;
            return;
        };
        let _place = arrival.place().await;
        let options = &self.terms.options;
        let limit = options.limits.handshake;
        let secured = timeout(limit, self.secure(stream));
        let secured = self.ended.run_until_cancelled(secured).await;
        let Some(Ok(Ok((stream, names)))) = secured else {
            self.lock().counts.unsecured += 1;
            return;
        };
        let mut options = options.clone();
        options.only(names);
        let (link, driver) = match self.begin(stream, &options) {
            Ok(begun) => begun,
            Err(Some(stream)) => return refuse(stream, &options).await,
            Err(None) => return,
        };
        drop(tidings::spawn(driver));
        if link.up().await.is_err() {
            link.down().await;
            return self.over(&link);
        }
        {
            let mut state = self.lock();
            if !self.ended.is_cancelled() {
                state.came.push_back(link.clone());
            }
        }
        self.comes.notify_one();
        let this = Arc::downgrade(&self);
        drop(tidings::spawn(async move {
            link.down().await;
            if let Some(this) = this.upgrade() {
                this.over(&link);
            }
        }));
    }

    /// A link that has its place before it can do anything: so there are never more than may be, a server
    /// that ends leaves none behind, and one whose message was handled is counted. The stream, if there
    /// are too many; nothing, if the server has ended.
    fn begin(&self, stream: Stream, options: &Options) -> Result<(Link, Driver), Option<Stream>> {
        let mut state = self.lock();
        if self.ended.is_cancelled() {
            return Err(None);
        }
        if state.links.len() >= self.terms.links {
            state.counts.overloaded += 1;
            return Err(Some(stream));
        }
        let (link, driver) = link_to(
            stream,
            options.clone(),
            true,
            self.terms.peers.as_ref(),
            Stream::origin,
            Stream::give_up,
        );
        state.links.push(link.clone());
        Ok((link, driver))
    }

    async fn secure(&self, stream: Stream) -> io::Result<(Stream, Option<Vec<String>>)> {
        match (&self.terms.address, stream) {
            #[cfg(feature = "tls")]
            (Address::Tls(_), Stream::Tcp(stream)) => {
                let none = || io::Error::other("no identity for TLS");
                let tls = self.terms.tls.as_ref().ok_or_else(none)?;
                let (stream, names) = tls.with_client(stream).await?;
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
    /// There were too many links ([`Listener::links`](crate::Listener::links)); they were told so.
    pub overloaded: u64,
    /// Too many who came from their address were in their handshakes, or waited for them
    /// ([`Listener::share`](crate::Listener::share)); they were not heard.
    pub crowded: u64,
    /// They had no good certificate, or did not speak TLS where it is asked for, or took too long to.
    pub unsecured: u64,
    /// They spoke another protocol, or were refused by what they said they are, or took too long: why is
    /// in [`Server::ends`].
    pub failed: u64,
    /// They could not be let in, each time that it was tried: the system had no descriptor left for them, or
    /// had lost them again. Who has only to wait is counted again and again.
    pub unaccepted: u64,
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
    let write = poll_fn(|cx| {
        while written < bytes.len() {
            let stream = std::pin::Pin::new(&mut stream);
            written += std::task::ready!(stream.poll_write(cx, &bytes[written..]))?;
        }
        std::pin::Pin::new(&mut stream).poll_close(cx)
    });
    let _: Result<io::Result<()>, _> = timeout(options.limits.handshake, write).await;
}

/// A node that lets others in, until it is dropped.
pub struct Server {
    address: Address,
    served: Arc<Served>,
    task: tidings::JoinHandle<()>,
}

impl Server {
    /// Lets nodes in at this listener, in tasks of its own.
    pub(crate) fn of(socket: Socket, terms: Terms) -> Self {
        let address = terms.address.clone();
        let served = Arc::new(Served {
            arriving: Arriving::new(terms.share),
            terms,
            state: Mutex::default(),
            comes: Notify::new(),
            ended: CancellationToken::new(),
        });
        let task = tidings::spawn(Arc::clone(&served).run(socket));
        Self {
            address,
            served,
            task,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next link that was made to this node, each once. One that ends before anybody asks for it is not
    /// given, and where nobody asks nothing is kept.
    ///
    /// It waits for as long as nobody comes. Dropped before it is done, it has taken no link: that is for
    /// whoever asks next.
    pub async fn next(&self) -> Link {
        loop {
            let (next, others) = {
                let mut state = self.served.lock();
                (state.came.pop_front(), !state.came.is_empty())
            };
            if others {
                // Two that came together may have told one who waits here.
                self.served.comes.notify_one();
            }
            match next {
                Some(link) => return link,
                None => self.served.comes.notified().await,
            }
        }
    }

    /// What has become of those who came.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        let state = self.served.lock();
        let mut counts = state.counts;
        counts.linked += state.up().count() as u64;
        counts
    }

    /// How many links have ended, by why: by [`Broken::name`](crate::Broken::name). Those that
    /// [failed](Arrivals::failed) are among them.
    ///
    /// ```
    /// use tidings_link::{Broken, Link, Listener, Options};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let server = Listener::bind("tcp://127.0.0.1:0", Options::new("server")).await.unwrap().serve();
    /// let link = Link::connect(&server.address().to_string()).await.unwrap();
    /// link.drain();
    /// # while server.ends().is_empty() {
    /// #     tidings::yield_now().await;
    /// # }
    /// // When that is known here:
    /// assert_eq!(server.ends()[Broken::Drained.name()], 1);
    /// # });
    /// ```
    #[must_use]
    pub fn ends(&self) -> BTreeMap<&'static str, u64> {
        self.served.lock().ends.clone()
    }

    /// The sum of what all links have counted, those that have ended and those in their handshakes with
    /// them. It asks each that lives, which takes a turn of its driver.
    ///
    /// ```
    /// use tidings_link::{Link, Listener, Options};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let server = Listener::bind("tcp://127.0.0.1:0", Options::new("server")).await.unwrap().serve();
    /// let link = Link::connect(&server.address().to_string()).await.unwrap();
    /// assert_eq!(server.stats().await.malformed, 0);
    /// link.close();
    /// link.down().await;
    /// assert!(server.stats().await.bytes_in > 0);
    /// # });
    /// ```
    pub async fn stats(&self) -> Stats {
        let (mut sum, living) = {
            let state = self.served.lock();
            (state.ended, state.links.clone())
        };
        for link in living {
            sum += link.stats().await;
        }
        sum
    }

    /// How many links there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.served.lock().up().count()
    }

    /// Lets nobody in any more, and ends the links in order ([`Link::drain`]); those that have not
    /// ended after this time, or when the wait is dropped, at once.
    ///
    /// Nobody listens at the address from the beginning: who connects is refused at once, and another
    /// server may listen there while the links of this one end.
    pub async fn drain(mut self, limit: Duration) {
        self.task.abort();
        let links = self.served.end();
        for link in &links.0 {
            match link.is_up() {
                true => link.drain(),
                false => link.close(),
            }
        }
        // It gives an error: it was aborted.
        let _ = (&mut self.task).await;
        let all = async {
            for link in &links.0 {
                link.down().await;
            }
        };
        let _ = timeout(limit, all).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        drop(self.served.end());
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
