//! A link without sockets and tasks: a state machine, into which go bytes, messages and the time, and
//! out of which come messages and bytes.
//!
//! It knows frames, the handshake, credit, the numbers of calls, limits and heartbeats, and nothing of
//! types: bodies are bytes, actors are numbers. `driver.rs` moves its bytes, `hub.rs` knows what they
//! mean; the fuzzer and the vectors of PROTOCOL.md use it by itself. What comes is in `receive.rs`, what
//! the time brings in `time.rs`.

mod clock;
mod receive;
mod time;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use tidings::remote::Carried;
use tidings::time::Instant;

use crate::credit::{Ledger, Level, May, Purse};
use crate::frame::{self, AnswerHead, BindHead, BoundHead, CallHead, CreditHead, DownHead, End};
use crate::frame::{Failure, Hello, ReleaseHead, TellHead, Unbound, kind};
use crate::limits::{Broken, Grant, Limits, Refusal, Stats};
use crate::numbers::Numbers;
use crate::outbox::{Outbox, Queue};
use crate::peers::Seat;
use clock::{Clock, micros};
use receive::Parts;

/// So many bytes of words may wait, however little else may: two that are honest never have as many for
/// each other at once.
const WORDS: usize = 256 << 10;

/// No more calls are under way in one direction, whatever either side says: a table has room for each.
const CALLS: u32 = 1 << 20;

/// Who we are, for the peer.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The name of this node.
    pub node: String,
    /// Which of its lives this is: another number each time.
    pub incarnation: u64,
    /// Only nodes of one cluster speak with each other.
    pub cluster: String,
    /// The format of its bodies: [`tidings::remote::Format::name`].
    pub codec: String,
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
        /// Until when the caller waits, by its clock; 0: for ever. See [`Session::deadline`].
        until: u64,
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
    /// It asks for a word, at that time of its clock: [`Session::pong`].
    Ping(u64),
    /// It has said what its clock is.
    Pong,
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

impl Bind {
    /// Does it go into a frame, where each text and each sequence begins with its length?
    pub(crate) fn fits(&self) -> bool {
        const LENGTH: usize = 5;
        let methods = self.methods.iter();
        let methods: usize = methods.map(|(name, _)| LENGTH + name.len() + 4).sum();
        let texts = self.name.len() + self.token.len() + self.interface.len();
        // The kind and the number are as long as two lengths at most.
        6 * LENGTH + texts + methods <= frame::LONGEST
    }
}

/// One end of a link.
#[derive(Debug)]
pub struct Session {
    limits: Limits,
    // Not among what each message needs.
    handshake: Box<Handshake>,
    clock: Clock,
    peer: Option<Peer>,
    out: Outbox,
    purse: Purse,
    ledger: Ledger,
    /// Calls of ours.
    calls: Numbers,
    /// Those whose callers have gone and of which that is to be written, and where it stands.
    nacks: VecDeque<(u64, u32)>,
    /// Calls of the peer's.
    served: Numbers,
    parts: [Option<Box<Parts>>; 2],
    /// For the next of them.
    room: Vec<u8>,
    /// One-way messages were sent in this turn of the driver.
    told: bool,
    /// When the last frame has come whole.
    heard: Instant,
    /// When the peer is asked for a word.
    ask: Instant,
    /// How often it is.
    asks: Duration,
    /// Since when nothing could be written.
    stalled: Option<Instant>,
    /// Since when a request waits for the peer to say that it still waits.
    doubted: Option<Instant>,
    /// What was counted in this second: see `count`.
    control: (Instant, u32),
    /// How many words the peer may say beside that: see `earn`.
    earned: u32,
    /// Where our goodbye stands among the requests, if it has been said.
    goodbye: Option<u64>,
    peer_drains: bool,
    /// The peer has gone, in order.
    gone: bool,
    stats: Stats,
}

/// What is asked of the peer's greeting.
#[derive(Debug)]
struct Handshake {
    cluster: String,
    codec: String,
    /// The names that the peer may have; any if there are none.
    expected: Option<Vec<String>>,
    /// The place of the link among those of this node.
    seat: Option<Seat>,
    /// Our greeting, if it waits for the peer's.
    greeting: Vec<u8>,
}

impl Session {
    /// Begins a session: the greeting is to be written at once.
    #[must_use]
    pub fn new(identity: &Identity, mut limits: Limits, now: Instant) -> Self {
        limits.calls = limits.calls.min(CALLS);
        limits.outgoing = limits.outgoing.max(1);
        let mut out = Outbox::default();
        let hello = Hello {
            magic: frame::MAGIC,
            versions: frame::VERSIONS,
            node: identity.node.clone(),
            incarnation: identity.incarnation,
            cluster: identity.cluster.clone(),
            codec: identity.codec.clone(),
            message: limits.message,
            calls: limits.calls,
            window: limits.window,
            link_window: limits.link_window,
            patience: micros(limits.silence.min(limits.stall)),
        };
        frame::write(out.control.end(), kind::HELLO, &hello);
        Self {
            handshake: Box::new(Handshake {
                cluster: hello.cluster,
                codec: hello.codec,
                expected: None,
                seat: None,
                greeting: Vec::new(),
            }),
            clock: Clock::new(now),
            peer: None,
            out,
            purse: Purse::new(limits.window, limits.link_window, 0),
            ledger: Ledger::new(limits.window, limits.link_window),
            calls: Numbers::new(u32::MAX),
            nacks: VecDeque::new(),
            served: Numbers::new(limits.calls),
            parts: [None, None],
            room: Vec::new(),
            told: false,
            heard: now,
            ask: now,
            asks: limits.idle,
            stalled: None,
            doubted: None,
            control: (now, 0),
            earned: 0,
            goodbye: None,
            peer_drains: false,
            gone: false,
            stats: Stats::default(),
            limits,
        }
    }

    /// The peer may only be one of these nodes: its certificate says so.
    pub fn expect(&mut self, nodes: Vec<String>) {
        self.handshake.expected = Some(nodes);
    }

    /// The peer has connected to us: we wait for its greeting, so that it hears one thing, that there is a link, or
    /// that there is none.
    pub(crate) fn greet_back(&mut self) {
        self.handshake.greeting = std::mem::take(self.out.control.end());
    }

    /// There may be one link to the peer: this, if the place is free.
    pub(crate) fn seat(&mut self, seat: Seat) {
        self.handshake.seat = Some(seat);
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

    /// The peer has a call of this number under way from here on. `false`: there are too many.
    ///
    /// # Errors
    /// If it had one.
    #[inline]
    pub fn serve(&mut self, call: u32) -> Result<bool, Broken> {
        if self.served.contains(call) {
            return Err(Broken::Protocol("a call whose number is in use"));
        }
        if self.served.is_full() || call >= self.limits.calls {
            self.stats.overloaded += 1;
            return Ok(false);
        }
        self.served.insert(call);
        Ok(true)
    }

    /// Answers a call of the peer's. The memory of a long body is taken.
    #[inline]
    pub fn answer(
        &mut self,
        call: u32,
        outcome: Result<Vec<Carried>, Failure>,
        body: &mut Vec<u8>,
    ) {
        self.served.remove(call);
        let head = AnswerHead { id: call, outcome };
        self.out.answers.message(kind::ANSWER, &head, body);
    }

    /// Is a body of this size too large for the peer?
    #[must_use]
    #[inline]
    pub fn is_too_large(&self, body: usize) -> bool {
        self.largest().is_none_or(|largest| body > largest)
    }

    /// The size of the largest body that the peer takes.
    pub(crate) fn largest(&self) -> Option<usize> {
        self.peer.as_ref().map(|peer| peer.message as usize)
    }

    /// Does so much wait to be written that requests are to wait?
    #[must_use]
    #[inline]
    pub fn is_congested(&self) -> bool {
        self.out.len() >= self.limits.outgoing
    }

    /// Calls of ours under way.
    #[inline]
    pub(crate) fn calls(&self) -> usize {
        self.calls.len() as usize
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        self.calls.prefetch();
        self.served.prefetch();
        self.out.prefetch();
    }

    /// A turn of the driver begins.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        self.told = false;
    }

    /// Is more than one call under way, or did the last turn send messages that nobody waits for?
    /// Then more are likely to go out soon.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.told || self.calls.len() + self.served.len() > 1
    }

    /// Does so much wait to be written of what the peer brings about, and needs no credit for, that
    /// nothing of it is to be read?
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.out.words() >= self.limits.outgoing.max(WORDS)
    }

    /// May no request be sent, whatever its target?
    #[inline]
    fn waits(&self) -> bool {
        self.peer.is_none() || self.calls.is_full() || self.is_congested()
    }

    /// What there is for requests, as far as their targets allow. `None`: nothing.
    #[inline]
    pub(crate) fn level(&self) -> Option<Level> {
        let waits = self.waits();
        self.purse.level().filter(|_| !waits)
    }

    /// May a request be sent to this actor?
    #[inline]
    pub(crate) fn may_send(&self, target: u32) -> May {
        match self.waits() {
            true => May::WaitForLink,
            false => self.purse.may_send(target),
        }
    }

    /// A number for a call of ours; `None`: as many as the peer serves are under way.
    #[inline]
    pub fn begin_call(&mut self) -> Option<u32> {
        self.calls.next()
    }

    /// A call of ours was not sent.
    pub fn undo_call(&mut self, call: u32) {
        self.calls.give_back(call);
    }

    /// Sends a call. The memory of a long body is taken.
    #[inline]
    pub fn call(
        &mut self,
        call: u32,
        target: u32,
        method: u32,
        deadline: Option<Instant>,
        carried: Vec<Carried>,
        body: &mut Vec<u8>,
    ) {
        self.stats.calls_out += 1;
        self.purse.spend(target, body.len());
        let head = CallHead {
            id: call,
            target,
            method: method.to_le_bytes(),
            until: self.until(deadline),
            carried,
        };
        self.out.requests.message(kind::CALL, &head, body);
    }

    /// Sends a one-way message. The memory of a long body is taken.
    #[inline]
    pub fn tell(&mut self, target: u32, method: u32, carried: Vec<Carried>, body: &mut Vec<u8>) {
        self.stats.tells_out += 1;
        self.told = true;
        self.purse.spend(target, body.len());
        let head = TellHead {
            target,
            method: method.to_le_bytes(),
            carried,
        };
        self.out.requests.message(kind::TELL, &head, body);
    }

    /// Where requests that are sent now stand among all; see `passed`.
    pub(crate) fn position(&self) -> u64 {
        self.out.requests.position()
    }

    /// Requests that stand before this have begun to be written.
    pub(crate) fn passed(&self) -> u64 {
        self.out.requests.passed()
    }

    /// The caller of a call of ours has gone. It goes behind all requests: before its own, nobody
    /// would know what it is about.
    pub fn nack(&mut self, call: u32) {
        self.stats.nacks_out += 1;
        self.calls.speak(call);
        self.nacks.push_back((self.position(), call));
        frame::write(self.out.requests.end(), kind::NACK, &call);
    }

    /// A message for an actor was taken: the peer is given credit for it.
    #[inline]
    pub fn taken(&mut self, target: u32, body: usize) {
        let control = &mut self.out.control;
        self.ledger
            .taken(target, body, |target, grant| give(control, target, grant));
    }

    /// Nothing for this actor is under way: credit that is owed for it is given.
    pub fn settle(&mut self, target: u32) {
        let control = &mut self.out.control;
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
        self.out.requests.word(kind::RELEASE, &head);
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
        let head = BoundHead { id, outcome };
        self.out.control.word(kind::BOUND, &head);
    }

    /// Begins no more calls; the link ends when the last has its answer.
    pub fn drain(&mut self) {
        if self.goodbye.is_none() {
            self.goodbye = Some(self.position());
            frame::write(self.out.requests.end(), kind::BYE, &());
        }
    }

    /// Have both said that they begin no more calls, and are all calls answered and all bytes written?
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.is_done() && self.out.is_empty()
    }

    /// As `is_drained`, but for what the peer does not wait for: it may go when it has our goodbye, and
    /// an answer to each of its calls.
    pub(crate) fn is_done(&self) -> bool {
        self.goodbye.is_some_and(|at| at < self.passed())
            && self.peer_drains
            && self.calls.is_empty()
            && self.served.is_empty()
    }

    /// The session ends: so many one-way messages of the peer's are lost, and those of ours that wait.
    pub(crate) fn lose(&mut self, told: u64) {
        self.stats.lost_in += told;
        self.stats.lost_out += self.out.requests.waiting(kind::TELL) as u64;
    }

    /// Has the peer said that it begins no more calls?
    pub(crate) fn peer_drains(&self) -> bool {
        self.peer_drains
    }

    /// Have we?
    pub(crate) fn has_said_goodbye(&self) -> bool {
        self.goodbye.is_some()
    }

    /// Is the link to end?
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.goodbye.is_some() || self.peer_drains
    }

    /// Room for a body that is to be sent.
    pub(crate) fn outgoing_room(&mut self) -> Vec<u8> {
        self.out.room()
    }

    /// Gives back the room of the last message that came in parts.
    pub(crate) fn trim(&mut self) {
        self.room = Vec::new();
    }

    /// What is to be written next; nothing if it is empty.
    #[inline]
    pub fn output(&mut self) -> &[u8] {
        self.out.next()
    }

    /// So much of it was written.
    #[inline]
    pub fn written(&mut self, bytes: usize) {
        self.stats.bytes_out += bytes as u64;
        self.stats.writes += 1;
        self.stalled = None;
        self.out.written(bytes);
        // What is put in from here on comes behind it, whatever its class.
        let passed = self.passed();
        while let Some((_, call)) = self.nacks.front().filter(|(at, _)| *at < passed) {
            self.calls.spoken(*call);
            self.nacks.pop_front();
        }
    }
}

fn give(to: &mut Queue, target: u32, grant: Grant) {
    to.word(kind::CREDIT, &CreditHead { target, grant });
}
