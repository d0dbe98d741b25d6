//! A link without sockets and tasks: a state machine, into which go bytes, messages and the time, and
//! out of which come messages and bytes.
//!
//! It knows frames, the handshake, credit, the numbers of calls, limits and heartbeats, and nothing of
//! types: bodies are bytes, actors are numbers. `driver.rs` moves its bytes, `hub.rs` knows what they
//! mean; the fuzzer and the vectors of PROTOCOL.md use it by itself.

use std::borrow::Cow;
use std::time::Duration;

use tidings::remote::Carried;
use tidings::time::Instant;

use crate::credit::{Ledger, May, Purse};
use crate::frame::{self, AnswerHead, BindHead, BoundHead, CallHead, CreditHead, DownHead, End};
use crate::frame::{Failure, Frame, Hello, ReleaseHead, TellHead, Unbound, header, kind};
use crate::limits::{Broken, Grant, Limits, Refusal, Stats};
use crate::numbers::Numbers;
use crate::outbox::Outbox;

/// Who we are, for the peer.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The name of this node.
    pub node: String,
    /// Which of its lives this is: another number each time.
    pub incarnation: u64,
    /// Only nodes of one cluster speak with each other.
    pub cluster: String,
}

/// Who the peer says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The name of its node.
    pub node: String,
    /// Which of its node's lives it is.
    pub incarnation: u64,
    /// The largest body that it takes.
    pub message: u32,
    /// How many calls it serves at a time.
    pub calls: u32,
}

/// What has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incoming<'a> {
    /// The handshake is done.
    Up,
    /// A request for an actor; with an answer if it has a number.
    Request {
        /// The caller's number for it.
        call: Option<u32>,
        /// The actor.
        target: u32,
        /// The method.
        method: u32,
        /// How long the caller waits.
        left: Option<Duration>,
        /// The references and replies in it.
        carried: Vec<Carried>,
        /// The arguments.
        body: Cow<'a, [u8]>,
    },
    /// How a call of ours has ended.
    Answer {
        /// Our number for it.
        call: u32,
        /// What came with the answer.
        outcome: Result<Vec<Carried>, Failure>,
        /// The answer.
        body: Cow<'a, [u8]>,
    },
    /// The caller has gone: it gets an answer, but nobody looks at it.
    Nack(u32),
    /// The peer has taken messages for this actor.
    Credit(u32),
    /// An actor of the peer's has ended.
    Down(u32, End),
    /// The peer has given up references to an actor, so many.
    Release(u32, u32),
    /// The peer asks for what we export under a name.
    Bind(Bind),
    /// What came of our asking for a name.
    Bound(u32, Result<u32, Unbound>),
    /// The peer begins no more calls: the link is to end when the last has its answer.
    Bye,
}

/// A question for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The asker's number for it.
    pub id: u32,
    /// The name.
    pub name: String,
    /// What opens it.
    pub token: Vec<u8>,
    /// The interface that the asker expects.
    pub interface: String,
    /// Its methods, and their numbers.
    pub methods: Vec<(String, u32)>,
}

/// A message that is coming in several frames.
#[derive(Debug)]
struct Parts {
    kind: u8,
    header: Head,
    body: Vec<u8>,
}

/// The header of a message that has a body.
#[derive(Debug)]
enum Head {
    Request {
        call: Option<u32>,
        target: u32,
        method: u32,
        left: u64,
        carried: Vec<Carried>,
    },
    Answer(AnswerHead),
}

/// One end of a link.
#[derive(Debug)]
pub struct Session {
    limits: Limits,
    /// The cluster.
    cluster: String,
    /// The names that the peer may have; any if there are none.
    expected: Option<Vec<String>>,
    begun: Instant,
    peer: Option<Peer>,
    out: Outbox,
    purse: Purse,
    ledger: Ledger,
    /// Calls of ours.
    calls: Numbers,
    /// Calls of the peer's.
    served: Numbers,
    parts: [Option<Parts>; 2],
    heard: Instant,
    pinged: bool,
    /// Since when nothing could be written.
    stalled: Option<Instant>,
    /// Control frames in this second.
    control: (Instant, u32),
    drains: bool,
    peer_drains: bool,
    stats: Stats,
}

/// The format of bodies.
const CODEC: &str = "postcard";

impl Session {
    /// Begins a session: the greeting is to be written at once.
    #[must_use]
    pub fn new(identity: &Identity, limits: Limits, now: Instant) -> Self {
        let mut out = Outbox::default();
        let hello = Hello {
            magic: frame::MAGIC,
            versions: frame::VERSIONS,
            node: identity.node.clone(),
            incarnation: identity.incarnation,
            cluster: identity.cluster.clone(),
            codec: CODEC.to_owned(),
            message: limits.message,
            calls: limits.calls,
            window: limits.window,
            link_window: limits.link_window,
        };
        frame::write(out.control.end(), kind::HELLO, &hello);
        Self {
            cluster: hello.cluster,
            expected: None,
            begun: now,
            peer: None,
            out,
            purse: Purse::new(limits.window, limits.link_window),
            ledger: Ledger::new(limits.window, limits.link_window),
            calls: Numbers::new(u32::MAX),
            served: Numbers::new(limits.calls),
            parts: [None, None],
            heard: now,
            pinged: false,
            stalled: None,
            control: (now, 0),
            drains: false,
            peer_drains: false,
            stats: Stats::default(),
            limits,
        }
    }

    /// The peer may only be one of these nodes: its certificate says so.
    pub fn expect(&mut self, nodes: Vec<String>) {
        self.expected = Some(nodes);
    }

    /// The peer, once it has said who it is.
    #[must_use]
    pub fn peer(&self) -> Option<&Peer> {
        self.peer.as_ref()
    }

    /// What this end allows.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What has been counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// To count what the session itself does not see.
    pub fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    /// Refuses the peer, for this reason: the refusal is to be written, and the stream closed.
    pub fn refuse(&mut self, why: &Refusal) {
        frame::write_refusal(self.out.control.end(), why);
    }

    /// Looks at what has come: bytes from the first that has not been taken yet. Gives how many are
    /// taken by the next message, and the message, if it is one for the user. `None`: the next frame
    /// has not come whole.
    ///
    /// # Errors
    /// If the link is to be closed. What is left to write should be written.
    pub fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        now: Instant,
    ) -> Result<Option<(usize, Option<Incoming<'a>>)>, Broken> {
        let longest = match self.peer {
            Some(_) => frame::LONGEST,
            None => frame::LONGEST_HELLO,
        };
        let Some((length, frame)) = frame::parse(bytes, longest)? else {
            return Ok(None);
        };
        let incoming = match self.peer {
            None => Some(self.greeting(&frame)?),
            Some(_) => self.frame(frame, now)?,
        };
        Ok(Some((length, incoming)))
    }

    /// Bytes have come, so many.
    pub fn heard(&mut self, bytes: usize, now: Instant) {
        self.stats.bytes_in += bytes as u64;
        self.stats.reads += 1;
        self.heard = now;
        self.pinged = false;
    }

    fn greeting<'a>(&mut self, frame: &Frame<'_>) -> Result<Incoming<'a>, Broken> {
        if frame.kind == kind::REFUSED {
            return Err(Broken::RefusedByPeer(header(frame.rest)?.0));
        }
        if frame.kind != kind::HELLO || frame.more {
            return Err(Broken::Protocol("it does not begin with a greeting"));
        }
        let (hello, _): (Hello, _) = header(frame.rest)?;
        if hello.magic != frame::MAGIC {
            return Err(Broken::Protocol("it does not begin with a greeting"));
        }
        if let Some(why) = self.objection(&hello) {
            self.refuse(&why);
            return Err(Broken::Refused(why));
        }
        self.purse = Purse::new(hello.window, hello.link_window);
        self.calls = Numbers::new(hello.calls.min(1 << 20));
        self.peer = Some(Peer {
            node: hello.node,
            incarnation: hello.incarnation,
            message: hello.message,
            calls: hello.calls,
        });
        Ok(Incoming::Up)
    }

    fn objection(&self, hello: &Hello) -> Option<Refusal> {
        let (min, max) = frame::VERSIONS;
        if hello.versions.1 < min || hello.versions.0 > max {
            return Some(Refusal::Version(min, max));
        }
        if hello.cluster != self.cluster {
            return Some(Refusal::Cluster(self.cluster.clone()));
        }
        if hello.codec != CODEC {
            return Some(Refusal::Codec(CODEC.to_owned()));
        }
        let expected = self.expected.as_ref();
        if expected.is_some_and(|names| !names.contains(&hello.node)) {
            return Some(Refusal::Node(hello.node.clone()));
        }
        None
    }

    fn frame<'a>(
        &mut self,
        frame: Frame<'a>,
        now: Instant,
    ) -> Result<Option<Incoming<'a>>, Broken> {
        match frame.kind {
            kind::CALL | kind::TELL | kind::ANSWER => return self.message(&frame),
            kind::REST => return self.rest(&frame),
            _ => {}
        }
        if frame.more {
            return Err(Broken::Protocol("only bodies come in parts"));
        }
        self.count_control(now)?;
        let rest = frame.rest;
        Ok(Some(match frame.kind {
            kind::CREDIT => {
                let credit: CreditHead = header(rest)?.0;
                self.purse.add(credit.target, credit.grant)?;
                Incoming::Credit(credit.target)
            }
            kind::NACK => {
                let call: u32 = header(rest)?.0;
                self.stats.nacks_in += 1;
                Incoming::Nack(call)
            }
            kind::DOWN => {
                let down: DownHead = header(rest)?.0;
                Incoming::Down(down.target, down.end)
            }
            kind::RELEASE => {
                let release: ReleaseHead = header(rest)?.0;
                Incoming::Release(release.target, release.count)
            }
            kind::BIND => Incoming::Bind(bind(rest)?),
            kind::BOUND => {
                let bound: BoundHead = header(rest)?.0;
                Incoming::Bound(bound.id, bound.outcome)
            }
            kind::PING => {
                frame::write(self.out.control.end(), kind::PONG, &());
                return Ok(None);
            }
            kind::PONG => return Ok(None),
            kind::BYE => {
                self.peer_drains = true;
                Incoming::Bye
            }
            kind::REFUSED => return Err(Broken::RefusedByPeer(header(rest)?.0)),
            _ => return Err(Broken::Protocol("a frame of unknown kind")),
        }))
    }

    /// A control frame has come. Those that go with requests and answers do not count.
    fn count_control(&mut self, now: Instant) -> Result<(), Broken> {
        let (since, count) = &mut self.control;
        if now.saturating_since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > self.limits.control {
            return Err(Broken::Flood);
        }
        Ok(())
    }

    fn message<'a>(&mut self, frame: &Frame<'a>) -> Result<Option<Incoming<'a>>, Broken> {
        self.control.1 = self.control.1.saturating_sub(1);
        let (head, body) = match frame.kind {
            kind::CALL => {
                let (call, body): (CallHead, _) = header(frame.rest)?;
                let head = Head::Request {
                    call: Some(call.id),
                    target: call.target,
                    method: u32::from_le_bytes(call.method),
                    left: call.left,
                    carried: call.carried,
                };
                (head, body)
            }
            kind::TELL => {
                let (tell, body): (TellHead, _) = header(frame.rest)?;
                let head = Head::Request {
                    call: None,
                    target: tell.target,
                    method: u32::from_le_bytes(tell.method),
                    left: 0,
                    carried: tell.carried,
                };
                (head, body)
            }
            _ => {
                let (answer, body) = header(frame.rest)?;
                (Head::Answer(answer), body)
            }
        };
        if let Head::Request { target, .. } = &head {
            self.ledger.check(*target)?;
        }
        self.check_size(body.len())?;
        if !frame.more {
            return self.complete(head, Cow::Borrowed(body)).map(Some);
        }
        let parts = &mut self.parts[class(frame.kind)];
        if parts.is_some() {
            return Err(Broken::Protocol("a message within another"));
        }
        *parts = Some(Parts {
            kind: frame.kind,
            header: head,
            body: body.to_vec(),
        });
        Ok(None)
    }

    fn rest<'a>(&mut self, frame: &Frame<'a>) -> Result<Option<Incoming<'a>>, Broken> {
        let (&kind, body) = frame
            .rest
            .split_first()
            .ok_or(Broken::Protocol("an empty part"))?;
        let slot = &mut self.parts[class(kind)];
        let parts = slot.as_mut().filter(|parts| parts.kind == kind);
        let parts = parts.ok_or(Broken::Protocol("a part of no message"))?;
        if body.is_empty() {
            return Err(Broken::Protocol("an empty part"));
        }
        parts.body.extend_from_slice(body);
        let size = parts.body.len();
        let whole = (!frame.more).then(|| slot.take()).flatten();
        self.check_size(size)?;
        match whole {
            None => Ok(None),
            Some(parts) => self
                .complete(parts.header, Cow::Owned(parts.body))
                .map(Some),
        }
    }

    fn check_size(&self, body: usize) -> Result<(), Broken> {
        match body <= self.limits.message as usize {
            true => Ok(()),
            false => Err(Broken::MessageTooLarge),
        }
    }

    fn complete<'a>(&mut self, head: Head, body: Cow<'a, [u8]>) -> Result<Incoming<'a>, Broken> {
        match head {
            Head::Request {
                call,
                target,
                method,
                left,
                carried,
            } => {
                self.ledger.spend(target, body.len());
                match call {
                    Some(_) => self.stats.calls_in += 1,
                    None => self.stats.tells_in += 1,
                }
                Ok(Incoming::Request {
                    call,
                    target,
                    method,
                    left: (left > 0).then(|| Duration::from_micros(left)),
                    carried,
                    body,
                })
            }
            Head::Answer(AnswerHead { id, outcome }) => {
                if !self.calls.give_back(id) {
                    return Err(Broken::Protocol("an answer to no call"));
                }
                Ok(Incoming::Answer {
                    call: id,
                    outcome,
                    body,
                })
            }
        }
    }

    /// The peer has a call of this number under way from here on. `false`: there are too many.
    ///
    /// # Errors
    /// If it had one.
    pub fn serve(&mut self, call: u32) -> Result<bool, Broken> {
        if self.served.is_full() || call >= self.limits.calls {
            self.stats.overloaded += 1;
            return Ok(false);
        }
        match self.served.insert(call) {
            true => Ok(true),
            false => Err(Broken::Protocol("a call whose number is in use")),
        }
    }

    /// Answers a call of the peer's.
    pub fn answer(&mut self, call: u32, outcome: Result<Vec<Carried>, Failure>, body: &[u8]) {
        self.served.remove(call);
        let head = AnswerHead { id: call, outcome };
        frame::write_message(self.out.answers.end(), kind::ANSWER, &head, body);
    }

    /// Is a body of this size too large for the peer?
    #[must_use]
    pub fn is_too_large(&self, body: usize) -> bool {
        self.peer
            .as_ref()
            .is_none_or(|peer| body > peer.message as usize)
    }

    /// Does so much wait to be written that requests are to wait?
    #[must_use]
    pub fn is_congested(&self) -> bool {
        self.out.len() >= self.limits.outgoing
    }

    /// May a request be sent to this actor?
    pub(crate) fn may_send(&self, target: u32) -> May {
        if self.peer.is_none() || self.calls.is_full() || self.is_congested() {
            return May::WaitForLink;
        }
        self.purse.may_send(target)
    }

    /// A number for a call of ours; `None`: as many as the peer serves are under way.
    pub fn begin_call(&mut self) -> Option<u32> {
        self.calls.next()
    }

    /// A call of ours was not sent.
    pub fn undo_call(&mut self, call: u32) {
        self.calls.give_back(call);
    }

    /// Sends a call.
    pub fn call(
        &mut self,
        call: u32,
        target: u32,
        method: u32,
        left: Option<Duration>,
        carried: Vec<Carried>,
        body: &[u8],
    ) {
        self.stats.calls_out += 1;
        self.purse.spend(target, body.len());
        let head = CallHead {
            id: call,
            target,
            method: method.to_le_bytes(),
            left: micros(left),
            carried,
        };
        frame::write_message(self.out.requests.end(), kind::CALL, &head, body);
    }

    /// Sends a one-way message.
    pub fn tell(&mut self, target: u32, method: u32, carried: Vec<Carried>, body: &[u8]) {
        self.stats.tells_out += 1;
        self.purse.spend(target, body.len());
        let head = TellHead {
            target,
            method: method.to_le_bytes(),
            carried,
        };
        frame::write_message(self.out.requests.end(), kind::TELL, &head, body);
    }

    /// Where requests that are sent now stand among all; see `passed`.
    pub(crate) fn position(&self) -> u64 {
        self.out.requests.position()
    }

    /// Requests that stand before this have begun to be written.
    pub(crate) fn passed(&self) -> u64 {
        self.out.requests.passed()
    }

    /// The caller of a call of ours has gone.
    pub fn nack(&mut self, call: u32) {
        self.stats.nacks_out += 1;
        frame::write(self.out.control.end(), kind::NACK, &call);
    }

    /// A message for an actor was taken: the peer is given credit for it.
    pub fn taken(&mut self, target: u32, body: usize) {
        let control = self.out.control.end();
        self.ledger
            .taken(target, body, |target, grant| give(control, target, grant));
    }

    /// Nothing for this actor is under way: credit that is owed for it is given.
    pub fn settle(&mut self, target: u32) {
        let control = self.out.control.end();
        self.ledger
            .settle(target, |target, grant| give(control, target, grant));
    }

    /// An actor of ours has ended. It is said twice, behind all answers and behind all requests: the
    /// first tells it, and after the second no reference to the actor is on its way.
    pub fn down(&mut self, target: u32, end: End) {
        let head = DownHead { target, end };
        for queue in [&mut self.out.answers, &mut self.out.requests] {
            frame::write(queue.end(), kind::DOWN, &head);
        }
    }

    /// References to an actor of the peer's are given up. It goes behind all requests.
    pub fn release(&mut self, target: u32, count: u32) {
        let head = ReleaseHead { target, count };
        frame::write(self.out.requests.end(), kind::RELEASE, &head);
    }

    /// Asks for a name.
    pub fn bind(&mut self, bind: &Bind) {
        let methods = bind.methods.iter();
        let head = BindHead {
            id: bind.id,
            name: bind.name.clone(),
            token: bind.token.clone(),
            interface: bind.interface.clone(),
            methods: methods
                .map(|(name, n)| (name.clone(), n.to_le_bytes()))
                .collect(),
        };
        frame::write(self.out.control.end(), kind::BIND, &head);
    }

    /// Answers the question for a name.
    pub fn bound(&mut self, id: u32, outcome: Result<u32, Unbound>) {
        if outcome.is_err() {
            self.stats.refused_names += 1;
        }
        frame::write(
            self.out.control.end(),
            kind::BOUND,
            &BoundHead { id, outcome },
        );
    }

    /// Begins no more calls; the link ends when the last has its answer.
    pub fn drain(&mut self) {
        if !std::mem::replace(&mut self.drains, true) {
            frame::write(self.out.requests.end(), kind::BYE, &());
        }
    }

    /// Have both said that they begin no more calls, and are all calls answered and all bytes written?
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.drains
            && self.peer_drains
            && self.calls.is_empty()
            && self.served.is_empty()
            && self.out.len() == 0
    }

    /// Is the link to end?
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drains || self.peer_drains
    }

    /// What is to be written next; nothing if it is empty.
    pub fn output(&mut self) -> &[u8] {
        self.out.next()
    }

    /// So much of it was written.
    pub fn written(&mut self, bytes: usize) {
        self.stats.bytes_out += bytes as u64;
        self.stats.writes += 1;
        self.stalled = None;
        self.out.written(bytes);
    }

    /// The stream took nothing.
    pub fn stalled(&mut self, now: Instant) {
        self.stalled.get_or_insert(now);
    }

    /// Looks at the time. Gives when it is to be looked at again.
    ///
    /// # Errors
    /// If the peer has been slow, or silent, for too long.
    pub fn tick(&mut self, now: Instant) -> Result<Instant, Broken> {
        let limits = &self.limits;
        if self.peer.is_none() {
            let due = self.begun + limits.handshake;
            return if now >= due {
                Err(Broken::Handshake)
            } else {
                Ok(due)
            };
        }
        let dead = self.heard + limits.silence;
        if now >= dead {
            return Err(Broken::Silent);
        }
        let mut next = dead;
        if let Some(since) = self.stalled {
            if now >= since + limits.stall {
                return Err(Broken::SlowPeer);
            }
            next = next.min(since + limits.stall);
        }
        let idle = self.heard + limits.idle;
        if now < idle {
            next = next.min(idle);
        } else if !std::mem::replace(&mut self.pinged, true) {
            self.out.trim();
            self.stats.pings += 1;
            frame::write(self.out.control.end(), kind::PING, &());
        }
        Ok(next)
    }
}

/// The class of a message: each comes whole before the next of its class.
fn class(kind: u8) -> usize {
    usize::from(kind == kind::ANSWER)
}

fn micros(left: Option<Duration>) -> u64 {
    // 0 is for ever: who has no time left has a microsecond.
    left.map_or(0, |left| {
        u64::try_from(left.as_micros()).unwrap_or(0).max(1)
    })
}

fn give(to: &mut Vec<u8>, target: u32, grant: Grant) {
    frame::write(to, kind::CREDIT, &CreditHead { target, grant });
}

fn bind(rest: &[u8]) -> Result<Bind, Broken> {
    let head: BindHead = header(rest)?.0;
    let methods = head.methods.into_iter();
    Ok(Bind {
        id: head.id,
        name: head.name,
        token: head.token,
        interface: head.interface,
        methods: methods
            .map(|(name, n)| (name, u32::from_le_bytes(n)))
            .collect(),
    })
}
