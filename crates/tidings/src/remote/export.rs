//! Messages on their way in: what an actor looks like to the link over which it is reached.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::port::{Call, Outcome, with};
use super::proxy::unfit;
use super::{Format, Interface, Malformed, Remote, interface};
use crate::actor::remote::{Answers, AtEnd, drop_unsent};
use crate::actor::{CallError, Exit, Part, Recipient, Reference, Reply, SendError};
use crate::channel::TryRecvError;
use crate::channel::bell::Door;
use crate::primitive::Arc;
use crate::primitive::small_box::{SmallBox, small_box};
use crate::trace::Trace;

/// A message that waits for a place in a mailbox.
pub type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An actor that the peer can reach.
pub trait Export: Send + Sync {
    /// What it can be asked.
    fn interface(&self) -> &'static Interface;

    /// Decodes a message and puts it into the mailbox; or gives what waits for a place there, before
    /// which no other is to be delivered. If the actor has ended its caller hears of it.
    ///
    /// # Errors
    /// If it is none of the actor's: the caller has not heard of it.
    fn deliver(&self, incoming: &mut Incoming<'_>) -> Result<Option<Wait>, Malformed>;

    /// Does a message count as taken while what `deliver` has given is waited for? A stream has taken
    /// what asks it for items, and answers when there are some.
    fn takes_at_once(&self) -> bool {
        false
    }

    /// References to it: of the type as which it was exported, and a [`Recipient`] of the same messages.
    fn references(&self) -> [&dyn Any; 2];

    /// Why it ended.
    fn exit(&self) -> Option<Exit>;

    /// Asks for the memory that a message to the actor needs.
    fn prefetch(&self) {}
}

impl fmt::Debug for dyn Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({})", self.interface().name())
    }
}

pub(super) struct Exported<R: Reference> {
    reference: R,
    recipient: Recipient<R::Message>,
    interface: &'static Interface,
    _at_end: AtEnd,
}

impl<R: Reference<Message: Remote>> Exported<R> {
    /// Rings at the actor's end.
    pub(super) fn new(
        reference: R,
        recipient: Recipient<R::Message>,
        door: Arc<dyn Door>,
        key: u32,
    ) -> Self {
        Self {
            _at_end: AtEnd::new(recipient.any(), move || door.gone(key)),
            reference,
            recipient,
            interface: interface::<R::Message>(),
        }
    }
}

impl<R: Reference<Message: Remote>> Export for Exported<R> {
    fn interface(&self) -> &'static Interface {
        self.interface
    }

    fn deliver(&self, incoming: &mut Incoming<'_>) -> Result<Option<Wait>, Malformed> {
        let message = R::Message::receive(incoming.method, incoming)?;
        let part = incoming.part;
        let message = match part.within(|| self.recipient.try_send(message)) {
            Ok(()) => return Ok(None),
            Err(SendError::Full(message)) if !self.recipient.rejects() => message,
            Err(unsent) => {
                drop_unsent(unsent);
                return Ok(None);
            }
        };
        let to = self.recipient.clone();
        Ok(Some(Box::pin(part.scope(async move {
            if let Err(unsent) = to.send(message).await {
                drop_unsent(unsent);
            }
        }))))
    }

    fn references(&self) -> [&dyn Any; 2] {
        [&self.reference, &self.recipient]
    }

    fn exit(&self) -> Option<Exit> {
        self.recipient.exit()
    }

    fn prefetch(&self) {
        self.recipient.prefetch();
    }
}

/// A call of the peer's, under way here.
pub trait Served: Send {
    /// Writes the answer, to where nothing is written yet, if it is there; gives how the call has ended.
    fn answer(&mut self, format: &Format, to: &mut Vec<u8>) -> Option<Outcome<()>>;
}

small_box!(Served);

impl fmt::Debug for dyn Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Served")
    }
}

/// Where the answer of an actor comes that is for the peer. Dropped, the handler can know.
pub(super) struct Answering<R>(Answers<R>);

impl<R> Answering<R> {
    pub(super) fn new(answers: Answers<R>) -> Self {
        Self(answers)
    }
}

impl<R: Serialize + Send + 'static> Served for Answering<R> {
    fn answer(&mut self, format: &Format, to: &mut Vec<u8>) -> Option<Outcome<()>> {
        let answer = match self.0.try_recv() {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => return Some(Err(*why)),
            Err(TryRecvError::Closed) => return Some(Err(CallError::NoReply)),
            Err(TryRecvError::Empty) => return None,
        };
        Some(format.encode(&answer, to).map_err(|malformed| {
            let _ = with(|port| port.undo());
            unfit(Some(true), malformed)
        }))
    }
}

/// Where a message takes its parts from.
#[derive(Debug)]
pub struct Incoming<'a> {
    method: usize,
    format: &'a Format,
    body: &'a [u8],
    call: Option<Call>,
    served: Option<SmallBox<dyn Served>>,
    part: Part,
}

impl<'a> Incoming<'a> {
    /// What came for the method at this place of its interface.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn new(
        method: usize,
        format: &'a Format,
        body: &'a [u8],
        call: Option<Call>,
        trace: Option<Trace>,
    ) -> Self {
        Self {
            method,
            format,
            body,
            call,
            served: None,
            part: trace.into(),
        }
    }

    /// The arguments: a tuple.
    ///
    /// # Errors
    /// If the bytes are none.
    #[inline]
    pub fn arguments<A: DeserializeOwned>(&mut self) -> Result<A, Malformed> {
        self.format.decode(self.body)
    }

    /// The place of the answer; after the arguments.
    ///
    /// # Errors
    /// If nobody waits for one.
    #[inline]
    pub fn reply<R: Serialize + Send + 'static>(&mut self) -> Result<Reply<R>, Malformed> {
        let (reply, answers) = self.caller()?.pair();
        self.serve(Answering::new(answers));
        Ok(reply)
    }

    /// What the caller waits for.
    #[inline]
    pub(super) fn serve(&mut self, served: impl Served + 'static) {
        self.served = Some(SmallBox::<dyn Served>::new(served));
    }

    /// Where the answer comes, if the message has a place for one.
    #[doc(hidden)]
    #[inline]
    pub fn served(&mut self) -> Option<SmallBox<dyn Served>> {
        self.served.take()
    }

    /// Who waits for an answer.
    ///
    /// # Errors
    /// If nobody does.
    #[inline]
    pub(super) fn caller(&mut self) -> Result<Call, Malformed> {
        let call = self.call.take();
        call.ok_or_else(|| Malformed::new("the method is a call"))
    }
}
