//! The published vectors of what ends a link: bytes that break the rules.

use futures::io::AsyncWriteExt;
use serde::Serialize;
use serde_json::{Value, json};
use tidings::remote::Carried;
use tidings::trace::Trace;

use super::{answer, call, frames, hex, read};
use crate::frame::{self, BoundHead, CreditHead, DownHead, End, ReleaseHead, TEXT, kind};
use crate::limits::{Broken, Grant};
use crate::{Options, link, memory};

/// Of a body of several frames there are others.
const MORE: u8 = 0x80;

fn frame<H: Serialize>(kind: u8, header: &H, behind: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_by_serde(&mut bytes, kind, header, behind);
    bytes
}

fn called(carried: Vec<Carried>) -> Vec<u8> {
    frame(
        kind::CALL,
        &call(7, "Counter.get_and_reset()->i64", 0, carried),
        &[],
    )
}

/// Instead of a greeting.
fn first() -> Vec<(&'static str, Vec<u8>)> {
    let mut hello = read::bytes(&frames()[0]);
    // The first letter of `magic`.
    hello[5] = b'T';
    vec![
        (
            "a first frame of 4,097 bytes",
            4_097_u32.to_le_bytes().to_vec(),
        ),
        ("a first frame of no byte", vec![0; 4]),
        ("it begins with a PING", frame(kind::PING, &0_u64, &[])),
        ("another magic", hello),
    ]
}

/// Behind one, and the PONG for ours, from a peer to which nothing was exported and that was asked nothing.
fn later() -> Vec<(&'static str, Vec<u8>)> {
    let begun = || {
        let head = call(7, "Counter.get_and_reset()->i64", 0, vec![]);
        frame(kind::CALL | MORE, &head, &[1])
    };
    let grant = Grant {
        messages: 1,
        bytes: 0,
    };
    let trace = Carried::Trace(Trace::new(1, 1, 1));
    let long = DownHead {
        target: 3,
        end: End::Failed("x".repeat(TEXT)),
    };
    let mut long = frame(kind::DOWN, &long, b"x");
    // One byte longer than what is written: the length of the frame stands there already.
    let length = long.iter().position(|byte| *byte == b'x').unwrap() - 2;
    long[length] += 1;
    vec![
        ("a frame of no byte", vec![0; 4]),
        ("a frame of 49,153 bytes", 49_153_u32.to_le_bytes().to_vec()),
        ("kind 0", frame(0, &(), &[])),
        ("kind 16", frame(16, &(), &[])),
        ("a second HELLO", read::bytes(&frames()[0])),
        (
            "a byte behind the header of a PING",
            frame(kind::PING, &0_u64, &[0]),
        ),
        (
            "a PING of which the rest is to come",
            frame(kind::PING | MORE, &0_u64, &[]),
        ),
        (
            "the number of a PING has eleven bytes",
            frame(kind::PING, &[0x80_u8; 11], &[]),
        ),
        ("a REST of nothing", frame(kind::REST, &kind::CALL, &[1])),
        (
            "a REST of another kind",
            [begun(), frame(kind::REST, &kind::TELL, &[1])].concat(),
        ),
        (
            "a REST without a byte of the body",
            [begun(), frame(kind::REST, &kind::CALL, &[])].concat(),
        ),
        (
            "two messages of one class that have begun",
            [begun(), begun()].concat(),
        ),
        (
            "an answer to no call",
            frame(kind::ANSWER, &answer(7, Ok(vec![])), &[]),
        ),
        (
            "an answer to no question for a name",
            frame(
                kind::BOUND,
                &BoundHead {
                    id: 1,
                    outcome: Ok(3),
                },
                &[],
            ),
        ),
        (
            "credit for what was not sent",
            frame(kind::CREDIT, &CreditHead { target: 3, grant }, &[]),
        ),
        (
            "a reference is given up that was not sent",
            frame(
                kind::RELEASE,
                &ReleaseHead {
                    target: 3,
                    count: 1,
                },
                &[],
            ),
        ),
        (
            "a call behind a BYE",
            [frame(kind::BYE, &(), &[]), called(vec![])].concat(),
        ),
        ("1,025 references", called(vec![Carried::Gone; 1_025])),
        ("two traces", called(vec![trace, trace])),
        (
            "there is no such `Carried`",
            frame(kind::TELL, &(3_u32, [0_u8; 4], [1_u8, 5]), &[]),
        ),
        (
            "there is no such `End`",
            frame(kind::DOWN, &(3_u32, 8_u32), &[]),
        ),
        ("a text of 1,025 bytes", long),
    ]
}

/// All of them.
pub(super) fn broken() -> Vec<Value> {
    let all = [(false, first()), (true, later())].into_iter();
    let all = all.flat_map(|(greeted, all)| {
        all.into_iter()
            .map(move |(why, bytes)| (greeted, why, bytes))
    });
    all.map(|(greeted, why, bytes)| json!({ "why": why, "greeted": greeted, "bytes": hex(&bytes) }))
        .collect()
}

#[test]
fn each_ends_a_link() {
    let greeting = ["hello", "pong, to the greeting"];
    let mut all = frames();
    all.retain(|vector| greeting.iter().any(|name| vector["name"] == *name));
    let greets = all.iter().map(read::bytes).collect::<Vec<_>>().concat();
    tidings::Runtime::new().unwrap().block_on(async {
        for vector in broken() {
            let (here, mut there) = memory::pipe();
            let (link, driver) = link(here, Options::new("bob").cluster("test"));
            drop(tidings::spawn(driver));
            if vector["greeted"] == true {
                there.write_all(&greets).await.unwrap();
                link.up().await.unwrap();
            }
            there.write_all(&read::bytes(&vector)).await.unwrap();
            let why = link.down().await;
            assert!(
                matches!(why, Broken::Protocol(_) | Broken::FrameTooLarge),
                "{}: {why}",
                vector["why"]
            );
        }
    });
}
