//! The published vectors, `vectors.json`: every frame with its header, and what makes it, as bytes. A
//! client in another language is held to the same file.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tidings-link vectors` writes it anew; look at the difference.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tidings::remote::{self, Carried, Schema, decode, encode};

use crate::frame::{self, AnswerHead, BindHead, BoundHead, CallHead, CreditHead, DownHead, End};
use crate::frame::{Failure, Hello, PongHead, ReleaseHead, TellHead, Unbound, kind};
use crate::limits::{Grant, Limits, Refusal};

mod broken;
mod read;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn vector<H: Serialize>(name: &str, kind: u8, header: &H, body: &[u8]) -> Value {
    let mut bytes = Vec::new();
    frame::write_by_serde(&mut bytes, kind, header, body);
    json!({
        "name": name,
        "kind": kind,
        "header": header,
        "body": hex(body),
        "bytes": hex(&bytes),
    })
}

fn body<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(value, &mut bytes).unwrap();
    bytes
}

fn call(id: u32, method: &str, until: u64, carried: Vec<Carried>) -> CallHead {
    CallHead {
        id,
        target: 3,
        method: number(method).to_le_bytes(),
        until,
        carried,
    }
}

fn answer(id: u32, outcome: Result<Vec<Carried>, Failure>) -> AnswerHead {
    AnswerHead { id, outcome }
}

/// The number of a method, as PROTOCOL.md says.
fn number(shape: &str) -> u32 {
    shape.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn frames() -> Vec<Value> {
    let limits = Limits::default();
    let hello = Hello {
        magic: frame::MAGIC,
        versions: frame::VERSIONS,
        node: "alice".to_owned(),
        incarnation: 0x0123_4567_89ab_cdef,
        cluster: "test".to_owned(),
        codec: "postcard".to_owned(),
        message: limits.message,
        calls: limits.calls,
        window: limits.window,
        link_window: limits.link_window,
        patience: 10_000_000,
    };
    let bind = BindHead {
        id: 1,
        name: "counter".to_owned(),
        token: b"key".to_vec(),
        interface: "Counter".to_owned(),
        methods: ["add(i64)", "get_and_reset()->i64"]
            .map(|shape| {
                let name = shape.split('(').next().unwrap_or(shape);
                let number = number(&format!("Counter.{shape}"));
                (name.to_owned(), number.to_le_bytes())
            })
            .to_vec(),
    };
    let tell = |method: &str, carried| TellHead {
        target: 3,
        method: number(method).to_le_bytes(),
        carried,
    };
    let part = || {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        Carried::Trace(trace.parse().unwrap())
    };
    let failed = |failure| answer(7, Err(failure));
    let bound = |outcome| BoundHead { id: 1, outcome };
    let down = |end| DownHead { target: 3, end };
    let text = || "text".to_owned();
    let grant = Grant {
        messages: 256,
        bytes: 65_536,
    };
    let long: Vec<u8> = (0..32_770_u32).map(|n| n as u8).collect();
    let refusals = [
        ("version", Refusal::Version(2, 2)),
        ("cluster", Refusal::Cluster("test".to_owned())),
        ("codec", Refusal::Codec("postcard".to_owned())),
        ("node", Refusal::Node("mallory".to_owned())),
        ("overloaded", Refusal::Overloaded),
        ("linked", Refusal::Linked),
    ];
    let mut all = vec![vector("hello", kind::HELLO, &hello, &[])];
    let refused = |(name, why)| vector(&format!("refused, {name}"), kind::REFUSED, &why, &[]);
    all.extend(refusals.map(refused));
    all.extend([
        vector(
            "refused, by a later version, which says more",
            kind::REFUSED,
            &Refusal::Overloaded,
            &[7],
        ),
        vector("bind", kind::BIND, &bind, &[]),
        vector("bound", kind::BOUND, &bound(Ok(3)), &[]),
        vector(
            "call, Counter.get_and_reset()->i64",
            kind::CALL,
            &call(7, "Counter.get_and_reset()->i64", 0, vec![]),
            &body(&()),
        ),
        vector(
            "call whose caller waits until its clock is 2 s",
            kind::CALL,
            &call(300, "Counter.get_and_reset()->i64", 2_000_000, vec![]),
            &body(&()),
        ),
        vector(
            "call as a part of a trace",
            kind::CALL,
            &call(7, "Counter.get_and_reset()->i64", 0, vec![part()]),
            &body(&()),
        ),
        vector(
            "answer, -5",
            kind::ANSWER,
            &answer(7, Ok(vec![])),
            &body(&-5_i64),
        ),
        vector(
            "call, the next items of a stream of strings, 64 at most",
            kind::CALL,
            &call(8, "Streaming.next(u32)->[T]", 0, vec![]),
            &body(&(64_u32,)),
        ),
        vector(
            "answer, two items of that stream",
            kind::ANSWER,
            &answer(8, Ok(vec![])),
            &body(&["a", "b"].as_slice()),
        ),
        vector(
            "answer, that stream is complete",
            kind::ANSWER,
            &answer(8, Ok(vec![])),
            &body(&Vec::<String>::new()),
        ),
        vector("nack", kind::NACK, &7_u32, &[]),
        vector(
            "one-way, Counter.add(i64) of 100",
            kind::TELL,
            &tell("Counter.add(i64)", vec![]),
            &body(&(100_i64,)),
        ),
        vector(
            "one-way as a part of a trace",
            kind::TELL,
            &tell("Counter.add(i64)", vec![part()]),
            &body(&(100_i64,)),
        ),
        vector(
            "one-way with an observer: an actor of the sender, exported as 5",
            kind::TELL,
            &tell("Room.join(@Listener)", vec![Carried::Mine(5)]),
            &body(&(0_u32,)),
        ),
        vector(
            "one-way with a reference to the receiver's own actor 3",
            kind::TELL,
            &tell("Room.join(@Listener)", vec![Carried::Yours(3)]),
            &body(&(0_u32,)),
        ),
        vector(
            "one-way with a reference to an actor that has ended",
            kind::TELL,
            &tell("Room.join(@Listener)", vec![Carried::Gone]),
            &body(&(0_u32,)),
        ),
        vector(
            "one-way with two replies, calls 8 and 9, the second until 1 s",
            kind::TELL,
            &tell(
                "Room.later([Ask{n:u32,reply:!u32}])",
                vec![Carried::Reply(8, 0), Carried::Reply(9, 1_000_000)],
            ),
            &body(&(vec![(7_u32, 0_u32), (1, 1)],)),
        ),
        vector(
            "answer that carries a reference",
            kind::ANSWER,
            &answer(7, Ok(vec![Carried::Mine(6)])),
            &body(&0_u32),
        ),
        vector(
            "one-way in fragments",
            kind::TELL,
            &tell("Blob.put([u8])", vec![]),
            &body(&(long,)),
        ),
        vector(
            "credit",
            kind::CREDIT,
            &CreditHead { target: 3, grant },
            &[],
        ),
        vector(
            "release",
            kind::RELEASE,
            &ReleaseHead {
                target: 3,
                count: 2,
            },
            &[],
        ),
        vector("ping, at 5 s", kind::PING, &5_000_000_u64, &[]),
        vector(
            "pong, to the greeting",
            kind::PONG,
            &PongHead { at: 0, clock: 300 },
            &[],
        ),
        vector(
            "pong",
            kind::PONG,
            &PongHead {
                at: 5_000_000,
                clock: 5_000_200,
            },
            &[],
        ),
        vector("bye", kind::BYE, &(), &[]),
    ]);
    let failures = [
        ("full", Failure::Full),
        ("not executed", Failure::NotExecuted(End::NoSuchActor)),
        ("ended", Failure::Ended(End::Panicked(text()))),
        ("no reply", Failure::NoReply),
        ("refused", Failure::Refused(text())),
        ("cycle", Failure::Cycle(text())),
        ("timeout", Failure::Timeout),
        ("overloaded", Failure::Overloaded),
        ("no such method", Failure::NoSuchMethod),
        ("malformed", Failure::Malformed(text())),
    ];
    all.extend(failures.map(|(name, failure)| {
        vector(
            &format!("answer, {name}"),
            kind::ANSWER,
            &failed(failure),
            &[],
        )
    }));
    let ends = [
        ("normal", End::Normal),
        ("stopped", End::Stopped),
        ("killed", End::Killed),
        ("panicked", End::Panicked(text())),
        ("failed", End::Failed(text())),
        ("linked", End::Linked("other".to_owned(), text())),
        ("no such actor", End::NoSuchActor),
        ("disconnected", End::Disconnected(text())),
    ];
    all.extend(
        ends.map(|(name, end)| vector(&format!("down, {name}"), kind::DOWN, &down(end), &[])),
    );
    let unbound = [
        ("no such name", Unbound::NoSuchName),
        ("other interface", Unbound::OtherInterface(text())),
        ("schema", Unbound::Schema(text())),
        ("too many", Unbound::TooMany),
    ];
    all.extend(unbound.map(|(name, why)| {
        let name = format!("bound, {name}");
        vector(&name, kind::BOUND, &bound(Err(why)), &[])
    }));
    all
}

/// Types, as shapes and as bytes.
fn bodies() -> Vec<Value> {
    #[derive(Serialize, Deserialize, tidings::Schema)]
    struct Point {
        x: i32,
        y: Option<f64>,
    }
    #[derive(Serialize, Deserialize, tidings::Schema)]
    enum Tree {
        Leaf,
        Node(Vec<Self>, Point),
        Named { name: String },
    }
    #[derive(Serialize, Deserialize, tidings::Schema)]
    enum Kind {
        Tea,
        Cake,
    }
    fn one<T: Serialize + DeserializeOwned + Schema>(value: &T) -> Value {
        let bytes = body(value);
        let read = decode::<T>(&bytes, remote::Limits::default());
        assert_eq!(json!(read.unwrap()), json!(value));
        json!({
            "shape": remote::Describe::text::<T>(),
            "value": value,
            "bytes": hex(&bytes),
        })
    }
    #[derive(Serialize, Deserialize, tidings::Schema)]
    struct Pair<T> {
        a: T,
    }
    #[derive(Serialize, Deserialize, tidings::Schema)]
    struct Duration {
        n: u8,
    }
    let point = || Point {
        x: -3,
        y: Some(0.5),
    };
    vec![
        one(&()),
        one(&true),
        one(&300_u16),
        one(&-1_i8),
        one(&-300_i64),
        one(&u64::MAX),
        one(&1.5_f32),
        one(&'\u{e9}'),
        one(&"h\u{e9}llo".to_owned()),
        one(&vec![1_u8, 2, 255]),
        one(&Some(7_u32)),
        one(&Some(None::<u32>)),
        one(&None::<u32>),
        one(&(1_u32, "a".to_owned())),
        one(&[1_u16, 500]),
        one(&std::collections::BTreeMap::from([("a".to_owned(), 1_u32)])),
        one(&Ok::<u32, String>(1)),
        one(&Err::<u32, String>("no".to_owned())),
        one(&Point { x: 1, y: None }),
        one(&Tree::Node(
            vec![
                Tree::Leaf,
                Tree::Named {
                    name: "n".to_owned(),
                },
            ],
            point(),
        )),
        one(&std::time::Duration::new(2, 500)),
        // What has been begun stands as its name.
        one(&(Kind::Cake, Kind::Tea)),
        one(&(
            std::time::Duration::new(2, 500),
            std::time::Duration::from_secs(3),
        )),
        one(&(
            Pair { a: 10_u32 },
            Pair { a: 5_i32 },
            Pair { a: 10_u32 },
            Pair { a: 5_i32 },
        )),
        one(&(
            std::time::Duration::new(2, 500),
            Duration { n: 7 },
            Duration { n: 8 },
        )),
    ]
}

/// Bytes that are no value of a shape, and must be refused.
fn malformed() -> Vec<Value> {
    #[derive(Debug, Deserialize, tidings::Schema)]
    enum Tree {
        Leaf,
        Node(Box<Self>),
    }
    fn one<T: DeserializeOwned + Schema>(why: &str, bytes: &[u8]) -> Value {
        let read = decode::<T>(bytes, remote::Limits::default());
        assert!(read.is_err(), "{why}");
        json!({
            "why": why,
            "shape": remote::Describe::text::<T>(),
            "bytes": hex(bytes),
        })
    }
    assert!(matches!(
        decode(&[1, 0], remote::Limits::default()),
        Ok(Tree::Node(leaf)) if matches!(*leaf, Tree::Leaf)
    ));
    vec![
        one::<u32>("it ends too early", &[0x80]),
        one::<u64>("there is nothing", &[]),
        one::<u8>("bytes are left", &[1, 2]),
        one::<u16>("the number has 17 bits", &[0xff, 0xff, 0x07]),
        one::<u32>(
            "the number has six bytes",
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0],
        ),
        one::<bool>("a bool is 0 or 1", &[2]),
        one::<Option<u8>>("an option is 0 or 1", &[2, 0]),
        one::<Result<u8, u8>>("there is no third variant", &[2, 0]),
        one::<Tree>("there is no third variant", &[2]),
        one::<Tree>("a variant beyond 32 bits", &[0xff, 0xff, 0xff, 0xff, 0x1f]),
        one::<String>("a string is UTF-8", &[1, 0xff]),
        one::<String>("a string that is longer than the bytes", &[5, b'a']),
        one::<char>("a char is one", &[2, b'a', b'b']),
        one::<char>("a char is one", &[0]),
        one::<Vec<u64>>("a length beyond all bytes", &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        one::<Vec<()>>(
            "elements that take no byte",
            &[0xff, 0xff, 0xff, 0xff, 0x07],
        ),
        one::<[u16; 2]>("an array that is too short", &[1]),
        one::<Tree>("values lie too deep", &[1; 10_000]),
    ]
}

fn methods() -> Vec<Value> {
    let shapes = [
        "Counter.add(i64)",
        "Counter.get_and_reset()->i64",
        "Room.join(@Listener)->@Room",
        "Room.later([Ask{n:u32,reply:!u32}])",
        "Room.lines(*str)->*str",
        "Room.maybe(?!u32,!u32?,?!u32?,??!u32)->?*str",
        "Room.pairs(Pair{a:u32},Pair#2{a:i32},Pair,Pair#2)->Pair{a:i32}",
        "Streaming.next(u32)->[T]",
    ];
    let number = |shape| json!({ "shape": shape, "number": format!("{:08x}", number(shape)) });
    shapes.map(number).to_vec()
}

#[test]
fn the_vectors_are_what_the_code_writes_and_reads() {
    let all = json!({
        "methods": methods(),
        "bodies": bodies(),
        "malformed": malformed(),
        "frames": frames(),
        "broken": broken::broken(),
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&all).unwrap());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(golden == text, "vectors.json is not what the code writes");
}
