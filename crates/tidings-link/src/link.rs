//! A link, as its users have it.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use tidings::actor::Reference;
use tidings::channel::ivar::IVar;
use tidings::remote::{self, Codec, Format, Remote, interface};
use tidings::{Event, oneshot};

use crate::exports::Exports;
use crate::frame::{NAMES, Unbound};
use crate::hub::{Bound, Command};
use crate::intercept::{Interceptor, Request};
use crate::limits::{Broken, Limits, Stats};
use crate::session::{Bind, Identity, Peer};
use crate::shared::Shared;

/// How a link is made: who we are, what we export, what we allow.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) identity: Identity,
    pub(crate) exports: Exports,
    pub(crate) limits: Limits,
    pub(crate) expected: Option<Vec<String>>,
    pub(crate) interceptor: Option<Interceptor>,
    pub(crate) format: Format,
}

impl Default for Options {
    fn default() -> Self {
        Self::new("")
    }
}

impl Options {
    /// A node of this name, which exports nothing. The names of a node, its cluster and its codec are 4,000 bytes
    /// at most, all together: with longer ones it neither connects nor listens.
    ///
    /// Its incarnation is that of [`tidings::sched::incarnation`].
    #[must_use]
    pub fn new(node: impl Into<String>) -> Self {
        let format = Format::default();
        Self {
            identity: Identity {
                node: node.into(),
                incarnation: tidings::sched::incarnation(),
                cluster: String::new(),
                codec: format.name().to_owned(),
            },
            exports: Exports::default(),
            limits: Limits::default(),
            expected: None,
            interceptor: None,
            format,
        }
    }

    /// This life of the node has that number, which none of its others may have.
    #[must_use]
    pub fn incarnation(mut self, number: u64) -> Self {
        self.identity.incarnation = number;
        self
    }

    /// Only nodes of the same cluster speak with each other.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.identity.cluster = name.into();
        self
    }

    /// Bodies are written and read by this codec, not by postcard. The peer must have the same.
    #[must_use]
    pub fn codec(mut self, codec: impl Codec) -> Self {
        codec.name().clone_into(&mut self.identity.codec);
        self.format = Format::new(codec, remote::Limits::default());
        self
    }

    /// What the peer can ask for.
    #[must_use]
    pub fn exports(mut self, exports: Exports) -> Self {
        self.exports = exports;
        self
    }

    /// What the peer is allowed, and how long it is waited for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The peer may only be one of these nodes; over TLS, one of them for which its certificate is.
    #[must_use]
    pub fn expect(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.expected = Some(nodes.into_iter().map(Into::into).collect());
        self
    }

    /// `f` sees each request of the peer's, call or one-way message, before it is decoded and given to its
    /// actor, and may refuse it: an interceptor, for authorisation, metrics, traces, rate limits. What is
    /// set later takes the place of what was set before: several are one that gives a tuple.
    ///
    /// What `f` gives is kept until the request is done, and dropped then, so that it can measure and count:
    /// a call is done when its answer is given to the link, its caller has gone, or the link has ended; a
    /// one-way message when it is in its actor's mailbox, or dropped.
    ///
    /// If `f` gives an error, or panics, the request is refused: what it carried is given back, it is counted
    /// ([`Stats::refused`]), and whoever called hears [`CallError::Refused`](tidings::actor::CallError::Refused)
    /// with the error's text (1,024 bytes at most; of a panic, that it was one).
    ///
    /// - Requests of one sender to one interface come in their order, each once, when they are to be given to
    ///   the actor. One that waits until there is a place in the mailbox comes when there is, not before.
    /// - Those that cannot be given to it do not come: they are too late, or have no actor or method. The
    ///   link answers and counts them ([`Stats`]). Nor does the asking for a name: that needs a token, if
    ///   some may not ([`Exports::add_with_token`]).
    /// - It runs where the link is moved, in no task of its own, and the link goes on when it is done: it
    ///   must not block, nor must the drop of what it gives. One that waits, or looks at arguments, is the
    ///   actor's ([`serve_with`](tidings::actor::serve_with)).
    /// - What this node asks of the peer it does not see. A reference is intercepted where it is used, by
    ///   [`Recipient::adapt`](tidings::actor::Recipient::adapt).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use tidings::actor::{self, CallError};
    /// use tidings_link::{Exports, Options, Request, link, memory};
    ///
    /// #[tidings::interface(remote)]
    /// trait Safe {
    ///     async fn look(&self) -> String;
    ///     async fn open(&mut self) -> String;
    /// }
    /// # struct Gold;
    /// # impl Safe for Gold {
    /// #     async fn look(&self) -> String {
    /// #         "a safe".to_owned()
    /// #     }
    /// #     async fn open(&mut self) -> String {
    /// #         "gold".to_owned()
    /// #     }
    /// # }
    /// /// One that is under way.
    /// struct Flying(Arc<AtomicUsize>);
    /// impl Drop for Flying {
    ///     fn drop(&mut self) {
    ///         self.0.fetch_sub(1, Relaxed);
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let flying = Arc::new(AtomicUsize::new(0));
    /// let count = Arc::clone(&flying);
    /// let allow = move |request: &Request<'_>| {
    ///     match (&*request.peer().node, request.method()) {
    ///         (_, "look") | ("owner", _) => {}
    ///         (node, method) => return Err(format!("{node} may not {method}").into()),
    ///     }
    ///     count.fetch_add(1, Relaxed);
    ///     Ok(Flying(Arc::clone(&count)))
    /// };
    /// let safe: SafeRef = actor::start(Gold);
    /// let options = Options::new("bank").exports(Exports::new().add("safe", &safe));
    /// let (ours, theirs) = memory::pipe();
    /// let (served, driver) = link(ours, options.intercept(allow));
    /// tidings::spawn(driver);
    /// let (link, driver) = link(theirs, Options::new("mallory"));
    /// tidings::spawn(driver);
    ///
    /// let safe: SafeRef = link.get("safe").await?;
    /// assert_eq!(safe.look().await?, "a safe");
    /// match safe.open().await {
    ///     Err(CallError::Refused(why)) => assert_eq!(why.to_string(), "mallory may not open"),
    ///     other => panic!("{other:?}"),
    /// }
    /// assert_eq!(served.stats().await.refused, 1);
    /// assert_eq!(flying.load(Relaxed), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn intercept<G: Send + 'static>(
        mut self,
        f: impl Fn(&Request<'_>) -> Result<G, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        self.interceptor = Some(Interceptor::new(f));
        self
    }

    /// Do the names go into a greeting?
    ///
    /// # Errors
    /// If not.
    pub(crate) fn check(&self) -> Result<(), io::Error> {
        let identity = &self.identity;
        let names = [&identity.node, &identity.cluster, &identity.codec];
        match names.map(String::len).iter().sum::<usize>() > NAMES {
            true => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the names of a node take {NAMES} bytes at most, with its cluster and codec"
                ),
            )),
            false => Ok(()),
        }
    }

    /// It may only be one of those, too, if there are some.
    pub(crate) fn only(&mut self, nodes: Option<Vec<String>>) {
        match (&mut self.expected, nodes) {
            (Some(expected), Some(nodes)) => expected.retain(|node| nodes.contains(node)),
            (none, nodes @ Some(_)) => *none = nodes,
            (_, None) => {}
        }
    }
}

/// What a link is at the moment, and at last.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) up: IVar<Result<Peer, Broken>>,
    /// Why it has ended, and what it had counted then.
    pub(crate) down: IVar<(Broken, Stats)>,
}

/// A connection to another node, over which its actors are called by the same references as those
/// here. Clones are the same link.
///
/// It lives while a clone, a reference that came over it, or an actor that the peer refers to does.
pub struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<State>,
}

impl Link {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.lock().handles += 1;
        let state = State {
            up: IVar::new(),
            down: IVar::new(),
        };
        Self {
            shared,
            state: Arc::new(state),
        }
    }

    /// Another handle of it.
    pub(crate) fn again(shared: Arc<Shared>, state: Arc<State>) -> Self {
        shared.lock().handles += 1;
        Self { shared, state }
    }

    /// Waits for the end of the handshake; gives the peer: an event.
    ///
    /// # Errors
    /// If there is no link, with the reason.
    pub fn up(&self) -> impl Event<Output = Result<Peer, Broken>, Lost = ()> + Send + '_ {
        self.state.up.read().map(Clone::clone)
    }

    /// The actor that the peer exports under a name.
    ///
    /// It is asked for when this is called, not when what it gives is awaited: several can be asked for at
    /// once, and also before the handshake is done. The answer takes as long as the peer takes, and comes
    /// no later than the link's end ([`Limits::silence`]). Whoever wants to wait less spawns it, and
    /// joins it with a timeout. Dropped, it leaves nothing: a reference that comes is given back.
    ///
    /// # Errors
    /// If there is none, or one of another interface, or a method of it has another shape there; or
    /// if the link ends.
    ///
    /// ```
    /// use tidings::actor;
    /// use tidings_link::{Exports, GetError, Options, Unbound, link, memory};
    ///
    /// #[tidings::interface(remote)]
    /// trait Clock {
    ///     async fn hour(&self) -> u8;
    /// }
    /// # struct Noon;
    /// # impl Clock for Noon {
    /// #     async fn hour(&self) -> u8 {
    /// #         12
    /// #     }
    /// # }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let clock: ClockRef = actor::start(Noon);
    /// let (ours, theirs) = memory::pipe();
    /// let exports = Exports::new().add("clock", &clock);
    /// let (_served, driver) = link(ours, Options::new("server").exports(exports));
    /// tidings::spawn(driver);
    /// let (link, driver) = link(theirs, Options::new("client"));
    /// tidings::spawn(driver);
    ///
    /// let (clock, sundial) = (link.get::<ClockRef>("clock"), link.get::<ClockRef>("sundial"));
    /// assert_eq!(clock.await?.hour().await?, 12);
    /// let missing = sundial.await.unwrap_err();
    /// assert!(matches!(missing, GetError::Refused { why: Unbound::NoSuchName, .. }));
    /// assert_eq!(missing.to_string(), "nothing is exported as \"sundial\"");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn get<R>(&self, name: &str) -> impl Future<Output = Result<R, GetError>> + Send + use<R>
    where
        R: Reference<Message: Remote>,
    {
        self.get_with_token(name, [])
    }

    /// As [`get`](Self::get), under a name for which there is a token. Name and token have room for 32 KiB: there
    /// is no longer one.
    ///
    /// # Errors
    /// As above; without the right token there is no such name.
    pub fn get_with_token<R, T: Into<Vec<u8>>>(
        &self,
        name: &str,
        token: T,
    ) -> impl Future<Output = Result<R, GetError>> + Send + use<R, T>
    where
        R: Reference<Message: Remote>,
    {
        let interface = interface::<R::Message>();
        let methods = interface.methods().iter();
        let bind = Bind {
            id: 0,
            name: name.to_owned(),
            token: token.into(),
            interface: interface.name().to_owned(),
            methods: methods.map(|m| (m.name().to_owned(), m.number())).collect(),
        };
        let (done, bound) = oneshot();
        let done: Bound = Box::new(move |hub, outcome| {
            let reference = outcome.and_then(|target| {
                let same = remote::import::<R>(hub, target);
                same.map_err(|_| Unbound::TooMany)
            });
            let _ = done.send(reference);
        });
        self.shared.ask(Command::Bind(bind, done));
        let (state, name) = (Arc::clone(&self.state), name.to_owned());
        async move {
            match bound.await {
                Ok(outcome) => outcome.map_err(|why| GetError::Refused { name, why }),
                Err(_) => {
                    let why = state.down.read().await.0.clone();
                    Err(GetError::Down { name, why })
                }
            }
        }
    }

    /// The end of the link: an event, which gives the reason.
    pub fn down(&self) -> impl Event<Output = Broken, Lost = ()> + Send + '_ {
        self.state.down.read().map(|(why, _)| why.clone())
    }

    /// Is the handshake done, or was it before the link ended?
    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state.up.try_read(), Some(Ok(_)))
    }

    /// Why the link has ended; `None` while it lives.
    #[must_use]
    pub fn exit(&self) -> Option<Broken> {
        self.state.down.try_read().map(|(why, _)| why.clone())
    }

    /// Ends the link in order: neither side begins anything any more; when all that is under way is done,
    /// it ends. A call is until it has its answer, a one-way message that was accepted until it is sent, a
    /// [`Streaming`](tidings::actor::Streaming) until it is complete or dropped.
    ///
    /// What is asked of a reference later is not sent: a call fails with
    /// [`CallError::NotExecuted`](tidings::actor::CallError::NotExecuted), a one-way message is counted
    /// ([`Stats::unsendable`]). The peer hears of it behind all that goes out before, and may begin
    /// something until then.
    ///
    /// This begins it, and does not wait: await [`down`](Self::down). A call that is never answered, a
    /// stream that nobody takes and an actor that takes no messages keep the link for ever;
    /// [`close`](Self::close) ends it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::Event;
    /// use tidings_link::{Broken, Options, link, memory};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let (ours, theirs) = memory::pipe();
    /// # let (_other, driver) = link(theirs, Options::new("server"));
    /// # tidings::spawn(driver);
    /// # let (link, driver) = link(ours, Options::new("client"));
    /// # tidings::spawn(driver);
    /// link.drain();
    /// let down = link.down().timeout(Duration::from_secs(10)).await;
    /// if down.is_err() {
    ///     link.close();
    /// }
    /// assert_eq!(link.down().await, Broken::Drained);
    /// # });
    /// ```
    pub fn drain(&self) {
        self.shared.drain();
    }

    /// Ends the link at once. What is under way ends with an unknown outcome; of a [`Connector`](crate::Connector)'s
    /// or [`Listener`](crate::Listener)'s link over TCP what has not arrived by then does not arrive, also when a
    /// network that is cut is whole again. A stream of one's own ([`link`](crate::link), `Tls::connect`,
    /// `Tls::accept`) is dropped, and what it had taken may arrive yet, unless dropping it takes that back (of a
    /// TCP socket: `SO_LINGER` of 0 s).
    pub fn close(&self) {
        self.shared.ask(Command::Close);
    }

    /// What has been counted; if the link has ended, until then.
    ///
    /// ```
    /// use tidings_link::{Options, link, memory};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let (ours, theirs) = memory::pipe();
    /// # let (_other, driver) = link(theirs, Options::new("server"));
    /// # tidings::spawn(driver);
    /// # let (link, driver) = link(ours, Options::new("client"));
    /// # tidings::spawn(driver);
    /// # link.up().await.unwrap();
    /// let while_it_lives = link.stats().await;
    /// link.close();
    /// link.down().await;
    /// assert!(link.stats().await.bytes_out >= while_it_lives.bytes_out);
    /// # });
    /// ```
    pub async fn stats(&self) -> Stats {
        let (to, stats) = oneshot();
        self.shared.ask(Command::Stats(to));
        match stats.await {
            Ok(stats) => stats,
            Err(_) => self.state.down.read().await.1,
        }
    }
}

impl Clone for Link {
    fn clone(&self) -> Self {
        Self::again(Arc::clone(&self.shared), Arc::clone(&self.state))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The driver looks whether anybody is left.
        self.shared.give_up_handle();
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("peer", &self.state.up.try_read())
            .field("exit", &self.exit())
            .finish()
    }
}

/// Why a name gave no reference. Its text has the name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetError {
    /// The peer said so.
    Refused {
        /// The name that was asked for.
        name: String,
        /// What it said.
        why: Unbound,
    },
    /// The link has ended.
    Down {
        /// The name that was asked for.
        name: String,
        /// Why the link has.
        why: Broken,
    },
}

impl fmt::Display for GetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { name, why } => match why {
                Unbound::NoSuchName => write!(f, "nothing is exported as {name:?}"),
                Unbound::OtherInterface(theirs) => {
                    write!(f, "{name:?} is exported as another interface, {theirs:?}")
                }
                Unbound::Schema(method) => {
                    write!(f, "method {method:?} of {name:?} has another shape there")
                }
                Unbound::TooMany => {
                    write!(
                        f,
                        "{name:?} is one too many of the actors that the peer exports"
                    )
                }
            },
            Self::Down { name, why } => write!(f, "{name:?} cannot be asked for: {why}"),
        }
    }
}

impl Error for GetError {}

#[cfg(test)]
mod tests {
    use super::{Broken, GetError, Unbound};

    #[test]
    fn each_reason_why_a_name_gave_no_reference_is_told_with_the_name() {
        let texts = [
            (Unbound::NoSuchName, "nothing is exported as \"a\""),
            (
                Unbound::OtherInterface("B".to_owned()),
                "\"a\" is exported as another interface, \"B\"",
            ),
            (
                Unbound::Schema("c".to_owned()),
                "method \"c\" of \"a\" has another shape there",
            ),
            (
                Unbound::TooMany,
                "\"a\" is one too many of the actors that the peer exports",
            ),
        ];
        let name = || "a".to_owned();
        for (why, text) in texts {
            let refused = GetError::Refused { name: name(), why };
            assert_eq!(refused.to_string(), text);
        }
        let why = Broken::Drained;
        let down = GetError::Down { name: name(), why };
        let text = "\"a\" cannot be asked for: the link was drained";
        assert_eq!(down.to_string(), text);
    }
}
