//! What a hub does with what this side has: answers of actors, messages of proxies, commands, and the
//! end of the link.

use std::task::{Context, Poll};

use tidings::actor::{CallError, Exit};
use tidings::remote::{Port, enter};

use crate::GetError;
use crate::failure::text;
use crate::frame::Failure;
use crate::hub::{Call, Command, Hub, Out};
use crate::limits::Broken;
use crate::shared::{Due, Left, Note};

impl Hub {
    /// Does what others have left.
    pub(crate) fn letters(mut self: Box<Self>, left: &mut Left) -> (Box<Self>, Result<(), Broken>) {
        for command in left.commands.drain(..) {
            if let Err(broken) = self.command(command) {
                return (self, Err(broken));
            }
        }
        for note in left.notes.drain(..) {
            let result;
            (self, result) = self.note(note);
            if result.is_err() {
                return (self, result);
            }
        }
        (self, Ok(()))
    }

    /// Does what somebody has left, and polls what that makes due.
    pub(crate) fn note(mut self: Box<Self>, note: Note) -> (Box<Self>, Result<(), Broken>) {
        match note {
            Note::Answer(call) => self = self.answer(call),
            Note::Caller(call) => self.caller_gone(call),
            Note::Ended(target) => self.actor_ended(target),
            Note::Due(due) => {
                let result;
                (self, result) = self.poll_one(due);
                if result.is_err() {
                    return (self, result);
                }
            }
        }
        self.poll_due()
    }

    /// Polls what is due, until nothing is.
    #[inline]
    pub(crate) fn poll_due(mut self: Box<Self>) -> (Box<Self>, Result<(), Broken>) {
        while let Some(due) = self.due.pop_front() {
            let result;
            (self, result) = self.poll_one(due);
            if result.is_err() {
                return (self, result);
            }
        }
        (self, Ok(()))
    }

    fn poll_one(self: Box<Self>, due: Due) -> (Box<Self>, Result<(), Broken>) {
        match due {
            Due::Proxy(target, turn) => (self.poll_proxy(target, turn), Ok(())),
            Due::Place(target) => self.place(target),
        }
    }

    /// Sends what a proxy has.
    fn poll_proxy(mut self: Box<Self>, target: u32, turn: u64) -> Box<Self> {
        let find = |hub: &mut Self| {
            let proxies = &mut hub.imports.get_mut(target)?.proxies;
            let place = proxies.iter().position(|proxy| proxy.turn == turn)?;
            // One of a type after the other: their messages keep their order.
            let kind = proxies[place].kind;
            if proxies.iter().take(place).any(|before| before.kind == kind) {
                return None;
            }
            let proxy = &mut proxies[place];
            let imported = proxy.imported.take()?;
            Some((place, imported, proxy.waker.take()?))
        };
        let Some((place, mut imported, waker)) = find(&mut self) else {
            return self;
        };
        let mut cx = Context::from_waker(&waker);
        self.begin();
        let (mut hub, polled) = enter(self, || imported.poll(&mut cx));
        let Some(known) = hub.imports.get_mut(target) else {
            return hub;
        };
        let proxy = &mut known.proxies[place];
        (proxy.imported, proxy.waker) = (Some(imported), Some(waker));
        // A panic there was the proxy's end.
        if matches!(polled, Ok(Poll::Pending)) {
            return hub;
        }
        let proxy = known.proxies.remove(place).expect("it is there");
        known.all_due(target, &mut hub.due);
        if known.proxies.is_empty() {
            hub.imports.remove(target);
        }
        hub.proxy_ended(target, &proxy);
        hub
    }

    /// There may be an answer for the peer.
    fn answer(mut self: Box<Self>, call: u32) -> Box<Self> {
        let slot = self.calls.get_mut(call as usize);
        let Some(Call::Served(mut served)) = slot.map(|slot| std::mem::replace(slot, Call::None))
        else {
            return self;
        };
        let (mut body, format) = (self.room(), self.format.clone());
        self.begin();
        let (mut hub, answer) = enter(self, || served.answer(&format, &mut body));
        let outcome = match answer {
            // Another call has this number now.
            Ok(None) => {
                hub.calls[call as usize] = Call::Served(served);
                None
            }
            Ok(Some(Ok(()))) if hub.session.is_too_large(body.len()) => {
                hub.undo();
                Some(Err(Failure::Refused("the answer is too large".to_owned())))
            }
            Ok(Some(Ok(()))) => Some(Ok(std::mem::take(&mut hub.carries))),
            Ok(Some(Err(why))) => Some(Err(Failure::from(&why))),
            Err(panic) => {
                hub.undo();
                let why = text(format_args!("the answer panicked: {panic}"));
                Some(Err(Failure::Refused(why)))
            }
        };
        if let Some(outcome) = outcome {
            if outcome.is_err() {
                body.clear();
            }
            hub.session.answer(call, outcome, &body);
        }
        hub.keep(body);
        hub
    }

    /// The caller of a call of ours may have gone.
    fn caller_gone(&mut self, call: u32) {
        let Some(Some(waiting)) = self.pending.get_mut(call as usize) else {
            return;
        };
        if waiting
            .pending
            .as_ref()
            .is_some_and(|pending| pending.is_closed())
        {
            // The number is free when the answer has come.
            waiting.pending = None;
            self.session.nack(call);
        }
    }

    /// An actor that is exported may have ended.
    fn actor_ended(&mut self, target: u32) {
        let Some(out) = self.exports.get_mut(target) else {
            return;
        };
        if let Some(exit) = out.export.exit()
            && !std::mem::replace(&mut out.down, true)
        {
            self.session.down(target, (&exit).into());
        }
    }

    fn command(&mut self, command: Command) -> Result<(), Broken> {
        match command {
            Command::Bind(mut bind, done) => {
                bind.id = self.next_bind();
                self.session.bind(&bind);
                self.binds.insert(bind.id, done);
            }
            Command::Stats(to) => {
                let _ = to.send(self.session.stats());
            }
            Command::Drain => self.session.drain(),
            Command::Close => return Err(Broken::Dropped),
        }
        Ok(())
    }

    /// Does nobody use the link any more?
    pub(crate) fn is_idle(&self) -> bool {
        self.imports.is_empty()
            && self.exports.is_empty()
            && self.binds.is_empty()
            && self.pending.iter().all(Option::is_none)
    }

    /// Is nothing under way any more?
    pub(crate) fn is_drained(&self) -> bool {
        let done = |out: &Out| out.waits.is_none() && out.queue.is_empty();
        self.session.is_drained() && self.held.is_empty() && self.exports.values().all(done)
    }

    /// The link has ended: whoever waits for something of it hears why.
    pub(crate) fn close(&mut self, why: &Broken) {
        let exit = Exit::Disconnected(why.to_string().into());
        for command in self.shared.close() {
            if let Command::Bind(_, done) = command {
                done(self, Err(GetError::Down(why.clone())));
            }
        }
        for (_, done) in std::mem::take(&mut self.binds) {
            done(self, Err(GetError::Down(why.clone())));
        }
        let passed = self.session.passed();
        for waiting in std::mem::take(&mut self.pending).into_iter().flatten() {
            let Some(mut pending) = waiting.pending else {
                continue;
            };
            // What has not begun to be written cannot have been executed.
            let _ = pending.answer(Err(match waiting.at >= passed {
                true => CallError::NotExecuted(exit.clone()),
                false => CallError::Ended(exit.clone()),
            }));
        }
        for (_, known) in self.imports.take_in_order() {
            for imported in known.proxies.into_iter().filter_map(|proxy| proxy.imported) {
                imported.end(exit.clone());
            }
        }
        self.calls.clear();
        drop(self.exports.take_in_order());
    }
}
