//! Each limit of a session: its error, and what counts it. No socket, no clock.

use std::time::Duration;

use tidings::remote::Carried;
use tidings::time::Instant;
use tidings_link::{Bind, Broken, End, Grant, Identity, Incoming, Limits, Refusal, Session, Stats};

fn identity(node: &str) -> Identity {
    Identity {
        node: node.to_owned(),
        incarnation: 1,
        cluster: "test".to_owned(),
        codec: "postcard".to_owned(),
    }
}

pub(crate) fn session(node: &str, limits: Limits) -> Session {
    Session::new(&identity(node), limits, Instant::now())
}

/// All that a session has to write.
pub(crate) fn output(session: &mut Session) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let next = session.output().to_vec();
        if next.is_empty() {
            return all;
        }
        session.written(next.len());
        all.extend(next);
    }
}

/// Feeds it; gives how many messages came, or why it ended.
pub(crate) fn feed(
    session: &mut Session,
    mut bytes: &[u8],
    now: Instant,
) -> Result<Vec<String>, Broken> {
    let mut seen = Vec::new();
    session.heard(bytes.len());
    while let Some((taken, incoming)) = session.receive(bytes, now)? {
        bytes = &bytes[taken..];
        match incoming {
            Some(Incoming::Request { call, .. }) => {
                if let Some(call) = call {
                    seen.push(format!("call {call}: {:?}", session.serve(call)?));
                } else {
                    seen.push("tell".to_owned());
                }
            }
            Some(Incoming::Ping(at)) => session.pong(at, now),
            Some(Incoming::Pong) => {}
            Some(Incoming::Up) => {
                session.pong(0, now);
                session.ping(now);
                seen.push("Up".to_owned());
            }
            Some(incoming) => seen.push(format!("{incoming:?}")),
            None => {}
        }
    }
    Ok(seen)
}

/// Two that have greeted each other.
pub(crate) fn pair(limits: Limits) -> (Session, Session) {
    let (mut one, mut other) = (session("one", limits), session("other", limits));
    let now = Instant::now();
    let greeting = output(&mut one);
    assert_eq!(feed(&mut other, &greeting, now).unwrap(), ["Up"]);
    let greeting = output(&mut other);
    assert_eq!(feed(&mut one, &greeting, now).unwrap(), ["Up"]);
    assert_eq!(one.peer().unwrap().node, "other");
    // They say what their clocks are, and ask each other once.
    for _ in 0..2 {
        let bytes = output(&mut one);
        assert!(feed(&mut other, &bytes, now).unwrap().is_empty());
        let bytes = output(&mut other);
        assert!(feed(&mut one, &bytes, now).unwrap().is_empty());
    }
    assert!(output(&mut one).is_empty() && output(&mut other).is_empty());
    (one, other)
}

pub(crate) fn frame(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(1 + rest.len())
        .unwrap()
        .to_le_bytes()
        .to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(rest);
    bytes
}

#[test]
fn a_frame_that_is_too_long_ends_the_link_before_it_has_come() {
    let (mut one, _) = pair(Limits::default());
    let now = Instant::now();
    let error = one.receive(&u32::MAX.to_le_bytes(), now).unwrap_err();
    assert_eq!(error, Broken::FrameTooLarge);
    // A first frame may be 4 KiB.
    let mut fresh = session("fresh", Limits::default());
    assert_eq!(fresh.receive(&4096_u32.to_le_bytes(), now), Ok(None));
    let error = fresh.receive(&4097_u32.to_le_bytes(), now).unwrap_err();
    assert_eq!(error, Broken::FrameTooLarge);
}

#[test]
fn what_is_no_frame_ends_the_link() {
    let now = Instant::now();
    let greeting = |bytes: &[u8]| feed(&mut session("fresh", Limits::default()), bytes, now);
    assert!(matches!(
        greeting(b"+OK ready\r\n"),
        Err(Broken::FrameTooLarge)
    ));
    for (begins, what) in [
        ("GET / HTTP/1.1\r\n\r\n", "it speaks HTTP"),
        ("SSH-2.0-OpenSSH_9.2p1\r\n", "it speaks SSH"),
        ("\x16\x03\x01\x02\0\x01", "it speaks TLS"),
    ] {
        let why = Broken::Protocol(what);
        assert_eq!(greeting(begins.as_bytes()).unwrap_err(), why);
    }
    assert!(matches!(
        greeting(&frame(14, &[])),
        Err(Broken::Protocol(_))
    ));
    assert!(matches!(
        greeting(&frame(1, b"no tidings")),
        Err(Broken::Protocol(_))
    ));
    for bytes in [
        vec![0; 4],
        frame(99, &[]),
        // A header that ends too early, an answer to no call, a part of no message, credit for nothing.
        frame(3, &[1]),
        frame(5, &[0, 0, 0]),
        frame(6, &[3, 1]),
        frame(7, &[0, 1, 1]),
        // Only bodies come in parts.
        frame(0x80 | 13, &[]),
    ] {
        let (mut one, _) = pair(Limits::default());
        let result = feed(&mut one, &bytes, now);
        assert!(
            matches!(result, Err(Broken::Protocol(_))),
            "{bytes:?}: {result:?}"
        );
    }
}

#[test]
fn a_message_that_is_too_large_ends_the_link_also_in_parts() {
    let generous = Limits {
        message: 1 << 20,
        ..Limits::default()
    };
    let strict = Limits {
        message: 100_000,
        ..Limits::default()
    };
    // It was told of a larger limit than holds.
    let (mut liar, _) = pair(generous);
    let (mut victim, _) = pair(strict);
    liar.tell(1, 1, vec![], &mut vec![0; 100_001]);
    let bytes = output(&mut liar);
    let error = feed(&mut victim, &bytes, Instant::now()).unwrap_err();
    assert_eq!(error, Broken::MessageTooLarge);
    assert!(liar.is_too_large((1 << 20) + 1));
    assert!(!liar.is_too_large(1 << 20));
}

#[test]
fn who_sends_without_credit_is_cut_off() {
    let small = Limits {
        window: Grant {
            messages: 3,
            bytes: 1000,
        },
        ..Limits::default()
    };
    let (mut liar, _) = pair(Limits::default());
    let (mut victim, _) = pair(small);
    let now = Instant::now();
    for _ in 0..3 {
        liar.tell(1, 1, vec![], &mut vec![1]);
    }
    // Another actor has a window of its own.
    liar.tell(2, 1, vec![], &mut vec![1]);
    let bytes = output(&mut liar);
    assert_eq!(feed(&mut victim, &bytes, now).unwrap().len(), 4);
    liar.tell(1, 1, vec![], &mut vec![1]);
    let bytes = output(&mut liar);
    assert_eq!(feed(&mut victim, &bytes, now).unwrap_err(), Broken::Credit);
}

#[test]
fn calls_beyond_the_limit_are_refused_and_counted_and_a_number_is_used_once() {
    let few = Limits {
        calls: 2,
        ..Limits::default()
    };
    let (mut liar, _) = pair(Limits::default());
    let (mut victim, _) = pair(few);
    let now = Instant::now();
    for _ in 0..3 {
        let call = liar.begin_call().unwrap();
        liar.call(call, 1, 1, None, vec![], &mut vec![]);
    }
    let bytes = output(&mut liar);
    let seen = feed(&mut victim, &bytes, now).unwrap();
    assert_eq!(seen, ["call 0: true", "call 1: true", "call 2: false"]);
    assert_eq!(victim.stats().overloaded, 1);
    liar.call(0, 1, 1, None, vec![], &mut vec![]);
    victim.answer(1, Ok(vec![]), &mut vec![]);
    let bytes = output(&mut liar);
    assert!(matches!(
        feed(&mut victim, &bytes, now),
        Err(Broken::Protocol(_))
    ));
    // Who keeps to the rules stops by itself.
    let (mut honest, _) = pair(few);
    assert!(honest.begin_call().is_some() && honest.begin_call().is_some());
    assert!(honest.begin_call().is_none());
}

#[test]
fn a_flood_of_control_frames_ends_the_link_and_one_beside_work_does_not() {
    let limits = Limits {
        control: 100,
        ..Limits::default()
    };
    let (mut one, _) = pair(limits);
    let now = Instant::now();
    let ping = frame(13, &[0]);
    // Three came with the greeting.
    feed(&mut one, &ping.repeat(97), now).unwrap();
    let error = feed(&mut one, &ping, now).unwrap_err();
    assert_eq!(error, Broken::Flood);
    // Another second.
    let (mut one, _) = pair(limits);
    feed(&mut one, &ping.repeat(97), now).unwrap();
    feed(&mut one, &ping.repeat(100), now + Duration::from_secs(2)).unwrap();
    // A nack for each call, however many come at once.
    let (mut one, mut other) = pair(limits);
    for _ in 0..500 {
        let call = other.begin_call().unwrap();
        other.call(call, 1, 1, None, vec![], &mut vec![]);
        other.nack(call);
    }
    let bytes = output(&mut other);
    feed(&mut one, &bytes, now).unwrap();
    for call in 500..1_000 {
        assert_eq!(other.begin_call(), Some(call));
        other.call(call, 1, 1, None, vec![], &mut vec![]);
    }
    for call in 500..1_000 {
        other.nack(call);
    }
    let bytes = output(&mut other);
    feed(&mut one, &bytes, now).unwrap();
    assert_eq!(one.stats().nacks_in, 1_000);
    let nack = frame(8, &[0]);
    feed(&mut one, &nack.repeat(97), now).unwrap();
    assert_eq!(feed(&mut one, &nack, now).unwrap_err(), Broken::Flood);
    // Of a long life of calls that nobody left no more is earned than there may be at once.
    let (mut one, mut other) = pair(Limits {
        calls: 4,
        exports: 6,
        ..limits
    });
    for _ in 0..500 {
        let call = other.begin_call().unwrap();
        other.call(call, 1, 1, None, vec![], &mut vec![]);
        let bytes = output(&mut other);
        feed(&mut one, &bytes, now).unwrap();
        one.answer(call, Ok(vec![]), &mut vec![]);
        let bytes = output(&mut one);
        feed(&mut other, &bytes, now).unwrap();
    }
    feed(&mut one, &nack.repeat(10 + 97), now).unwrap();
    assert_eq!(feed(&mut one, &nack, now).unwrap_err(), Broken::Flood);
}

#[test]
fn what_waits_to_be_written_is_bounded_and_requests_wait() {
    let small = Limits {
        outgoing: 10_000,
        ..Limits::default()
    };
    let (mut one, _) = pair(small);
    assert!(!one.is_congested());
    one.tell(1, 1, vec![], &mut vec![0; 10_000]);
    assert!(one.is_congested());
    output(&mut one);
    assert!(!one.is_congested());
}

#[test]
fn a_nack_comes_behind_the_call_that_it_is_about() {
    let (mut one, mut other) = pair(Limits::default());
    let now = Instant::now();
    // In several frames, none of which is written when its caller goes.
    let call = one.begin_call().unwrap();
    one.call(call, 1, 1, None, vec![], &mut vec![0; 100_000]);
    one.nack(call);
    let bytes = output(&mut one);
    let seen = feed(&mut other, &bytes, now).unwrap();
    assert_eq!(seen, ["call 0: true", "Nack(0)"]);
}

#[test]
fn a_number_is_not_used_again_while_word_of_its_last_caller_may_be_overtaken() {
    let (mut one, mut other) = pair(Limits::default());
    let now = Instant::now();
    let call = one.begin_call().unwrap();
    one.call(call, 1, 1, None, vec![], &mut vec![]);
    let bytes = output(&mut one);
    feed(&mut other, &bytes, now).unwrap();
    other.answer(call, Ok(vec![]), &mut vec![]);
    // Its caller goes before the answer has come.
    one.nack(call);
    let bytes = output(&mut other);
    feed(&mut one, &bytes, now).unwrap();
    // A reply of that number in an answer would come before the nack, and be given up by it.
    let next = one.begin_call().unwrap();
    assert_ne!(next, call);
    let bytes = output(&mut one);
    assert_eq!(feed(&mut other, &bytes, now).unwrap(), ["Nack(0)"]);
    assert_eq!(one.begin_call(), Some(call));
}

#[test]
fn an_answer_overtakes_a_request_of_which_half_is_written() {
    let (mut one, mut other) = pair(Limits::default());
    let now = Instant::now();
    let call = other.begin_call().unwrap();
    other.call(call, 1, 1, None, vec![], &mut vec![]);
    assert_eq!(
        feed(&mut one, &output(&mut other), now).unwrap(),
        ["call 0: true"]
    );
    one.tell(1, 1, vec![], &mut vec![7; 300_000]);
    let mut bytes = one.output().to_vec();
    assert!(bytes.len() < 200_000);
    one.written(bytes.len());
    one.answer(call, Ok(vec![]), &mut vec![9; 100_000]);
    bytes.extend(output(&mut one));
    other.heard(bytes.len());
    let mut bodies = Vec::new();
    let mut rest = &bytes[..];
    while let Some((taken, incoming)) = other.receive(rest, now).unwrap() {
        rest = &rest[taken..];
        match incoming {
            Some(Incoming::Request { body, .. }) => bodies.push(("request", body.into_owned())),
            Some(Incoming::Answer { body, .. }) => bodies.push(("answer", body.into_owned())),
            Some(incoming) => panic!("{incoming:?}"),
            None => {}
        }
    }
    // Each whole, and none with a piece of the other.
    let expected = [("answer", vec![9; 100_000]), ("request", vec![7; 300_000])];
    assert!(bodies == expected);
}

#[test]
fn who_is_not_to_be_spoken_with_hears_why() {
    let now = Instant::now();
    let refusal = |mut identity: Identity, change: fn(&mut Vec<u8>), set: fn(&mut Identity)| {
        set(&mut identity);
        let mut one = Session::new(&identity, Limits::default(), now);
        let mut other = session("other", Limits::default());
        other.expect(vec!["one".to_owned()]);
        let mut greeting = output(&mut one);
        change(&mut greeting);
        let refused = feed(&mut other, &greeting, now).unwrap_err();
        let answer = output(&mut other);
        let told = feed(&mut one, &answer, now).unwrap_err();
        (refused, told)
    };
    let same = |_: &mut Vec<u8>| {};
    let told = |refusal: Refusal| {
        (
            Broken::Refused(refusal.clone()),
            Broken::RefusedByPeer(refusal),
        )
    };
    let one = || identity("one");
    let other_cluster = refusal(one(), same, |one| one.cluster = "other".to_owned());
    // The refused side has the greeting first, with the same objection. Each hears what the other is.
    assert_eq!(
        other_cluster.0,
        told(Refusal::Cluster("other".to_owned())).0
    );
    assert_eq!(other_cluster.1, told(Refusal::Cluster("test".to_owned())).0);
    let other_node = refusal(one(), same, |one| one.node = "mallory".to_owned());
    assert_eq!(other_node.0, told(Refusal::Node("mallory".to_owned())).0);
    // Behind length, kind and magic: the versions, one byte each.
    let newer = refusal(one(), |hello| (hello[13], hello[14]) = (7, 9), |_| {});
    assert_eq!(newer.0, told(Refusal::Version(7, 9)).0);
    let codec = refusal(
        one(),
        |hello| {
            let place = hello.windows(8).position(|w| w == b"postcard").unwrap();
            hello[place] = b'P';
        },
        |_| {},
    );
    assert_eq!(codec.0, told(Refusal::Codec("Postcard".to_owned())).0);
    // What it is told: the greeting is good for it, and the refusal comes next.
    assert_eq!(newer.1, told(Refusal::Version(2, 2)).1);
    assert_eq!(codec.1, told(Refusal::Codec("postcard".to_owned())).1);
    assert_eq!(other_node.1, told(Refusal::Node("mallory".to_owned())).1);
}

#[test]
fn names_are_asked_for_and_refusals_are_counted() {
    let (mut one, mut other) = pair(Limits::default());
    let now = Instant::now();
    let bind = Bind {
        id: 4,
        name: "counter".to_owned(),
        token: b"key".to_vec(),
        interface: "Counter".to_owned(),
        methods: vec![("add".to_owned(), 7)],
    };
    one.bind(&bind);
    let bytes = output(&mut one);
    assert_eq!(
        feed(&mut other, &bytes, now).unwrap(),
        [format!("{:?}", Incoming::Bind(bind))]
    );
    other.bound(4, Err(tidings_link::Unbound::NoSuchName));
    assert_eq!(other.stats().refused_names, 1);
    let bytes = output(&mut other);
    feed(&mut one, &bytes, now).unwrap();
    let stats = one.stats();
    assert!(stats.bytes_in > 0 && stats.bytes_out > 0 && stats != Stats::default());
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_session_panic(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
        kind in 0_u8..20,
        greeted in proptest::bool::ANY,
    ) {
        let now = Instant::now();
        let mut one = match greeted {
            true => pair(Limits::default()).0,
            false => session("fresh", Limits::default()),
        };
        let _ = feed(&mut one, &bytes, now);
        let _ = feed(&mut one, &frame(kind, &bytes), now);
    }
}

#[test]
fn what_a_message_carries_and_what_an_end_says_is_no_longer_than_it_may_be() {
    let now = Instant::now();
    let long = [&[0x81, 8][..], &[b'x'; 1025]].concat();
    let mut carries = session("one", Limits::default());
    output(&mut carries);
    carries.tell(7, 0, vec![Carried::Gone; 1025], &mut vec![]);
    let says = [
        output(&mut carries),
        // The ends `Panicked` and `Linked`, and an answer that is `Refused`.
        frame(9, &[&[7, 3][..], &long].concat()),
        frame(9, &[&[7, 5, 1, b'x'][..], &long].concat()),
        frame(5, &[&[0, 1, 4][..], &long].concat()),
        // What is asked for by a name is another interface.
        frame(12, &[&[0, 1, 1][..], &long].concat()),
    ];
    for said in says {
        let (_, mut other) = pair(Limits::default());
        let malformed = Broken::Protocol("a header is malformed");
        assert_eq!(feed(&mut other, &said, now).unwrap_err(), malformed);
    }
    let (mut one, mut other) = pair(Limits::default());
    one.tell(7, 0, vec![Carried::Gone; 1024], &mut vec![]);
    one.down(7, End::Panicked("x".repeat(1024)));
    assert!(feed(&mut other, &output(&mut one), now).is_ok());
}

#[test]
fn behind_a_goodbye_no_request_is_served_and_what_was_said_before_is() {
    let now = Instant::now();
    let (mut one, mut other) = pair(Limits::default());
    let call = other.begin_call().unwrap();
    other.call(call, 1, 1, None, vec![], &mut vec![0; 100_000]);
    other.drain();
    // What no call is may still come: its caller goes, and gives up what it has.
    other.nack(call);
    other.release(1, 1);
    let seen = feed(&mut one, &output(&mut other), now).unwrap();
    assert_eq!(seen, ["call 0: true", "Bye", "Nack(0)", "Release(1, 1)"]);
    for request in [true, false] {
        let (mut one, mut other) = pair(Limits::default());
        other.drain();
        match request {
            true => other.tell(1, 1, vec![], &mut vec![]),
            false => {
                let call = other.begin_call().unwrap();
                other.call(call, 1, 1, None, vec![], &mut vec![]);
            }
        }
        let error = feed(&mut one, &output(&mut other), now).unwrap_err();
        assert_eq!(error, Broken::Protocol("a request behind a goodbye"));
    }
}

#[test]
fn bytes_behind_a_control_header_end_the_link() {
    let headers: [(u8, &[u8]); 9] = [
        (7, &[0, 1, 1]),
        (8, &[7]),
        (9, &[7, 0]),
        (10, &[7, 1]),
        (11, &[1, 0, 0, 0, 0]),
        (12, &[1, 0, 3]),
        (13, &[0]),
        (14, &[0, 0]),
        (15, &[]),
    ];
    let now = Instant::now();
    for (kind, header) in headers {
        let (mut one, _) = pair(Limits::default());
        let longer = frame(kind, &[header, &[0]].concat());
        let error = feed(&mut one, &longer, now).unwrap_err();
        assert_eq!(error, Broken::Protocol("a header is malformed"), "{kind}");
    }
}

#[test]
fn no_more_calls_are_served_than_there_is_room_for_in_a_table() {
    let limits = Limits {
        calls: u32::MAX,
        ..Limits::default()
    };
    let (mut one, other) = pair(limits);
    let most = 1 << 20;
    assert_eq!(other.peer().unwrap().calls, most);
    assert_eq!(one.serve(most), Ok(false));
    assert_eq!(one.serve(most - 1), Ok(true));
}
