//! References to actors: by the type of their mailbox, and by what can be put in.

use std::any::TypeId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::address::{Carries, Inlet, Strong, Weak};
use super::any::{AnyRef, Kin, life_methods};
use super::call::{Call, CallError};
use super::exit::{Exit, leaving};
use super::life::{Life, Signal, Stop};
use super::mailbox::Mailbox;
use super::parcel::Parcel;
use super::reply::Reply;
use super::tell::{SendError, Tell, try_tell};
use crate::channel::chan::Chan;
use crate::channel::refs::{SenderRef, WeakRef};
use crate::primitive::Arc;
use crate::select;

/// A reference to an actor whose mailbox takes `M`. Clones are the same actor.
///
/// The actor is to end when its last reference is dropped: it takes the messages that are left, then
/// its `recv` says so.
///
/// An actor counts 16,760,832 references, and 1,032,192 weak ones; one more ends the process, with a word about it.
pub struct ActorRef<M> {
    chan: SenderRef<Parcel<M>, Life>,
}

/// A reference to an actor that takes an `I` among other messages.
pub struct Recipient<I> {
    address: Strong<I>,
}

/// A typed reference: an [`ActorRef`], a [`Recipient`], or what `#[tidings::interface]` makes.
pub trait Reference: Clone + Send + Sync + 'static {
    /// What it sends.
    type Message: Send + 'static;

    /// The same, not keeping the actor alive.
    #[doc(hidden)]
    type Weak: Clone + Send + Sync + 'static;

    #[doc(hidden)]
    fn of(actor: ActorRef<Self::Message>) -> Self;

    #[doc(hidden)]
    fn weak(&self) -> Self::Weak;

    #[doc(hidden)]
    fn strong(weak: &Self::Weak) -> Option<Self>;

    #[doc(hidden)]
    fn recipient(&self) -> Recipient<Self::Message>;

    /// As which type a link knows it: what is no more than a recipient, as that.
    #[doc(hidden)]
    #[must_use]
    fn kind() -> TypeId {
        TypeId::of::<Self>()
    }

    /// That of a recipient, if it is no more than that.
    #[doc(hidden)]
    fn of_recipient(_: Recipient<Self::Message>) -> Option<Self> {
        None
    }
}

impl<M: Send + 'static> Reference for ActorRef<M> {
    type Message = M;
    type Weak = WeakActorRef<M>;

    fn of(actor: Self) -> Self {
        actor
    }
    fn weak(&self) -> Self::Weak {
        self.downgrade()
    }
    fn strong(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade()
    }
    fn recipient(&self) -> Recipient<M> {
        self.narrow()
    }
}

impl<I: Send + 'static> Reference for Recipient<I> {
    type Message = I;
    type Weak = WeakRecipient<I>;

    fn of(actor: ActorRef<I>) -> Self {
        actor.narrow()
    }
    fn weak(&self) -> Self::Weak {
        self.downgrade()
    }
    fn strong(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade()
    }
    fn recipient(&self) -> Self {
        self.clone()
    }
    fn of_recipient(recipient: Self) -> Option<Self> {
        Some(recipient)
    }
}

/// What both kinds of reference do, in terms of `inlet`, the mailbox.
macro_rules! reference_methods {
    ($message:ident) => {
        /// Sends a message, one-way: an event.
        ///
        /// Waits while the mailbox is full (its [`Overflow`](super::Overflow) may say otherwise).
        /// The unsent message comes back as the event's `Lost` if the send loses by
        /// [`either`](crate::Event::either), times out, or cannot happen at once; if it loses by
        /// another choice, or its wait is dropped, so is the message.
        ///
        /// # Errors
        /// Gives the message back: [`SendError::Ended`] once the actor has ended or was asked to
        /// stop, [`SendError::Full`] if the mailbox is full and its policy is to
        /// [reject](super::Overflow::Reject).
        ///
        /// ```
        /// use tidings::actor::{self, Mailbox, SendError};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let adder = actor::spawn(|mut mailbox: Mailbox<u32>| async move {
        ///     while mailbox.recv().await.is_ok() {}
        /// });
        /// adder.send(1).await.unwrap();
        /// adder.kill();
        /// adder.down().await;
        /// assert!(matches!(adder.send(2).await, Err(SendError::Ended(2, _))));
        /// # });
        /// ```
        #[inline(always)]
        pub fn send(&self, message: $message) -> Tell<'_, $message> {
            Tell::new(self.inlet(), message)
        }

        /// Sends a message if that needs no waiting.
        ///
        /// # Errors
        /// Gives the message back if the mailbox is full (a policy that drops makes room, or drops
        /// this one), or as [`send`](Self::send).
        ///
        /// ```
        /// use tidings::actor::{Builder, Mailbox, SendError};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let busy = Builder::new().capacity(1).spawn(|mailbox: Mailbox<u32>| async move {
        ///     std::future::pending::<()>().await;
        ///     drop(mailbox);
        /// });
        /// assert!(busy.try_send(1).is_ok());
        /// assert!(matches!(busy.try_send(2), Err(SendError::Full(2))));
        /// # });
        /// ```
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
        /// A [`CallError`], at once and with the cause, when the actor ends or panics, or drops the
        /// reply.
        ///
        /// ```
        /// use tidings::actor::{self, CallError, Mailbox, Reply};
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let halver = actor::spawn(|mut mailbox: Mailbox<(u32, Reply<u32>)>| async move {
        ///     while let Ok((n, reply)) = mailbox.recv().await {
        ///         if n % 2 == 0 {
        ///             let _ = reply.send(n / 2);
        ///         }
        ///     }
        /// });
        /// assert_eq!(halver.call(|reply| (42, reply)).await.unwrap(), 21);
        /// let error = halver.call(|reply| (1, reply)).await.unwrap_err();
        /// assert!(matches!(error, CallError::NoReply));
        /// # });
        /// ```
        #[inline]
        pub fn call<R: 'static>(
            &self,
            make: impl FnOnce(Reply<R>) -> $message,
        ) -> Call<'_, $message, R> {
            Call::new(self.inlet(), make)
        }

        life_methods!();

        /// How many messages wait in its mailbox, the stash among them.
        #[must_use]
        pub fn queued(&self) -> usize {
            self.inlet().len()
        }

        /// How many messages its overflow policy has dropped, or rejected.
        #[must_use]
        pub fn overflowed(&self) -> u64 {
            self.inlet().life().overflowed()
        }
    };
}

impl<M: Send + 'static> ActorRef<M> {
    pub(super) fn new(chan: SenderRef<Parcel<M>, Life>) -> Self {
        Self { chan }
    }

    #[inline(always)]
    fn inlet(&self) -> &dyn Inlet<M> {
        let chan: &Chan<Parcel<M>, Life> = &self.chan;
        chan
    }

    fn kin(&self) -> &dyn Kin {
        &self.chan
    }

    reference_methods!(M);

    /// A reference to the actor whatever messages it takes.
    #[must_use]
    pub fn any(&self) -> AnyRef {
        AnyRef::new(self.chan.downgrade())
    }

    /// A reference that shows only that the actor takes an `I`: one message, or one interface, of
    /// those it has.
    ///
    /// ```
    /// use tidings::actor::{self, Carries, Mailbox, Recipient};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// enum Message {
    ///     Line(String),
    ///     Close,
    /// }
    /// impl Carries<String> for Message {
    ///     fn wrap(line: String) -> Self {
    ///         Message::Line(line)
    ///     }
    /// }
    /// let log = actor::spawn(|mut mailbox| async move {
    ///     let mut lines = 0;
    ///     while let Ok(Message::Line(_)) = mailbox.recv().await {
    ///         lines += 1;
    ///     }
    ///     assert_eq!(lines, 1);
    /// });
    /// // Who has this one can write lines, and not close.
    /// let lines: Recipient<String> = log.narrow();
    /// lines.send("hello".to_owned()).await.unwrap();
    /// log.send(Message::Close).await.unwrap();
    /// assert!(lines.down().await.is_orderly());
    /// # });
    /// ```
    ///
    /// One method of an interface:
    ///
    /// ```
    /// use tidings::actor::{self, ActorRef, Carries, Recipient};
    ///
    /// #[tidings::interface]
    /// trait Counter {
    ///     async fn add(&mut self, n: i64);
    ///     async fn get(&self) -> i64;
    /// }
    /// # struct Tally(i64);
    /// # impl Counter for Tally {
    /// #     async fn add(&mut self, n: i64) {
    /// #         self.0 += n;
    /// #     }
    /// #     async fn get(&self) -> i64 {
    /// #         self.0
    /// #     }
    /// # }
    /// impl Carries<i64> for CounterMessage {
    ///     fn wrap(n: i64) -> Self {
    ///         Self::Add(n)
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let actor: ActorRef<CounterMessage> = actor::start(Tally(0));
    /// let (adds, counter): (Recipient<i64>, _) = (actor.narrow(), CounterRef::from(&actor));
    /// adds.send(7).await.unwrap();
    /// assert_eq!(counter.get().await.unwrap(), 7);
    /// # });
    /// ```
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
    pub(super) fn inlet(&self) -> &dyn Inlet<I> {
        self.address.inlet()
    }

    fn kin(&self) -> &dyn Kin {
        &self.address
    }

    reference_methods!(I);

    /// A reference to the actor whatever messages it takes.
    #[must_use]
    pub fn any(&self) -> AnyRef {
        AnyRef::new(self.address.downgrade())
    }

    /// A reference that takes a `J`, of which `f` makes a message for this actor: Akka's message
    /// adapter. `f` may refuse it, too, so this is also an interceptor of a reference.
    ///
    /// It is an actor in between, with a mailbox of its own: messages keep their order, and wait
    /// there while this one's is full. It ends when its last reference is dropped, and as this actor
    /// does when that ends; it has a reference of this actor, and so keeps it alive. What this actor does not take is
    /// among its [dead letters](Self::dead_letters). To refuse, `f` gives the `J` to [`refuse`](super::refuse()), or
    /// answers a reply in it, and makes nothing.
    ///
    /// # Panics
    /// Outside of a runtime.
    ///
    /// ```
    /// use tidings::actor::{self, Recipient, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (done, seen) = tidings::unbounded();
    /// let actor = actor::spawn(|mut mailbox: Mailbox<String>| async move {
    ///     while let Ok(line) = mailbox.recv().await {
    ///         done.send(line).await.unwrap();
    ///     }
    /// });
    /// let numbers: Recipient<u32> = actor.narrow().adapt(|n: u32| match n {
    ///     0 => None,
    ///     n => Some(n.to_string()),
    /// });
    /// numbers.send(0).await.unwrap();
    /// numbers.send(7).await.unwrap();
    /// assert_eq!(seen.recv().await.unwrap(), "7");
    /// # });
    /// ```
    #[must_use]
    pub fn adapt<J: Send + 'static>(
        &self,
        mut f: impl FnMut(J) -> Option<I> + Send + 'static,
    ) -> Recipient<J> {
        let actor = self.clone();
        let between = super::spawn(|mut mailbox: Mailbox<J>| async move {
            loop {
                let message = select! {
                    biased;
                    exit = actor.down() => return exit,
                    message = mailbox.recv() => message,
                };
                let Ok(message) = message else {
                    return Exit::Normal;
                };
                if let Some(message) = f(message) {
                    let sent = actor.send(message).into_future();
                    if let Err(unsent) = mailbox.part().scope(sent).await {
                        mailbox.chan.beside().bury(1);
                        leaving(CallError::unsent(&unsent), || drop(unsent));
                    }
                }
            }
        });
        between.narrow()
    }

    /// A reference that does not keep the actor alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakRecipient<I> {
        WeakRecipient {
            address: self.address.downgrade(),
            strong: PhantomData,
        }
    }
}

/// An [`ActorRef`] that does not keep its actor alive.
pub struct WeakActorRef<M> {
    chan: WeakRef<Parcel<M>, Life>,
}

impl<M> WeakActorRef<M> {
    pub(super) fn new(chan: WeakRef<Parcel<M>, Life>) -> Self {
        Self { chan }
    }

    /// A reference to the actor whatever messages it takes.
    #[must_use]
    pub fn any(&self) -> AnyRef
    where
        M: Send + 'static,
    {
        AnyRef::new(self.chan.clone())
    }

    /// A reference, if another one is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<ActorRef<M>> {
        self.chan.upgrade().map(|chan| ActorRef { chan })
    }
}

/// A [`Recipient`], or a reference made of one, `R`, that does not keep its actor alive.
pub struct WeakRecipient<I, R = Recipient<I>> {
    address: Weak<I>,
    strong: PhantomData<fn() -> R>,
}

/// The weak form of a typed reference: `WeakOf<CounterRef>`.
///
/// ```
/// use tidings::actor::{self, WeakOf};
///
/// #[tidings::interface]
/// trait Counter {
///     async fn add(&mut self, n: u32);
/// }
/// # struct Tally(u32);
/// # impl Counter for Tally {
/// #     async fn add(&mut self, n: u32) {
/// #         self.0 += n;
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter: CounterRef = actor::start(Tally(0));
/// let weak: WeakOf<CounterRef> = counter.downgrade();
/// weak.upgrade().unwrap().add(1).await.unwrap();
/// drop(counter);
/// assert!(weak.upgrade().is_none());
/// # });
/// ```
pub type WeakOf<R> = WeakRecipient<<R as Reference>::Message, R>;

impl<I, R: From<Recipient<I>>> WeakRecipient<I, R> {
    /// A reference, if another one is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<R> {
        let address = self.address.upgrade()?;
        Some(R::from(Recipient { address }))
    }
}

impl<I> WeakRecipient<I> {
    /// The same, to give typed references.
    #[must_use]
    pub fn typed<R: From<Recipient<I>>>(self) -> WeakRecipient<I, R> {
        WeakRecipient {
            address: self.address,
            strong: PhantomData,
        }
    }
}

/// Clone, compare and print: all references mean an actor, and are equal if it is the same. One is shown as reports name
/// its actor.
macro_rules! reference_traits {
    ($($type:ident<$($parameter:ident),*> . $field:ident $(, $rest:ident)?;)*) => {$(
        impl<$($parameter),*> Clone for $type<$($parameter),*> {
            #[inline]
            fn clone(&self) -> Self {
                Self { $field: self.$field.clone() $(, $rest: self.$rest)? }
            }
        }

        impl<$($parameter),*> PartialEq for $type<$($parameter),*> {
            fn eq(&self, other: &Self) -> bool {
                self.life().id == other.life().id
            }
        }

        impl<$($parameter),*> Eq for $type<$($parameter),*> {}

        impl<$($parameter),*> Hash for $type<$($parameter),*> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.life().id.hash(state);
            }
        }

        impl<$($parameter),*> fmt::Display for $type<$($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.life().label())
            }
        }

        impl<$($parameter),*> fmt::Debug for $type<$($parameter),*> {
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
    ActorRef<M>.chan;
    WeakActorRef<M>.chan;
    Recipient<I>.address;
    WeakRecipient<I, R>.address, strong;
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

impl<I, R> WeakRecipient<I, R> {
    fn life(&self) -> &Life {
        self.address.inlet().life()
    }
}

impl<M: Carries<I> + Send + 'static, I: Send + 'static> From<&ActorRef<M>> for Recipient<I> {
    fn from(actor: &ActorRef<M>) -> Self {
        actor.narrow()
    }
}
