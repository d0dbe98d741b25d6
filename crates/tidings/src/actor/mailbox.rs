//! The receiving side of an actor: its messages, and what the control lane says.

use std::error::Error;
use std::fmt;
use std::pin::Pin;

use pin_project_lite::pin_project;

use super::actor_ref::WeakActorRef;
use super::end::discard_late;
use super::exit::Exit;
use super::life::{Life, Signal, Stop};
use super::link::LinkExit;
use super::parcel::{Parcel, Part};
use super::roll;
use super::selective::Passed;
use crate::channel::chan::{Chan, Received, State};
use crate::channel::refs::ReceiverRef;
use crate::channel::source::{Side, Slot, slot_methods};
use crate::event::waits::Waits;
use crate::event::{Attempt, Event, Protocol, event};
use crate::task::{here, quietly};

/// The mailbox of an actor: one, which receives.
///
/// When it is dropped, usually because the actor's function has returned, what is still in it is
/// dropped: dead letters, whose callers hear of it.
pub struct Mailbox<M> {
    pub(super) chan: ReceiverRef<Parcel<M>, Life>,
    /// The stash, then what `scan` passed over: older than all that is in the channel.
    pub(super) passed: Option<Box<Passed<M>>>,
    /// How many of these are the stash, which no receive gives.
    pub(super) stashed: u32,
    /// Which of `SCANS`, `AWAITED` and `STOPPED` hold.
    marks: u8,
    /// Of a supervised actor the life whose mailbox it is, counted to 255; else 0, which is the only one.
    life: u8,
    /// `marks` or `passed` may say something: mostly none does.
    pub(super) special: bool,
    /// See `flows`.
    pub(super) flows: bool,
    /// What the last message that was received is a part of.
    part: Part,
}

/// The next receive is one of `scan`, which has seen what it passed over.
const SCANS: u8 = 1;
/// A supervisor waits to hear that the actor has begun to take messages.
const AWAITED: u8 = 2;
/// A stop without delay was asked for.
const STOPPED: u8 = 4;

impl<M> Mailbox<M> {
    pub(super) fn new(chan: ReceiverRef<Parcel<M>, Life>) -> Self {
        Self {
            chan,
            passed: None,
            stashed: 0,
            marks: 0,
            life: 0,
            special: false,
            flows: false,
            part: Part::default(),
        }
    }

    /// The mailbox of a life that a supervisor starts.
    pub(super) fn of_child(chan: ReceiverRef<Parcel<M>, Life>) -> Self {
        let mut mailbox = Self::new(chan);
        (mailbox.marks, mailbox.special) = (AWAITED, true);
        mailbox.life = mailbox.present_life();
        mailbox
    }

    /// The life that is being lived, as `life` counts.
    fn present_life(&self) -> u8 {
        (self.chan.beside().incarnation() % 255) as u8 + 1
    }

    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Does it take messages yet? Not if the actor was told to stop; still if only a life is to end.
    pub(super) fn is_open(&self) -> bool {
        self.chan().locked(|state| !state.is_closed())
    }

    /// The actor is ready to take messages.
    #[cold]
    pub(super) fn is_up(&mut self) {
        if self.is(AWAITED) {
            self.marks &= !AWAITED;
            if let Some(guardian) = self.chan.beside().guardian() {
                guardian.is_up();
            }
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn receiver(&self) -> &ReceiverRef<Parcel<M>, Life> {
        &self.chan
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<Parcel<M>, Life> {
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
        if self.special {
            self.begin();
        }
        Recv {
            mailbox: self,
            slot: Slot::new(None),
        }
    }

    /// As `recv`, without what `scan` passed over; a supervisor hears nothing of it.
    pub(super) fn fresh(&mut self) -> Recv<'_, M> {
        self.marks |= SCANS;
        (self.special, self.flows) = (true, false);
        Recv {
            mailbox: self,
            slot: Slot::new(None),
        }
    }

    /// A receive begins, and it is not as mostly.
    #[cold]
    fn begin(&mut self) {
        self.is_up();
        self.marks &= !SCANS;
        self.flows = false;
        self.special = self.marks != 0
            || self
                .passed
                .as_ref()
                .is_some_and(|passed| !passed.parcels.is_empty());
    }

    /// Does a receive go on without the channel? The actor is to stop, or there is a message for it that
    /// `scan` passed over.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.special && self.goes_on_specially()
    }

    #[cold]
    fn goes_on_specially(&self) -> bool {
        self.is(STOPPED) || !self.is(SCANS) && self.kept() > self.stashed()
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

    /// How many messages are in it, the stash among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept() + self.chan().locked(|state| state.len())
    }

    /// How many lie beside the channel.
    fn kept(&self) -> usize {
        self.passed
            .as_ref()
            .map_or(0, |passed| passed.parcels.len())
    }

    /// What lies beside the channel has changed.
    pub(super) fn keeps(&self) {
        self.chan.beside().keeps(self.kept());
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

    /// Which of the actor's lives this is: 1, or more if a supervisor has started it anew.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.chan.beside().incarnation()
    }

    /// Why the life before this one ended; `None` in the first (Akka's `preRestart`).
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Reply, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let worker = Child::new(|mut mailbox: Mailbox<Reply<String>>| async move {
    ///     let last = mailbox.last_exit();
    ///     while let Ok(reply) = mailbox.recv().await {
    ///         let _ = reply.send(last.as_ref().map_or("none".to_owned(), |exit| exit.to_string()));
    ///     }
    /// });
    /// let it = worker.actor_ref();
    /// let _supervisor = Supervisor::new(Strategy::OneForOne).child(worker).start();
    /// assert_eq!(it.call(|reply| reply).await.unwrap(), "none");
    /// it.fail("the disk is full");
    /// it.restarted(1).await.unwrap();
    /// assert_eq!(it.call(|reply| reply).await.unwrap(), "failed: the disk is full");
    /// # });
    /// ```
    #[must_use]
    pub fn last_exit(&self) -> Option<Exit> {
        self.chan.beside().last()
    }

    /// The actor has started, though it does not ask for a message yet, or never will: its
    /// [supervisor](super::Supervisor) starts the next child (OTP's `proc_lib:init_ack`). Of no effect on other actors.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let beats = Child::new(|mut mailbox: Mailbox<()>| async move {
    ///     mailbox.ready();
    ///     loop {
    ///         tidings::time::sleep(Duration::from_millis(1)).await;
    ///     }
    /// });
    /// let supervisor = Supervisor::new(Strategy::OneForOne).child(beats).start();
    /// supervisor.started().await.unwrap().unwrap();
    /// # supervisor.kill();
    /// # });
    /// ```
    pub fn ready(&mut self) {
        self.is_up();
    }

    /// From here on `f` is given each message that is in the mailbox when nobody is left to take it,
    /// with the reason of the end: a dead letter. Callers have heard, or hear when `f` drops the
    /// message. It runs when the actor's state is gone, or when the mailbox is; a panic in it is
    /// nobody's. At the last end of a supervised actor its supervisor runs it, and waits if it blocks.
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (letters, dead) = tidings::unbounded();
    /// let quitter = actor::spawn(move |mut mailbox: Mailbox<u32>| async move {
    ///     mailbox.on_undelivered(move |n, _| letters.try_send(n).unwrap());
    ///     let _ = mailbox.recv().await;
    /// });
    /// quitter.send(1).await.unwrap();
    /// quitter.send(2).await.ok();
    /// quitter.down().await;
    /// assert_eq!(quitter.dead_letters(), dead.recv().await.into_iter().count() as u64);
    /// # });
    /// ```
    pub fn on_undelivered(&mut self, f: impl FnMut(M, &Exit) + Send + 'static)
    where
        M: Send + 'static,
    {
        self.chan.beside().set_undelivered::<M>(Box::new(f));
    }

    /// From here on, while the receiver is there, the ends of linked actors do not end this life
    /// but come out of the receiver, orderly ends too (OTP's `trap_exit`).
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let worker = actor::spawn(|mut mailbox: Mailbox<()>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// let other = worker.any();
    /// let watcher = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
    ///     let exits = mailbox.trap_exits();
    ///     mailbox.this().any().link(&other);
    ///     let ended = exits.recv().await.unwrap();
    ///     assert_eq!(ended.actor, other);
    /// });
    /// worker.kill();
    /// assert!(watcher.down().await.is_orderly());
    /// # });
    /// ```
    pub fn trap_exits(&mut self) -> crate::Receiver<LinkExit> {
        let (ends, exits) = crate::unbounded();
        self.chan.beside().set_trap(ends);
        exits
    }

    /// What the message that was received last was sent as a part of (feature `tracing`):
    /// [`Trace::current`](crate::trace::Trace::current) where its sender was. A method of an interface
    /// runs as a part of it; a loop of one's own does so within
    /// [`Trace::scope`](crate::trace::Trace::scope).
    ///
    /// ```
    /// use tidings::actor::{self, Mailbox};
    /// use tidings::trace::Trace;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move {
    ///     while let Ok(n) = mailbox.recv().await {
    ///         done.send((n, mailbox.trace())).await.unwrap();
    ///     }
    /// });
    /// let trace = Trace::new(7, 1, 1);
    /// trace.scope(async { actor.send(1).await.unwrap() }).await;
    /// actor.send(2).await.unwrap();
    /// assert_eq!(seen.recv().await.unwrap(), (1, Some(trace)));
    /// assert_eq!(seen.recv().await.unwrap(), (2, None));
    /// # });
    /// ```
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace(&self) -> Option<crate::trace::Trace> {
        self.part.trace()
    }

    /// As `trace`, with or without the feature.
    #[inline(always)]
    pub(crate) fn part(&self) -> Part {
        self.part
    }

    #[inline(always)]
    pub(super) fn open(&mut self, parcel: Parcel<M>) -> M {
        self.part = parcel.part;
        parcel.message
    }

    /// The message that was received last, to lie in the mailbox again.
    pub(super) fn again(&self, message: M) -> Parcel<M> {
        let part = self.part;
        Parcel { message, part }
    }

    /// Mailbox locked: can a receive go on? Takes a message into its place.
    #[inline(always)]
    fn attempt(&self, place: &mut Option<Parcel<M>>, with: &mut Attempt) -> bool {
        if self.chan.beside().is_signalled() || self.goes_on() {
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
    fn take(&mut self, got: Option<Parcel<M>>) -> Result<M, Ended> {
        if let Some(parcel) = got {
            return Ok(self.open(parcel));
        }
        self.take_rest()
    }

    /// Hears what the control lane says. Is the actor to end without delay?
    #[cold]
    pub(super) fn hears_to_end(&mut self) -> bool {
        while let Some(signal) = self.chan.beside().next_signal() {
            if !matches!(signal, Signal::Stop(Stop::Drain) | Signal::End(Stop::Drain)) {
                (self.marks, self.special) = (self.marks & SCANS | STOPPED, true);
            }
            self.chan.beside().stop();
            match signal {
                Signal::EndLife => continue,
                Signal::Fail(exit) => {
                    self.chan.beside().fails(exit);
                    // As after a panic, its supervisor decides what becomes of the mailbox.
                    if self.chan.beside().guardian().is_some() {
                        continue;
                    }
                }
                Signal::Stop(_) | Signal::End(_) => {}
            }
            self.chan().close();
        }
        self.is(STOPPED)
    }

    #[cold]
    fn take_rest(&mut self) -> Result<M, Ended> {
        if self.hears_to_end() {
            return Err(Ended::said());
        }
        let stashed = self.stashed();
        if !self.is(SCANS)
            && let Some(passed) = &mut self.passed
            && let Some(parcel) = (passed.take)(&mut passed.parcels, stashed)
        {
            here::note(here::PASSED);
            self.keeps();
            return Ok(self.open(parcel));
        }
        // Closed: what is left is there already.
        let mut attempt = Attempt::default();
        let received = self.chan().locked(|state| state.try_recv(&mut attempt));
        if let Some(waker) = attempt.waker.take() {
            crate::task::wake_now(waker);
        }
        match received {
            Received::Value(parcel) => Ok(self.open(parcel)),
            Received::Closed | Received::Empty => Err(Ended::said()),
        }
    }
}

pin_project! {
    /// The event of [`Mailbox::recv`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Recv<'a, M> {
        mailbox: &'a mut Mailbox<M>,
        // Where a partner puts the message.
        #[pin]
        slot: Slot<Parcel<M>>,
    }
}

impl<M> Protocol for Recv<'_, M> {
    fn waits_for(&self, waits: &mut Waits) {
        let actor = self.mailbox.chan.beside().label();
        waits.of(format_args!("a message for {actor}"));
    }

    slot_methods!(Side::Receiver, mailbox);

    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<Self::Output> {
        let mailbox = &mut **self.project().mailbox;
        if !mailbox.flows {
            return None;
        }
        let parcel = mailbox.take_now();
        mailbox.flows = parcel.is_some();
        Some(Ok(mailbox.take_quickly(parcel?)))
    }
    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        let mailbox = &mut **self.project().mailbox;
        let life = mailbox.chan.beside();
        if mailbox.special || life.is_signalled() {
            return None;
        }
        let parcel = mailbox.chan().quick(State::take_quickly)?;
        mailbox.flows = true;
        Some(Ok(mailbox.take_quickly(parcel)))
    }
    #[inline(always)]
    fn must_wait(&self) -> bool {
        let mailbox = &*self.mailbox;
        let may_end = mailbox.special || mailbox.chan.beside().is_signalled();
        !may_end && mailbox.chan().quick(|state| state.is_barren())
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, with: &mut Attempt) -> Option<u32> {
        let this = self.project();
        this.mailbox.attempt(this.slot.place(), with).then_some(0)
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        let this = self.project();
        let life = this.mailbox.chan.beside();
        if !here::takes(life.id) {
            life.goes_away();
        }
        if this.mailbox.flows {
            this.mailbox.flows = false;
        }
        // Last: a message that is held while other places are written to is moved once more.
        this.mailbox.take(this.slot.place().take())
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let this = self.project();
        if let Some(message) = this.slot.place().take() {
            this.mailbox.chan().give_back(message);
        }
    }
}

event!(impl['a, M] Recv<'a, M> => Result<M, Ended>);

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
        // What is left is dropped by `Run`, which knows why, if this is the actor's own poll, or its end.
        if let Some(passed) = self.passed.take() {
            (passed.give_back)(passed.parcels, self.chan());
            self.keeps();
            if let Some(exit) = self.chan.beside().exit() {
                // It has outlived its actor, whose end may have found none of them.
                discard_late(self.chan(), &exit);
            }
        }
        let life = self.chan.beside();
        // One that outlives its life says nothing of the next.
        if life.is_deaf() || (self.life != 0 && self.life != self.present_life()) {
            return;
        }
        life.deafen();
        if here::actor() != life.id {
            // The actor lives on, and may never be polled again.
            quietly(|| roll::find(life).iter().for_each(|it| it.peer().forsake()));
        }
    }
}

/// The actor is to end: there are no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl Ended {
    /// The actor hears it.
    pub(super) fn said() -> Self {
        here::note(here::ENDS);
        Self
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the actor is to end")
    }
}

impl Error for Ended {}
