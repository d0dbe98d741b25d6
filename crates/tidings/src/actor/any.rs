//! An actor whatever its messages are: what can be done to its life. Supervisors, links and parents
//! know actors this way.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::address::{Address, Inlet};
use super::exit::Exit;
use super::life::{Life, Signal, Stop};
use super::next_id;
use super::parcel::Parcel;
use crate::channel::refs::{Ref, SenderRef};
use crate::primitive::Arc;

/// A reference to an actor of any messages.
pub(super) trait Kin: Send + Sync {
    fn life(&self) -> &Life;

    /// Wakes the actor if it waits for a message: there is a signal.
    fn nudge(&self);

    /// How many messages have come to its mailbox.
    #[cfg(feature = "remote")]
    fn come(&self) -> u64;

    fn signal(&self, signal: Signal) {
        self.life().signal(signal);
        self.nudge();
    }
}

impl<M: Send + 'static, const SIDE: u8> Kin for Ref<Parcel<M>, SIDE, Life> {
    fn life(&self) -> &Life {
        self.beside()
    }
    fn nudge(&self) {
        Inlet::<M>::nudge(&**self);
    }
    #[cfg(feature = "remote")]
    fn come(&self) -> u64 {
        come::<M>(&**self)
    }
}

impl<I: Send + 'static, const SIDE: u8> Kin for Address<I, SIDE> {
    fn life(&self) -> &Life {
        self.inlet().life()
    }
    fn nudge(&self) {
        self.inlet().nudge();
    }
    #[cfg(feature = "remote")]
    fn come(&self) -> u64 {
        come(self.inlet())
    }
}

/// How many messages have come to a mailbox.
pub(super) fn come<I>(inlet: &dyn Inlet<I>) -> u64 {
    inlet.lock().lock();
    let come = inlet.come();
    inlet.lock().unlock();
    come
}

/// What every reference does, in terms of `kin`.
macro_rules! life_methods {
    () => {
        /// Asks the actor to end after the messages that are in its mailbox. Later sends fail.
        ///
        /// It is heard at the actor's next receive. A second `stop` changes nothing;
        /// [`stop_now`](Self::stop_now) or [`kill`](Self::kill) after it do not wait for the messages
        /// that are left.
        ///
        /// ```
        /// use tidings::actor::{self, Mailbox};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let (done, seen) = tidings::unbounded();
        /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move {
        ///     while let Ok(n) = mailbox.recv().await {
        ///         done.send(n).await.unwrap();
        ///     }
        /// });
        /// actor.send(1).await.unwrap();
        /// actor.stop();
        /// assert!(actor.down().await.is_orderly());
        /// assert_eq!(seen.recv().await, Ok(1));
        /// # });
        /// ```
        pub fn stop(&self) {
            self.kin().signal(Signal::Stop(Stop::Drain));
        }

        /// Asks the actor to end after the message that it handles; the others are dropped, and
        /// their callers hear of it. Of a supervised actor that ends one life: if another follows, they wait for it.
        ///
        /// ```
        /// use tidings::actor::{self, Mailbox};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let (goes_on, waits) = tidings::oneshot::<()>();
        /// let actor = actor::spawn(|mut mailbox: Mailbox<u32>| async move {
        ///     let _ = waits.await;
        ///     while mailbox.recv().await.is_ok() {}
        /// });
        /// actor.send(1).await.unwrap();
        /// actor.stop_now();
        /// goes_on.send(()).unwrap();
        /// assert!(actor.down().await.is_orderly());
        /// assert_eq!(actor.dead_letters(), 1);
        /// # });
        /// ```
        pub fn stop_now(&self) {
            self.kin().signal(Signal::Stop(Stop::Now));
        }

        /// As [`stop_now`](Self::stop_now), and the actor has failed with this error: the way in
        /// which a handler ends its actor for a reason (OTP's `{stop, Reason, State}`). Of a supervised
        /// actor that ends one life, as a panic does: its messages wait for the next. An actor that ends
        /// in order without having heard it has failed, too.
        ///
        /// ```
        /// use tidings::actor::{self, Exit, Mailbox};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let writer = actor::spawn(|mut mailbox: Mailbox<()>| async move {
        ///     while mailbox.recv().await.is_ok() {}
        /// });
        /// writer.fail("the disk is full");
        /// assert_eq!(writer.down().await.to_string(), "failed: the disk is full");
        /// # });
        /// ```
        pub fn fail(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) {
            self.kin().signal(Signal::Fail(Exit::failed(error)));
        }

        /// Ends the actor at its next turn, whatever it waits for. Its state is dropped, and its
        /// children are killed, also if it only waits for their ends.
        ///
        /// Of a supervised actor that ends one life; between lives there is nothing to kill.
        ///
        /// ```
        /// use tidings::actor::{self, Exit, Mailbox};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let stuck = actor::spawn(|_: Mailbox<()>| std::future::pending::<()>());
        /// stuck.kill();
        /// assert!(matches!(stuck.down().await, Exit::Killed));
        /// # });
        /// ```
        pub fn kill(&self) {
            self.kin().life().doom(Exit::Killed);
        }

        /// The actor's end: an event (OTP's monitor). At once if it has ended.
        ///
        /// A life of a supervised actor that is followed by another is not its end.
        ///
        /// ```
        /// use std::time::Duration;
        /// use tidings::actor::{self, Mailbox};
        /// use tidings::{after, select};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let writer = actor::spawn(|_: Mailbox<()>| async { Err::<(), _>("no disk") });
        /// select! {
        ///     exit = writer.down() => assert_eq!(exit.to_string(), "failed: no disk"),
        ///     () = after(Duration::from_secs(60)) => unreachable!("it ends at once"),
        /// }
        /// # });
        /// ```
        pub fn down(&self) -> super::Down<'_> {
            self.kin().life().down()
        }

        /// Why it ended; `None` while it lives.
        #[must_use]
        pub fn exit(&self) -> Option<Exit> {
            self.kin().life().tell_exit()
        }

        /// A number that no other actor of this process has or had. In a simulation it is not the same in each run of
        /// a seed.
        #[must_use]
        pub fn id(&self) -> u64 {
            self.kin().life().id
        }

        /// The name it was given.
        #[must_use]
        pub fn name(&self) -> Option<Arc<str>> {
            self.kin().life().name()
        }

        /// How many lives it has begun: 1, and one more for each restart; 0 before a supervisor
        /// has started it.
        #[must_use]
        pub fn incarnation(&self) -> u64 {
            self.kin().life().incarnation()
        }

        /// Why it ended, or while it lives, why the life before this one did; `None` in its first life.
        #[must_use]
        pub fn last_exit(&self) -> Option<Exit> {
            self.kin().life().last()
        }

        /// Waits until the actor has begun more than `since` lives, and gives how many: an event.
        /// So `restarted(actor.incarnation())` is its next restart, and none is missed. Why the life before it
        /// ended, [`last_exit`](Self::last_exit) says.
        ///
        /// # Errors
        /// Why it ended, if it ends before; or after, before it is looked at.
        pub fn restarted(&self, since: u64) -> super::Restarted<'_> {
            self.kin().life().restarted(since)
        }

        /// How many messages were in its mailbox when nobody was left to take them
        /// ([`Mailbox::on_undelivered`](super::Mailbox::on_undelivered)).
        #[must_use]
        pub fn dead_letters(&self) -> u64 {
            self.kin().life().dead()
        }

        /// Ties the fate of two actors (OTP's link): when a life of one ends other than in order,
        /// the other's is ended with [`Exit::Linked`], at its next turn, whatever it waits for,
        /// but if it traps exits ([`Mailbox::trap_exits`](super::Mailbox::trap_exits)). An orderly
        /// end unties them. It is for one life: a restarted actor has no links.
        ///
        /// A link to an actor that has ended is as if it ended now.
        ///
        /// ```
        /// use tidings::actor::{self, Mailbox};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let idle = |mailbox: Mailbox<()>| async move {
        ///     std::future::pending::<()>().await;
        ///     drop(mailbox);
        /// };
        /// let (reader, writer) = (actor::spawn(idle), actor::spawn(idle));
        /// reader.link(&writer.any());
        /// writer.kill();
        /// assert!(!reader.down().await.is_orderly());
        /// # });
        /// ```
        pub fn link(&self, other: &super::AnyRef) {
            super::link::link(&self.any(), other);
        }

        /// Unties two actors. When it has returned, no later end of one reaches the other. One that came
        /// before, or at the same time, may be on its way to the other still.
        pub fn unlink(&self, other: &super::AnyRef) {
            super::link::unlink(&self.any(), other);
        }
    };
}
pub(super) use life_methods;

/// A reference to an actor whatever messages it takes (Erlang's pid): to stop it, to wait for its
/// end, to link it. Does not keep the actor alive.
#[derive(Clone)]
pub struct AnyRef {
    kin: Arc<dyn Kin>,
}

impl AnyRef {
    /// Of a reference that does not keep the actor alive.
    pub(super) fn new(weak: impl Kin + 'static) -> Self {
        Self {
            kin: Arc::new(weak),
        }
    }

    pub(super) fn kin(&self) -> &dyn Kin {
        &*self.kin
    }

    pub(super) fn life(&self) -> &Life {
        self.kin.life()
    }

    fn any(&self) -> Self {
        self.clone()
    }

    life_methods!();
}

impl PartialEq for AnyRef {
    fn eq(&self, other: &Self) -> bool {
        self.life().id == other.life().id
    }
}

impl Eq for AnyRef {}

impl Hash for AnyRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.life().id.hash(state);
    }
}

/// As reports name it: by its name, or by its number.
impl fmt::Display for AnyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.life().label())
    }
}

impl fmt::Debug for AnyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = self.life();
        f.debug_struct("AnyRef")
            .field("id", &life.id)
            .field("name", &life.name())
            .field("exit", &life.exit())
            .finish()
    }
}

/// Word of an actor's end, until this is dropped: what `Life::at_end` has done by its key.
pub(crate) struct AtEnd {
    actor: AnyRef,
    key: u64,
}

impl AtEnd {
    pub(super) fn of(actor: &AnyRef) -> Self {
        Self {
            actor: actor.clone(),
            key: next_id(),
        }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// The actor's number.
    pub(super) fn id(&self) -> u64 {
        self.actor.life().id
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.actor.life().not_at_end(self.key);
    }
}

/// Makes an actor that has just been started a child of `parent`.
pub(super) fn join_family<M: Send + 'static>(child: &SenderRef<Parcel<M>, Life>, parent: AnyRef) {
    let life = child.beside();
    if let Err(orphan) = parent.life().adopt(Box::new(child.clone())) {
        return orphan.signal(Signal::Stop(Stop::Drain));
    }
    life.belongs_to(parent);
    if life.exit().is_some() {
        // It has ended meanwhile, and may not have known that it has a parent.
        life.leave_parent();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{Builder, Exit};
    use super::{Kin, Signal, Stop};

    #[test]
    fn of_signals_of_a_kind_the_last_is_kept_and_none_after_the_end() {
        let (sender, unlived) = Builder::new().unlived::<u8>();
        let life = sender.beside();
        let signals = |why: &'static str| {
            sender.signal(Signal::Stop(Stop::Drain));
            sender.signal(Signal::Fail(Exit::failed(why)));
            sender.signal(Signal::Stop(Stop::Now));
        };
        ["first", "second", "last"].into_iter().for_each(signals);
        let mut heard = std::iter::from_fn(|| life.next_signal());
        assert!(matches!(heard.next(), Some(Signal::Stop(Stop::Drain))));
        match heard.next() {
            Some(Signal::Fail(why)) => assert_eq!(why.to_string(), "failed: last"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(heard.next(), Some(Signal::Stop(Stop::Now))));
        assert!(heard.next().is_none());
        drop(unlived);
        signals("late");
        assert!(life.next_signal().is_none());
    }
}
