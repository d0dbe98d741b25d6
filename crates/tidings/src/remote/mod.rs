//! Messages that can cross a link: what `#[tidings::interface(remote)]` asks of an interface, and
//! what the crate `tidings-link` is built on.
//!
//! An interface that is `remote` has arguments and answers that serde knows and that have a
//! [`Schema`]. Its references are the same type whether the actor is here or elsewhere, and they,
//! [`Reply`]s and references to one-way interfaces (observers) may stand inside
//! of arguments and answers: serde meets them while a link encodes or decodes a message, and the link
//! (the [`Port`] of that moment) exports the actor, or makes a proxy of it.
//!
//! ```
//! use tidings::remote::{Remote, interface};
//!
//! #[tidings::interface(remote)]
//! pub trait Counter {
//!     async fn add(&mut self, n: i64);
//!     async fn get_and_reset(&mut self) -> i64;
//! }
//! let counter = interface::<CounterMessage>();
//! assert_eq!(counter.name(), "Counter");
//! assert_eq!(counter.methods()[1].shape(), "Counter.get_and_reset()->i64");
//! ```

// | file | what |
// |---|---|
// | `schema.rs` | the shapes of types, and the numbers of methods made of them |
// | `format.rs` | the format of bodies: postcard, or a `Codec` of the user's |
// | `codec.rs`, `bounded.rs`, `limits.rs` | postcard, and any other, read with limits |
// | `bytes.rs` | bytes as a value |
// | `port.rs` | the link that encodes or decodes on this thread |
// | `reference.rs` | references and replies as serde sees them |
// | `proxy.rs` | messages on their way out |
// | `export.rs` | messages on their way in |
// | `streaming.rs` | answers of many parts |

mod bounded;
mod bytes;
mod codec;
mod export;
mod format;
mod limits;
mod port;
mod proxy;
mod reference;
mod schema;
mod streaming;

use std::any::TypeId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

#[doc(hidden)]
pub use serde;

pub use bytes::Bytes;
#[doc(hidden)]
pub use codec::decode_part;
pub use codec::{decode, encode};
pub use export::Incoming;
#[doc(hidden)]
pub use export::{Export, Served, Wait};
pub use format::{Codec, Format, Slot, Value};
pub use limits::{Limits, Malformed};
#[doc(hidden)]
pub use port::{Call, Carried, Identity, Outcome, Port, Request, enter};
pub use proxy::Outgoing;
#[doc(hidden)]
pub use proxy::{Imported, Pending, import, refused, unfit};
#[doc(hidden)]
pub use reference::{deserialize_reference, export, serialize_reference};
pub use schema::{Describe, Schema};

#[doc(hidden)]
pub use crate::channel::bell::Door;
#[doc(hidden)]
pub use crate::channel::oneshot::{Gone, Wanted};
#[doc(hidden)]
pub use crate::primitive::prefetch::{prefetch, prefetch_first};
#[doc(hidden)]
pub use crate::primitive::small_box::SmallBox;

use crate::actor::{CallError, Reply};
use crate::primitive::{Mutex, OnceLock, lock};
use crate::time::Instant;

/// Runs what may be users' code where nobody can be told of its panic.
#[doc(hidden)]
pub fn quietly(f: impl FnOnce()) {
    crate::task::quietly(f);
}

/// Messages that can cross a link. `#[tidings::interface(remote)]` implements it for the messages of
/// an interface, and `#[derive(tidings::Remote)]` for any type that serde knows and that has a
/// [`Schema`].
pub trait Remote: Send + Sized + 'static {
    /// The name of the interface.
    const NAME: &'static str;

    /// Names the methods, in an order of its own.
    fn describe(methods: &mut Methods);

    /// Takes itself apart, and hands the parts to the link.
    fn send(self, way: &mut Outgoing);

    /// Puts a message of a method together of what the link has.
    ///
    /// # Errors
    /// If the bytes are no arguments of that method.
    fn receive(method: usize, way: &mut Incoming<'_>) -> Result<Self, Malformed>;
}

/// The methods of an interface, as [`Remote::describe`] names them.
#[derive(Debug)]
pub struct Methods {
    interface: &'static str,
    all: Vec<Method>,
    refers: Vec<schema::Refers>,
}

impl Methods {
    fn of(interface: &'static str, describe: fn(&mut Self)) -> Self {
        let mut methods = Self {
            interface,
            all: Vec::new(),
            refers: Vec::new(),
        };
        describe(&mut methods);
        methods
    }

    /// A one-way method, with the tuple of its arguments, and their names.
    pub fn one_way<A: Schema>(&mut self, name: &'static str, arguments: &'static [&'static str]) {
        let shape = schema::method::<A>(self.interface, name);
        self.add(name, arguments, shape);
    }

    /// A method with an answer.
    pub fn call<A: Schema, R: Schema>(
        &mut self,
        name: &'static str,
        arguments: &'static [&'static str],
    ) {
        let mut shape = schema::method::<A>(self.interface, name);
        schema::answer::<R>(&mut shape);
        self.add(name, arguments, shape);
    }

    fn add(
        &mut self,
        name: &'static str,
        arguments: &'static [&'static str],
        mut described: Describe,
    ) {
        self.refers.append(&mut described.refers);
        let shape = described.to_string();
        let number = schema::number(&shape);
        self.all.push(Method {
            name,
            arguments,
            shape,
            number,
        });
    }
}

/// A method of an [`Interface`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    name: &'static str,
    arguments: &'static [&'static str],
    shape: String,
    number: u32,
}

impl Method {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its arguments. Nobody has to agree on them.
    #[must_use]
    pub fn arguments(&self) -> &[&'static str] {
        self.arguments
    }

    /// Its arguments and answer in the words of PROTOCOL.md: what both sides must agree on.
    #[must_use]
    pub fn shape(&self) -> &str {
        &self.shape
    }

    /// What stands for it in a frame: the FNV-1a hash of its shape. A method that has changed has
    /// another number, so that no arguments are ever taken for those of another.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// An interface as a link knows it: its name and its methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    name: &'static str,
    methods: Vec<Method>,
}

impl Interface {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its methods, in the order of the trait.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The place of the method with this number.
    #[doc(hidden)]
    #[must_use]
    pub fn find(&self, number: u32) -> Option<usize> {
        self.methods.iter().position(|m| m.number == number)
    }
}

impl fmt::Display for Interface {
    /// One method a line: what a client in another language is written from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for method in &self.methods {
            writeln!(f, "{:08x} {}", method.number, method.shape)?;
        }
        Ok(())
    }
}

/// The interface whose messages are `M`.
///
/// # Panics
/// If two of its methods have one number, which is to be expected of one pair in four thousand
/// million: rename one.
#[must_use]
pub fn interface<M: Remote>() -> &'static Interface {
    static ALL: OnceLock<Mutex<HashMap<TypeId, &'static Interface>>> = OnceLock::new();
    let all = ALL.get_or_init(Mutex::default);
    if let Some(known) = lock(all).get(&TypeId::of::<M>()) {
        return known;
    }
    let methods = Methods::of(M::NAME, M::describe).all;
    for (place, method) in methods.iter().enumerate() {
        let twin = methods[..place].iter().find(|m| m.number == method.number);
        if let Some(twin) = twin {
            panic!("{} and {} have one number", twin.shape, method.shape);
        }
    }
    let interface = Interface {
        name: M::NAME,
        methods,
    };
    // One for each type of the program, for ever.
    lock(all)
        .entry(TypeId::of::<M>())
        .or_insert_with(|| Box::leak(Box::new(interface)))
}

/// The interface whose messages are `M` and all that it refers to, as JSON: what clients in other
/// languages are generated from. For each method its name, the names of its arguments, its shape in
/// the words of PROTOCOL.md, and its number.
///
/// # Panics
/// If two interfaces of one name are among them, as `Store<u8>` and `Store<String>` are: a client would
/// know one of the two. Give them names of their own, in traits of their own.
///
/// ```
/// #[tidings::interface(remote)]
/// trait Counter {
///     async fn add(&mut self, n: i64);
/// }
/// let schema = tidings::remote::schema::<CounterMessage>();
/// assert!(schema.contains(r#""arguments": ["n"], "shape": "Counter.add(i64)""#));
/// ```
#[must_use]
pub fn schema<M: Remote>() -> String {
    let mut known: BTreeMap<_, Vec<Method>> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut next: Vec<schema::Refers> = vec![(TypeId::of::<M>(), M::NAME, M::describe)];
    while let Some((kind, name, describe)) = next.pop() {
        if seen.insert(kind) {
            let methods = Methods::of(name, describe);
            next.extend(methods.refers);
            let twin = known.get(name).map(|twin| shapes(twin));
            let shapes = shapes(&methods.all);
            if let Some(twin) = twin.filter(|twin| *twin != shapes) {
                panic!("two interfaces have the name {name}: {twin}, and {shapes}");
            }
            known.insert(name, methods.all);
        }
    }
    let interfaces = known.iter().map(|(name, methods)| {
        let methods = methods.iter().map(|method| {
            let arguments = method.arguments.iter().copied().map(quoted);
            format!(
                "      {{\"name\": {}, \"arguments\": [{}], \"shape\": {}, \"number\": {}}}",
                quoted(method.name),
                arguments.collect::<Vec<_>>().join(", "),
                quoted(&method.shape),
                method.number,
            )
        });
        let methods = methods.collect::<Vec<_>>().join(",\n");
        format!(
            "    {{\"name\": {}, \"methods\": [\n{methods}\n    ]}}",
            quoted(name)
        )
    });
    let interfaces = interfaces.collect::<Vec<_>>().join(",\n");
    format!("{{\n  \"interfaces\": [\n{interfaces}\n  ]\n}}\n")
}

/// What a client has to agree on.
fn shapes(methods: &[Method]) -> String {
    let shapes: Vec<_> = methods.iter().map(Method::shape).collect();
    shapes.join(" ")
}

/// The place of the answer of a request that is in time. Of one that is too late the caller is told
/// so: its handler does not get it.
#[doc(hidden)]
#[must_use]
pub fn in_time<R: 'static>(reply: Reply<R>) -> Option<Reply<R>> {
    if reply.deadline().is_some_and(|due| Instant::now() >= due) {
        reply.fail(CallError::Timeout);
        return None;
    }
    Some(reply)
}

/// A string of JSON. There is nothing in names and shapes that needs more.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};
    use std::time::Duration;

    use super::schema::number;
    use super::{
        Describe, Incoming, Malformed, Methods, Outgoing, Remote, Schema, Wanted, in_time,
        interface, schema,
    };
    use crate::actor::{ActorRef, Recipient, Reply};
    use crate::time::Instant;

    /// Nobody sends them: what is looked at is their description.
    enum Clock {}
    enum Ear {}

    impl Remote for Clock {
        const NAME: &'static str = "Clock";

        fn describe(methods: &mut Methods) {
            methods.call::<(u8, ActorRef<Ear>), i64>("wake", &["hour", "ear"]);
            methods.one_way::<()>("wind", &[]);
            methods.one_way::<(ActorRef<Self>,)>("set_by", &["other"]);
        }
        fn send(self, _: &mut Outgoing) {
            match self {}
        }
        fn receive(_: usize, _: &mut Incoming<'_>) -> Result<Self, Malformed> {
            Err(Malformed::new("nobody sends it"))
        }
    }

    impl Remote for Ear {
        const NAME: &'static str = "Ear";

        fn describe(methods: &mut Methods) {
            methods.one_way::<(String,)>("hear", &["a \"word\""]);
        }
        fn send(self, _: &mut Outgoing) {
            match self {}
        }
        fn receive(_: usize, _: &mut Incoming<'_>) -> Result<Self, Malformed> {
            Err(Malformed::new("nobody sends it"))
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // From the page of its authors (Fowler, Noll, Vo).
        for (text, hash) in [
            ("", 0x811c_9dc5),
            ("a", 0xe40c_292c),
            ("foobar", 0xbf9c_f968),
        ] {
            assert_eq!(number(text), hash);
        }
    }

    #[test]
    fn an_interface_knows_its_methods_by_their_numbers() {
        let clock = interface::<Clock>();
        assert_eq!(clock.name(), "Clock");
        let known: Vec<_> = clock
            .methods()
            .iter()
            .map(|method| (method.name(), method.arguments(), method.shape()))
            .collect();
        let right: [(_, &[&str], _); 3] = [
            ("wake", &["hour", "ear"], "Clock.wake(u8,@Ear)->i64"),
            ("wind", &[], "Clock.wind()"),
            ("set_by", &["other"], "Clock.set_by(@Clock)"),
        ];
        assert_eq!(known, right);
        for (place, method) in clock.methods().iter().enumerate() {
            assert_eq!(method.number(), number(method.shape()));
            assert_eq!(clock.find(method.number()), Some(place));
        }
        assert_eq!(clock.find(0), None);
    }

    #[test]
    fn a_schema_has_all_interfaces_that_are_referred_to_once() {
        let text = schema::<Clock>();
        for name in ["Clock", "Ear"] {
            assert_eq!(
                text.matches(&format!("{{\"name\": \"{name}\", \"methods\""))
                    .count(),
                1
            );
        }
        let wake = number("Clock.wake(u8,@Ear)->i64");
        let line = format!(
            "{{\"name\": \"wake\", \"arguments\": [\"hour\", \"ear\"], \
             \"shape\": \"Clock.wake(u8,@Ear)->i64\", \"number\": {wake}}}"
        );
        assert!(text.contains(&line), "{text}");
        assert!(text.contains(r#"["a \"word\""]"#), "{text}");
    }

    /// An interface that is generic, and one that refers to it twice.
    struct Store<T>(T);
    enum Stores {}

    impl<T: Schema + Send> Remote for Store<T> {
        const NAME: &'static str = "Store";

        fn describe(methods: &mut Methods) {
            methods.one_way::<(T,)>("put", &["value"]);
        }
        fn send(self, _: &mut Outgoing) {}
        fn receive(_: usize, _: &mut Incoming<'_>) -> Result<Self, Malformed> {
            Err(Malformed::new("nobody sends it"))
        }
    }

    impl Remote for Stores {
        const NAME: &'static str = "Stores";

        fn describe(methods: &mut Methods) {
            methods.one_way::<(ActorRef<Store<u8>>, ActorRef<Store<String>>)>("are", &[]);
        }
        fn send(self, _: &mut Outgoing) {
            match self {}
        }
        fn receive(_: usize, _: &mut Incoming<'_>) -> Result<Self, Malformed> {
            Err(Malformed::new("nobody sends it"))
        }
    }

    #[test]
    #[should_panic(expected = "two interfaces have the name Store: Store.put(")]
    fn a_schema_of_two_interfaces_of_one_name_is_refused() {
        let _ = schema::<Stores>();
    }

    #[test]
    fn types_have_the_shapes_of_the_protocol() {
        let shapes = [
            (Describe::text::<HashSet<u8>>(), "[u8]"),
            (Describe::text::<[u8; 3]>(), "[u8;3]"),
            (
                Describe::text::<BTreeMap<u8, Option<String>>>(),
                "{u8,str?}",
            ),
            (
                Describe::text::<HashMap<u8, (u16, char)>>(),
                "{u8,(u16,char)}",
            ),
            (Describe::text::<Result<u8, ()>>(), "Result<u8|()>"),
            (Describe::text::<Recipient<Ear>>(), "@Ear"),
            (Describe::text::<Reply<bool>>(), "!bool"),
            (
                Describe::text::<(Duration, Duration)>(),
                "(Duration{secs:u64,nanos:u32},Duration)",
            ),
        ];
        for (shape, right) in shapes {
            assert_eq!(shape, right);
        }
        let mut twice = Describe::default();
        for _ in 0..2 {
            twice.named::<Ear>("Ear", |rest| rest.word("{}"));
        }
        assert_eq!(twice.to_string(), "Ear{}Ear");
    }

    #[test]
    fn a_request_that_came_too_late_is_not_handled() {
        let by = |deadline| Reply::<u8>::pair(Wanted::new(deadline, None), None);
        let (late, _caller) = by(Some(Instant::now()));
        assert!(in_time(late).is_none());
        let soon = Instant::now() + Duration::from_secs(3600);
        for due in [None, Some(soon)] {
            let (reply, _caller) = by(due);
            assert!(in_time(reply).is_some());
        }
    }
}
