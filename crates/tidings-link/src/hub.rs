//! What the numbers of a session stand for: the actors that are exported to the peer, the proxies of
//! the peer's actors, the calls that are under way. The driver owns it; it is the [`Port`] while
//! messages are encoded and decoded.
//!
//! `inward.rs` handles what comes, `outward.rs` what goes; here are the tables, and what serde asks.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use tidings::actor::{CallError, Exit};
use tidings::remote::{Call as Caller, Carried, Door, Export, Format, Gone, Identity, Imported};
use tidings::remote::{Malformed, Pending, Port, Request, Served, SmallBox, Wait, Wanted};
use tidings::remote::{prefetch_first, refused};
use tidings::time::Instant;

use crate::aside::{Aside, Thing};
use crate::credit::{Level, May};
use crate::exports::Exports;
use crate::frame::{CARRIED, Failure, Unbound};
use crate::imports::{Blocked, In, Proxy};
use crate::intercept::Intercepts;
use crate::inward::Asked;
use crate::limits::Broken;
use crate::numbers::{ByNumber, LowFirst};
use crate::session::{Bind, Session};
use crate::shared::{self, Bell, Due, Shared};

/// What a [`Link`](crate::Link) asks its driver to do.
pub(crate) enum Command {
    /// Ask for a name; what is done with the answer.
    Bind(Bind, Bound),
    /// Hand out what has been counted.
    Stats(tidings::channel::oneshot::Sender<crate::Stats>),
    Close,
}

/// So many numbers of actors are left as a link begins to end that has given out all others.
pub(crate) const SPARE: u32 = 1 << 16;

/// What is done when a name has been answered. Dropped: it will not be, for the link has ended.
pub(crate) type Bound = Box<dyn FnOnce(&mut Hub, Result<u32, Unbound>) + Send>;

/// An actor of ours.
pub(crate) struct Out {
    pub(crate) export: Arc<dyn Export>,
    identity: Identity,
    /// The name by which the peer has asked for it, for an interceptor.
    pub(crate) name: Option<Box<str>>,
    /// How often its reference has been sent, and not been given up.
    pub(crate) sent: u32,
    /// A message that waits for a place in its mailbox.
    pub(crate) waits: Option<Waits>,
    /// Those behind that.
    pub(crate) queue: VecDeque<Asked<'static>>,
    /// The peer knows that it has ended.
    pub(crate) down: bool,
    pub(crate) waker: Waker,
}

impl Out {
    /// Is each of its messages in its mailbox?
    pub(crate) fn is_done(&self) -> bool {
        self.waits.is_none() && self.queue.is_empty()
    }

    /// How many one-way messages are not.
    pub(crate) fn told(&self) -> usize {
        let first = self.waits.as_ref().is_some_and(|waits| waits.is_told);
        usize::from(first) + self.queue.iter().filter(|asked| asked.is_told()).count()
    }
}

/// A message that has been decoded, and waits for a place.
pub(crate) struct Waits {
    /// The size of its body, if there is credit to give for it.
    pub(crate) owed: Option<usize>,
    /// It is a one-way message.
    pub(crate) is_told: bool,
    pub(crate) wait: Wait,
}

/// A call of ours under way.
pub(crate) struct Waiting {
    /// `None`: its caller has gone.
    pub(crate) pending: Option<SmallBox<dyn Pending>>,
    /// Where its request stands among all requests. `None`: it is a reply that went with an answer, which
    /// may have been written.
    pub(crate) at: Option<u64>,
}

/// A call of the peer's under way.
pub(crate) enum Call {
    /// It waits to be decoded.
    Queued,
    /// As above, and its caller has gone.
    Left,
    Served(SmallBox<dyn Served>),
}

pub(crate) struct Hub {
    pub(crate) session: Session,
    pub(crate) shared: Arc<Shared>,
    pub(crate) names: Exports,
    pub(crate) intercepts: Option<Box<Intercepts>>,
    pub(crate) format: Format,
    pub(crate) exports: ByNumber<Out>,
    pub(crate) next_export: u32,
    by_identity: HashMap<Identity, u32>,
    pub(crate) imports: ByNumber<In>,
    /// All proxies: of one actor there may be many.
    proxies: u32,
    /// The peer's number of the actor of each proxy, and what it takes.
    by_actor: HashMap<u64, (u32, TypeId)>,
    /// Actors of the peer's that have ended, references to which may still be on their way.
    pub(crate) ended: ByNumber<Exit>,
    next_turn: u64,
    pub(crate) pending: Vec<Option<Waiting>>,
    pub(crate) calls: LowFirst<Call>,
    pub(crate) binds: BTreeMap<u32, Bound>,
    next_bind: u32,
    /// What the message carries that is encoded, and that is decoded.
    pub(crate) carries: Vec<Carried>,
    pub(crate) carried: Vec<Option<Carried>>,
    pub(crate) room: Vec<u8>,
    /// What is to be polled.
    pub(crate) due: VecDeque<Due>,
    /// Requests of the peer's that wait until there is room for their answers, or until it is known
    /// that it still waits for those.
    pub(crate) held: VecDeque<(u32, Asked<'static>)>,
    /// Actors whose next request waits here for the same.
    pub(crate) paused: Vec<u32>,
    /// What those carry, and those that wait for their actors.
    pub(crate) aside: Aside,
    /// Proxies that wait for the link as a whole.
    pub(crate) blocked: Blocked,
    /// The link begins nothing any more but what proxies had when it was told.
    pub(crate) drains: bool,
    /// How many proxies may have something of that to send yet.
    pub(crate) owing: usize,
    /// What a proxy takes next is not of that.
    pub(crate) late: bool,
    /// Why the link is to end, when what is done now is done ([`Hub::breaks`]).
    pub(crate) broken: Option<Broken>,
    pub(crate) now: Instant,
}

impl Hub {
    pub(crate) fn new(
        session: Session,
        shared: Arc<Shared>,
        names: Exports,
        intercepts: Option<Box<Intercepts>>,
        format: Format,
        now: Instant,
    ) -> Self {
        let format = format.limits(session.limits().decode);
        Self {
            session,
            shared,
            names,
            intercepts,
            format,
            exports: ByNumber::default(),
            next_export: 0,
            by_identity: HashMap::new(),
            imports: ByNumber::default(),
            proxies: 0,
            by_actor: HashMap::new(),
            ended: ByNumber::default(),
            next_turn: 0,
            pending: Vec::new(),
            calls: LowFirst::default(),
            binds: BTreeMap::new(),
            next_bind: 0,
            carries: Vec::new(),
            carried: Vec::new(),
            room: Vec::new(),
            due: VecDeque::new(),
            held: VecDeque::new(),
            paused: Vec::new(),
            aside: Aside::default(),
            blocked: Blocked::default(),
            drains: false,
            owing: 0,
            late: false,
            broken: None,
            now,
        }
    }

    /// Asks for the memory that the next message is likely to need: the first of everything, which on a
    /// link with little to do is all there is.
    pub(crate) fn prefetch(&self) {
        self.session.prefetch();
        if let Some(Some(waiting)) = self.pending.first()
            && let Some(pending) = &waiting.pending
        {
            pending.prefetch();
        }
        self.calls.prefetch();
        prefetch_first(&self.room);
        if let Some(out) = self.exports.first() {
            out.export.prefetch();
        }
        if let Some(known) = self.imports.first() {
            known.prefetch();
        }
    }

    fn waker(&self, due: Due) -> Waker {
        Waker::from(Arc::new(Bell {
            shared: Arc::clone(&self.shared),
            due,
        }))
    }

    #[inline]
    fn door(&self) -> Arc<dyn Door> {
        Arc::clone(&self.shared) as Arc<dyn Door>
    }

    /// A number for a question that no other has.
    pub(crate) fn next_bind(&mut self) -> u32 {
        self.next_bind = self.next_bind.wrapping_add(1);
        self.next_bind
    }

    /// The message that is encoded carries this too. Gives its place.
    fn carry(&mut self, carried: Carried) -> Result<u32, Malformed> {
        self.carries.push(carried);
        match self.carries.len() {
            n if n > CARRIED => Err(Malformed::new("it carries too many references")),
            n => Ok(u32::try_from(n - 1).unwrap_or(u32::MAX)),
        }
    }

    /// A number for a call of ours, and by when its caller wants the answer. `None`: there is no number.
    #[inline]
    fn wait_for(
        &mut self,
        mut pending: SmallBox<dyn Pending>,
    ) -> Option<(u32, Result<Option<Instant>, Gone>)> {
        let Some(call) = self.session.begin_call() else {
            let _ = pending.answer(Err(CallError::Full));
            return None;
        };
        let deadline = pending.hang_bell(self.door(), shared::caller(call));
        let index = call as usize;
        if index >= self.pending.len() {
            self.pending.resize_with(index + 1, || None);
        }
        let place = &mut self.pending[index];
        // Nobody waits there. The compiler, which does not know, would drop whoever does when the new one is ready, and
        // make that elsewhere to move it here.
        *place = None;
        *place = Some(Waiting {
            pending: Some(pending),
            at: Some(self.session.position()),
        });
        Some((call, deadline))
    }

    /// A call of ours is not sent, for this reason.
    fn unsent(&mut self, call: u32, why: CallError) {
        let waiting = self.pending.get_mut(call as usize).and_then(Option::take);
        self.session.undo_call(call);
        if let Some(mut pending) = waiting.and_then(|waiting| waiting.pending) {
            let _ = pending.answer(Err(why));
        }
    }

    /// The peer has given up references to an actor of ours.
    pub(crate) fn given_up(&mut self, target: u32, count: u32) -> Result<(), Broken> {
        let too_many = Broken::Protocol("a reference is given up that was not sent");
        let out = self.exports.get_mut(target).filter(|_| count > 0);
        let out = out.ok_or(too_many.clone())?;
        out.sent = out.sent.checked_sub(count).ok_or(too_many)?;
        self.forget(target);
        Ok(())
    }

    /// Forgets an actor of ours that the peer does not refer to, once it has its messages.
    pub(crate) fn forget(&mut self, target: u32) {
        let done = |out: &Out| out.sent == 0 && out.is_done();
        // A request that was put aside carries it home, or is for it.
        let comes_home = self.aside.carries(Thing::Yours(target));
        if comes_home || !self.exports.get(target).is_some_and(done) {
            return;
        }
        self.session.settle(target);
        if let Some(out) = self.exports.remove(target) {
            self.by_identity.remove(&out.identity);
        }
    }

    /// Is it to end in order: was it told to, or are the numbers of actors about to come to an end?
    #[inline]
    pub(crate) fn is_to_drain(&self) -> bool {
        self.drains || self.next_export >= shared::NUMBERS - SPARE
    }

    /// A proxy has ended.
    pub(crate) fn proxy_ended(&mut self, target: u32, proxy: &Proxy) {
        self.proxies -= 1;
        self.owing -= usize::from(proxy.owes);
        self.blocked.remove(proxy.turn);
        if let Some(imported) = &proxy.imported {
            self.by_actor.remove(&imported.actor());
        }
        self.session.release(target, proxy.received);
    }

    /// A call of the peer's, for who is to answer it.
    #[inline]
    pub(crate) fn caller(&self, call: u32, wanted: Wanted) -> Caller {
        let bell = (self.door(), shared::answer(call));
        Caller { bell, wanted }
    }

    /// The peer's call has been given to an actor.
    #[inline]
    pub(crate) fn await_answer(&mut self, call: u32, served: SmallBox<dyn Served>) {
        self.calls.insert(call, Call::Served(served));
    }

    /// The peer's call ends without having been given to an actor.
    pub(crate) fn fail(&mut self, call: Option<u32>, why: Failure) {
        if let Some(call) = call {
            self.calls.remove(call);
            self.session.answer(call, Err(why), &mut vec![]);
        }
    }
}

impl Port for Hub {
    fn export(
        &mut self,
        identity: Identity,
        make: &mut dyn FnMut(Arc<dyn Door>, u32) -> Arc<dyn Export>,
    ) -> Result<u32, Malformed> {
        let home = self.by_actor.get(&identity.actor).copied();
        if let Some((target, _)) = home.filter(|(_, takes)| *takes == identity.sends) {
            return self.carry(Carried::Yours(target));
        }
        if let Some(&target) = self.by_identity.get(&identity)
            && let Some(out) = self.exports.get_mut(target)
        {
            if out.down {
                return self.carry(Carried::Gone);
            }
            let sent = out.sent.checked_add(1);
            let too_often = || Malformed::new("its reference is sent too often");
            out.sent = sent.ok_or_else(too_often)?;
            return self.carry(Carried::Mine(target));
        }
        if self.exports.len() >= self.session.limits().exports as usize {
            return Err(Malformed::new("too many actors are exported"));
        }
        let target = self.next_export;
        if target >= shared::NUMBERS {
            return Err(Malformed::new("no number is left for another actor"));
        }
        // Never another actor by the same number: a Down may be on its way. So the link ends before there
        // is none.
        self.next_export += 1;
        let export = make(self.door(), shared::ended(target));
        let out = Out {
            export,
            identity,
            name: None,
            sent: 1,
            waits: None,
            queue: VecDeque::new(),
            down: false,
            waker: self.waker(Due::Place(target)),
        };
        self.exports.insert(target, out);
        self.by_identity.insert(identity, target);
        self.carry(Carried::Mine(target))
    }

    fn send_reply(&mut self, pending: SmallBox<dyn Pending>) -> Result<u32, Malformed> {
        let call = self.wait_for(pending);
        let (call, deadline) =
            call.ok_or_else(|| Malformed::new("too many calls are under way"))?;
        // Whose caller has gone is answered to nobody, and the bell has rung.
        let until = self.session.until(deadline.unwrap_or(None));
        self.carry(Carried::Reply(call, until))
    }

    fn call(&self, call: u32, until: u64) -> Caller {
        self.caller(call, Wanted::new(self.session.deadline(until), None))
    }

    #[inline]
    fn carried(&mut self, place: u32) -> Option<Carried> {
        self.carried.get_mut(place as usize)?.take()
    }

    fn import(
        &mut self,
        target: u32,
        kind: TypeId,
        make: &mut dyn FnMut(u32, u64) -> (Box<dyn Any>, Imported),
    ) -> Result<Box<dyn Any>, Malformed> {
        let known = self.imports.get_mut(target);
        if let Some((again, too_many)) = known.and_then(|known| known.again(kind)) {
            if too_many > 0 {
                self.session.release(target, too_many);
            }
            return Ok(again);
        }
        if self.proxies >= self.session.limits().exports {
            self.session.release(target, 1);
            return Err(Malformed::new("too many actors are imported"));
        }
        self.next_turn += 1;
        let turn = self.next_turn;
        let (reference, imported) = make(target, turn);
        if let Some(exit) = self.ended.get(target) {
            imported.end(exit.clone());
            self.session.release(target, 1);
            return Ok(reference);
        }
        imported.hand(self.waker(Due::Killed(target, turn)));
        self.by_actor
            .insert(imported.actor(), (target, imported.sends()));
        self.proxies += 1;
        let until = self.until_at_first(&imported);
        let due = Due::Proxy(target, turn);
        let proxy = Proxy {
            imported: Some(imported),
            turn,
            received: 1,
            until,
            owes: until > 0,
            waker: Some(self.waker(due)),
        };
        let known = self.imports.get_or_insert_with(target, In::default);
        if known.put(kind, proxy) {
            self.due.push_back(due);
        }
        Ok(reference)
    }

    fn home(&self, target: u32) -> Option<&dyn Export> {
        self.exports.get(target).map(|out| &*out.export)
    }

    fn serve(&mut self, call: u32, served: SmallBox<dyn Served>) -> Result<(), Malformed> {
        match self.session.serve(call) {
            Ok(true) => {
                self.await_answer(call, served);
                Ok(())
            }
            Ok(false) => {
                self.session
                    .answer(call, Err(Failure::Overloaded), &mut vec![]);
                Err(Malformed::new("too many calls are under way"))
            }
            Err(broken) => {
                self.breaks(broken);
                Err(Malformed::new("a call whose number is in use"))
            }
        }
    }

    fn may_send(&mut self, target: u32, turn: u64, taken: u64) -> bool {
        if self.drains && self.is_late(target, turn, taken) {
            // What comes next is taken, and refused.
            return true;
        }
        match self.session.may_send(target) {
            May::Send => return true,
            May::WaitForTarget => {
                if let Some(known) = self.imports.get_mut(target) {
                    known.blocked = true;
                }
            }
            May::WaitForMore => {
                if let Some(known) = self.imports.get_mut(target) {
                    known.blocked = true;
                }
                self.blocked.put(target, turn, Level::Wide);
            }
            May::WaitForLink => {
                let congested = self.session.is_congested();
                self.session.stats_mut().congested += u64::from(congested);
                self.blocked.put(target, turn, Level::Open);
            }
        }
        false
    }

    fn request(&mut self, request: Request<'_>, pending: Option<SmallBox<dyn Pending>>) {
        let Request {
            target,
            number,
            body,
            trace,
        } = request;
        let (call, deadline) = match pending {
            Some(pending) => match self.wait_for(pending) {
                Some((call, Ok(deadline))) => (Some(call), deadline),
                // Whose caller has gone before it goes out is not executed.
                Some((call, Err(Gone))) => {
                    self.unsent(call, CallError::NoReply);
                    return self.take_back();
                }
                None => return self.undo(),
            },
            None => (None, None),
        };
        let refusal = if self.session.is_too_large(body.len()) {
            Some(refused("the message is too large"))
        } else if self.late {
            let why = Exit::Disconnected(Broken::Drained.to_string().into());
            Some(CallError::NotExecuted(why))
        } else if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            Some(CallError::Timeout)
        } else {
            None
        };
        if let Some(why) = refusal {
            self.undo();
            if let Some(call) = call {
                self.unsent(call, why);
            }
            return;
        }
        let mut carried = std::mem::take(&mut self.carries);
        carried.extend(trace.map(Carried::Trace));
        match call {
            Some(call) => self
                .session
                .call(call, target, number, deadline, carried, body),
            None => self.session.tell(target, number, carried, body),
        }
    }

    fn begin(&mut self) {
        if !self.carries.is_empty() {
            self.take_back();
        }
    }

    fn undo(&mut self) {
        self.session.stats_mut().unsendable += 1;
        self.take_back();
    }

    fn largest(&self) -> usize {
        self.session.largest().unwrap_or(0)
    }

    fn format(&self) -> Format {
        self.format.clone()
    }

    fn room(&mut self) -> Vec<u8> {
        let room = std::mem::take(&mut self.room);
        match room.capacity() {
            0 => self.session.outgoing_room(),
            _ => room,
        }
    }

    fn keep(&mut self, mut room: Vec<u8>) {
        room.clear();
        self.room = room;
    }
}

impl Hub {
    /// What the message carries that is not sent stays here.
    fn take_back(&mut self) {
        for carried in std::mem::take(&mut self.carries) {
            match carried {
                Carried::Mine(target) => {
                    // It was counted when it was put in.
                    let _ = self.given_up(target, 1);
                }
                Carried::Reply(call, _) => {
                    self.unsent(call, refused("its message was not sent"));
                }
                Carried::Yours(_) | Carried::Gone | Carried::Trace(_) => {}
            }
        }
    }
}
