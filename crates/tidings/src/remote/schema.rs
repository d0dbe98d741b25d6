//! The shape of a type, as text: what two sides of a link must agree on.
//!
//! The text is the same in every language, so that a client can be written, or generated, from it;
//! PROTOCOL.md has its grammar. A type that has been begun already stands as its name, which is how
//! recursive types end. One text is one shape: all that would read the same is told apart by a mark.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::{self, Write};
use std::time::Duration;

use super::{Bytes, Methods, Remote};
use crate::actor::{ActorRef, Recipient, Reply};
use crate::primitive::Arc;

/// A type whose shape is known: `#[derive(tidings::Schema)]`.
///
/// The shape must be that of what serde makes of the type. The derive does not know serde's
/// attributes and refuses a type that has any.
///
/// ```
/// use tidings::{Schema, remote::Describe};
///
/// #[derive(Schema)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
/// #[derive(Schema)]
/// enum Tree {
///     Leaf,
///     Node(Vec<Tree>, Point),
/// }
/// assert_eq!(Describe::text::<Tree>(), "Tree<Leaf|Node([Tree],Point{x:i32,y:i32})>");
/// ```
pub trait Schema: 'static {
    /// Writes its shape.
    fn describe(to: &mut Describe);
}

/// A shape that is being written.
#[derive(Debug, Default)]
pub struct Describe {
    text: String,
    /// The named types in it, in the order in which they were begun.
    begun: Vec<(String, TypeId)>,
    /// The interfaces that it refers to.
    pub(super) refers: Vec<Refers>,
}

/// An interface that another refers to: its messages, its name, and what names its methods.
pub(super) type Refers = (TypeId, &'static str, fn(&mut Methods));

/// Words that are types already, without a definition: one of the user's is the second of its name.
const TAKEN: [&str; 16] = [
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
    "f32", "f64", "Result",
];

/// What stands before a part, and what writes it.
type Part<'a> = (&'a str, fn(&mut Describe));

impl Describe {
    /// The shape of a type.
    #[must_use]
    pub fn text<T: Schema>() -> String {
        let mut describe = Self::default();
        T::describe(&mut describe);
        describe.text
    }

    /// Text that stands as it is.
    pub fn word(&mut self, word: &str) {
        self.text.push_str(word);
    }

    /// A type with a name, whose `rest` follows it unless it has been written already. The second type
    /// of a name has a mark behind it: `Pair#2`.
    pub fn named<T: 'static>(&mut self, name: &str, rest: impl FnOnce(&mut Self)) {
        let kind = TypeId::of::<T>();
        let namesakes = self.begun.iter().filter(|(begun, _)| begun == name);
        let known = namesakes.clone().position(|(_, begun)| *begun == kind);
        let before = known.unwrap_or_else(|| namesakes.count());
        let nth = before + 1 + usize::from(TAKEN.contains(&name));
        self.text.push_str(name);
        if nth > 1 {
            write!(self.text, "#{nth}").expect("a string takes all");
        }
        if known.is_none() {
            self.begun.push((name.to_owned(), kind));
            rest(self);
        }
    }

    /// A reference to an interface, given by its messages.
    pub fn reference<M: Remote>(&mut self) {
        self.word("@");
        self.word(M::NAME);
        self.refers.push((TypeId::of::<M>(), M::NAME, M::describe));
    }

    /// Several parts, in brackets.
    pub fn parts(&mut self, open: &str, parts: &[Part<'_>], close: &str) {
        self.text.push_str(open);
        for (place, (name, part)) in parts.iter().enumerate() {
            if place > 0 {
                self.text.push(if open == "<" { '|' } else { ',' });
            }
            self.text.push_str(name);
            part(self);
        }
        self.text.push_str(close);
    }
}

impl fmt::Display for Describe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `Counter.add(i64)`; the arguments are a tuple, so its brackets are those of the call.
pub(super) fn method<A: Schema>(interface: &str, name: &str) -> Describe {
    let mut describe = Describe::default();
    describe.word(interface);
    describe.word(".");
    describe.word(name);
    A::describe(&mut describe);
    describe
}

/// `->i64`: a shape of its own, behind that of the method.
pub(super) fn answer<R: Schema>(describe: &mut Describe) {
    describe.word("->");
    describe.begun.clear();
    R::describe(describe);
}

/// FNV-1a, 32 bits.
pub(super) fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

macro_rules! words {
    ($($type:ty => $word:literal),* $(,)?) => {$(
        impl Schema for $type {
            fn describe(to: &mut Describe) {
                to.word($word);
            }
        }
    )*};
}

words!(
    () => "()", bool => "bool", char => "char", String => "str", Box<str> => "str", Arc<str> => "str",
    u8 => "u8", u16 => "u16", u32 => "u32", u64 => "u64", u128 => "u128", usize => "u64",
    i8 => "i8", i16 => "i16", i32 => "i32", i64 => "i64", i128 => "i128", isize => "i64",
    f32 => "f32", f64 => "f64", Cow<'static, str> => "str", Bytes => "[u8]",
);

impl Schema for Duration {
    fn describe(to: &mut Describe) {
        to.named::<Self>("Duration", |to| to.word("{secs:u64,nanos:u32}"));
    }
}

macro_rules! around {
    ($($type:ty [$($bound:tt)*] => $open:literal $close:literal),* $(,)?) => {$(
        impl<T: Schema $($bound)*> Schema for $type {
            fn describe(to: &mut Describe) {
                to.parts($open, &[("", T::describe)], $close);
            }
        }
    )*};
}

around!(
    Box<T> [] => "" "",
    Arc<T> [] => "" "",
    Vec<T> [] => "[" "]",
    Box<[T]> [] => "[" "]",
    VecDeque<T> [] => "[" "]",
    BTreeSet<T> [] => "[" "]",
    Reply<T> [] => "!" "",
);

impl<T: Schema> Schema for Option<T> {
    fn describe(to: &mut Describe) {
        let start = to.text.len();
        T::describe(to);
        match to.text[start..].starts_with(['!', '*', '?']) {
            // Behind it the mark would be that of what the reply or the stream gives.
            true => to.text.insert(start, '?'),
            false => to.word("?"),
        }
    }
}

impl<T: Schema, S: 'static> Schema for HashSet<T, S> {
    fn describe(to: &mut Describe) {
        <Vec<T>>::describe(to);
    }
}

impl<T: Schema, const N: usize> Schema for [T; N] {
    fn describe(to: &mut Describe) {
        to.parts("[", &[("", T::describe)], ";");
        write!(to.text, "{N}]").expect("a string takes all");
    }
}

impl<K: Schema, V: Schema> Schema for BTreeMap<K, V> {
    fn describe(to: &mut Describe) {
        to.parts("{", &[("", K::describe), ("", V::describe)], "}");
    }
}

impl<K: Schema, V: Schema, S: 'static> Schema for HashMap<K, V, S> {
    fn describe(to: &mut Describe) {
        <BTreeMap<K, V>>::describe(to);
    }
}

impl<T: Schema, E: Schema> Schema for Result<T, E> {
    fn describe(to: &mut Describe) {
        to.word("Result");
        to.parts("<", &[("", T::describe), ("", E::describe)], ">");
    }
}

macro_rules! tuples {
    ($(($($name:ident),+),)*) => {$(
        impl<$($name: Schema),+> Schema for ($($name,)+) {
            fn describe(to: &mut Describe) {
                to.parts("(", &[$(("", $name::describe)),+], ")");
            }
        }
    )*};
}

tuples!(
    (A),
    (A, B),
    (A, B, C),
    (A, B, C, D),
    (A, B, C, D, E),
    (A, B, C, D, E, F),
    (A, B, C, D, E, F, G),
    (A, B, C, D, E, F, G, H),
);

impl<M: Remote> Schema for ActorRef<M> {
    fn describe(to: &mut Describe) {
        to.reference::<M>();
    }
}

impl<M: Remote> Schema for Recipient<M> {
    fn describe(to: &mut Describe) {
        <ActorRef<M>>::describe(to);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::{Describe, Schema};
    use crate::actor::{Reply, Streaming};

    /// As the derive describes a struct of one field that is generic.
    macro_rules! structs {
        ($($type:ident $name:literal,)*) => {$(
            struct $type<T>(T);
            impl<T: Schema> Schema for $type<T> {
                fn describe(to: &mut Describe) {
                    to.named::<Self>($name, |to| to.parts("(", &[("", T::describe)], ")"));
                }
            }
        )*};
    }

    structs!(Pair "Pair", Elsewhere "Pair", Own "Duration", Number "u32", Outcome "Result",);

    type Of<A, B, C> = (Pair<A>, Pair<B>, Pair<C>);

    #[test]
    fn an_option_of_a_reply_or_stream_is_not_one_of_options() {
        assert_eq!(Describe::text::<Reply<Option<u8>>>(), "!u8?");
        assert_eq!(Describe::text::<Option<Reply<u8>>>(), "?!u8");
        assert_eq!(Describe::text::<Streaming<Option<u8>>>(), "*u8?");
        assert_eq!(Describe::text::<Option<Streaming<u8>>>(), "?*u8");
        // These would be one if only the replies in them were looked at.
        assert_eq!(Describe::text::<Option<Reply<Option<u8>>>>(), "?!u8?");
        assert_eq!(Describe::text::<Option<Option<Box<Reply<u8>>>>>(), "??!u8");
        assert_eq!(Describe::text::<Option<(Reply<u8>, u8)>>(), "(!u8,u8)?");
    }

    #[test]
    fn types_of_one_name_are_told_apart() {
        let same = Describe::text::<Of<u32, i32, u32>>();
        assert_eq!(same, "(Pair(u32),Pair#2(i32),Pair)");
        let other = Describe::text::<Of<u32, i32, i32>>();
        assert_eq!(other, "(Pair(u32),Pair#2(i32),Pair#2)");
        let third = Describe::text::<Of<u32, i32, Pair<u32>>>();
        assert_eq!(third, "(Pair(u32),Pair#2(i32),Pair#3(Pair))");
        // Of two modules.
        assert_ne!(
            Describe::text::<(Pair<u8>, Elsewhere<i8>, Pair<u8>)>(),
            Describe::text::<(Pair<u8>, Elsewhere<i8>, Elsewhere<i8>)>(),
        );
    }

    #[test]
    fn a_type_with_a_name_of_the_language_is_another() {
        assert_eq!(
            Describe::text::<(Duration, Own<u8>, Duration, Own<u8>)>(),
            "(Duration{secs:u64,nanos:u32},Duration#2(u8),Duration,Duration#2)"
        );
        assert_eq!(
            Describe::text::<(Own<u8>, Duration)>(),
            "(Duration(u8),Duration#2{secs:u64,nanos:u32})"
        );
        assert_eq!(
            Describe::text::<(Number<u8>, Outcome<u8>, Result<u8, ()>)>(),
            "(u32#2(u8),Result#2(u8),Result<u8|()>)"
        );
    }
}
