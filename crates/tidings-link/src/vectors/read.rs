//! The published vectors, read: by a session, whatever it says of them, and frame by frame.

use serde_json::{Value, json};
use tidings::time::Instant;

use super::{frames, hex};
use crate::frame::kind;
use crate::frame::{
    self, AnswerHead, BindHead, BoundHead, CallHead, DownHead, ReleaseHead, TellHead,
};
use crate::limits::{Broken, Limits};
use crate::session::{Identity, Incoming, Session};

pub(super) fn bytes(vector: &Value) -> Vec<u8> {
    let hex = vector["bytes"].as_str().unwrap();
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

#[test]
fn every_vector_is_a_frame_or_several() {
    for vector in frames() {
        let bytes = bytes(&vector);
        let mut rest = &bytes[..];
        let mut kinds = Vec::new();
        while let Some((length, frame)) = frame::parse(rest, frame::LONGEST).unwrap() {
            kinds.push(frame.kind);
            assert_eq!(frame.more, length < rest.len(), "{}", vector["name"]);
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        assert_eq!(u64::from(kinds[0]), vector["kind"].as_u64().unwrap());
        assert!(kinds[1..].iter().all(|&kind| kind == kind::REST));
    }
}

/// One that may be sent any of the vectors: it has greeted, has calls under way, and is owed this credit.
fn session(greeting: &Value, credit: Option<&Value>) -> Session {
    let identity = Identity {
        node: "bob".to_owned(),
        incarnation: 1,
        cluster: "test".to_owned(),
        codec: "postcard".to_owned(),
    };
    let now = Instant::now();
    let mut session = Session::new(&identity, Limits::default(), now);
    let hello = bytes(greeting);
    let up = session.receive(&hello, now).unwrap().unwrap();
    assert_eq!(up, (hello.len(), Some(Incoming::Up)));
    let peer = session.peer().unwrap();
    let header = &greeting["header"];
    assert_eq!(json!(peer.node), header["node"]);
    assert_eq!(json!(peer.incarnation), header["incarnation"]);
    assert_eq!(
        (json!(peer.message), json!(peer.calls)),
        (header["message"].clone(), header["calls"].clone())
    );
    while session.begin_call() != Some(8) {}
    if let Some(credit) = credit {
        let number = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let (target, grant) = (number(&credit["target"]), &credit["grant"]);
        for message in 0..number(&grant["messages"]) {
            let first = if message == 0 {
                number(&grant["bytes"])
            } else {
                0
            };
            session.tell(target, 0, vec![], &mut vec![0; first as usize]);
        }
    }
    session
}

/// What has come, as the header and the body of a vector. What a session keeps for itself is as it was.
fn told(incoming: Incoming<'_>, header: &Value) -> (Value, String) {
    let header = match incoming {
        Incoming::Request {
            call,
            target,
            method,
            until,
            carried,
            body,
        } => {
            let method = method.to_le_bytes();
            let head = match call {
                Some(id) => json!(CallHead {
                    id,
                    target,
                    method,
                    until,
                    carried,
                }),
                None => json!(TellHead {
                    target,
                    method,
                    carried,
                }),
            };
            return (head, hex(&body));
        }
        Incoming::Answer {
            call: id,
            outcome,
            body,
        } => return (json!(AnswerHead { id, outcome }), hex(&body)),
        Incoming::Nack(call) => json!(call),
        Incoming::Ping(at) => json!(at),
        Incoming::Credit(target) => {
            assert_eq!(json!(target), header["target"]);
            header.clone()
        }
        Incoming::Down(target, end) => json!(DownHead { target, end }),
        Incoming::Release(target, count) => json!(ReleaseHead { target, count }),
        Incoming::Bind(bind) => {
            let methods = bind.methods.into_iter();
            json!(BindHead {
                id: bind.id,
                name: bind.name,
                token: bind.token,
                interface: bind.interface,
                methods: methods.map(|(name, n)| (name, n.to_le_bytes())).collect(),
            })
        }
        Incoming::Bound(id, outcome) => json!(BoundHead { id, outcome }),
        Incoming::Up | Incoming::Pong | Incoming::Bye => header.clone(),
    };
    (header, String::new())
}

#[test]
fn every_vector_is_read_by_a_session_as_what_it_says() {
    let all = frames();
    let greeting = all.iter().find(|vector| vector["kind"] == kind::HELLO);
    let greeting = greeting.unwrap();
    for vector in all.iter().filter(|vector| vector["kind"] != kind::HELLO) {
        let (name, header) = (&vector["name"], &vector["header"]);
        let credit = (vector["kind"] == kind::CREDIT).then_some(header);
        let mut session = session(greeting, credit);
        let (bytes, mut taken) = (bytes(vector), 0);
        let read = loop {
            match session.receive(&bytes[taken..], Instant::now()) {
                Ok(Some((length, None))) => taken += length,
                Ok(Some((length, Some(incoming)))) => {
                    taken += length;
                    break told(incoming, header);
                }
                Err(Broken::RefusedByPeer(why)) => {
                    taken = bytes.len();
                    // What a later version says besides is not looked at.
                    break (json!(why), vector["body"].as_str().unwrap().to_owned());
                }
                other => panic!("{name}: {other:?}"),
            }
        };
        assert_eq!(taken, bytes.len(), "{name}");
        assert_eq!(
            (&read.0, &json!(read.1)),
            (header, &vector["body"]),
            "{name}"
        );
    }
}
