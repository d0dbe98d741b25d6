//! What a hub does with what comes: requests go to actors, answers to callers.

use std::borrow::Cow;
use std::mem::{replace, take};
use std::sync::Arc;
use std::task::{Context, Poll};

use tidings::actor::Exit;
use tidings::remote::{
    Carried, Export, Incoming as Parts, Port as _, Wait, Wanted, enter, quietly,
};
use tidings::time::Instant;

use crate::aside::{Taken, Thing};
use crate::failure::brief;
use crate::frame::{End, Failure, Unbound};
use crate::hub::{Call, Hub, Out, Waits};
use crate::intercept::Asks;
use crate::limits::Broken;
use crate::session::{Bind, Incoming};
use crate::shared::Due;

impl Hub {
    /// Handles what the session has found: takes it out of where the session has put it, which costs less than that it
    /// is moved here as a whole.
    #[inline]
    pub(crate) fn handle(mut self: Box<Self>, incoming: &mut Incoming<'_>) -> Box<Self> {
        let result = match incoming {
            Incoming::Request {
                call,
                target,
                method,
                until,
                carried,
                body,
            } => {
                return self.requested(
                    *target,
                    Asked {
                        call: *call,
                        begun: true,
                        method: *method,
                        until: *until,
                        carried: take(carried),
                        body: take(body),
                    },
                );
            }
            Incoming::Answer {
                call,
                outcome,
                body,
            } => {
                let mut hub = self.answered(*call, outcome, body);
                hub.session.keep(take(body));
                return hub;
            }
            Incoming::Up => {
                // Before any request of ours: the peer begins none before it knows this.
                let now = Instant::now();
                self.session.pong(0, now);
                self.session.ping(now);
                Ok(())
            }
            Incoming::Ping(at) => {
                self.session.pong(*at, Instant::now());
                Ok(())
            }
            Incoming::Pong => return self.resume(),
            Incoming::Nack(call) => {
                self.nacked(*call);
                Ok(())
            }
            Incoming::Credit(target) => {
                if let Some(known) = self.imports.get_mut(*target) {
                    known.unblock(*target, &mut self.due);
                }
                Ok(())
            }
            Incoming::Down(target, end) => self.peer_down(*target, replace(end, End::Normal)),
            Incoming::Release(target, count) => self.given_up(*target, *count),
            Incoming::Bind(bind) => self.asked(bind),
            Incoming::Bound(id, outcome) => self.bound(*id, replace(outcome, Ok(0))),
            Incoming::Bye => {
                self.drain();
                Ok(())
            }
        };
        self.unless(result);
        self
    }

    /// The link is to end, for this reason, or for that which was first.
    pub(crate) fn breaks(&mut self, why: Broken) {
        self.broken.get_or_insert(why);
    }

    fn unless(&mut self, result: Result<(), Broken>) {
        if let Err(why) = result {
            self.breaks(why);
        }
    }

    #[inline]
    fn requested(mut self: Box<Self>, target: u32, mut request: Asked<'_>) -> Box<Self> {
        if let Some(call) = request.call {
            match self.session.serve(call) {
                Ok(begun) => request.begun = begun,
                Err(broken) => {
                    self.breaks(broken);
                    return self;
                }
            }
        }
        if self.session.is_congested() {
            self.session.stats_mut().congested += 1;
            return self.hold(target, request);
        }
        if !self.held.is_empty() || !self.session.is_awaited(self.now) {
            self.session.doubt(self.now);
            return self.hold(target, request);
        }
        self.admit(target, request)
    }

    fn hold(mut self: Box<Self>, target: u32, request: Asked<'_>) -> Box<Self> {
        self.aside.add(Thing::Yours(target));
        let put = self.put_aside(&request);
        self.held.push_back((target, request.queued()));
        self.unless(put);
        self
    }

    /// The request is decoded later: till then its call is known to be one that waits.
    fn put_aside(&mut self, request: &Asked<'_>) -> Result<(), Broken> {
        if let Some(call) = request.call.filter(|_| request.begun)
            && self.calls.get(call).is_none()
        {
            self.calls.insert(call, Call::Queued);
        }
        let too_much = Broken::Protocol("messages that wait carry too much");
        self.aside
            .put(&request.carried)
            .then_some(())
            .ok_or(too_much)
    }

    /// Is there anything that waited for room in what is to be written, and does no more?
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        let waits = !self.held.is_empty() || !self.paused.is_empty();
        self.is_due() || waits && self.session.begins(self.now)
    }

    /// Is a request given to its actor that was held?
    #[inline]
    fn begins_held(&self) -> bool {
        !self.held.is_empty() && self.session.begins(self.now)
    }

    /// There is room: what waited for it goes on.
    pub(crate) fn resume(mut self: Box<Self>) -> Box<Self> {
        // Who moves the link at once knows no other time than that of the driver's last turn.
        self.now = Instant::now();
        if self.session.begins(self.now) {
            let paused = self.paused.drain(..);
            self.due.extend(paused.map(Due::Place));
        }
        while self.begins_held()
            && let Some((target, queued)) = self.held.pop_front()
        {
            let taken = Taken::of(&queued.carried);
            self = self.admit(target, queued);
            if self.broken.is_some() {
                return self;
            }
            self.decoded(taken);
            // Its reference may have been given up behind it.
            self.aside_no_more(Thing::Yours(target));
        }
        self.poll_due()
    }

    /// In the order of its actor.
    #[inline]
    fn admit(mut self: Box<Self>, target: u32, request: Asked<'_>) -> Box<Self> {
        if let (Some(call), false) = (request.call, request.begun) {
            self.session
                .answer(call, Err(Failure::Overloaded), &mut vec![]);
            self.not_decoded(request.carried);
            self.session.taken(target, request.body.len());
            return self;
        }
        let busy = |out: &Out| !out.is_done();
        if !self.exports.get(target).is_some_and(busy) {
            return self.deliver(target, request);
        }
        let put = self.put_aside(&request);
        if let Some(out) = self.exports.get_mut(target) {
            out.queue.push_back(request.queued());
        }
        self.unless(put);
        self
    }

    /// Gives a request to its actor.
    #[inline]
    fn deliver(mut self: Box<Self>, target: u32, request: Asked<'_>) -> Box<Self> {
        let Asked {
            call,
            begun: _,
            method,
            until,
            carried,
            body,
        } = request;
        let deadline = self.session.deadline(until);
        let size = body.len();
        let trace = carried.iter().find_map(|carried| match carried {
            Carried::Trace(trace) if trace.is_valid() => Some(*trace),
            _ => None,
        });
        let (export, place) = match self.find(target, call, method, deadline) {
            Ok(found) => found,
            Err(why) => return self.not_delivered(target, call, why, carried, size),
        };
        let mut guard = None;
        if self.intercepts.is_some() {
            let asks = Asks {
                interface: export.interface(),
                method: place,
                is_call: call.is_some(),
                deadline,
                size,
                trace,
            };
            guard = match self.intercept(target, asks) {
                Ok(guard) => guard,
                Err(why) => return self.not_delivered(target, call, why, carried, size),
            };
        }
        self.lay_out(carried);
        let takes_at_once = export.takes_at_once();
        let format = self.format.clone();
        let caller = call.map(|call| self.caller(call, Wanted::new(deadline, trace)));
        let mut parts = Parts::new(place, &format, &body, caller, trace);
        let (mut hub, delivered) = enter(self, || export.deliver(&mut parts));
        let mut unanswered = call;
        if let Ok(Ok(_)) = delivered
            && let Some(served) = parts.served()
            && let Some(call) = unanswered.take()
        {
            let served = match guard.take() {
                Some(guard) => guard.until_answered(served),
                None => served,
            };
            hub.await_answer(call, served);
        }
        let mut waits = match delivered {
            Ok(Ok(waits)) => {
                // The message was called, and has no answer.
                if unanswered.is_some() {
                    let why = "the method has no answer".to_owned();
                    hub.fail(unanswered, Failure::Refused(why));
                }
                waits
            }
            Ok(Err(why)) => hub.malformed(unanswered, why.to_string()),
            Err(_) => hub.malformed(unanswered, "its decoding panicked".to_owned()),
        };
        if let Some(guard) = guard {
            waits = waits.map(|wait| guard.until_delivered(wait));
        }
        hub.leftovers();
        hub.session.keep(body);
        let mut owed = Some(size);
        if let Some(wait) = waits
            && let Some(out) = hub.exports.get_mut(target)
        {
            out.waits = Some(Waits {
                owed: owed.take_if(|_| !takes_at_once),
                is_told: call.is_none(),
                wait,
            });
            hub.due.push_back(Due::Place(target));
        }
        if let Some(size) = owed {
            hub.session.taken(target, size);
        }
        hub
    }

    /// The actor that a request is for, and the place of its method; or how its caller hears that it is not given to it.
    #[inline(always)]
    fn find(
        &mut self,
        target: u32,
        call: Option<u32>,
        method: u32,
        deadline: Option<Instant>,
    ) -> Result<(Arc<dyn Export>, usize), Failure> {
        match self.exports.get(target) {
            None => {
                self.session.stats_mut().no_such_actor += 1;
                Err(Failure::NotExecuted(End::NoSuchActor))
            }
            Some(_) if deadline.is_some_and(|deadline| deadline <= self.now) => {
                self.session.stats_mut().expired += 1;
                Err(Failure::Timeout)
            }
            Some(_) if self.has_left(call) => Err(Failure::NoReply),
            Some(out) => match out.export.interface().find(method) {
                Some(place) => Ok((out.export.clone(), place)),
                None => {
                    self.session.stats_mut().no_such_method += 1;
                    Err(Failure::NoSuchMethod)
                }
            },
        }
    }

    /// A request is none that its actor knows. It waits for no place.
    #[cold]
    fn malformed(&mut self, call: Option<u32>, why: String) -> Option<Wait> {
        self.session.stats_mut().malformed += 1;
        self.fail(call, Failure::Malformed(why));
        None
    }

    /// A request is answered here.
    #[cold]
    fn not_delivered(
        mut self: Box<Self>,
        target: u32,
        call: Option<u32>,
        why: Failure,
        carried: Vec<Carried>,
        size: usize,
    ) -> Box<Self> {
        self.fail(call, why);
        self.not_decoded(carried);
        self.session.taken(target, size);
        self
    }

    /// Has the caller of a call gone that waits to be decoded?
    fn has_left(&self, call: Option<u32>) -> bool {
        let call = call.and_then(|call| self.calls.get(call));
        matches!(call, Some(Call::Left))
    }

    /// What a message carried that was not decoded: it is given back, and answered.
    fn not_decoded(&mut self, carried: Vec<Carried>) {
        self.lay_out(carried);
        self.leftovers();
    }

    /// What the message carries that is decoded next.
    #[inline]
    fn lay_out(&mut self, carried: Vec<Carried>) {
        self.carried.clear();
        if !carried.is_empty() {
            self.carried.extend(carried.into_iter().map(Some));
        }
    }

    /// What nobody has taken of what a message carried.
    #[inline]
    fn leftovers(&mut self) {
        if self.carried.is_empty() {
            return;
        }
        for carried in take(&mut self.carried).into_iter().flatten() {
            match carried {
                Carried::Mine(target) => self.session.release(target, 1),
                Carried::Reply(call, _) => match self.session.serve(call) {
                    Ok(_) => {
                        let why = Failure::NotExecuted(End::NoSuchActor);
                        self.session.answer(call, Err(why), &mut vec![]);
                    }
                    Err(broken) => self.breaks(broken),
                },
                Carried::Yours(_) | Carried::Gone | Carried::Trace(_) => {}
            }
        }
    }

    /// There may be a place for the message that waits for an actor, and then for those behind it.
    pub(crate) fn place(mut self: Box<Self>, target: u32) -> Box<Self> {
        // What waited may be too late by now.
        self.now = Instant::now();
        loop {
            let Some(out) = self.exports.get_mut(target) else {
                return self;
            };
            if let Some(waits) = &mut out.waits {
                let mut cx = Context::from_waker(&out.waker);
                if waits.wait.as_mut().poll(&mut cx) == Poll::Pending {
                    return self;
                }
                let size = waits.owed;
                out.waits = None;
                self.session.goes_on(self.now);
                if let Some(size) = size {
                    self.session.taken(target, size);
                }
                continue;
            }
            if !out.queue.is_empty() && !self.session.begins(self.now) {
                // There is no room for their answers, or it may be too late for all of them: see `requested`.
                let congested = self.session.is_congested();
                self.session.stats_mut().congested += u64::from(congested);
                self.session.doubt(self.now);
                self.paused.push(target);
                return self;
            }
            let Some(next) = out.queue.pop_front() else {
                self.forget(target);
                return self;
            };
            let taken = Taken::of(&next.carried);
            self = self.deliver(target, next);
            if self.broken.is_some() {
                return self;
            }
            self.decoded(taken);
        }
    }

    #[inline]
    fn answered(
        mut self: Box<Self>,
        call: u32,
        outcome: &mut Result<Vec<Carried>, Failure>,
        body: &[u8],
    ) -> Box<Self> {
        let waiting = self.pending.get_mut(call as usize).and_then(Option::take);
        let pending = waiting.and_then(|waiting| waiting.pending);
        match (outcome, pending) {
            (Ok(carried), Some(mut pending)) => {
                self.lay_out(take(carried));
                let format = self.format.clone();
                let (mut hub, answered) = enter(self, || pending.answer(Ok((&format, body))));
                if !matches!(answered, Ok(Ok(()))) {
                    hub.session.stats_mut().malformed += 1;
                }
                hub.leftovers();
                return hub;
            }
            (Ok(carried), None) => self.not_decoded(take(carried)),
            (Err(failure), Some(mut pending)) => {
                let failure = replace(failure, Failure::NoReply);
                let why = failure.of(pending.method());
                let _ = pending.answer(Err(why));
            }
            (Err(_), None) => {}
        }
        self
    }

    pub(crate) fn nacked(&mut self, call: u32) {
        match self.calls.remove(call) {
            // It was answered meanwhile; or its reply is in a message that is aside.
            None => drop(self.aside.last(Thing::Reply(call))),
            Some(Call::Queued | Call::Left) => self.calls.insert(call, Call::Left),
            // Its handler can know.
            Some(Call::Served(served)) => {
                quietly(|| drop(served));
                self.session
                    .answer(call, Err(Failure::NoReply), &mut vec![]);
            }
        }
    }

    fn peer_down(&mut self, target: u32, end: End) -> Result<(), Broken> {
        // It comes twice: no reference to the actor is on its way after the second.
        if self.ended.get(target).is_some() {
            self.session.spend(self.now)?;
            if !self.aside.last(Thing::Mine(target)) {
                self.ended.remove(target);
            }
            return Ok(());
        }
        if self.ended.len() >= self.session.limits().exports as usize {
            return Err(Broken::Protocol("too many actors end"));
        }
        self.ended.insert(target, brief(&end).into());
        let exit = Exit::from(end);
        let known = self.imports.remove(target).unwrap_or_default();
        for mut proxy in known.into_proxies() {
            self.proxy_ended(target, &proxy);
            if let Some(imported) = proxy.imported.take() {
                imported.end(exit.clone());
            }
        }
        Ok(())
    }

    fn asked(&mut self, bind: &Bind) -> Result<(), Broken> {
        let outcome = self.names.find(bind).and_then(|give| {
            self.begin();
            match give(self) {
                Ok(_) => Ok(()),
                Err(_) => Err(Unbound::TooMany),
            }
        });
        let outcome = outcome.and_then(|()| match self.carries.pop() {
            Some(Carried::Mine(target)) => {
                self.named(target, &bind.name);
                Ok(target)
            }
            // It is the peer's own, or has ended.
            _ => Err(Unbound::NoSuchName),
        });
        if outcome.is_err() {
            self.session.count(self.now)?;
        }
        self.session.bound(bind.id, outcome);
        Ok(())
    }

    fn bound(&mut self, id: u32, outcome: Result<u32, Unbound>) -> Result<(), Broken> {
        let done = self.binds.remove(&id);
        let done = done.ok_or(Broken::Protocol("an answer to no question"))?;
        self.session.earn(usize::from(outcome.is_ok()));
        done(self, outcome);
        Ok(())
    }
}

/// A request, not decoded.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    call: Option<u32>,
    /// Not: it is a call, and there are too many.
    begun: bool,
    method: u32,
    until: u64,
    carried: Vec<Carried>,
    body: Cow<'a, [u8]>,
}

impl Asked<'_> {
    /// Is it a one-way message?
    pub(crate) fn is_told(&self) -> bool {
        self.call.is_none()
    }

    fn queued(self) -> Asked<'static> {
        Asked {
            call: self.call,
            begun: self.begun,
            method: self.method,
            until: self.until,
            carried: self.carried,
            body: self.body.into_owned().into(),
        }
    }
}
