//! Bodies in a format of the user's, here JSON: all that travels does, and what is hostile costs no
//! more than its size.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidings::actor::{self, CallError, Reply};
use tidings::remote::{Codec, Format, Limits, Malformed, Slot, Value};
use tidings_link::{Broken, Exports, Options, Refusal};

use crate::nodes::linked;

pub(crate) struct Json;

impl Codec for Json {
    fn name(&self) -> &str {
        "json"
    }
    fn encode(&self, value: &Value<'_>, to: &mut Vec<u8>) -> Result<(), Malformed> {
        serde_json::to_writer(to, value).map_err(Malformed::because)
    }
    fn decode(&self, bytes: &[u8], slot: Slot<'_>) -> Result<(), Malformed> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        slot.fill(&mut json)?;
        json.end().map_err(Malformed::because)
    }
}

/// A format that takes no byte for an element.
struct Endless;
impl Codec for Endless {
    fn name(&self) -> &str {
        "endless"
    }
    fn encode(&self, _: &Value<'_>, _: &mut Vec<u8>) -> Result<(), Malformed> {
        Ok(())
    }
    fn decode(&self, _: &[u8], slot: Slot<'_>) -> Result<(), Malformed> {
        let units = std::iter::repeat(());
        slot.fill(serde::de::value::SeqDeserializer::<
            _,
            serde::de::value::Error,
        >::new(units))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, tidings::Schema)]
enum Tree {
    Leaf,
    Many(Vec<Self>, Option<i32>),
    Named { text: String, at: (u8, char) },
}

#[tidings::interface(remote)]
trait Room {
    async fn join(&mut self, name: String, listener: ListenerRef);
    async fn say(&mut self, text: String) -> u32;
    async fn echo(&self, tree: Tree, map: BTreeMap<String, Vec<u64>>) -> Tree;
    async fn keys(&self, map: BTreeMap<Vec<u8>, u8>) -> u32;
    async fn later(&mut self, reply: Reply<Result<u8, String>>);
}

#[tidings::interface(remote)]
trait Listener {
    async fn heard(&mut self, text: String);
}

#[derive(Default)]
struct Hall(Vec<(String, ListenerRef)>);

impl Room for Hall {
    async fn join(&mut self, name: String, listener: ListenerRef) {
        self.0.push((name, listener));
    }
    async fn say(&mut self, text: String) -> u32 {
        for (name, listener) in &self.0 {
            listener.heard(format!("{name}: {text}")).await.unwrap();
        }
        u32::try_from(self.0.len()).unwrap()
    }
    async fn echo(&self, tree: Tree, _: BTreeMap<String, Vec<u64>>) -> Tree {
        tree
    }
    async fn keys(&self, map: BTreeMap<Vec<u8>, u8>) -> u32 {
        u32::try_from(map.len()).unwrap()
    }
    async fn later(&mut self, reply: Reply<Result<u8, String>>) {
        reply.send(Err("no".to_owned())).unwrap();
    }
}

struct Ear(tidings::Sender<String>);

impl Listener for Ear {
    async fn heard(&mut self, text: String) {
        self.0.send(text).await.unwrap();
    }
}

#[tidings::test]
async fn all_that_travels_does_in_another_format() {
    let room: RoomRef = actor::start(Hall::default());
    let exports = Exports::new().add("room", &room);
    let server = Options::new("server").codec(Json).exports(exports);
    let (_server, client) = linked(server, Options::new("client").codec(Json));
    let room: RoomRef = client.get("room").await.unwrap();
    let (said, heard) = tidings::unbounded();
    let ear: ListenerRef = actor::start(Ear(said));
    room.join("bob".to_owned(), ear).await.unwrap();
    assert_eq!(room.say("hello".to_owned()).await.unwrap(), 1);
    assert_eq!(heard.recv().await.unwrap(), "bob: hello");
    let named = Tree::Named {
        text: "x\"y".to_owned(),
        at: (3, '\u{e9}'),
    };
    let tree = Tree::Many(vec![Tree::Leaf, named], Some(-4));
    let map = BTreeMap::from([("a".to_owned(), vec![1, u64::MAX])]);
    assert_eq!(room.echo(tree.clone(), map).await.unwrap(), tree);
    assert_eq!(room.later().await.unwrap(), Err("no".to_owned()));
    // What this format cannot write is refused here, and the link stays.
    let unwritable = BTreeMap::from([(vec![1], 1)]);
    let refused = room.keys(unwritable).await.unwrap_err();
    assert!(matches!(&refused, CallError::Refused(why) if why.to_string().contains("string")));
    assert_eq!(room.keys(BTreeMap::new()).await.unwrap(), 0);
}

#[tidings::test]
async fn nodes_whose_formats_differ_do_not_speak_and_both_hear_why() {
    let (postcard, json) = linked(Options::new("server"), Options::new("client").codec(Json));
    let told = [
        Broken::RefusedByPeer(Refusal::Codec("json".to_owned())),
        Broken::Refused(Refusal::Codec("json".to_owned())),
    ];
    assert!(told.contains(&postcard.up().await.unwrap_err()));
    let told = [
        Broken::RefusedByPeer(Refusal::Codec("postcard".to_owned())),
        Broken::Refused(Refusal::Codec("postcard".to_owned())),
    ];
    assert!(told.contains(&json.up().await.unwrap_err()));
}

#[test]
fn any_format_is_read_within_the_limits() {
    let json = Format::new(Json, Limits::default());
    let read = |text: &str| json.decode::<Tree>(text.as_bytes());
    let nested = |depth: usize| {
        let inner = "{\"Many\":[[".repeat(depth);
        format!("{inner}\"Leaf\"{}", "],null]}".repeat(depth))
    };
    // Each is an enum, its fields and a sequence.
    assert!(read(&nested(21)).is_ok());
    let error = read(&nested(22)).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");

    let nothings = |count: usize| format!("[{}null]", "null,".repeat(count - 1));
    let units = |format: &Format, count| format.decode::<Vec<()>>(nothings(count).as_bytes());
    assert_eq!(units(&json, 1000).unwrap().len(), 1000);
    let few = Format::new(
        Json,
        Limits {
            elements: 0,
            growth: 0,
            ..Limits::default()
        },
    );
    let endless = Format::new(Endless, Limits::default());
    let error = endless.decode::<Vec<()>>(&[]).unwrap_err();
    assert!(error.to_string().contains("elements"), "{error}");

    // 24 bytes of memory for three of the body: within eight times, and the first 64 KiB.
    let empty = format!("[{}[]]", "[],".repeat(100_000));
    assert!(json.decode::<Vec<Vec<u8>>>(empty.as_bytes()).is_ok());
    let error = few.decode::<Vec<Vec<u8>>>(empty.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    let long = format!("\"{}\"", "x".repeat(70_000));
    assert!(json.decode::<String>(long.as_bytes()).is_ok());
    assert!(few.decode::<String>(long.as_bytes()).is_err());
    // What is behind the value, and what is none.
    assert!(read("\"Leaf\" 1").is_err());
    assert!(read("{").is_err());
}
