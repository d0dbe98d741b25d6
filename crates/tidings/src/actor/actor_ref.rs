//! References to actors: by the type of their mailbox, and by what can be put in.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::address::{Carries, Inlet, Strong, Weak};
use super::call::Call;
use super::exit::Exit;
use super::life::{Down, Life, Signal, Stop};
use super::reply::Reply;
use super::tell::{SendError, Tell, try_tell};
use crate::channel::chan::Chan;
use crate::channel::refs::{SenderRef, WeakRef};
use crate::primitive::Arc;

/// A reference to an actor whose mailbox takes `M`. Clones are the same actor.
///
/// The actor is to end when its last reference is dropped: it takes the messages that are left, then
/// its `recv` says so.
pub struct ActorRef<M> {
    chan: SenderRef<M, Life>,
}

/// A reference to an actor that takes an `I` among other messages.
pub struct Recipient<I> {
    address: Strong<I>,
}

/// What both kinds of reference do, in terms of `inlet`, the mailbox.
macro_rules! reference_methods {
    ($message:ident) => {
        /// Sends a message, one-way: an event.
        ///
        /// Waits while the mailbox is full (its [`Overflow`](super::Overflow) may say otherwise).
        /// If it loses a choice or times out, the message comes back as the event's `Lost`; a
        /// dropped wait drops the unsent message.
        #[inline(always)]
        pub fn send(&self, message: $message) -> Tell<'_, $message> {
            Tell::new(self.inlet(), message)
        }

        /// Sends a message if that needs no waiting.
        ///
        /// # Errors
        /// Gives the message back if the mailbox is full, or the actor has ended.
        #[inline]
        pub fn try_send(&self, message: $message) -> Result<(), SendError<$message>> {
            try_tell(self.inlet(), message)
        }

        /// Sends a request that `make` puts its [`Reply`] in, and waits for the answer: an event.
        ///
        /// The request goes out when the event is performed. If the event loses a choice, times out
        /// or is dropped, the handler can know ([`Reply::closed`]).
        ///
        /// # Errors
        /// At once, with the cause, when the actor ends or panics, or drops the reply.
        #[inline]
        pub fn call<R: 'static>(
            &self,
            make: impl FnOnce(Reply<R>) -> $message,
        ) -> Call<'_, $message, R> {
            Call::new(self.inlet(), make)
        }

        /// Asks the actor to end after the messages that are in its mailbox. Later sends fail.
        pub fn stop(&self) {
            self.signal(Signal::Stop(Stop::Drain));
        }

        /// Asks the actor to end after the message that it handles; the others are dropped, and
        /// their callers hear of it.
        pub fn stop_now(&self) {
            self.signal(Signal::Stop(Stop::Now));
        }

        fn signal(&self, signal: Signal) {
            self.inlet().life().signal(signal);
            self.inlet().nudge();
        }

        /// Ends the actor at its next turn, whatever it waits for. Its state is dropped.
        pub fn kill(&self) {
            self.inlet().life().kill();
        }

        /// The actor's end: an event (OTP's monitor). At once if it has ended.
        pub fn down(&self) -> Down<'_> {
            self.inlet().life().down()
        }

        /// Why it ended; `None` while it lives.
        #[must_use]
        pub fn exit(&self) -> Option<Exit> {
            self.inlet().life().exit()
        }

        /// A number that no other actor of this process has or had.
        #[must_use]
        pub fn id(&self) -> u64 {
            self.inlet().life().id
        }

        /// The name it was given.
        #[must_use]
        pub fn name(&self) -> Option<Arc<str>> {
            self.inlet().life().name()
        }

        /// How many messages wait in its mailbox.
        #[must_use]
        pub fn queued(&self) -> usize {
            self.inlet().len()
        }

        /// How many messages its overflow policy has dropped.
        #[must_use]
        pub fn overflowed(&self) -> u64 {
            self.inlet().life().overflowed()
        }
    };
}

impl<M: Send + 'static> ActorRef<M> {
    pub(super) fn new(chan: SenderRef<M, Life>) -> Self {
        Self { chan }
    }

    #[inline(always)]
    fn inlet(&self) -> &dyn Inlet<M> {
        let chan: &Chan<M, Life> = &self.chan;
        chan
    }

    reference_methods!(M);

    /// A reference that shows only that the actor takes an `I`.
    #[must_use]
    pub fn narrow<I: Send + 'static>(&self) -> Recipient<I>
    where
        M: Carries<I>,
    {
        Recipient {
            address: Strong::new(self.chan.clone()),
        }
    }

    /// A reference that does not keep the actor alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakActorRef<M> {
        WeakActorRef::new(self.chan.downgrade())
    }
}

impl<I: Send + 'static> Recipient<I> {
    #[inline(always)]
    fn inlet(&self) -> &dyn Inlet<I> {
        self.address.inlet()
    }

    reference_methods!(I);

    /// A reference that does not keep the actor alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakRecipient<I> {
        WeakRecipient {
            address: self.address.downgrade(),
        }
    }
}

/// An [`ActorRef`] that does not keep its actor alive.
pub struct WeakActorRef<M> {
    chan: WeakRef<M, Life>,
}

impl<M> WeakActorRef<M> {
    pub(super) fn new(chan: WeakRef<M, Life>) -> Self {
        Self { chan }
    }

    /// A reference, if another one is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<ActorRef<M>> {
        self.chan.upgrade().map(|chan| ActorRef { chan })
    }
}

/// A [`Recipient`] that does not keep its actor alive.
pub struct WeakRecipient<I> {
    address: Weak<I>,
}

impl<I> WeakRecipient<I> {
    /// A reference, if another one is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<Recipient<I>> {
        self.address.upgrade().map(|address| Recipient { address })
    }
}

/// Clone, compare and print: all references mean an actor, and are equal if it is the same.
macro_rules! reference_traits {
    ($($type:ident . $field:ident,)*) => {$(
        impl<M> Clone for $type<M> {
            #[inline]
            fn clone(&self) -> Self {
                Self { $field: self.$field.clone() }
            }
        }

        impl<M> PartialEq for $type<M> {
            fn eq(&self, other: &Self) -> bool {
                self.life().id == other.life().id
            }
        }

        impl<M> Eq for $type<M> {}

        impl<M> Hash for $type<M> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.life().id.hash(state);
            }
        }

        impl<M> fmt::Debug for $type<M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let life = self.life();
                f.debug_struct(stringify!($type))
                    .field("id", &life.id)
                    .field("name", &life.name())
                    .field("exit", &life.exit())
                    .finish()
            }
        }
    )*};
}

reference_traits!(
    ActorRef.chan,
    WeakActorRef.chan,
    Recipient.address,
    WeakRecipient.address,
);

impl<M> ActorRef<M> {
    fn life(&self) -> &Life {
        self.chan.beside()
    }
}

impl<M> WeakActorRef<M> {
    fn life(&self) -> &Life {
        self.chan.beside()
    }
}

impl<I> Recipient<I> {
    pub(super) fn life(&self) -> &Life {
        self.address.inlet().life()
    }
}

impl<I> WeakRecipient<I> {
    fn life(&self) -> &Life {
        self.address.inlet().life()
    }
}

impl<M: Carries<I> + Send + 'static, I: Send + 'static> From<&ActorRef<M>> for Recipient<I> {
    fn from(actor: &ActorRef<M>) -> Self {
        actor.narrow()
    }
}
