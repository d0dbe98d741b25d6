//! Messages that are set aside: what is said of them, and how they are kept. Whatever was in a queue has
//! room in that of those set aside.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::cluster::Inner;
use crate::engine::{Delivery, EngineError};
use crate::queue::put;
use crate::record::json;

/// What follows the name of a queue in that of the messages set aside.
const ASIDE: &str = "=aside";

/// With what a message begins whose body stands as it is behind a line of JSON. No JSON begins so.
const PACKED: u8 = 0;

/// No id, and no reason, is longer where there is little room.
const TEXT: usize = 1 << 10;

/// What engines put around a message and its id.
const AROUND: usize = 64;

/// A message that was set aside: [`Queue::aside`](crate::Queue::aside).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Aside {
    /// Its id.
    pub id: String,
    /// Why it was set aside.
    pub reason: String,
    /// How often it was given out.
    pub tries: u64,
    /// What it says: JSON, if it was put by a [`Queue`](crate::Queue).
    pub body: Body,
    /// So many bytes of the body are missing at its end, as no message of the engine has room for them
    /// beside the rest of this: some kilobytes of the largest messages that it takes. 0 of all others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a message says, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Body {
    /// It is text.
    Text(String),
    /// It is none.
    Bytes(Vec<u8>),
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }
}

/// The name of the queue of those that are set aside of a queue.
pub(crate) fn queue(of: &str) -> String {
    format!("{of}{ASIDE}")
}

/// Sets a message aside.
pub(crate) async fn set_aside(
    inner: &Inner,
    of: &str,
    delivery: &Delivery,
    reason: String,
) -> Result<(), EngineError> {
    // Of one queue no two messages have a number and an id; one that is set aside again is the same.
    let id = format!("{}.{}", delivery.number, beginning(&delivery.id));
    let room = inner.engine.largest().saturating_sub(id.len() + AROUND);
    let message = message(delivery, reason, room);
    put(inner, &queue(of), &id, message).await
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT)]
}

/// As JSON, if it has room. That can take six times what the body does: where it has none, the body
/// stands as it is.
fn message(delivery: &Delivery, reason: String, room: usize) -> Bytes {
    let mut aside = Aside {
        id: delivery.id.clone(),
        reason,
        tries: delivery.tries,
        body: (&*delivery.payload).into(),
        cut: 0,
    };
    let whole = json(&aside);
    if whole.len() <= room {
        return whole;
    }
    aside.id = beginning(&aside.id).to_owned();
    aside.reason = beginning(&aside.reason).to_owned();
    aside.body = Body::Text(String::new());
    let all = delivery.payload.len();
    // The line is longest if all is cut off.
    aside.cut = all as u64;
    let kept = room.saturating_sub(json(&aside).len() + 2).min(all);
    aside.cut = (all - kept) as u64;
    let line = json(&aside);
    let mut packed = BytesMut::with_capacity(line.len() + kept + 2);
    packed.put_u8(PACKED);
    packed.put_slice(&line);
    packed.put_u8(b'\n');
    packed.put_slice(&delivery.payload[..kept]);
    packed.freeze()
}

/// The JSON of a message, whether it is packed or not.
pub(crate) fn unpacked(payload: &[u8]) -> Cow<'_, [u8]> {
    let unpack = || {
        let packed = payload.strip_prefix(&[PACKED])?;
        let end = packed.iter().position(|byte| *byte == b'\n')?;
        let mut aside: Aside = serde_json::from_slice(&packed[..end]).ok()?;
        aside.body = packed[end + 1..].into();
        serde_json::to_vec(&aside).ok()
    };
    unpack().map_or(Cow::Borrowed(payload), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_was_in_a_queue_has_room_and_comes_back_as_it_was() {
        let room = 1 << 16;
        let bodies = [
            vec![0; 10],
            vec![0; room - 300],
            vec![0xff; room - 300],
            vec![b'"'; room - 300],
            vec![b'\n'; room],
            vec![0xff; room + 5000],
        ];
        for (body, long) in bodies
            .into_iter()
            .flat_map(|b| [(b.clone(), ""), (b, "\u{1}")])
        {
            let delivery = Delivery {
                id: format!("id{}", long.repeat(3000)),
                number: 1,
                tries: 5,
                payload: body.clone().into(),
                receipt: String::new(),
            };
            let reason = format!("so\u{e9}{}", long.repeat(100_000));
            let packed = message(&delivery, reason.clone(), room);
            assert!(packed.len() <= room, "{}", packed.len());
            let aside: Aside = serde_json::from_slice(&unpacked(&packed)).unwrap();
            assert!(delivery.id.starts_with(&aside.id) && aside.id.starts_with("id"));
            assert!(reason.starts_with(&aside.reason) && aside.reason.starts_with("so"));
            assert_eq!(aside.tries, 5);
            let cut = usize::try_from(aside.cut).unwrap();
            assert_eq!(aside.body, Body::from(&body[..body.len() - cut]));
            if long.is_empty() {
                assert_eq!(aside.id, delivery.id);
                assert_eq!(cut > 0, body.len() >= room, "{cut}");
            }
        }
    }

    #[test]
    fn what_is_not_packed_is_as_it_is() {
        for plain in [&b"{}"[..], b"", &[PACKED], b"\0{\n", b"\0{}\nbody"] {
            assert_eq!(*unpacked(plain), *plain);
        }
    }
}
