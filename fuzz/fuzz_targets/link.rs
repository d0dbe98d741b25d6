//! Bytes of a hostile peer: into a session, before and after its greeting, and into the reader of
//! bodies. Nothing panics, no memory is taken beyond the limits.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use tidings::remote::{Limits as Decode, decode};
use tidings::time::Instant;
use tidings_link::{Identity, Incoming, Limits, Session};

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
enum Tree {
    Leaf,
    Node(Vec<Self>),
    One(Box<Self>),
    Named { name: String, map: BTreeMap<String, Option<Self>> },
}

fn session(node: &str) -> Session {
    let identity = Identity {
        node: node.to_owned(),
        incarnation: 1,
        cluster: String::new(),
        codec: "postcard".to_owned(),
    };
    Session::new(&identity, Limits::default(), Instant::now())
}

fn feed(session: &mut Session, mut bytes: &[u8]) {
    let now = Instant::now();
    while let Ok(Some((taken, incoming))) = session.receive(bytes, now) {
        bytes = &bytes[taken..];
        if let Some(Incoming::Request { call, target, body, .. }) = incoming {
            if let Some(call) = call
                && session.serve(call) == Ok(true)
            {
                session.answer(call, Ok(vec![]), &mut body.to_vec());
            }
            session.taken(target, body.len());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    feed(&mut session("fresh"), bytes);
    let (mut one, mut other) = (session("one"), session("other"));
    let greeting = other.output().to_vec();
    other.written(greeting.len());
    feed(&mut one, &greeting);
    // Some calls of its own, which the bytes may answer.
    for _ in 0..3 {
        if let Some(call) = one.begin_call() {
            one.call(call, 0, 7, None, vec![], &mut vec![1, 2, 3]);
        }
    }
    feed(&mut one, bytes);
    let limits = Decode::default();
    let _ = decode::<Tree>(bytes, limits);
    let _ = decode::<Vec<()>>(bytes, limits);
    let _ = decode::<Vec<Vec<u64>>>(bytes, limits);
    let _ = decode::<(u8, i128, f64, char, Option<String>, [u16; 3])>(bytes, limits);
});
