//! What a session allows its peer, what it counts, and why it ends.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// How much of something may be under way: so many messages, and so many bytes of their bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    /// Messages.
    pub messages: u32,
    /// Bytes of bodies. The last message may go beyond it.
    pub bytes: u32,
}

/// What a session allows its peer, and how long it waits for it. Each side has its own; sizes and counts
/// that the other is to keep to, it is told in the handshake.
///
/// ```
/// use std::time::Duration;
/// use tidings_link::{Limits, Options};
///
/// let limits = Limits {
///     calls: 100,
///     handshake: Duration::from_secs(1),
///     decode: tidings::remote::Limits {
///         growth: 100,
///         ..Default::default()
///     },
///     ..Limits::default()
/// };
/// assert_eq!(limits.message, 1 << 20);
/// let options = Options::new("server").limits(limits);
/// # drop(options);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a message or an answer that the peer may send, in bytes; 1 MiB by default. A
    /// larger one is refused where it is sent, and ends the link of a peer that sends it all the same.
    pub message: u32,
    /// Calls of the peer's under way; 65,536 by default, 1,048,576 at most. While there are as many the peer's
    /// requests wait there, one-way messages with them: nobody knows what comes next behind a reference. A
    /// call that is sent all the same fails with [`CallError::Full`](tidings::actor::CallError::Full).
    pub calls: u32,
    /// Actors that are exported to the peer, and, counted by themselves, references to the peer's that are
    /// held here; 65,536 each by default. A message that would need one more is not sent, or not read.
    pub exports: u32,
    /// What the peer may send to one actor before its mailbox has taken it; 1,024 messages and 256 KiB of
    /// bodies by default. Then those who send to that actor wait. What lies in the mailbox is bounded by
    /// its capacity alone: 256 messages, if nobody has said otherwise, of [`message`](Self::message) bytes
    /// and what [`decode`](Self::decode) lets them grow by.
    pub window: Grant,
    /// The same, for all actors together; 16,384 messages and 4 MiB by default. Actors that take nothing may
    /// keep three quarters of it; of the last quarter each actor may have one message at a time, so that the
    /// others go on. That is for few that keep large messages: where there are such, it is to be larger.
    pub link_window: Grant,
    /// How many bytes may wait to be written before requests wait: ours in their mailboxes, the peer's
    /// undecoded; 4 MiB by default, and at least 1, with which they wait while anything does. While as many
    /// wait of what a peer brings about without requests (answers to its questions for names and for a word,
    /// credit, references given up; 256 KiB at least), nothing of it is read. Answers to its calls are written
    /// whatever waits: of what they take at once `calls` is the limit.
    pub outgoing: usize,
    /// So often in a second the peer may say what nothing else bounds; 10,000 by default. More end the
    /// link. It is pings, their answers, and questions for names that are refused. That callers have gone,
    /// references are given up, and actors have ended, it may say as often as there are such, at once.
    pub control: u32,
    /// What a body may cost that is decoded; see [`tidings::remote::Limits`] for its defaults.
    pub decode: tidings::remote::Limits,
    /// How long a handshake may take; 5 s by default. See [`Connector::connect`](crate::Connector::connect)
    /// for what that is of.
    pub handshake: Duration,
    /// So often the peer is asked for a word, 5 s by default; three times in the peer's patience, if that
    /// is oftener; every 100 ms at most.
    pub idle: Duration,
    /// After so long without a word from the peer (a frame, whole) the link ends, 15 s by default; also if its words come so
    /// late that a request of its cannot be begun for so long. Of a peer that has gone in order: after so long in
    /// which its actors have taken nothing of what it had sent.
    /// For as long as this side stood still itself (its process was stopped, say), the peer is not silent.
    pub silence: Duration,
    /// After so long without progress in writing the link ends, 10 s by default. The lesser of this and
    /// `silence` is our patience, which the peer is told: what it has of ours is not begun when that may
    /// be over.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 1 << 20,
            calls: 1 << 16,
            exports: 1 << 16,
            window: Grant {
                messages: 1 << 10,
                bytes: 256 << 10,
            },
            link_window: Grant {
                messages: 1 << 14,
                bytes: 4 << 20,
            },
            outgoing: 4 << 20,
            control: 10_000,
            decode: tidings::remote::Limits::default(),
            handshake: Duration::from_secs(5),
            idle: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            stall: Duration::from_secs(10),
        }
    }
}

macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// What has happened on a link: counted, never sampled.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl std::ops::AddAssign for Stats {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Bytes written.
    bytes_out,
    /// Bytes read.
    bytes_in,
    /// Writes to the stream that took something.
    writes,
    /// Reads from the stream that gave something.
    reads,
    /// Calls sent.
    calls_out,
    /// Calls received.
    calls_in,
    /// One-way messages sent.
    tells_out,
    /// One-way messages received.
    tells_in,
    /// Calls of ours that the caller left before the answer came.
    nacks_out,
    /// Calls of the peer's that its caller left before the answer was there.
    nacks_in,
    /// Requests that came after their deadline, and were not given to the actor.
    expired,
    /// Messages for an actor that is not, or no longer, exported.
    no_such_actor,
    /// Messages with a method that the actor does not have, or of another shape.
    no_such_method,
    /// Messages that could not be decoded.
    malformed,
    /// Messages that an interceptor refused ([`Options::intercept`](crate::Options::intercept)).
    refused,
    /// Calls beyond the limit of calls, which were refused before they were decoded.
    overloaded,
    /// Messages and answers that were not sent: too large, not to be encoded, or too late because the
    /// link drains.
    unsendable,
    /// Names that a peer asked for and did not get.
    refused_names,
    /// Pings sent.
    pings,
    /// How often a request had to wait because so much was to be written ([`Limits::outgoing`]).
    congested,
    /// One-way messages of the peer's that were not in their actors' mailboxes yet when the link ended.
    lost_in,
    /// One-way messages that had not begun to be written when the link ended. Those that were still with
    /// their references are dead letters of these.
    lost_out,
}

/// Why a link has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
// A tag of a word. One of a byte makes a result with it bytes to move that no store has written in one go: `cargo x stalls`.
#[repr(u64)]
pub enum Broken {
    /// The peer has closed the stream, in order or by its end.
    Closed,
    /// It was drained, by us or by the peer: all calls were answered.
    Drained,
    /// It was dropped here, or closed ([`Link::close`](crate::Link::close)).
    Dropped,
    /// The stream failed.
    Io(std::io::ErrorKind, String),
    /// The peer does not speak the protocol, or broke its rules.
    Protocol(&'static str),
    /// A frame was longer than any may be.
    FrameTooLarge,
    /// A body was larger than is allowed.
    MessageTooLarge,
    /// The peer sent more than it had credit for.
    Credit,
    /// The peer sent too many control frames.
    Flood,
    /// The handshake took too long.
    Handshake,
    /// The peer was silent for too long.
    Silent,
    /// The peer did not read for too long.
    SlowPeer,
    /// The peer is not to be spoken with, for this reason.
    Refused(Refusal),
    /// The peer will not speak with us, for this reason.
    RefusedByPeer(Refusal),
}

impl Broken {
    /// What kind of reason it is, in a word, for those who count: that of the variant, as `"flood"` or
    /// `"frame_too_large"`.
    ///
    /// ```
    /// use tidings_link::Broken;
    /// assert_eq!(Broken::SlowPeer.name(), "slow_peer");
    /// assert_eq!(Broken::Protocol("a header is malformed").name(), "protocol");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Drained => "drained",
            Self::Dropped => "dropped",
            Self::Io(..) => "io",
            Self::Protocol(_) => "protocol",
            Self::FrameTooLarge => "frame_too_large",
            Self::MessageTooLarge => "message_too_large",
            Self::Credit => "credit",
            Self::Flood => "flood",
            Self::Handshake => "handshake",
            Self::Silent => "silent",
            Self::SlowPeer => "slow_peer",
            Self::Refused(_) => "refused",
            Self::RefusedByPeer(_) => "refused_by_peer",
        }
    }

    /// Is there another link to the same node?
    pub(crate) fn is_linked(&self) -> bool {
        let (Self::Refused(why) | Self::RefusedByPeer(why)) = self else {
            return false;
        };
        *why == Refusal::Linked
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer has closed the link"),
            Self::Drained => f.write_str("the link was drained"),
            Self::Dropped => f.write_str("the link was dropped"),
            Self::Io(_, text) => write!(f, "the link failed: {text}"),
            Self::Protocol(what) => write!(f, "the peer broke the protocol: {what}"),
            Self::FrameTooLarge => f.write_str("the peer sent a frame that is too large"),
            Self::MessageTooLarge => f.write_str("the peer sent a message that is too large"),
            Self::Credit => f.write_str("the peer sent more than it had credit for"),
            Self::Flood => f.write_str("the peer sent too many control frames"),
            Self::Handshake => f.write_str("the handshake took too long"),
            Self::Silent => f.write_str("the peer was silent for too long"),
            Self::SlowPeer => f.write_str("the peer does not read"),
            Self::Refused(why) => write!(f, "the peer was refused: {why}"),
            Self::RefusedByPeer(why) => write!(f, "the peer refused the link: {why}"),
        }
    }
}

impl Error for Broken {}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => Self::Closed,
            kind => Self::Io(kind, error.to_string()),
        }
    }
}

/// Why one side will not speak with the other. It says what the other is: that which has been refused
/// ([`Broken::Refused`]), or has refused ([`Broken::RefusedByPeer`]).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// No version of the protocol is common: it speaks these, from and to.
    Version(u16, u16),
    /// It belongs to another cluster, of this name.
    Cluster(#[serde(with = "crate::frame::text")] String),
    /// It writes bodies in another format, of this name.
    Codec(#[serde(with = "crate::frame::text")] String),
    /// Who was refused says that it is this node, which is not expected, or which its certificate is not for.
    Node(#[serde(with = "crate::frame::text")] String),
    /// It has as many links as it takes.
    Overloaded,
    /// There is a link between the two, or one is about to be.
    Linked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(min, max) => {
                write!(f, "it speaks versions {min} to {max} of the protocol")
            }
            Self::Cluster(name) => write!(f, "it is of another cluster, {name:?}"),
            Self::Codec(name) => write!(f, "it has another codec, {name:?}"),
            Self::Node(name) => write!(
                f,
                "node {name:?} is not expected here, or its certificate is not for it"
            ),
            Self::Overloaded => f.write_str("too many links"),
            Self::Linked => f.write_str("there is a link already"),
        }
    }
}
