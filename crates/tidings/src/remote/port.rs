//! The link that encodes or decodes on this thread: what references and replies ask when serde
//! meets them. `tidings-link` is the one implementation.
//!
//! A message carries its references and replies beside its body, in a table of its header; in the
//! body stands their place in that table. So a message that nobody decodes can be accounted for.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use serde::{Deserialize, Serialize, ser};

use super::export::{Export, Served};
use super::format::Format;
use super::limits::Malformed;
use super::proxy::{Imported, Pending};
use crate::actor::remote::Answers;
use crate::actor::{CallError, Reply};
use crate::channel::bell::{Door, Rings};
use crate::channel::oneshot::Wanted;
use crate::primitive::Arc;
use crate::primitive::small_box::SmallBox;
use crate::trace::Trace;

/// A reference or a reply beside a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carried {
    /// An actor of the sender, by the number under which the sender exports it.
    Mine(u32),
    /// An actor of the receiver, by the number under which the receiver exports it.
    Yours(u32),
    /// A reply: who answers this call of the sender, and until when it waits, by the sender's clock (0:
    /// for ever).
    Reply(u32, u64),
    /// An actor of the sender that has ended.
    Gone,
    /// Nothing that the body refers to: what the message is a part of.
    Trace(Trace),
}

/// Which actor a reference stands for, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of the actor.
    pub actor: u64,
    /// The type of the reference.
    pub kind: TypeId,
    /// The type of what it sends: that of a reference which was narrowed is the same.
    pub sends: TypeId,
}

/// A request on its way out.
#[derive(Debug)]
pub struct Request<'a> {
    /// The number under which the peer exports the actor.
    pub target: u32,
    /// The method's.
    pub number: u32,
    /// The arguments. Their memory is the link's, if it takes it.
    pub body: &'a mut Vec<u8>,
    /// What the caller asks as a part of.
    pub trace: Option<Trace>,
}

/// A call that came in.
pub struct Call {
    /// What is rung, with which key, when there is an answer, or none will come.
    pub bell: (Arc<dyn Door>, u32),
    /// How its caller wants the answer.
    pub wanted: Wanted,
}

impl Call {
    /// The place of the answer, and where it comes out.
    pub(super) fn pair<R: 'static>(self) -> (Reply<R>, Answers<R>) {
        Reply::pair(self.wanted, Some(self.rings()))
    }

    pub(super) fn rings(self) -> Rings {
        let (door, key) = self.bell;
        Rings::new(door, key, true)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.bell.1)
    }
}

/// How a call has ended.
pub type Outcome<T> = Result<T, CallError>;

/// A link, while it encodes or decodes on this thread.
pub trait Port: Send + 'static {
    /// The message that is encoded carries a reference. Gives its place in the table.
    ///
    /// # Errors
    /// If too much is exported.
    fn export(
        &mut self,
        identity: Identity,
        make: &mut dyn FnMut(Arc<dyn Door>, u32) -> Arc<dyn Export>,
    ) -> Result<u32, Malformed>;

    /// The message that is encoded carries a reply. Gives its place in the table.
    ///
    /// # Errors
    /// If too many calls are under way; the reply has heard of it.
    fn send_reply(&mut self, pending: SmallBox<dyn Pending>) -> Result<u32, Malformed>;

    /// A call of the peer's that waits until then, by its clock; 0 is never.
    fn call(&self, call: u32, until: u64) -> Call;

    /// Takes what stands at a place of the table of the message that is decoded.
    fn carried(&mut self, place: u32) -> Option<Carried>;

    /// A reference to an actor of the peer, of the type that `kind` says: `make` makes one if there
    /// is none yet.
    ///
    /// # Errors
    /// If the actor was sent as another type before.
    fn import(
        &mut self,
        target: u32,
        kind: TypeId,
        make: &mut dyn FnMut(u32, u64) -> (Box<dyn Any>, Imported),
    ) -> Result<Box<dyn Any>, Malformed>;

    /// An actor of ours that has come home.
    fn home(&self, target: u32) -> Option<&dyn Export>;

    /// The peer waits for what `served` gives.
    ///
    /// # Errors
    /// If the peer has a call of this number under way.
    fn serve(&mut self, call: u32, served: SmallBox<dyn Served>) -> Result<(), Malformed>;

    /// May the proxy, which has taken so many messages, send a request? If not, it is polled when it may.
    fn may_send(&mut self, target: u32, turn: u64, taken: u64) -> bool;

    /// Sends a request of a proxy, with what was carried since `begin`.
    fn request(&mut self, request: Request<'_>, pending: Option<SmallBox<dyn Pending>>);

    /// A message is encoded from here on: it carries nothing yet. What one carried that was begun and
    /// not sent stays here.
    fn begin(&mut self);

    /// The message that was encoded is not sent: what it carried stays here.
    fn undo(&mut self);

    /// How many bytes the largest body has that the peer takes.
    fn largest(&self) -> usize;

    /// How bodies are written and read.
    fn format(&self) -> Format;

    /// Room for a body; `keep` gives it back, or what is in its place.
    fn room(&mut self) -> Vec<u8>;

    /// Gives the room back.
    fn keep(&mut self, room: Vec<u8>);
}

thread_local! {
    // Nothing is there when the thread ends: `enter` takes it out. Without a destructor every access
    // is a plain one.
    static PORT: Cell<Option<ManuallyDrop<Box<dyn Port>>>> = const { Cell::new(None) };
}

thread_local! {
    // Why a reference, a reply or a stream could not be written: a codec may lose what it is told.
    static UNWRITTEN: Cell<Option<Malformed>> = const { Cell::new(None) };
}

/// The error of something that this link does not take along.
#[cold]
pub(super) fn not_written<E: ser::Error>(why: Malformed) -> E {
    let error = E::custom(&why);
    UNWRITTEN.set(Some(why));
    error
}

/// Why a value could not be written of which a codec says so.
#[cold]
pub(super) fn unwritten(said: Malformed) -> Malformed {
    UNWRITTEN.take().unwrap_or(said)
}

#[inline(always)]
fn replace(port: Option<Box<dyn Port>>) -> Option<Box<dyn Port>> {
    let before = PORT.replace(port.map(ManuallyDrop::new));
    before.map(ManuallyDrop::into_inner)
}

/// Runs `f`, in which references and replies are those of this link. Gives the link back, with the
/// message of a panic in `f`.
#[inline]
pub fn enter<P: Port, R>(port: Box<P>, f: impl FnOnce() -> R) -> (Box<P>, Result<R, String>) {
    const { assert!(size_of::<P>() > 0, "no two have one address") };
    let home = ptr::from_ref(&*port).addr();
    let outer = replace(Some(port));
    // What it can leave half done is a message, which is not sent, or refused.
    let result = catch_unwind(AssertUnwindSafe(f));
    let port = replace(outer);
    let port = Box::into_raw(port.expect("`with` leaves it there"));
    assert_eq!(port.addr(), home, "it is the one");
    // SAFETY: what went in lives and has not moved since, and takes room: what lies at its address is a `P`, itself. (To
    // ask for its type, and with it for 16 bytes that were written in halves, took a twentieth of a call.)
    let port = unsafe { Box::from_raw(port.cast::<P>()) };
    (
        port,
        result.map_err(|panic| crate::task::text_of(&*panic).to_owned()),
    )
}

/// The link of this moment.
#[inline(always)]
pub(super) fn with<R>(f: impl FnOnce(&mut dyn Port) -> R) -> Result<R, Malformed> {
    /// Puts it back, also if `f` panics.
    struct Taken(Option<Box<dyn Port>>);
    impl Drop for Taken {
        #[inline(always)]
        fn drop(&mut self) {
            replace(self.0.take());
        }
    }
    match &mut Taken(replace(None)).0 {
        Some(port) => Ok(f(&mut **port)),
        None => Err(outside()),
    }
}

#[cold]
fn outside() -> Malformed {
    Malformed::new("references and replies travel in messages of a link, and nowhere else")
}
