//! What a hub does with what this side has: answers of actors, messages of proxies, commands, and the
//! end of the link.

use std::task::{Context, Poll};

use tidings::actor::{CallError, Exit};
use tidings::remote::{Carried, Port, enter, quietly};

use crate::credit::Level;
use crate::frame::{Failure, Unbound};
use crate::hub::{Call, Command, Hub};
use crate::limits::Broken;
use crate::shared::{Due, Left, Note};

impl Hub {
    /// Does what others have left: of the notes so many, at most.
    pub(crate) fn letters(mut self: Box<Self>, left: &mut Left, most: usize) -> Box<Self> {
        for command in left.commands.drain(..) {
            if let Err(broken) = self.command(command) {
                self.breaks(broken);
                return self;
            }
        }
        let n = left.notes.len().min(most);
        for note in left.notes.drain(..n) {
            self = self.note(note);
            if self.broken.is_some() {
                break;
            }
        }
        self
    }

    /// Does what somebody has left, and polls what that makes due.
    #[inline]
    pub(crate) fn note(mut self: Box<Self>, note: Note) -> Box<Self> {
        match note {
            Note::Answer(call) => self = self.answer(call),
            Note::Caller(call) => self.caller_gone(call),
            Note::Ended(target) => self.actor_ended(target),
            Note::Drain => self.drain(),
            Note::Due(due) => {
                self = self.poll_one(due);
                if self.broken.is_some() {
                    return self;
                }
            }
        }
        self.poll_due()
    }

    /// Polls what is due, until nothing is.
    #[inline]
    pub(crate) fn poll_due(mut self: Box<Self>) -> Box<Self> {
        while let Some(due) = self.next_due() {
            self = self.poll_one(due);
            if self.broken.is_some() {
                return self;
            }
        }
        if self.is_to_drain() {
            self.drain();
        }
        self
    }

    /// What is polled next. What waits for the link as a whole is while that has something for it.
    #[inline]
    fn next_due(&mut self) -> Option<Due> {
        let due = self.due.pop_front();
        due.or_else(|| self.blocked.pop(self.level()?))
    }

    /// Is there anything to be polled?
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let goes_on = |level| self.blocked.goes_on(level);
        !self.due.is_empty() || self.level().is_some_and(goes_on)
    }

    /// What the link has for those who wait for it. `None`: nothing, or nobody does.
    #[inline]
    fn level(&self) -> Option<Level> {
        match self.blocked.is_empty() {
            true => None,
            false => self.session.level(),
        }
    }

    #[inline]
    fn poll_one(mut self: Box<Self>, due: Due) -> Box<Self> {
        match due {
            Due::Proxy(target, turn) => self.poll_proxy(target, turn),
            Due::Killed(target, turn) => {
                self.kill_proxy(target, turn);
                self
            }
            Due::Place(target) => self.place(target),
        }
    }

    /// Ends a proxy, whatever it waits for. It leaves its place when it is polled.
    fn kill_proxy(&mut self, target: u32, turn: u64) {
        let known = self.imports.get_mut(target);
        let killed = known.and_then(|known| known.proxies_mut().find(|proxy| proxy.turn == turn));
        if let Some(imported) = killed.and_then(|proxy| proxy.imported.as_mut()) {
            // What it has not sent is a user's.
            quietly(|| imported.kill());
            self.due.push_back(Due::Proxy(target, turn));
        }
    }

    /// Sends what a proxy has.
    #[inline]
    fn poll_proxy(mut self: Box<Self>, target: u32, turn: u64) -> Box<Self> {
        let find = |hub: &mut Self| {
            let proxy = hub.imports.get_mut(target)?.first(turn)?;
            Some((proxy.imported.take()?, proxy.waker.take()?))
        };
        let Some((mut imported, waker)) = find(&mut self) else {
            return self;
        };
        let mut cx = Context::from_waker(&waker);
        self.begin();
        let (mut hub, polled) = enter(self, || imported.poll(&mut cx));
        let known = hub.imports.get_mut(target);
        let Some(proxy) = known.and_then(|known| known.first(turn)) else {
            return hub;
        };
        (proxy.imported, proxy.waker) = (Some(imported), Some(waker));
        // A panic there was the proxy's end.
        if matches!(polled, Ok(Poll::Pending)) {
            return hub;
        }
        let known = hub.imports.get_mut(target).expect("it is there");
        let (proxy, next) = known.end(turn).expect("it is there");
        if known.is_empty() {
            hub.imports.remove(target);
        }
        hub.due.extend(next.map(|turn| Due::Proxy(target, turn)));
        hub.proxy_ended(target, &proxy);
        // What it was about to send when it panicked.
        hub.begin();
        hub
    }

    /// There may be an answer for the peer.
    #[inline]
    fn answer(mut self: Box<Self>, call: u32) -> Box<Self> {
        let mut served = match self.calls.remove(call) {
            Some(Call::Served(served)) => served,
            other => {
                if let Some(other) = other {
                    self.calls.insert(call, other);
                }
                return self;
            }
        };
        let (mut body, format) = (self.room(), self.format.clone());
        self.begin();
        let (mut hub, answer) = enter(self, || served.answer(&format, &mut body));
        let outcome = match answer {
            // Another call has this number now.
            Ok(None) => {
                hub.calls.insert(call, Call::Served(served));
                None
            }
            Ok(Some(Ok(()))) if hub.session.is_too_large(body.len()) => {
                hub.undo();
                Some(Err(Failure::Refused("the answer is too large".to_owned())))
            }
            Ok(Some(Ok(()))) => Some(Ok(hub.goes_with_an_answer())),
            Ok(Some(Err(why))) => Some(Err(Failure::from(&why))),
            Err(panic) => {
                hub.undo();
                let why = format!("the answer panicked: {panic}");
                Some(Err(Failure::Refused(why)))
            }
        };
        if let Some(outcome) = outcome {
            if outcome.is_err() {
                body.clear();
            }
            hub.session.answer(call, outcome, &mut body);
        }
        hub.keep(body);
        hub
    }

    /// What the message carries that is encoded, which is an answer.
    #[inline]
    fn goes_with_an_answer(&mut self) -> Vec<Carried> {
        for carried in &self.carries {
            if let Carried::Reply(call, _) = carried
                && let Some(Some(waiting)) = self.pending.get_mut(*call as usize)
            {
                waiting.at = None;
            }
        }
        std::mem::take(&mut self.carries)
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
            // Nobody can ask for it.
            Command::Bind(bind, done) if !bind.fits() => {
                done(self, Err(Unbound::NoSuchName));
            }
            Command::Bind(mut bind, done) => {
                bind.id = self.next_bind();
                self.session.bind(&bind);
                self.binds.insert(bind.id, done);
            }
            Command::Stats(to) => {
                let _ = to.send(self.session.stats());
            }
            Command::Close => return Err(Broken::Dropped),
        }
        Ok(())
    }

    /// Gives back the room that large messages have had.
    pub(crate) fn trim(&mut self) {
        self.room = Vec::new();
        self.session.trim();
    }

    /// Does nobody use the link any more?
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.imports.is_empty()
            && self.exports.is_empty()
            && self.binds.is_empty()
            && self.pending.iter().all(Option::is_none)
    }

    /// The link has ended: whoever waits for something of it hears why.
    pub(crate) fn close(&mut self, why: &Broken) {
        let lost = self.told() as u64;
        self.session.lose(lost);
        let exit = Exit::Disconnected(why.to_string().into());
        // Who waits for a name hears of the end itself.
        drop((self.shared.close(), std::mem::take(&mut self.binds)));
        let passed = self.session.passed();
        for waiting in std::mem::take(&mut self.pending).into_iter().flatten() {
            let Some(mut pending) = waiting.pending else {
                continue;
            };
            // What has not begun to be written cannot have been executed.
            let _ = pending.answer(Err(match waiting.at.is_some_and(|at| at >= passed) {
                true => CallError::NotExecuted(exit.clone()),
                false => CallError::Ended(exit.clone()),
            }));
        }
        for (_, known) in self.imports.take_in_order() {
            for imported in known.into_proxies().filter_map(|proxy| proxy.imported) {
                imported.end(exit.clone());
            }
        }
        // One at a time: answers that nobody has taken, and messages that wait for their actors, are users'.
        for call in std::mem::take(&mut self.calls).into_values() {
            quietly(|| drop(call));
        }
        for export in self.exports.take_in_order() {
            quietly(|| drop(export));
        }
    }
}

#[cfg(test)]
mod tests {
    use tidings::remote::{Format, export, import};
    use tidings::time::Instant;

    use super::*;
    use crate::Exports;
    use crate::hub::SPARE;
    use crate::limits::{Grant, Limits};
    use crate::session::{Identity, Incoming, Session};
    use crate::shared::{NUMBERS, Shared};

    #[tidings::interface(remote)]
    trait Desk {
        async fn note(&mut self, n: u32);
    }

    fn session(limits: Limits) -> Session {
        let identity = Identity {
            node: "one".to_owned(),
            incarnation: 1,
            cluster: String::new(),
            codec: "postcard".to_owned(),
        };
        Session::new(&identity, limits, Instant::now())
    }

    /// A hub, and its peer, from which it has so much credit for the link.
    fn hub(messages: u32) -> (Box<Hub>, Session) {
        let now = Instant::now();
        let link_window = Grant { messages, bytes: 1 };
        let mut peer = session(Limits {
            link_window,
            ..Limits::default()
        });
        let mut ours = session(Limits::default());
        let greeting = peer.output().to_vec();
        peer.written(greeting.len());
        assert!(ours.receive(&greeting, now).unwrap().is_some());
        let greeting = ours.output().to_vec();
        ours.written(greeting.len());
        assert!(peer.receive(&greeting, now).unwrap().is_some());
        let (shared, format) = (Shared::default().into(), Format::default());
        let hub = Hub::new(ours, shared, Exports::new(), None, format, now);
        (Box::new(hub), peer)
    }

    /// A reference to an actor of the peer's has come.
    fn comes(hub: &mut Hub, target: u32) -> DeskRef {
        import(hub, target).unwrap()
    }

    #[test]
    fn of_many_proxies_of_one_actor_that_end_each_makes_the_next_due_and_no_other() {
        let (mut hub, mut peer) = hub(1);
        // The only message that the link has credit for.
        hub.session.tell(9, 0, vec![], &mut vec![]);
        for _ in 0..100 {
            drop(comes(&mut hub, 5));
            hub = hub.poll_due();
            assert!(hub.due.is_empty());
        }
        // It is taken, and there is credit.
        let told = hub.session.output().to_vec();
        hub.session.written(told.len());
        assert!(peer.receive(&told, Instant::now()).unwrap().is_some());
        peer.taken(9, 0);
        let credit = peer.output().to_vec();
        let came = hub.session.receive(&credit, Instant::now()).unwrap();
        hub = hub.handle(&mut came.unwrap().1.unwrap());
        let mut polled = 0;
        while let Some(due) = hub.next_due() {
            hub = hub.poll_one(due);
            assert!(hub.due.len() <= 1, "{}", hub.due.len());
            polled += 1;
        }
        assert!(hub.imports.is_empty());
        assert_eq!(polled, 100);
    }

    #[test]
    fn a_link_ends_in_order_before_no_number_is_left_for_another_actor() {
        struct Clerk;
        impl Desk for Clerk {
            async fn note(&mut self, _: u32) {}
        }
        tidings::Runtime::new().unwrap().block_on(async {
            let (mut hub, _peer) = hub(1);
            hub.next_export = NUMBERS - SPARE - 1;
            hub = hub.poll_due();
            assert!(!hub.session.has_said_goodbye());
            let desk: DeskRef = tidings::actor::start(Clerk);
            hub.begin();
            export(&mut *hub, &desk).unwrap();
            hub = hub.poll_due();
            assert!(hub.session.has_said_goodbye());
        });
    }

    #[test]
    fn a_reference_that_comes_oftener_than_can_be_counted_is_given_up_before() {
        let (mut hub, _peer) = hub(1);
        let _first = comes(&mut hub, 5);
        let known = hub.imports.get_mut(5).unwrap();
        known.proxies_mut().next().unwrap().received = (1 << 30) - 1;
        let _second = comes(&mut hub, 5);
        let given_up = hub.session.output().to_vec();
        hub.session.written(given_up.len());
        // RELEASE of 2^30 - 1.
        assert_eq!(given_up, [7, 0, 0, 0, 10, 5, 0xff, 0xff, 0xff, 0xff, 3]);
        let known = hub.imports.get_mut(5).unwrap();
        assert_eq!(known.proxies_mut().next().unwrap().received, 1);
    }

    #[test]
    fn who_waits_for_the_link_is_polled_when_there_is_something_for_it_and_not_when_something_comes()
     {
        let (mut hub, _peer) = hub(0);
        let kept: Vec<_> = (0..100).map(|target| comes(&mut hub, target)).collect();
        hub = hub.poll_due();
        for _ in 0..10 {
            hub = hub.handle(&mut Incoming::Pong);
            hub = hub.handle(&mut Incoming::Credit(7));
            assert!(!hub.is_due() && hub.next_due().is_none());
        }
        assert!(!hub.blocked.is_empty());
        // One that ends waits no more.
        for target in 0..100 {
            hub = hub.handle(&mut Incoming::Down(target, crate::End::Normal));
        }
        assert!(hub.blocked.is_empty());
        drop(kept);
    }
}
