//! References and replies as serde sees them: a place in the table of what the message carries.

use std::any::TypeId;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Remote;
use super::export::{Answering, Export, Exported, Served};
use super::port::{Carried, Identity, not_written, with};
use super::proxy::{Awaited, Pending, ended, import};
use super::{Malformed, Port};
use crate::actor::{ActorRef, Recipient, Reference, Reply};
use crate::primitive::Arc;
use crate::primitive::small_box::SmallBox;

/// Exports the actor of a reference to the peer. Gives the place in the table.
///
/// # Errors
/// If too much is exported.
#[doc(hidden)]
pub fn export<R>(port: &mut dyn Port, reference: &R) -> Result<u32, Malformed>
where
    R: Reference<Message: Remote>,
{
    let recipient = reference.recipient();
    let identity = Identity {
        actor: recipient.id(),
        kind: R::kind(),
        sends: TypeId::of::<R::Message>(),
    };
    port.export(identity, &mut |door, key| {
        Arc::new(Exported::new(
            reference.clone(),
            recipient.clone(),
            door,
            key,
        ))
    })
}

/// What `#[tidings::interface(remote)]` has serde do with its reference.
///
/// # Errors
/// Outside of a link, or if too much is exported.
#[doc(hidden)]
pub fn serialize_reference<R, S>(reference: &R, serializer: S) -> Result<S::Ok, S::Error>
where
    R: Reference<Message: Remote>,
    S: Serializer,
{
    let place = with(|port| export(port, reference));
    serializer.serialize_u32(place.flatten().map_err(not_written)?)
}

/// As above.
///
/// # Errors
/// Outside of a link, or if it stands for no actor of this type.
#[doc(hidden)]
pub fn deserialize_reference<'de, R, D>(deserializer: D) -> Result<R, D::Error>
where
    R: Reference<Message: Remote>,
    D: Deserializer<'de>,
{
    let place = u32::deserialize(deserializer)?;
    let found = with(|port| match port.carried(place) {
        Some(Carried::Mine(target)) => import::<R>(port, target),
        Some(Carried::Yours(target)) => {
            let home = port.home(target).and_then(own::<R>);
            home.ok_or_else(|| Malformed::new("no such actor"))
        }
        Some(Carried::Gone) => Ok(ended()),
        _ => Err(Malformed::new("it carries no such reference")),
    });
    found.flatten().map_err(D::Error::custom)
}

/// A reference to an actor that has come home, whatever the type of its interface as which it was exported.
fn own<R: Reference>(export: &dyn Export) -> Option<R> {
    let [same, recipient] = export.references();
    let narrowed = || R::of_recipient(recipient.downcast_ref::<Recipient<_>>()?.clone());
    same.downcast_ref().cloned().or_else(narrowed)
}

macro_rules! references {
    ($($reference:ident),*) => {$(
        impl<M: Remote> Serialize for $reference<M> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize_reference(self, serializer)
            }
        }

        impl<'de, M: Remote> Deserialize<'de> for $reference<M> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_reference(deserializer)
            }
        }
    )*};
}

references!(ActorRef, Recipient);

/// The reply that travels answers; this one, which stays, is as if it had never been.
impl<R: DeserializeOwned + Send + 'static> Serialize for Reply<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = with(|port| {
            let twin = self.twin();
            let travels = twin.ok_or_else(|| Malformed::new("a reply travels once"))?;
            port.send_reply(SmallBox::<dyn Pending>::new(Awaited::new(travels, None)))
        });
        serializer.serialize_u32(place.flatten().map_err(not_written)?)
    }
}

impl<'de, R: Serialize + Send + 'static> Deserialize<'de> for Reply<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = u32::deserialize(deserializer)?;
        let reply = with(|port| match port.carried(place) {
            Some(Carried::Reply(call, until)) => {
                let (reply, answers) = port.call(call, until).pair();
                port.serve(call, SmallBox::<dyn Served>::new(Answering::new(answers)))?;
                Ok(reply)
            }
            _ => Err(Malformed::new("it carries no such reply")),
        });
        reply.flatten().map_err(D::Error::custom)
    }
}
