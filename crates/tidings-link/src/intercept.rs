//! Interceptors: what a user has set to see each request of the peer's before it is decoded, and to
//! refuse it. `link.rs` takes one, `inward.rs` asks it when a request is about to be delivered.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::mem::needs_drop;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidings::remote::{Format, Interface, Outcome, Served, SmallBox, Wait, quietly};
use tidings::time::Instant;
use tidings::trace::Trace;

use crate::frame::Failure;
use crate::hub::Hub;
use crate::session::Peer;

/// A request of the peer's, a call or a one-way message, before it is decoded and given to its actor:
/// what an interceptor sees ([`Options::intercept`](crate::Options::intercept)).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tidings::actor;
/// use tidings_link::{Exports, Options, Request, link, memory};
///
/// #[tidings::interface(remote)]
/// trait Counter {
///     async fn add(&mut self, n: u8) -> u8;
/// }
/// # struct Tally(u8);
/// # impl Counter for Tally {
/// #     async fn add(&mut self, n: u8) -> u8 {
/// #         self.0 += n;
/// #         self.0
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let to = Arc::clone(&seen);
/// let log = move |request: &Request<'_>| {
///     let (peer, method) = (&request.peer().node, request.method());
///     let (name, size) = (request.name().unwrap_or("?"), request.size());
///     to.lock().unwrap().push(format!("{peer}: {name}.{method}, {size} bytes"));
///     assert!(request.is_call() && request.interface() == "Counter");
///     // Over memory nobody has shown a certificate; nor has the caller a deadline.
///     assert!(request.peer_addr().is_none() && request.peer_certificate().is_none());
///     assert!(request.deadline().is_none() && request.trace().is_none());
///     Ok(())
/// };
/// let counter: CounterRef = actor::start(Tally(0));
/// let options = Options::new("server").exports(Exports::new().add("tally", &counter));
/// let (ours, theirs) = memory::pipe();
/// let (_served, driver) = link(ours, options.intercept(log));
/// tidings::spawn(driver);
/// let (link, driver) = link(theirs, Options::new("client"));
/// tidings::spawn(driver);
///
/// let counter: CounterRef = link.get("tally").await?;
/// assert_eq!(counter.add(7).await?, 7);
/// assert_eq!(*seen.lock().unwrap(), ["client: tally.add, 1 bytes"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    peer: &'a Peer,
    origin: &'a Origin,
    name: Option<&'a str>,
    asks: Asks,
}

/// What a request is, whoever sends it.
#[derive(Clone, Copy)]
pub(crate) struct Asks {
    pub(crate) interface: &'static Interface,
    /// The place of the method.
    pub(crate) method: usize,
    pub(crate) is_call: bool,
    pub(crate) deadline: Option<Instant>,
    pub(crate) size: usize,
    pub(crate) trace: Option<Trace>,
}

impl<'a> Request<'a> {
    /// Who asks. Its name is as good as certificates make it: without TLS it is what the peer says of
    /// itself.
    #[must_use]
    pub fn peer(&self) -> &'a Peer {
        self.peer
    }

    /// The address of the other end, over `tcp://` and `tls://`. Of a stream that was given
    /// ([`link`](crate::link)) it is not known.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.origin.addr
    }

    /// The certificate that the peer has shown, in DER: its own, without those between it and the
    /// authority. Over TLS each has one.
    #[must_use]
    pub fn peer_certificate(&self) -> Option<&'a [u8]> {
        self.origin.certificate.as_deref()
    }

    /// The name by which the peer has asked for the actor, the first if by several; `None` if the
    /// reference came to it in a message. It says how the peer knows the actor, and not by which of its
    /// references it asks now.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// The name of the actor's interface. Who takes items of a stream asks for the next by calls, too: of
    /// the interface `Streaming`, by the method `next`.
    #[must_use]
    pub fn interface(&self) -> &'static str {
        self.asks.interface.name()
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.asks.interface.methods()[self.asks.method].name()
    }

    /// Does somebody wait for an answer? Otherwise it is a one-way message.
    #[must_use]
    pub fn is_call(&self) -> bool {
        self.asks.is_call
    }

    /// By when the caller wants the answer, if it has said so. It has not come yet.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.asks.deadline
    }

    /// The size of the arguments, in bytes, as they came.
    #[must_use]
    pub fn size(&self) -> usize {
        self.asks.size
    }

    /// The trace that the request is a part of. A sender with the feature `tracing` sends it; to see it,
    /// nobody needs that.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        self.asks.trace
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("node", &self.peer.node)
            .field("interface", &self.interface())
            .field("method", &self.method())
            .field("is_call", &self.is_call())
            .finish_non_exhaustive()
    }
}

type Seen = Result<Option<Guard>, Box<dyn Error + Send + Sync>>;

/// What a user has set, for all links of these options.
#[derive(Clone)]
pub(crate) struct Interceptor(Arc<dyn Fn(&Request<'_>) -> Seen + Send + Sync>);

impl Interceptor {
    pub(crate) fn new<G: Send + 'static>(
        f: impl Fn(&Request<'_>) -> Result<G, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        // What does nothing as it is dropped need not be kept.
        let guard = |kept: G| needs_drop::<G>().then(|| Guard(Some(Box::new(kept))));
        Self(Arc::new(move |request: &Request<'_>| f(request).map(guard)))
    }
}

impl fmt::Debug for Interceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interceptor")
    }
}

/// Where a link comes from, as far as its stream says.
#[derive(Default)]
pub(crate) struct Origin {
    pub(crate) addr: Option<SocketAddr>,
    pub(crate) certificate: Option<Vec<u8>>,
}

/// An interceptor on one link.
pub(crate) struct Intercepts {
    pub(crate) interceptor: Interceptor,
    pub(crate) origin: Origin,
}

/// What an interceptor keeps of a request until that is done. A panic of its drop ends nothing else.
pub(crate) struct Guard(Option<Box<dyn Any + Send>>);

impl Guard {
    /// It is kept until the call is answered, or left.
    pub(crate) fn until_answered(self, served: SmallBox<dyn Served>) -> SmallBox<dyn Served> {
        let _guard = self;
        SmallBox::<dyn Served>::new(Guarded { served, _guard })
    }

    /// It is kept until the message has a place in its mailbox.
    pub(crate) fn until_delivered(self, wait: Wait) -> Wait {
        Box::pin(async move {
            wait.await;
            drop(self);
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        quietly(|| drop(self.0.take()));
    }
}

/// A call under way that an interceptor keeps something of: dropped when it is answered, or left.
struct Guarded {
    served: SmallBox<dyn Served>,
    _guard: Guard,
}

impl Served for Guarded {
    fn answer(&mut self, format: &Format, to: &mut Vec<u8>) -> Option<Outcome<()>> {
        self.served.answer(format, to)
    }
}

impl Hub {
    /// The peer has asked for an actor of ours by a name.
    pub(crate) fn named(&mut self, target: u32, name: &str) {
        if self.intercepts.is_some()
            && let Some(out) = self.exports.get_mut(target)
        {
            out.name.get_or_insert_with(|| name.into());
        }
    }

    /// Shows the interceptor, if there is one, a request that is to be delivered. Gives what it keeps.
    ///
    /// # Errors
    /// If it refuses it.
    pub(crate) fn intercept(&mut self, target: u32, asks: Asks) -> Result<Option<Guard>, Failure> {
        let Some(Intercepts {
            interceptor: Interceptor(see),
            origin,
        }) = self.intercepts.as_deref()
        else {
            return Ok(None);
        };
        let request = Request {
            peer: self.session.peer().expect("who asks has greeted"),
            origin,
            name: self.exports.get(target).and_then(|out| out.name.as_deref()),
            asks,
        };
        // What it can leave half done is its own. The text is the user's, too.
        let seen = catch_unwind(AssertUnwindSafe(|| {
            see(&request).map_err(|why| why.to_string())
        }));
        // What the panic said is not for the peer.
        let panicked = |_| Err("the interceptor panicked".to_owned());
        seen.unwrap_or_else(panicked).map_err(|why| {
            self.session.stats_mut().refused += 1;
            Failure::Refused(why)
        })
    }
}
