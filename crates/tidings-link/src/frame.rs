//! Frames: what crosses the stream. PROTOCOL.md is their definition; this is its text as code.
//!
//! `u32 length | u8 kind | header | body`: the length is little-endian and counts what follows it, the
//! header is in postcard's format, the body is as it is.

use serde::{Deserialize, Serialize};
use tidings::remote::{Carried, Limits, decode_part, encode};

use crate::limits::{Broken, Grant, Refusal};

/// A longer body goes in several frames, so that what is urgent waits for one of them at most.
pub(crate) const FRAGMENT: usize = 32 << 10;

/// No frame is longer: a fragment, and a header.
pub(crate) const LONGEST: usize = FRAGMENT + (16 << 10);

/// The first frame is not longer.
pub(crate) const LONGEST_HELLO: usize = 4 << 10;

/// The names in it are no longer, all together: it has numbers, too.
pub(crate) const NAMES: usize = 4_000;

/// No message carries more references and replies.
pub(crate) const CARRIED: usize = 1 << 10;

/// No text of an error is longer.
pub(crate) const TEXT: usize = 1 << 10;

/// The versions of the protocol that this code speaks.
pub(crate) const VERSIONS: (u16, u16) = (2, 2);

/// With what a link begins.
pub(crate) const MAGIC: [u8; 8] = *b"tidings\n";

/// A frame of this kind is followed by the rest of its body.
const MORE: u8 = 0x80;

pub(crate) mod kind {
    //! The second field of a frame.
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const REFUSED: u8 = 2;
    pub(crate) const CALL: u8 = 3;
    pub(crate) const TELL: u8 = 4;
    pub(crate) const ANSWER: u8 = 5;
    pub(crate) const REST: u8 = 6;
    pub(crate) const CREDIT: u8 = 7;
    pub(crate) const NACK: u8 = 8;
    pub(crate) const DOWN: u8 = 9;
    pub(crate) const RELEASE: u8 = 10;
    pub(crate) const BIND: u8 = 11;
    pub(crate) const BOUND: u8 = 12;
    pub(crate) const PING: u8 = 13;
    pub(crate) const PONG: u8 = 14;
    pub(crate) const BYE: u8 = 15;
}

/// How each side begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) magic: [u8; 8],
    pub(crate) versions: (u16, u16),
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) cluster: String,
    pub(crate) codec: String,
    /// The largest body that may be sent to it.
    pub(crate) message: u32,
    /// How many calls it serves at a time.
    pub(crate) calls: u32,
    pub(crate) window: Grant,
    pub(crate) link_window: Grant,
    /// How many microseconds it waits for a word, at least, before it gives the link up.
    pub(crate) patience: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct CallHead {
    pub(crate) id: u32,
    pub(crate) target: u32,
    /// Little-endian.
    pub(crate) method: [u8; 4],
    /// Until when the caller waits, by its clock; 0: for ever.
    pub(crate) until: u64,
    pub(crate) carried: Vec<Carried>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct TellHead {
    pub(crate) target: u32,
    pub(crate) method: [u8; 4],
    pub(crate) carried: Vec<Carried>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct AnswerHead {
    pub(crate) id: u32,
    pub(crate) outcome: Result<Vec<Carried>, Failure>,
}

pub(crate) mod text {
    //! A text of an error: a long one is cut where it is written, and refused where it is read.
    use serde::{Deserialize, Deserializer, Serializer};

    use super::TEXT;

    pub(crate) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text[..text.floor_char_boundary(TEXT)])
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        let text = String::deserialize(from)?;
        match text.len() > TEXT {
            true => Err(serde::de::Error::custom("a text is too long")),
            false => Ok(text),
        }
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The mailbox was full. Not executed.
    Full,
    /// The actor had ended. Not executed.
    NotExecuted(End),
    /// The actor ended with the request in its hands.
    Ended(End),
    /// The handler dropped the reply.
    NoReply,
    /// It was refused, for this reason.
    Refused(#[serde(with = "text")] String),
    /// It closes a cycle of calls, which is described.
    Cycle(#[serde(with = "text")] String),
    /// Its deadline had passed. Not executed.
    Timeout,
    /// Too many calls are under way. Not executed.
    Overloaded,
    /// The actor has no such method, or one of another shape. Not executed.
    NoSuchMethod,
    /// The arguments could not be decoded. Not executed.
    Malformed(#[serde(with = "text")] String),
}

/// Why an actor has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// In order.
    Normal,
    /// It was asked to stop.
    Stopped,
    /// It was killed.
    Killed,
    /// It panicked, with this message.
    Panicked(#[serde(with = "text")] String),
    /// It failed, with this error.
    Failed(#[serde(with = "text")] String),
    /// It was linked to this actor, which ended for this reason.
    Linked(
        #[serde(with = "text")] String,
        #[serde(with = "text")] String,
    ),
    /// There is no such actor.
    NoSuchActor,
    /// It lives elsewhere, and cannot be reached, for this reason.
    Disconnected(#[serde(with = "text")] String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CreditHead {
    pub(crate) target: u32,
    pub(crate) grant: Grant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DownHead {
    pub(crate) target: u32,
    pub(crate) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReleaseHead {
    pub(crate) target: u32,
    /// How often the reference has come.
    pub(crate) count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PongHead {
    /// What the ping said.
    pub(crate) at: u64,
    /// The clock of who answers.
    pub(crate) clock: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BindHead {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) token: Vec<u8>,
    pub(crate) interface: String,
    pub(crate) methods: Vec<(String, [u8; 4])>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoundHead {
    pub(crate) id: u32,
    pub(crate) outcome: Result<u32, Unbound>,
}

/// Why a name gave no reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unbound {
    /// Nothing of this name is exported to this peer, or not with this token.
    NoSuchName,
    /// It is another interface, of this name.
    OtherInterface(#[serde(with = "text")] String),
    /// This method has another shape there.
    Schema(#[serde(with = "text")] String),
    /// Too many actors are exported to this peer.
    TooMany,
}

/// A frame as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    /// The rest of its body follows.
    pub(crate) more: bool,
    /// Header and body.
    pub(crate) rest: &'a [u8],
}

/// The first frame of these bytes, with its length; `None`: it has not come yet.
#[inline]
pub(crate) fn parse(bytes: &[u8], longest: usize) -> Result<Option<(usize, Frame<'_>)>, Broken> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > longest {
        return Err(Broken::FrameTooLarge);
    }
    if length == 0 {
        return Err(Broken::Protocol("an empty frame"));
    }
    let Some(frame) = rest.get(..length) else {
        return Ok(None);
    };
    let (kind, rest) = (frame[0], &frame[1..]);
    let frame = Frame {
        kind: kind & !MORE,
        more: kind & MORE != 0,
        rest,
    };
    Ok(Some((4 + length, frame)))
}

const MALFORMED: Broken = Broken::Protocol("a header is malformed");

/// Takes the header off.
#[inline]
pub(crate) fn header<'a, H: Deserialize<'a>>(rest: &'a [u8]) -> Result<(H, &'a [u8]), Broken> {
    decode_part(rest, Limits::default()).map_err(|_| MALFORMED)
}

/// A header behind which there is nothing.
pub(crate) fn all<'a, H: Deserialize<'a>>(rest: &'a [u8]) -> Result<H, Broken> {
    match header(rest)? {
        (header, []) => Ok(header),
        _ => Err(MALFORMED),
    }
}

/// A header of a message with a body: written and read for each, so not by serde.
pub(crate) trait Head: Sized {
    /// Appends it.
    fn write(&self, to: &mut Vec<u8>);

    /// Takes it off.
    fn read(rest: &[u8]) -> Result<(Self, &[u8]), Broken>;
}

impl Head for CallHead {
    #[inline]
    fn write(&self, to: &mut Vec<u8>) {
        put_number(self.id.into(), to);
        put_number(self.target.into(), to);
        to.extend_from_slice(&self.method);
        put_number(self.until, to);
        put_carried(&self.carried, to);
    }

    #[inline]
    fn read(rest: &[u8]) -> Result<(Self, &[u8]), Broken> {
        let (id, rest) = number(rest)?;
        let (target, rest) = number(rest)?;
        let (method, rest) = method(rest)?;
        let (until, rest) = number(rest)?;
        let (carried, rest) = carried(rest)?;
        let head = Self {
            id,
            target,
            method,
            until,
            carried,
        };
        Ok((head, rest))
    }
}

impl Head for TellHead {
    #[inline]
    fn write(&self, to: &mut Vec<u8>) {
        put_number(self.target.into(), to);
        to.extend_from_slice(&self.method);
        put_carried(&self.carried, to);
    }

    #[inline]
    fn read(rest: &[u8]) -> Result<(Self, &[u8]), Broken> {
        let (target, rest) = number(rest)?;
        let (method, rest) = method(rest)?;
        let (carried, rest) = carried(rest)?;
        let head = Self {
            target,
            method,
            carried,
        };
        Ok((head, rest))
    }
}

/// How the outcome of a call begins that has an answer.
const ANSWERED: u8 = 0;

impl Head for AnswerHead {
    #[inline]
    fn write(&self, to: &mut Vec<u8>) {
        put_number(self.id.into(), to);
        match &self.outcome {
            Ok(carried) => {
                to.push(ANSWERED);
                put_carried(carried, to);
            }
            outcome => put(outcome, to),
        }
    }

    #[inline]
    fn read(rest: &[u8]) -> Result<(Self, &[u8]), Broken> {
        let (id, rest) = number(rest)?;
        let (outcome, rest) = match rest.split_first() {
            Some((&ANSWERED, rest)) => {
                let (carried, rest) = carried(rest)?;
                (Ok(carried), rest)
            }
            _ => header(rest)?,
        };
        Ok((Self { id, outcome }, rest))
    }
}

/// Most are of one byte.
#[inline]
fn number<'a, N: Deserialize<'a> + From<u8>>(rest: &'a [u8]) -> Result<(N, &'a [u8]), Broken> {
    match rest {
        [byte @ ..0x80, rest @ ..] => Ok((N::from(*byte), rest)),
        _ => long_number(rest),
    }
}

#[inline(never)]
fn long_number<'a, N: Deserialize<'a>>(rest: &'a [u8]) -> Result<(N, &'a [u8]), Broken> {
    header(rest)
}

#[inline]
fn method(rest: &[u8]) -> Result<([u8; 4], &[u8]), Broken> {
    let split = rest.split_first_chunk();
    split.map_or(Err(MALFORMED), |(method, rest)| Ok((*method, rest)))
}

/// Most messages carry nothing.
#[inline]
fn carried(rest: &[u8]) -> Result<(Vec<Carried>, &[u8]), Broken> {
    match rest.split_first() {
        Some((0, rest)) => Ok((Vec::new(), rest)),
        _ => some_carried(rest),
    }
}

#[inline(never)]
fn some_carried(rest: &[u8]) -> Result<(Vec<Carried>, &[u8]), Broken> {
    let (carried, rest): (Vec<Carried>, _) = header(rest)?;
    let traces = carried.iter().filter(|c| matches!(c, Carried::Trace(_)));
    let traces = traces.count();
    match traces > 1 || carried.len() - traces > CARRIED {
        true => Err(MALFORMED),
        false => Ok((carried, rest)),
    }
}

/// Appends a number: seven bits a byte, the lowest first.
#[inline]
fn put_number(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    to.push(number.to_le_bytes()[0]);
}

/// Appends what a message carries, behind the rest of its header.
#[inline]
fn put_carried(carried: &[Carried], to: &mut Vec<u8>) {
    match carried {
        [] => to.push(0),
        carried => put(carried, to),
    }
}

fn put<H: Serialize + ?Sized>(header: &H, to: &mut Vec<u8>) {
    encode(header, to).expect("a header can be written");
}

/// Appends a frame without a body.
pub(crate) fn write<H: Serialize>(to: &mut Vec<u8>, kind: u8, header: &H) {
    frame(to, kind, false, &[], |to| put(header, to));
}

/// Appends a message, or its first frame. Gives what does not fit into that.
#[inline]
pub(crate) fn write_first<'a>(
    to: &mut Vec<u8>,
    kind: u8,
    header: &impl Head,
    body: &'a [u8],
) -> &'a [u8] {
    first(to, kind, body, |to| header.write(to))
}

#[inline]
fn first<'a>(
    to: &mut Vec<u8>,
    kind: u8,
    body: &'a [u8],
    header: impl FnOnce(&mut Vec<u8>),
) -> &'a [u8] {
    let (first, rest) = body.split_at(body.len().min(FRAGMENT));
    frame(to, kind, !rest.is_empty(), first, header);
    rest
}

/// Appends the next frame of a message of this kind. Gives what does not fit into that.
pub(crate) fn write_rest<'a>(to: &mut Vec<u8>, kind: u8, body: &'a [u8]) -> &'a [u8] {
    let (next, rest) = body.split_at(body.len().min(FRAGMENT));
    frame(to, kind::REST, !rest.is_empty(), next, |to| to.push(kind));
    rest
}

/// The head of such a frame, with all that is before its part of the body.
pub(crate) const REST_HEAD: usize = 6;

/// Of a frame that has so much of a body.
pub(crate) fn rest_head(kind: u8, length: usize, more: bool) -> [u8; REST_HEAD] {
    let length = u32::try_from(2 + length).expect("a frame is short");
    let [a, b, c, d] = length.to_le_bytes();
    let rest = if more { kind::REST | MORE } else { kind::REST };
    [a, b, c, d, rest, kind]
}

#[inline]
fn frame(to: &mut Vec<u8>, kind: u8, more: bool, body: &[u8], header: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    to.reserve(64 + body.len());
    let kind = if more { kind | MORE } else { kind };
    to.extend_from_slice(&[0, 0, 0, 0, kind]);
    header(to);
    to.extend_from_slice(body);
    let length = u32::try_from(to.len() - start - 4).expect("a frame is short");
    to[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends a message whole; serde writes the header.
#[cfg(test)]
pub(crate) fn write_by_serde<H: Serialize>(to: &mut Vec<u8>, kind: u8, header: &H, body: &[u8]) {
    let mut rest = first(to, kind, body, |to| put(header, to));
    while !rest.is_empty() {
        rest = write_rest(to, kind, rest);
    }
}

/// Appends the refusal of a peer.
pub(crate) fn write_refusal(to: &mut Vec<u8>, refusal: &Refusal) {
    write(to, kind::REFUSED, refusal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidings::trace::Trace;

    fn agrees<H: Head + Serialize + PartialEq + std::fmt::Debug>(head: &H) {
        let (mut by_hand, mut by_serde) = (Vec::new(), Vec::new());
        assert!(write_first(&mut by_hand, kind::CALL, head, b"body").is_empty());
        write_by_serde(&mut by_serde, kind::CALL, head, b"body");
        assert_eq!(by_hand, by_serde);
        let (length, frame) = parse(&by_hand, LONGEST).unwrap().unwrap();
        assert_eq!(length, by_hand.len());
        let (back, body) = H::read(frame.rest).unwrap();
        assert_eq!((&back, body), (head, &b"body"[..]));
        let header = frame.rest.len() - body.len();
        for end in 0..header {
            assert!(H::read(&frame.rest[..end]).is_err());
        }
    }

    #[test]
    fn a_message_carries_so_much_and_one_trace() {
        let trace = Trace::new(1, 1, 1);
        let read = |gone: usize, traces: usize| {
            let mut carried = vec![Carried::Gone; gone];
            carried.resize(gone + traces, Carried::Trace(trace));
            let (target, method) = (1, [0; 4]);
            let mut bytes = Vec::new();
            TellHead {
                target,
                method,
                carried,
            }
            .write(&mut bytes);
            TellHead::read(&bytes).is_ok()
        };
        assert!(read(CARRIED, 0) && read(CARRIED, 1) && read(0, 1));
        assert!(!read(CARRIED + 1, 0) && !read(0, 2) && !read(1, 2));
    }

    #[test]
    fn a_text_of_an_error_is_cut_where_it_is_written_and_refused_where_it_is_longer() {
        fn check<E: Serialize + for<'de> Deserialize<'de> + PartialEq>(make: fn(String) -> E) {
            let mut bytes = Vec::new();
            put(&make("\u{e9}".repeat(TEXT)), &mut bytes);
            let (back, _): (E, _) = header(&bytes).unwrap();
            assert!(back == make("\u{e9}".repeat(TEXT / 2)));
            // One letter more.
            let text = bytes.iter().position(|byte| *byte == 0xc3).unwrap();
            let mut longer = bytes[..text - 2].to_vec();
            put(&"x".repeat(TEXT + 1), &mut longer);
            assert!(header::<E>(&longer).is_err());
        }
        check(Refusal::Cluster);
        check(Refusal::Codec);
        check(Refusal::Node);
        check(Unbound::OtherInterface);
        check(Unbound::Schema);
        check(Failure::Refused);
        check(End::Failed);
    }

    fn number() -> impl Strategy<Value = u32> {
        (any::<u32>(), 0_u32..32).prop_map(|(number, shift)| number >> shift)
    }

    proptest! {
        #[test]
        fn headers_are_what_serde_would_write_and_are_read_back(
            (id, target, method) in (number(), number(), any::<[u8; 4]>()),
            (until, shift) in (any::<u64>(), 0_u32..64),
            carried in prop::collection::vec(
                prop_oneof![
                    number().prop_map(Carried::Mine),
                    (number(), any::<u64>()).prop_map(|(call, until)| Carried::Reply(call, until)),
                    Just(Carried::Gone),
                ],
                0..4,
            ),
        ) {
            let until = until >> shift;
            agrees(&TellHead { target, method, carried: carried.clone() });
            agrees(&AnswerHead { id, outcome: Err(Failure::Refused("why".to_owned())) });
            agrees(&AnswerHead { id, outcome: Err(Failure::Full) });
            agrees(&AnswerHead { id, outcome: Ok(carried.clone()) });
            agrees(&CallHead { id, target, method, until, carried });
        }
    }
}
