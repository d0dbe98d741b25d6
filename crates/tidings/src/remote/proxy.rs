//! Messages on their way out: the proxy of an actor that lives elsewhere takes them from its
//! mailbox, as many as the link has credit for, and takes them apart.

use std::any::{Any, TypeId};
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::port::{Outcome, Port, Request, with};
use super::{Format, Interface, Malformed, Method, Remote, interface};
use crate::actor::remote::{Proxy, Unfit, apart};
use crate::actor::{CallError, Exit, Mailbox, Part, Recipient, Reference, Reply};
use crate::channel::bell::Door;
use crate::channel::oneshot::Gone;
use crate::primitive::Arc;
use crate::primitive::small_box::{SmallBox, small_box};
use crate::time::Instant;
use crate::trace::Trace;

/// How many messages wait in a proxy's mailbox; then their senders wait. As many as a link takes for
/// one actor at a time, so that a burst is written at once.
const ROOM: usize = 1 << 10;

/// A caller who waits for an answer of the peer.
pub trait Pending: Send {
    /// Decodes the answer, and gives it to the caller: once, and nothing else is asked of it then.
    ///
    /// # Errors
    /// If the body is no such answer, which the caller has heard.
    fn answer(&mut self, outcome: Outcome<(&Format, &[u8])>) -> Result<(), Malformed>;

    /// The method that he has called. None: he waits for a reply that went within a message.
    fn method(&self) -> Option<&'static Method>;

    /// Has the caller gone?
    fn is_closed(&self) -> bool;

    /// Asks for the memory that an answer needs.
    fn prefetch(&self) {}

    /// Rings when the caller has gone. Gives by when he wants the answer.
    ///
    /// # Errors
    /// If he has gone before.
    fn hang_bell(&self, door: Arc<dyn Door>, key: u32) -> Result<Option<Instant>, Gone>;
}

small_box!(Pending);

impl fmt::Debug for dyn Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}

/// A reply whose answer comes over the link, and the method that was called, if it is none within a message.
pub(super) struct Awaited<R>(Reply<R>, Option<&'static Method>);

impl<R> Awaited<R> {
    pub(super) fn new(reply: Reply<R>, method: Option<&'static Method>) -> Self {
        const {
            let place = 2 * size_of::<usize>();
            assert!(size_of::<Self>() <= place, "it would lie in a box");
        }
        Self(reply, method)
    }
}

impl<R: DeserializeOwned + Send + 'static> Pending for Awaited<R> {
    fn answer(&mut self, outcome: Outcome<(&Format, &[u8])>) -> Result<(), Malformed> {
        let (format, body) = match outcome {
            Ok(body) => body,
            Err(why) => {
                self.0.settle(Err(why));
                return Ok(());
            }
        };
        match format.decode(body) {
            Ok(answer) => {
                self.0.settle(Ok(answer));
                Ok(())
            }
            Err(malformed) => {
                let why = format_args!("the answer cannot be read: {malformed}");
                self.0.settle(Err(unfit(Some(true), why)));
                Err(malformed)
            }
        }
    }

    fn method(&self) -> Option<&'static Method> {
        self.1
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn prefetch(&self) {
        self.0.prefetch();
    }

    fn hang_bell(&self, door: Arc<dyn Door>, key: u32) -> Result<Option<Instant>, Gone> {
        self.0.hang_bell(door, key)
    }
}

/// How a call ends whose request is refused for this reason before it is executed.
#[doc(hidden)]
pub fn refused(why: impl fmt::Display) -> CallError {
    unfit(Some(false), why)
}

/// How a call ends that is refused for this reason; was it executed?
#[doc(hidden)]
pub fn unfit(executed: Option<bool>, why: impl fmt::Display) -> CallError {
    let why = why.to_string().into();
    CallError::Refused(Arc::new(Unfit { why, executed }))
}

/// Where a message hands its parts to.
#[derive(Debug)]
pub struct Outgoing {
    target: u32,
    turn: u64,
    interface: &'static Interface,
    format: Format,
    /// Of the message that is sent now.
    part: Part,
    /// How many messages have been taken out of the mailbox.
    taken: u64,
}

impl Outgoing {
    pub(super) fn new(
        target: u32,
        turn: u64,
        interface: &'static Interface,
        format: Format,
    ) -> Self {
        Self {
            target,
            turn,
            interface,
            format,
            part: Part::default(),
            taken: 0,
        }
    }

    /// Waits until a request may be sent, and then for `next`, which is what to send. What has to wait
    /// for credit waits there; and whenever something comes, credit is looked for anew, for what there
    /// was others may have used.
    pub(super) async fn first<F: Future>(&self, next: F) -> F::Output {
        let mut next = pin!(next);
        let may_send = || with(|port| port.may_send(self.target, self.turn, self.taken));
        poll_fn(|cx| match may_send() {
            Ok(true) => next.as_mut().poll(cx),
            _ => Poll::Pending,
        })
        .await
    }

    /// A one-way message: the place of its method, and its arguments.
    #[inline]
    pub fn tell<A: Serialize>(&mut self, method: usize, arguments: &A) {
        // Nobody waits for it: a message that cannot be written is as if it were lost on the way.
        let _ = self.request(method, arguments, None::<Reply<()>>);
    }

    /// A request: as above, with the place of its answer.
    #[inline]
    pub fn call<A, R>(&mut self, method: usize, arguments: &A, reply: Reply<R>)
    where
        A: Serialize,
        R: DeserializeOwned + Send + 'static,
    {
        let unsent = self.request(method, arguments, Some(reply));
        if let Err((malformed, Some(reply))) = unsent {
            reply.fail(refused(malformed));
        }
    }

    #[inline]
    fn request<A, R>(
        &self,
        method: usize,
        arguments: &A,
        reply: Option<Reply<R>>,
    ) -> Result<(), (Malformed, Option<Reply<R>>)>
    where
        A: Serialize,
        R: DeserializeOwned + Send + 'static,
    {
        let mut body = match room() {
            Ok(room) => room,
            Err(outside) => return Err((outside, reply)),
        };
        // No borrow of the link here: what the arguments carry asks it.
        if let Err(malformed) = self.format.encode(arguments, &mut body) {
            undo(body);
            return Err((malformed, reply));
        }
        let trace = match &reply {
            Some(reply) => reply.part_of(),
            None => self.part.trace(),
        };
        let method = &self.interface.methods()[method];
        let pending = reply.map(|reply| {
            let awaited = Awaited::new(reply, Some(method));
            SmallBox::<dyn Pending>::new(awaited)
        });
        self.send(method, body, trace, pending);
        Ok(())
    }

    /// What needs no types of the message is compiled once.
    #[inline(never)]
    fn send(
        &self,
        method: &Method,
        mut body: Vec<u8>,
        trace: Option<Trace>,
        pending: Option<SmallBox<dyn Pending>>,
    ) {
        // It was there for the room. If it were not, who waits would hear that nobody answers.
        let _ = with(|port| {
            let request = Request {
                target: self.target,
                number: method.number(),
                body: &mut body,
                trace,
            };
            port.request(request, pending);
            port.keep(body);
        });
    }
}

fn room() -> Result<Vec<u8>, Malformed> {
    with(|port| port.room())
}

/// The message in this room is not sent.
#[cold]
fn undo(body: Vec<u8>) {
    let _ = with(|port| {
        port.undo();
        port.keep(body);
    });
}

/// A proxy, as the link has it.
pub struct Imported {
    proxy: Proxy,
    sends: TypeId,
    /// Another reference to it, if one is left. None: there never is.
    again: Option<Again>,
}

type Again = Box<dyn Fn() -> Option<Box<dyn Any>> + Send>;

impl Imported {
    /// One to which there is no other reference: a stream's.
    pub(super) fn alone<S: 'static>(proxy: Proxy) -> Self {
        Self {
            proxy,
            sends: TypeId::of::<S>(),
            again: None,
        }
    }

    /// Sends what is in its mailbox, as far as the link has credit. Ready when it has ended.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.proxy.poll(cx)
    }

    /// Ends it: nobody is there any more.
    pub fn end(self, exit: Exit) {
        self.proxy.end(exit);
    }

    /// Wakes this when somebody here ends it: by `kill`, or because an actor that is linked to it has ended.
    pub fn hand(&self, link: Waker) {
        self.proxy.hand(link);
    }

    /// Ends it, as whoever has woken the link wishes.
    pub fn kill(&mut self) {
        self.proxy.kill();
    }

    /// The number of its actor here.
    #[must_use]
    pub fn actor(&self) -> u64 {
        self.proxy.id()
    }

    /// The type of what references to it send.
    #[must_use]
    pub fn sends(&self) -> TypeId {
        self.sends
    }

    /// Another reference to it, if one is left.
    #[must_use]
    pub fn again(&self) -> Option<Box<dyn Any>> {
        match self.proxy.is_over() {
            true => None,
            false => self.again.as_ref()?(),
        }
    }

    /// How many messages have come to it; to a stream, which asks until it is complete, any number.
    #[must_use]
    pub fn come(&self) -> u64 {
        match self.again {
            Some(_) => self.proxy.come(),
            None => u64::MAX,
        }
    }
}

impl fmt::Debug for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported")
            .field("actor", &self.actor())
            .finish_non_exhaustive()
    }
}

/// A reference to an actor of the peer that has ended.
pub(super) fn ended<R: Reference>() -> R {
    let (actor, proxy) = Proxy::new("ended", 1, |_: Mailbox<R::Message>| async {});
    proxy.end(Exit::NoSuchActor);
    R::of(actor)
}

/// A reference to an actor of the peer.
///
/// # Errors
/// If the peer has sent it as another type before.
#[doc(hidden)]
pub fn import<R>(port: &mut dyn Port, target: u32) -> Result<R, Malformed>
where
    R: Reference<Message: Remote>,
{
    let kind = R::kind();
    if kind != TypeId::of::<R>() {
        let recipient = import::<Recipient<R::Message>>(port, target)?;
        return R::of_recipient(recipient).ok_or_else(|| Malformed::new("it is of another type"));
    }
    let format = port.format();
    let found = port.import(target, kind, &mut |target, turn| {
        let way = Outgoing::new(target, turn, interface::<R::Message>(), format.clone());
        let (actor, proxy) = Proxy::new(R::Message::NAME, ROOM, |mailbox| {
            forward::<R::Message>(mailbox, way)
        });
        let reference = R::of(actor);
        let weak = reference.weak();
        let imported = Imported {
            proxy,
            sends: TypeId::of::<R::Message>(),
            again: Some(Box::new(move || {
                R::strong(&weak).map(|again| Box::new(again) as Box<dyn Any>)
            })),
        };
        (Box::new(reference), imported)
    });
    let found = found?.downcast::<R>();
    found
        .map(|found| *found)
        .map_err(|_| Malformed::new("it is of another type"))
}

/// The life of a proxy.
async fn forward<M: Remote>(mut mailbox: Mailbox<M>, mut way: Outgoing) {
    loop {
        let Ok(message) = way.first(mailbox.recv().into_future()).await else {
            return;
        };
        way.taken += 1;
        way.part = mailbox.part();
        apart(|| message.send(&mut way));
    }
}
