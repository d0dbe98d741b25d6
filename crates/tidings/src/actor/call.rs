//! A request and its answer as one event.
//!
//! The request goes out when the event is performed (CML: a guard), and the event happens when the
//! answer comes. If the mailbox is full the event first waits for a place; that wait commits
//! nothing. Whoever goes elsewhere, or gives up, drops the receiver of the answer, which the
//! handler can wait for ([`Reply::closed`]): a nack.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::address::Inlet;
use super::any::come;
use super::cycle::{self, Cycle};
use super::exit::Exit;
use super::reply::Reply;
use super::tell::{SendError, Tell, unsent};
use crate::channel::chan::Sent;
use crate::channel::oneshot;
use crate::event::waits::Waits;
use crate::event::{Attempt, Enrol, Event, EventFuture, Lock, Protocol, event};
use crate::primitive::Arc;
use crate::task;
use crate::task::here::{self, Verdict};
use crate::time::Instant;

/// What travels back. A failure is rare, and in a box: answers are no larger than what they carry.
pub(super) type Answered<R> = Result<R, Box<CallError>>;
type Answer<R> = oneshot::Recv<oneshot::Receiver<Answered<R>>, Answered<R>>;

pin_project! {
    /// The event of a call: the answer is there.
    #[must_use = "events do nothing unless awaited"]
    pub struct Call<'a, I, R> {
        inlet: &'a dyn Inlet<I>,
        // The request, until the event is performed.
        message: Option<I>,
        #[pin]
        rest: Rest<'a, I>,
        #[pin]
        answer: Answer<R>,
        // Of the call of an actor, once it is performed.
        by_an_actor: Option<ByAnActor>,
    }
}

pin_project! {
    /// What most calls have none of: one tag is all that they write of it.
    #[project = RestProjection]
    #[project_replace = RestReplaced]
    enum Rest<'a, I> {
        Nothing,
        // How long it waits, if it is not to wait for ever: the handler can know. Until it is performed.
        Timeout { duration: Duration },
        // The request, while it waits for a place.
        Request { #[pin] request: EventFuture<Tell<'a, I>> },
        // Why the request could not be sent.
        Failed { why: Box<CallError> },
    }
}

#[derive(Clone, Copy)]
struct ByAnActor {
    /// How many messages had come to the mailbox before the request; none as high if it is not there yet.
    ticket: u64,
    /// Nothing but the answer ends the wait.
    alone: bool,
}

const NOT_SENT: ByAnActor = ByAnActor {
    ticket: u64::MAX,
    alone: false,
};

/// Does what may put a request into a mailbox that was full; gives its ticket, if it went in and that is known.
fn placing<R>(put: impl FnOnce() -> R) -> (R, u64) {
    here::place(NOT_SENT.ticket);
    let done = put();
    (done, here::placed())
}

impl<'a, I, R> Call<'a, I, R> {
    #[inline]
    pub(super) fn new(inlet: &'a dyn Inlet<I>, make: impl FnOnce(Reply<R>) -> I) -> Self
    where
        R: 'static,
    {
        let (sender, receiver) = oneshot();
        Self {
            inlet,
            message: Some(make(Reply::new(sender))),
            rest: Rest::Nothing,
            answer: receiver.into_recv(),
            by_an_actor: None,
        }
    }

    /// As [`Event::timeout`], with the time that has passed among the errors of the call.
    /// The handler can see the deadline: [`Reply::deadline`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{self, CallError, Reply};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let deaf = actor::spawn(|mailbox| async move {
    ///     std::future::pending::<()>().await;
    ///     drop(mailbox);
    /// });
    /// let answer = deaf.call(|reply: Reply<()>| reply).timeout(Duration::from_millis(2)).await;
    /// assert!(matches!(answer, Err(CallError::Timeout)));
    /// # });
    /// ```
    pub fn timeout(
        mut self,
        duration: Duration,
    ) -> impl Event<Output = Result<R, CallError>, Lost = ()> + use<'a, I, R> {
        self.rest = Rest::Timeout { duration };
        Event::timeout(self, duration).map(|answer| answer.unwrap_or(Err(CallError::Timeout)))
    }

    fn answer(self: Pin<&mut Self>) -> Pin<&mut Answer<R>> {
        self.project().answer
    }

    /// Sends the request of an actor, or begins to wait for a place.
    fn request(mut self: Pin<&mut Self>) {
        // What an actor gives away by the call that it waits for comes back or is stuck with it.
        let hands = here::hands();
        let this = self.as_mut().project();
        let mut attempt = Attempt::default();
        this.inlet.lock().lock();
        let sent = this.inlet.put(this.message, &mut attempt);
        // Its own place is the last.
        let ticket = this.inlet.come().wrapping_sub(1);
        this.inlet.lock().unlock();
        if let Some(waker) = attempt.waker.take() {
            task::wake_now(waker);
        }
        if this.message.is_some() {
            self.not_yet(sent);
        } else {
            this.by_an_actor.get_or_insert(NOT_SENT).ticket = ticket;
        }
        here::set_hands(hands);
    }

    #[inline(always)]
    fn failed(&self) -> bool {
        matches!(self.rest, Rest::Failed { .. })
    }

    #[inline(always)]
    fn waits_for_a_place(&self) -> bool {
        matches!(self.rest, Rest::Request { .. })
    }

    #[cold]
    fn failure(self: Pin<&mut Self>) -> CallError {
        match self.project().rest.project_replace(Rest::Nothing) {
            RestReplaced::Failed { why } => *why,
            _ => unreachable!("it has failed"),
        }
    }

    /// Before the request goes out: lets its handler know by when the answer is wanted.
    fn tell_deadline(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let RestProjection::Timeout { duration } = this.rest.as_mut().project() {
            let deadline = Instant::now() + *duration;
            this.answer.set_deadline(deadline);
            this.rest.set(Rest::Nothing);
        }
    }

    /// The request did not go out at once: it waits for a place, or never will.
    #[cold]
    fn not_yet(self: Pin<&mut Self>, sent: Sent) {
        let mut this = self.project();
        let request = this.message.take().expect("an event is performed once");
        if sent == Sent::Full && this.inlet.waits() {
            let tell = Tell::late(*this.inlet, request);
            let request = tell.into_future();
            this.rest.set(Rest::Request { request });
            return;
        }
        let (sent, ticket) = placing(|| unsent(*this.inlet, sent, request));
        this.by_an_actor.get_or_insert(NOT_SENT).ticket = ticket;
        if let Err(error) = sent {
            let why = Box::new(CallError::unsent(&error));
            this.rest.set(Rest::Failed { why });
        }
    }

    /// Goes on with the request that waits for a place.
    #[cold]
    fn push(self: Pin<&mut Self>, waker: &Waker) {
        let mut this = self.project();
        let RestProjection::Request { request } = this.rest.as_mut().project() else {
            return;
        };
        // It is one wait, with that for the answer; and see `request`.
        let (hands, waits) = (here::hands(), here::waited());
        let (sent, ticket) = placing(|| request.poll(&mut Context::from_waker(waker)));
        if let Poll::Ready(sent) = sent {
            this.by_an_actor.get_or_insert(NOT_SENT).ticket = ticket;
            this.rest.set(match sent {
                Ok(()) => Rest::Nothing,
                // Its request is dropped with its reply, which ends the wait for the answer.
                Err(error) => Rest::Failed {
                    why: Box::new(CallError::unsent(&error)),
                },
            });
        }
        here::set_hands(hands);
        here::set_waited(waits);
    }

    /// The caller is no actor, or is none any more.
    #[cold]
    fn go_on(mut self: Pin<&mut Self>, waker: &Waker) {
        // An actor has polled it, whose poll would have decided.
        if self.message.is_some() && !self.failed() {
            self.as_mut().request();
        }
        self.push(waker);
    }

    /// The caller is an actor: it says whom it waits for, or does what was decided of its call.
    fn settle(mut self: Pin<&mut Self>, waker: &Waker) {
        let verdict = cycle::verdict();
        if verdict == Verdict::Refuse {
            let mut this = self.project();
            let why = Box::new(CallError::Cycle(cycle::refused()));
            // Not executed, if it was held back; its reply is dropped with it, and is nobody's.
            let hands = here::hands();
            drop(this.message.take());
            this.rest.set(Rest::Failed { why });
            here::set_hands(hands);
            return;
        }
        let by = self.by_an_actor.unwrap_or(NOT_SENT);
        // Of several that wait in one poll only the first can be held back: at its end one is decided of.
        let alone = by.alone && task::is_ours(waker) && cycle::may_be_alone();
        if self.message.is_some() && (verdict == Verdict::Send || !alone) {
            self.as_mut().request();
        }
        self.as_mut().push(waker);
        let by = self.by_an_actor.unwrap_or(NOT_SENT);
        // One that the mailbox's policy dropped has none.
        let is_known =
            by.ticket != NOT_SENT.ticket || self.message.is_some() || self.waits_for_a_place();
        if alone && is_known && !self.failed() {
            let ticket = self.message.is_none().then_some(by.ticket);
            cycle::waits_for(self.inlet.life(), ticket);
        }
    }
}

impl<I, R> Protocol for Call<'_, I, R> {
    const SHORT: bool = true;

    #[inline(always)]
    fn prepare(mut self: Pin<&mut Self>) {
        if matches!(self.rest, Rest::Timeout { .. }) {
            self.as_mut().tell_deadline();
        }
        #[cfg(feature = "tracing")]
        if let Some(trace) = crate::trace::Trace::current() {
            self.as_mut().project().answer.set_trace(trace);
        }
        if here::actor() != 0 {
            // Decided of a call that was answered before it heard: not of this one.
            cycle::verdict();
            // Held back until the poll ends, where it might be refused.
            if !cycle::closes(self.inlet.life()) {
                self.request();
            }
            return;
        }
        let this = self.as_mut().project();
        let sent = this.inlet.put_now(this.message);
        if this.message.is_some() {
            self.not_yet(sent);
        }
    }
    #[inline(always)]
    fn single(&self) -> Option<&Lock> {
        self.answer.single()
    }
    fn waits_for(&self, waits: &mut Waits) {
        let callee = self.inlet.life();
        let what = format!("the answer of {}", callee.label());
        match self.message.is_none() && !self.waits_for_a_place() {
            true => waits.call(what, callee.id, come(self.inlet)),
            false => waits.of(format_args!("{what}")),
        }
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        if self.failed() {
            return Some(0);
        }
        self.answer().attempt(attempt)
    }
    #[inline(always)]
    fn enrol(mut self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        self.as_mut().answer().enrol(enrol);
        let by_an_actor = here::actor() != 0;
        if by_an_actor {
            let this = self.as_mut().project();
            this.by_an_actor.get_or_insert(NOT_SENT).alone = enrol.is_alone();
        }
        if by_an_actor || self.waits_for_a_place() {
            enrol.has_due();
        }
    }
    #[inline(always)]
    fn due(mut self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        if here::actor() != 0 {
            self.as_mut().settle(waker);
        } else {
            self.as_mut().go_on(waker);
        }
        self.failed().then_some(0)
    }
    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        self.push(waker);
    }
    #[inline(always)]
    fn withdraw(mut self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.as_mut().answer().withdraw(winner, locked);
        if !locked && winner.is_none() && self.waits_for_a_place() {
            // Not later than the wait: a request that nobody will wait for must not go out.
            self.project().rest.set(Rest::Nothing);
        }
    }
    #[inline]
    fn finish(mut self: Pin<&mut Self>, branch: u32) -> Self::Output {
        // What was in the request may be anywhere now.
        here::note(here::GAVE);
        if self.failed() {
            return Err(self.failure());
        }
        match self.as_mut().answer().finish(branch) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(*why),
            Err(_) => Err(CallError::NoReply),
        }
    }
    fn abandon(self: Pin<&mut Self>, branch: u32) {
        self.answer().abandon(branch);
    }
}

event!(impl['a, I, R] Call<'a, I, R> => Result<R, CallError>);

/// Why a call has no answer.
///
/// It does not say who was called: an answer lies in the same place, which would be larger for it in every call. Who
/// calls several says it with the error. A reference is shown as reports name its actor, by its
/// [name](super::Builder::name), or by its number.
///
/// ```
/// use tidings::actor::{Builder, Mailbox, Reply};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let rates = Builder::new().name("rates").spawn(|mailbox: Mailbox<Reply<u32>>| async { drop(mailbox) });
/// rates.down().await;
/// let rate = rates.call(|reply| reply).await.map_err(|why| format!("{rates}: {why}"));
/// assert_eq!(rate.unwrap_err(), "rates: not executed: the actor ended");
/// # });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The mailbox was full, and its policy was not to wait, or to drop the request. Not executed.
    Full,
    /// The actor had ended, or ended before it took the request. Not executed.
    NotExecuted(Exit),
    /// The actor ended, or panicked, with the request in its hands. It may have been executed. This is said at once:
    /// await `down` before you look at `exit`.
    Ended(Exit),
    /// The handler dropped the reply without answering.
    NoReply,
    /// It was refused, for this reason: by an interceptor, by its handler ([`refuse`](super::refuse())), or by
    /// a link, over which the request or its answer could not go.
    Refused(Arc<dyn Error + Send + Sync>),
    /// The callee waits, by calls, for the actor that called, and so would they for ever. So does a callee whose life
    /// is over, and which another may follow, for the end of a [child](super::Builder::parent) that calls. Not
    /// executed; but where two calls closed the cycle at the same moment, or the callee's life has ended since, the
    /// request may be handled later, its answer being dropped.
    ///
    /// Only a call that would wait without any other end is refused: not one in a choice or with a
    /// deadline, nor one whose answer another than the callee could give. That another has the reply is not seen
    /// where an actor that runs a function gives it away by no means of this library, as by a channel of another or
    /// in shared memory, and then calls back itself.
    Cycle(Cycle),
    /// The time that [`Call::timeout`] gave it is over. It may have been executed, or be so yet.
    Timeout,
}

impl CallError {
    /// Was the request executed? `None`: that is not known here.
    ///
    /// | | executed |
    /// |---|---|
    /// | `Full`, `NotExecuted` | `Some(false)` |
    /// | `Ended`, `NoReply`, `Timeout` | `None` |
    /// | `Cycle` | `None`: see there |
    /// | `Refused` by an interceptor or a handler | `None`: only they know |
    /// | `Refused` by a link, that could not send the request, or whose other end could not read it or has no such method | `Some(false)` |
    /// | `Refused` by a link, that could not read the answer | `Some(true)` |
    /// | `Refused` by the other end of a link for any other reason, as that the answer is too large | `None` |
    ///
    /// What was not executed can be asked for again, elsewhere too, also if it must not be done twice.
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox, Reply};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let deaf = actor::spawn(|mailbox: Mailbox<Reply<()>>| async { drop(mailbox) });
    /// deaf.down().await;
    /// let ended = deaf.call(|reply| reply).await.unwrap_err();
    /// assert_eq!(ended.executed(), Some(false));
    ///
    /// let mute = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
    ///     while let Ok(reply) = mailbox.recv().await {
    ///         drop(reply);
    ///     }
    /// });
    /// let no_reply = mute.call(|reply| reply).await.unwrap_err();
    /// assert_eq!(no_reply.executed(), None);
    /// # });
    /// ```
    #[must_use]
    pub fn executed(&self) -> Option<bool> {
        match self {
            Self::Full | Self::NotExecuted(_) => Some(false),
            #[cfg(feature = "remote")]
            Self::Refused(why) => why.downcast_ref::<super::remote::Unfit>()?.executed,
            #[cfg(not(feature = "remote"))]
            Self::Refused(_) => None,
            Self::Ended(_) | Self::NoReply | Self::Timeout | Self::Cycle(_) => None,
        }
    }

    /// A caller hears it.
    pub(super) fn heard(&self) {
        if let Self::NotExecuted(exit) | Self::Ended(exit) = self {
            exit.heard();
        }
    }

    pub(super) fn unsent<M>(error: &SendError<M>) -> Self {
        match error {
            SendError::Full(_) | SendError::Timeout(_) => Self::Full,
            SendError::Ended(_, exit) => Self::NotExecuted(exit.clone()),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the mailbox is full"),
            Self::NotExecuted(exit) => write!(f, "not executed: the actor {exit}"),
            Self::Ended(exit) => write!(f, "no answer: the actor {exit}"),
            Self::NoReply => f.write_str("the handler dropped the reply"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Cycle(cycle) => write!(f, "refused: the call closes a cycle: {cycle}"),
            Self::Timeout => f.write_str("no answer in time"),
        }
    }
}

impl Error for CallError {}

impl<I, R> fmt::Debug for Call<'_, I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("actor", &self.inlet.life().id)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::super::Builder;
    use super::super::tell::try_tell;
    use super::{Call, Event, Future, Reply, Tell, here, placing};
    use crate::event::Locks;

    /// How many locks a choice takes for it.
    fn locks(event: &impl Event) -> usize {
        let mut locks = Locks::default();
        event.lock(&mut locks);
        let said = format!("{locks:?}");
        (0..3)
            .find(|n| said.contains(&format!(" len: {n},")))
            .unwrap()
    }

    #[test]
    fn a_choice_takes_the_lock_of_a_send_and_that_of_an_answer() {
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        assert_eq!(locks(&Tell::new(&*sender, 1)), 1);
        let (sender, _receiver) = Builder::new().unlived::<Reply<u8>>();
        assert_eq!(locks(&Call::new(&*sender, |reply: Reply<u8>| reply)), 1);
    }

    #[test]
    fn a_request_that_finds_a_place_just_as_it_begins_to_wait_has_a_ticket() {
        let (sender, _receiver) = Builder::new().capacity(2).unlived::<u8>();
        try_tell(&*sender, 7).unwrap();
        here::here(|here| here.actor.set(1));
        let (sent, ticket) = placing(|| {
            let request = pin!(Tell::late(&*sender, 8).into_future());
            request.poll(&mut Context::from_waker(Waker::noop()))
        });
        here::here(|here| here.actor.set(0));
        assert!(matches!(sent, Poll::Ready(Ok(()))));
        assert_eq!(ticket, 1);
    }
}
