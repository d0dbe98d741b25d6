//! The receiving side of an actor: its messages, and what the control lane says.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::Pin;

use pin_project_lite::pin_project;

use super::actor_ref::WeakActorRef;
use super::life::{Life, Signal, Stop};
use crate::channel::chan::{Chan, Received};
use crate::channel::refs::ReceiverRef;
use crate::channel::source::{Side, Slot, slot_methods};
use crate::event::waits::Waits;
use crate::event::{Attempt, Event, into_future};
use crate::task::here;

/// The mailbox of an actor: one, which receives.
///
/// When it is dropped, usually because the actor's function has returned, what is still in it is
/// dropped: dead letters, whose callers hear of it.
pub struct Mailbox<M> {
    chan: ReceiverRef<M, Life>,
    /// What `scan` passed over, older than all that is in the channel.
    passed: VecDeque<M>,
    /// A stop without delay was asked for.
    stopped: bool,
}

impl<M> Mailbox<M> {
    pub(super) fn new(chan: ReceiverRef<M, Life>) -> Self {
        Self {
            chan,
            passed: VecDeque::new(),
            stopped: false,
        }
    }

    #[inline(always)]
    fn chan(&self) -> &Chan<M, Life> {
        &self.chan
    }

    /// The next message: an event.
    ///
    /// Waits until there is one. Fails once the actor is to end: it was asked to stop (a stop that
    /// drains lets it take what is there first), or nothing is left and nobody is left who could
    /// send. A wait that is dropped, or loses a choice, leaves the messages where they are.
    ///
    /// ```
    /// use tidings::{actor, actor::Reply};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let doubler = actor::spawn(|mut mailbox| async move {
    ///     while let Ok((n, reply)) = mailbox.recv().await {
    ///         let (n, reply): (u32, Reply<u32>) = (n, reply);
    ///         let _ = reply.send(2 * n);
    ///     }
    /// });
    /// assert_eq!(doubler.call(|reply| (21, reply)).await.unwrap(), 42);
    /// # });
    /// ```
    #[inline(always)]
    pub fn recv(&mut self) -> Recv<'_, M> {
        Recv {
            mailbox: self,
            passed: true,
            slot: Slot::new(None),
        }
    }

    /// As `recv`, without what `scan` passed over.
    fn fresh(&mut self) -> Recv<'_, M> {
        Recv {
            mailbox: self,
            passed: false,
            slot: Slot::new(None),
        }
    }

    /// The next message, if one is there.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`](crate::TryRecvError), or `Closed` once the actor is to end.
    pub fn try_recv(&mut self) -> Result<M, crate::TryRecvError> {
        match self.recv().try_now() {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(Ended)) => Err(crate::TryRecvError::Closed),
            Err(()) => Err(crate::TryRecvError::Empty),
        }
    }

    /// Selective receive (Erlang's `receive`, F#'s `Scan`): the first message that `choose` takes,
    /// as what it makes of it; the others stay, in their order.
    ///
    /// `choose` gives a message it does not want back. Dropping the wait loses nothing.
    ///
    /// # Errors
    /// Once the actor is to end and `choose` takes nothing of what is left.
    ///
    /// ```
    /// use tidings::actor;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let even_first = actor::spawn(move |mut mailbox| async move {
    ///     let even = |n: u32| if n % 2 == 0 { Ok(n) } else { Err(n) };
    ///     let first = mailbox.scan(even).await.unwrap();
    ///     let second = mailbox.recv().await.unwrap();
    ///     done.send((first, second)).await.unwrap();
    /// });
    /// for n in [1, 3, 4] {
    ///     even_first.send(n).await.unwrap();
    /// }
    /// assert_eq!(seen.recv().await, Ok((4, 1)));
    /// # });
    /// ```
    pub async fn scan<T>(&mut self, mut choose: impl FnMut(M) -> Result<T, M>) -> Result<T, Ended> {
        let mut seen = 0;
        loop {
            // What was passed over before, and what `recv` gives, in one queue: nothing is in our
            // hands across the wait.
            while let Some(message) = self.passed.remove(seen) {
                match choose(message) {
                    Ok(taken) => return Ok(taken),
                    Err(message) => self.passed.insert(seen, message),
                }
                seen += 1;
            }
            let message = self.fresh().await?;
            self.passed.push_back(message);
        }
    }

    /// How many messages are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.passed.len() + self.chan().locked(|state| state.len())
    }

    /// Is it empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A reference to the actor itself, which does not keep it alive.
    #[must_use]
    pub fn this(&self) -> WeakActorRef<M> {
        WeakActorRef::new(self.chan.downgrade())
    }

    /// Mailbox locked: can a receive go on? Takes a message into its place.
    #[inline(always)]
    fn attempt(&self, place: &mut Option<M>, passed: bool, with: &mut Attempt) -> bool {
        if self.chan.beside().is_signalled() || self.stopped || (passed && !self.passed.is_empty())
        {
            return true;
        }
        match self
            .chan()
            .attempt(with, |state, with| state.try_recv(with))
        {
            Received::Empty => return false,
            Received::Closed => {}
            Received::Value(message) => *place = Some(message),
        }
        true
    }

    /// No lock: what a receive gives that can go on.
    #[inline(always)]
    fn take(&mut self, got: Option<M>, passed: bool) -> Result<M, Ended> {
        if let Some(message) = got {
            return Ok(message);
        }
        self.take_rest(passed)
    }

    #[cold]
    fn take_rest(&mut self, passed: bool) -> Result<M, Ended> {
        while let Some(signal) = self.chan.beside().next_signal() {
            match signal {
                Signal::Stop(Stop::Now) => self.stopped = true,
                Signal::Stop(Stop::Drain) => {}
            }
            self.chan.beside().stop();
            self.chan().close();
        }
        if self.stopped {
            return Err(Ended);
        }
        if passed && let Some(message) = self.passed.pop_front() {
            return Ok(message);
        }
        // Closed: what is left is there already.
        let mut attempt = Attempt::default();
        let received = self.chan().locked(|state| state.try_recv(&mut attempt));
        if let Some(waker) = attempt.waker.take() {
            crate::task::wake_now(waker);
        }
        match received {
            Received::Value(message) => Ok(message),
            Received::Closed | Received::Empty => Err(Ended),
        }
    }
}

pin_project! {
    /// The event of [`Mailbox::recv`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Recv<'a, M> {
        mailbox: &'a mut Mailbox<M>,
        passed: bool,
        // Where a partner puts the message.
        #[pin]
        slot: Slot<M>,
    }
}

impl<M> Event for Recv<'_, M> {
    type Lost = ();

    fn waits_for(&self, waits: &mut Waits) {
        let actor = self.mailbox.chan.beside().title();
        waits.of(format_args!("a message for actor {actor}"));
    }

    slot_methods!(Side::Receiver, mailbox);

    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, with: &mut Attempt) -> Option<u32> {
        let this = self.project();
        this.mailbox
            .attempt(this.slot.place(), *this.passed, with)
            .then_some(0)
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        here::takes();
        let this = self.project();
        let got = this.slot.place().take();
        this.mailbox.take(got, *this.passed)
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let this = self.project();
        if let Some(message) = this.slot.place().take() {
            this.mailbox.chan().give_back(message);
        }
    }
    fn lost(self: Pin<&mut Self>) {}
}

into_future!(impl['a, M] Recv<'a, M> => Result<M, Ended>);

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("actor", &self.chan.beside().id)
            .field("len", &self.len())
            .finish()
    }
}

impl<M> Drop for Mailbox<M> {
    fn drop(&mut self) {
        // What is left is dropped by `Run`, which knows why.
        while let Some(message) = self.passed.pop_back() {
            self.chan().give_back(message);
        }
        self.chan.beside().deafen();
    }
}

/// The actor is to end: there are no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the actor is to end")
    }
}

impl Error for Ended {}
