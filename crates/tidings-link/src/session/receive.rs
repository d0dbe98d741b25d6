//! What a session makes of the bytes that come: frames, messages of several frames, and what breaks
//! the rules.

use std::borrow::Cow;
use std::time::Duration;

use tidings::remote::Carried;
use tidings::time::Instant;

use super::{Bind, CALLS, Incoming, Peer, Session, give};
use crate::credit::Purse;
use crate::frame::{
    self, AnswerHead, BindHead, BoundHead, CallHead, CreditHead, DownHead, Failure,
};
use crate::frame::{Frame, Head as _, Hello, PongHead, ReleaseHead, TellHead, all, header, kind};
use crate::limits::{Broken, Refusal};
use crate::numbers::Numbers;

/// A peer is not asked for a word more often, however little patience it says it has, or we have.
const LEAST: Duration = Duration::from_millis(100);

/// A message that is coming in several frames.
#[derive(Debug)]
pub(super) struct Parts {
    kind: u8,
    /// Without its body.
    message: Incoming<'static>,
    body: Vec<u8>,
}

impl Session {
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
        let mut incoming = None;
        let taken = self.receive_into(bytes, now, &mut incoming)?;
        Ok((taken > 0).then_some((taken, incoming)))
    }

    /// The same, with the message put in its place, which is empty: it is large to be handed from result to result. 0:
    /// the next frame has not come whole.
    pub(crate) fn receive_into<'a>(
        &mut self,
        bytes: &'a [u8],
        now: Instant,
        place: &mut Option<Incoming<'a>>,
    ) -> Result<usize, Broken> {
        let longest = match self.peer {
            Some(_) => frame::LONGEST,
            None => frame::LONGEST_HELLO,
        };
        let parsed = match frame::parse(bytes, longest) {
            Err(Broken::FrameTooLarge) if self.peer.is_none() => return Err(foreign(bytes)),
            parsed => parsed?,
        };
        let Some((length, frame)) = parsed else {
            return Ok(0);
        };
        // Not a byte now and then of a frame that never comes whole.
        self.heard = now;
        match self.peer {
            None => *place = Some(self.greeting(&frame)?),
            Some(_) => self.frame(&frame, now, place)?,
        }
        Ok(length)
    }

    /// Bytes have come, so many.
    pub fn heard(&mut self, bytes: usize) {
        self.stats.bytes_in += bytes as u64;
        self.stats.reads += 1;
    }

    #[inline(never)]
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
        if let Some((why, told)) = self.objection(&hello) {
            self.refuse(&told);
            return Err(Broken::Refused(why));
        }
        let greeting = &mut self.handshake.greeting;
        if !greeting.is_empty() {
            // Before all that was put in meanwhile.
            self.out.control.prepend(std::mem::take(greeting));
        }
        self.clock.be_patient(hello.patience);
        // Often enough that one that is lost in a gap is not missed.
        let often = Duration::from_micros(hello.patience) / 3;
        self.asks = self.limits.idle.min(often).max(LEAST);
        // As many as there may be references here, and as many that the peer has not forgotten yet.
        let most = 2 * self.limits.exports as usize;
        self.purse = Purse::new(hello.window, hello.link_window, most);
        self.calls = Numbers::new(hello.calls.min(CALLS));
        self.peer = Some(Peer {
            node: hello.node,
            incarnation: hello.incarnation,
            message: hello.message,
            calls: hello.calls,
        });
        Ok(Incoming::Up)
    }

    /// Why we do not speak with the peer, by what it is, and what it is told, which is what we are.
    fn objection(&mut self, hello: &Hello) -> Option<(Refusal, Refusal)> {
        let ((min, max), theirs) = (frame::VERSIONS, hello.versions);
        if theirs.1 < min || theirs.0 > max {
            let why = Refusal::Version(theirs.0, theirs.1);
            return Some((why, Refusal::Version(min, max)));
        }
        let ours = &mut *self.handshake;
        if hello.cluster != ours.cluster {
            let why = Refusal::Cluster(hello.cluster.clone());
            return Some((why, Refusal::Cluster(ours.cluster.clone())));
        }
        if hello.codec != ours.codec {
            let why = Refusal::Codec(hello.codec.clone());
            return Some((why, Refusal::Codec(ours.codec.clone())));
        }
        let expected = ours.expected.as_ref();
        let why = match expected.is_some_and(|names| !names.contains(&hello.node)) {
            true => Refusal::Node(hello.node.clone()),
            false => {
                let seat = ours.seat.as_mut()?;
                seat.take(&hello.node, hello.incarnation).err()?
            }
        };
        Some((why.clone(), why))
    }

    #[inline]
    fn frame<'a>(
        &mut self,
        frame: &Frame<'a>,
        now: Instant,
        place: &mut Option<Incoming<'a>>,
    ) -> Result<(), Broken> {
        match frame.kind {
            kind::CALL | kind::TELL | kind::ANSWER => self.message(frame, place),
            kind::REST => self.rest(frame, place),
            _ => {
                *place = Some(self.control(frame, now)?);
                Ok(())
            }
        }
    }

    #[inline(never)]
    fn control<'a>(&mut self, frame: &Frame<'a>, now: Instant) -> Result<Incoming<'a>, Broken> {
        if frame.more {
            return Err(Broken::Protocol("only bodies come in parts"));
        }
        if matches!(frame.kind, kind::PING | kind::PONG | kind::BYE) {
            self.count(now)?;
        }
        let rest = frame.rest;
        Ok(match frame.kind {
            kind::CREDIT => {
                let credit: CreditHead = all(rest)?;
                self.purse.add(credit.target, credit.grant)?;
                Incoming::Credit(credit.target)
            }
            kind::NACK => {
                let call: u32 = all(rest)?;
                self.spend(now)?;
                self.stats.nacks_in += 1;
                Incoming::Nack(call)
            }
            kind::DOWN => {
                let down: DownHead = all(rest)?;
                Incoming::Down(down.target, down.end)
            }
            kind::RELEASE => {
                let release: ReleaseHead = all(rest)?;
                Incoming::Release(release.target, release.count)
            }
            kind::BIND => Incoming::Bind(bind(rest)?),
            kind::BOUND => {
                let bound: BoundHead = all(rest)?;
                Incoming::Bound(bound.id, bound.outcome)
            }
            kind::PING => Incoming::Ping(all(rest)?),
            kind::PONG => {
                let pong: PongHead = all(rest)?;
                self.clock.answer(pong.at, pong.clock, now);
                self.doubted.take_if(|_| self.clock.is_awaited(now));
                Incoming::Pong
            }
            kind::BYE => {
                let () = all(rest)?;
                self.peer_drains = true;
                Incoming::Bye
            }
            kind::REFUSED => return Err(Broken::RefusedByPeer(header(rest)?.0)),
            _ => return Err(Broken::Protocol("a frame of unknown kind")),
        })
    }

    /// The peer may say so many words more, later: that the caller of its call has gone, that its actor
    /// has ended. It has no more of them to say than it may have calls and actors at once.
    pub(crate) fn earn(&mut self, words: usize) {
        let most = self.limits.calls.saturating_add(self.limits.exports);
        let words = u32::try_from(words).unwrap_or(u32::MAX);
        self.earned = self.earned.saturating_add(words).min(most);
    }

    /// The peer says a word that is to be earned. What is not, counts.
    pub(crate) fn spend(&mut self, now: Instant) -> Result<(), Broken> {
        match self.earned.checked_sub(1) {
            Some(left) => self.earned = left,
            None => self.count(now)?,
        }
        Ok(())
    }

    /// The peer says what nothing bounds but the time.
    pub(crate) fn count(&mut self, now: Instant) -> Result<(), Broken> {
        let (since, count) = &mut self.control;
        if now - *since >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > self.limits.control {
            return Err(Broken::Flood);
        }
        Ok(())
    }

    /// A message has come, or the first part of one. It is put in that place; what is in parts goes on from there.
    #[inline]
    fn message<'a>(
        &mut self,
        frame: &Frame<'a>,
        place: &mut Option<Incoming<'a>>,
    ) -> Result<(), Broken> {
        // In place of an assignment, which would look at what is to be dropped there.
        let mut put = |message| {
            place.get_or_insert(message);
        };
        match frame.kind {
            kind::CALL => {
                let (head, body) = CallHead::read(frame.rest)?;
                let CallHead {
                    id,
                    target,
                    method,
                    until,
                    carried,
                } = head;
                self.comes(target, true, &carried, body)?;
                if frame.more {
                    let message = request(Some(id), target, method, until, carried, &[]);
                    return self.part(frame.kind, message, body);
                }
                self.has_come(target, true, body.len());
                put(request(Some(id), target, method, until, carried, body));
            }
            kind::TELL => {
                let (head, body) = TellHead::read(frame.rest)?;
                let TellHead {
                    target,
                    method,
                    carried,
                } = head;
                self.comes(target, false, &carried, body)?;
                if frame.more {
                    let message = request(None, target, method, 0, carried, &[]);
                    return self.part(frame.kind, message, body);
                }
                self.has_come(target, false, body.len());
                put(request(None, target, method, 0, carried, body));
            }
            _ => {
                let (head, body) = AnswerHead::read(frame.rest)?;
                let AnswerHead { id, outcome } = head;
                self.carries(outcome.as_deref().unwrap_or_default());
                self.check_size(body.len())?;
                if frame.more {
                    return self.part(frame.kind, answer(id, outcome, &[]), body);
                }
                self.is_answered(id)?;
                put(answer(id, outcome, body));
            }
        }
        Ok(())
    }

    /// A request begins to come.
    #[inline]
    fn comes(
        &mut self,
        target: u32,
        is_call: bool,
        carried: &[Carried],
        body: &[u8],
    ) -> Result<(), Broken> {
        if self.peer_drains {
            return Err(Broken::Protocol("a request behind a goodbye"));
        }
        self.ledger.check(target)?;
        self.earn(usize::from(is_call));
        self.carries(carried);
        self.check_size(body.len())
    }

    /// A request has come whole.
    #[inline]
    fn has_come(&mut self, target: u32, is_call: bool, size: usize) {
        let control = &mut self.out.control;
        (self.ledger).spend(target, size, |target, grant| {
            give(control, target, grant);
        });
        match is_call {
            true => self.stats.calls_in += 1,
            false => self.stats.tells_in += 1,
        }
    }

    /// An answer has come whole.
    #[inline]
    fn is_answered(&mut self, call: u32) -> Result<(), Broken> {
        match self.calls.give_back(call) {
            true => Ok(()),
            false => Err(Broken::Protocol("an answer to no call")),
        }
    }

    /// The peer may say a word more of each of these.
    #[inline]
    fn carries(&mut self, carried: &[Carried]) {
        if !carried.is_empty() {
            let earns = |one: &&Carried| matches!(one, Carried::Mine(_) | Carried::Reply(..));
            self.earn(carried.iter().filter(earns).count());
        }
    }

    /// The first part of a message has come, of which that much is known.
    #[inline(never)]
    fn part(&mut self, kind: u8, message: Incoming<'static>, body: &[u8]) -> Result<(), Broken> {
        let parts = &mut self.parts[class(kind)];
        if parts.is_some() {
            return Err(Broken::Protocol("a message within another"));
        }
        let mut whole = std::mem::take(&mut self.room);
        whole.extend_from_slice(body);
        *parts = Some(Box::new(Parts {
            kind,
            message,
            body: whole,
        }));
        Ok(())
    }

    #[inline(never)]
    fn rest(&mut self, frame: &Frame<'_>, place: &mut Option<Incoming<'_>>) -> Result<(), Broken> {
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
            None => Ok(()),
            Some(parts) => {
                *place = Some(self.whole(*parts)?);
                Ok(())
            }
        }
    }

    /// A message has been decoded: what is to come may have its room.
    #[inline]
    pub(crate) fn keep(&mut self, body: Cow<'_, [u8]>) {
        if let Cow::Owned(mut room) = body {
            room.clear();
            self.room = room;
        }
    }

    #[inline]
    fn check_size(&self, body: usize) -> Result<(), Broken> {
        match body <= self.limits.message as usize {
            true => Ok(()),
            false => Err(Broken::MessageTooLarge),
        }
    }

    /// The last part of a message has come.
    fn whole(&mut self, parts: Parts) -> Result<Incoming<'static>, Broken> {
        let Parts {
            mut message,
            body: whole,
            ..
        } = parts;
        match &mut message {
            Incoming::Request {
                call, target, body, ..
            } => {
                self.has_come(*target, call.is_some(), whole.len());
                *body = Cow::Owned(whole);
            }
            Incoming::Answer { call, body, .. } => {
                self.is_answered(*call)?;
                *body = Cow::Owned(whole);
            }
            _ => {}
        }
        Ok(message)
    }
}

#[inline]
fn request(
    call: Option<u32>,
    target: u32,
    method: [u8; 4],
    until: u64,
    carried: Vec<Carried>,
    body: &[u8],
) -> Incoming<'_> {
    Incoming::Request {
        call,
        target,
        method: u32::from_le_bytes(method),
        until,
        carried,
        body: Cow::Borrowed(body),
    }
}

#[inline]
fn answer(call: u32, outcome: Result<Vec<Carried>, Failure>, body: &[u8]) -> Incoming<'_> {
    Incoming::Answer {
        call,
        outcome,
        body: Cow::Borrowed(body),
    }
}

/// Why there is no link to a peer whose first frame would be too large: it may begin as others do.
#[cold]
fn foreign(bytes: &[u8]) -> Broken {
    const HTTP: &str = "it speaks HTTP";
    const TLS: &str = "it speaks TLS";
    let others = [
        ("HTTP", HTTP),
        ("GET ", HTTP),
        ("HEAD", HTTP),
        ("POST", HTTP),
        ("PUT ", HTTP),
        ("PRI ", HTTP),
        ("SSH-", "it speaks SSH"),
        // An alert, and a handshake.
        ("\x15\x03", TLS),
        ("\x16\x03", TLS),
    ];
    let mut known = others.into_iter();
    let known = known.find(|(begins, _)| bytes.starts_with(begins.as_bytes()));
    known.map_or(Broken::FrameTooLarge, |(_, it)| Broken::Protocol(it))
}

/// The class of a message: each comes whole before the next of its class.
fn class(kind: u8) -> usize {
    usize::from(kind == kind::ANSWER)
}

fn bind(rest: &[u8]) -> Result<Bind, Broken> {
    let head: BindHead = all(rest)?;
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
