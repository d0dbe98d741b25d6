//! What a link needs of actors: the two ends of a reply apart, the task of a proxy, and word of an
//! actor's end. Used by `remote/` alone.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Builder;
use super::actor_ref::{ActorRef, Recipient};
use super::any::AnyRef;
pub(crate) use super::any::AtEnd;
use super::call::CallError;
pub(crate) use super::exit::apart;
use super::exit::{Exit, IntoExit, leaving};
use super::life::Hand;
use super::mailbox::Mailbox;
use super::reply::Reply;
use super::run::Run;
use super::tell::SendError;
use crate::channel::bell::{Door, Rings};
use crate::channel::oneshot::{self, Gone, Wanted};
use crate::primitive::Arc;
use crate::primitive::prefetch::prefetch;
use crate::task::quietly;
use crate::time::Instant;
use crate::trace::Trace;

/// Why a request or its answer did not go over a link.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) why: Box<str>,
    /// Was the request executed, if that is known?
    pub(crate) executed: Option<bool>,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for Unfit {}

/// The caller's end of a reply.
pub(crate) type Answers<R> = oneshot::Receiver<Result<R, Box<CallError>>>;

impl<R: 'static> Reply<R> {
    /// A reply that is wanted so, and what its caller waits at; with what is rung when it is used or dropped.
    pub(crate) fn pair(wanted: Wanted, rings: Option<Rings>) -> (Self, Answers<R>) {
        let (sender, receiver) = oneshot::wanted(wanted, rings);
        (Self::new(sender), receiver)
    }

    /// A second one for the same caller: of the two, the first that is used or dropped is as if it
    /// had not been. `None` if there are two already.
    pub(crate) fn twin(&self) -> Option<Self> {
        self.sender().twin().map(Self::new)
    }

    /// What its caller asks as a part of, if that is known.
    pub(crate) fn part_of(&self) -> Option<Trace> {
        #[cfg(feature = "tracing")]
        let trace = self.trace();
        #[cfg(not(feature = "tracing"))]
        let trace = None;
        trace
    }

    /// Rings when the caller has gone. Gives by when he wants the answer.
    pub(crate) fn hang_bell(&self, door: Arc<dyn Door>, key: u32) -> Result<Option<Instant>, Gone> {
        self.sender().hang_bell(door, key)
    }

    /// Answers, once; or says why there is no answer. The caller may have gone.
    pub(crate) fn settle(&mut self, outcome: Result<R, CallError>) {
        let _ = self.taken().send(outcome.map_err(Box::new));
    }

    /// Answers with an error.
    pub(crate) fn fail(mut self, why: CallError) {
        self.settle(Err(why));
    }

    /// Asks for the memory that the answer needs.
    pub(crate) fn prefetch(&self) {
        self.sender().prefetch();
    }
}

/// An actor that lives elsewhere, as its mailbox here: what comes into it goes on.
///
/// It is polled by whoever has it, and is no task.
pub(crate) struct Proxy {
    run: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    actor: AnyRef,
}

impl Proxy {
    /// One whose messages `f` takes.
    pub(crate) fn new<M, F, Fut>(name: &str, capacity: usize, f: F) -> (ActorRef<M>, Self)
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> Fut,
        Fut: Future<Output: IntoExit> + Send + 'static,
    {
        let (sender, receiver) = Builder::new().name(name).capacity(capacity).mailbox();
        let future = f(Mailbox::new(receiver.clone()));
        let actor = ActorRef::new(sender);
        let proxy = Self {
            run: Some(Box::pin(Run::new(future, receiver))),
            actor: actor.any(),
        };
        (actor, proxy)
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.run {
            Some(run) => run.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Who has it: is woken when somebody ends it, and ends it then by `kill`.
    pub(crate) fn hand(&self, link: Waker) {
        let life = self.actor.life();
        life.runs_as(life.next_run(), Hand::Link(link));
    }

    /// It ends, for this reason; what is in its mailbox was not executed.
    pub(crate) fn end(mut self, exit: Exit) {
        // It is aborted here.
        drop(self.actor.life().dooms(exit));
        self.kill();
    }

    /// It ends at once, for the reason that was given.
    pub(crate) fn kill(&mut self) {
        self.run = None;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.run.is_none()
    }

    pub(crate) fn id(&self) -> u64 {
        self.actor.id()
    }

    /// How many messages have come to its mailbox.
    pub(crate) fn come(&self) -> u64 {
        self.actor.kin().come()
    }
}

impl AtEnd {
    /// Has `f` done at the actor's end; at once if it has ended.
    pub(crate) fn new(actor: AnyRef, f: impl Fn() + Send + Sync + 'static) -> Self {
        let (this, life) = (Self::of(&actor), actor.life());
        let f = Arc::new(f);
        let later = Arc::clone(&f);
        if !life.at_end(this.key(), move || later()) {
            f();
        }
        this
    }
}

/// Drops a message that did not go in: its caller hears why. The link hears of no panic of that.
pub(crate) fn drop_unsent<M>(unsent: SendError<M>) {
    leaving(CallError::unsent(&unsent), || quietly(|| drop(unsent)));
}

impl<I: Send + 'static> Recipient<I> {
    /// Does a full mailbox refuse messages, rather than have senders wait?
    pub(crate) fn rejects(&self) -> bool {
        self.life().overflow != super::Overflow::Wait
    }

    /// Asks for the memory that a message to it needs.
    pub(crate) fn prefetch(&self) {
        prefetch(self.inlet());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{ActorRef, Builder, CallError, Exit, Overflow, Reference, Reply, SendError};
    use super::{AtEnd, Wanted, drop_unsent};
    use crate::primitive::Arc;

    #[test]
    fn nothing_is_kept_for_the_end_of_an_actor_of_which_nobody_wants_word() {
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        let (actor, told) = (ActorRef::new(sender), Arc::new(()));
        let tells = Arc::clone(&told);
        let word = AtEnd::new(actor.any(), move || drop(Arc::clone(&tells)));
        assert_eq!(Arc::strong_count(&told), 2);
        drop(word);
        assert_eq!(Arc::strong_count(&told), 1);
    }

    #[test]
    fn a_full_mailbox_refuses_messages_unless_its_senders_are_to_wait() {
        let policies = [Overflow::Wait, Overflow::Reject, Overflow::DropNewest];
        let rejects = policies.map(|policy| {
            let (sender, _receiver) = Builder::new().overflow(policy).unlived::<u8>();
            ActorRef::new(sender).recipient().rejects()
        });
        assert_eq!(rejects, [false, true, true]);
    }

    #[test]
    fn who_waits_for_an_answer_to_a_message_that_did_not_go_in_hears_why() {
        let heard = |unsent: fn(Reply<u8>) -> SendError<Reply<u8>>| {
            let (reply, mut answers) = Reply::pair(Wanted::default(), None);
            drop_unsent(unsent(reply));
            *answers.try_recv().unwrap().unwrap_err()
        };
        assert!(matches!(heard(SendError::Full), CallError::Full));
        let ended = heard(|reply| SendError::Ended(reply, Exit::Killed));
        assert!(matches!(ended, CallError::NotExecuted(Exit::Killed)));
    }

    #[cfg(feature = "tracing")]
    #[test]
    fn a_reply_knows_of_which_trace_its_caller_asks_as_a_part() {
        let trace = crate::trace::Trace::new(1, 2, 3);
        for known in [None, Some(trace)] {
            let (reply, _answers) = Reply::<()>::pair(Wanted::new(None, known), None);
            assert_eq!((reply.part_of(), reply.trace()), (known, known));
        }
    }
}
