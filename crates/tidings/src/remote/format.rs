//! The format of a link's bodies: postcard, or a codec of the user's.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Serialize, Serializer};

use super::bounded::Bounded;
use super::codec;
use super::limits::{Budget, Limits, Malformed};
use super::port::unwritten;
use crate::primitive::Arc;

/// A format for the bodies of messages, in place of postcard: whatever serde can write and read.
///
/// Both sides of a link must have one of the same name, or there is no link. Headers, and with them
/// references, replies and their limits, stay as they are: a body says where in the header's table
/// they stand. What is read is bounded in depth, elements and memory as with postcard; what a codec
/// itself takes before it hands a value over, or skips, it has to bound. Each value costs a dynamic
/// call for every part of it, which postcard does without.
///
/// ```
/// use tidings::remote::{Codec, Format, Limits, Malformed, Slot, Value};
///
/// struct Json;
/// impl Codec for Json {
///     fn name(&self) -> &str {
///         "json"
///     }
///     fn encode(&self, value: &Value<'_>, to: &mut Vec<u8>) -> Result<(), Malformed> {
///         serde_json::to_writer(to, value).map_err(Malformed::because)
///     }
///     fn decode(&self, bytes: &[u8], slot: Slot<'_>) -> Result<(), Malformed> {
///         let mut json = serde_json::Deserializer::from_slice(bytes);
///         slot.fill(&mut json)?;
///         json.end().map_err(Malformed::because)
///     }
/// }
///
/// let format = Format::new(Json, Limits::default());
/// let mut body = Vec::new();
/// format.encode(&(1, "one"), &mut body).unwrap();
/// assert_eq!(body, br#"[1,"one"]"#);
/// assert_eq!(format.decode::<(u8, String)>(&body).unwrap().1, "one");
/// ```
pub trait Codec: Send + Sync + 'static {
    /// Its name, at most a few hundred bytes.
    fn name(&self) -> &str;

    /// Appends a value.
    ///
    /// # Errors
    /// If it cannot be written in this format: its call, or its message, is not sent.
    fn encode(&self, value: &Value<'_>, to: &mut Vec<u8>) -> Result<(), Malformed>;

    /// Reads a value that takes all of the bytes, which are a peer's, into its place.
    ///
    /// # Errors
    /// If they are none.
    fn decode(&self, bytes: &[u8], slot: Slot<'_>) -> Result<(), Malformed>;
}

/// A value that a [`Codec`] is to write.
pub struct Value<'a>(&'a dyn erased_serde::Serialize);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

type Fill<'a> =
    dyn FnMut(&mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error> + 'a;

/// The place of a value that a [`Codec`] is to read.
pub struct Slot<'a>(&'a mut Fill<'a>);

impl Slot<'_> {
    /// Takes the value from there.
    ///
    /// # Errors
    /// If there is none, or one that costs more than the limits allow.
    pub fn fill<'de, D: Deserializer<'de>>(self, from: D) -> Result<(), Malformed> {
        let mut from = <dyn erased_serde::Deserializer<'_>>::erase(from);
        (self.0)(&mut from).map_err(Malformed::because)
    }
}

impl fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// How the bodies of a link are written and read.
#[derive(Clone, Default)]
pub struct Format {
    /// `None`: postcard.
    codec: Option<Arc<dyn Codec>>,
    limits: Limits,
}

impl Format {
    /// By a codec.
    #[must_use]
    pub fn new(codec: impl Codec, limits: Limits) -> Self {
        Self {
            codec: Some(Arc::new(codec)),
            limits,
        }
    }

    /// With other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The name that both sides must have in common.
    #[must_use]
    pub fn name(&self) -> &str {
        self.codec.as_ref().map_or("postcard", |codec| codec.name())
    }

    /// Appends a value. After an error there may be a part of it.
    ///
    /// # Errors
    /// If it cannot be written. Why a type's own `Serialize` gives an error a codec may tell; postcard does not.
    #[inline]
    pub fn encode<T: Serialize>(&self, value: &T, to: &mut Vec<u8>) -> Result<(), Malformed> {
        let written = match &self.codec {
            None => codec::encode(value, to),
            Some(codec) => codec.encode(&Value(value), to),
        };
        written.map_err(unwritten)
    }

    /// Reads a value, which takes all of the bytes.
    ///
    /// # Errors
    /// If they are no such value, or cost more than the limits allow.
    #[inline]
    pub fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Malformed> {
        match &self.codec {
            None => codec::decode(bytes, self.limits),
            Some(codec) => self.decode_by(&**codec, bytes),
        }
    }

    fn decode_by<T: DeserializeOwned>(
        &self,
        codec: &dyn Codec,
        bytes: &[u8],
    ) -> Result<T, Malformed> {
        let mut budget = Budget::new::<T>(bytes.len(), self.limits);
        let mut value = None;
        let mut fill = |from: &mut dyn erased_serde::Deserializer<'_>| {
            value = Some(T::deserialize(Bounded::new(from, &mut budget))?);
            Ok(())
        };
        codec.decode(bytes, Slot(&mut fill))?;
        value.ok_or_else(|| Malformed::new("the codec has read nothing"))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format")
            .field("name", &self.name())
            .field("limits", &self.limits)
            .finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;
    use std::net::Ipv4Addr;

    use serde::de::{DeserializeOwned, Deserializer, Visitor};
    use serde::{Deserialize, Serialize, forward_to_deserialize_any};

    use super::super::Bytes;
    use super::{Codec, Format, Limits, Malformed, Slot, Value};

    struct Json;

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

    /// What is no text, as a codec of the user's.
    struct Packed;

    impl Codec for Packed {
        fn name(&self) -> &str {
            "packed"
        }
        fn encode(&self, value: &Value<'_>, to: &mut Vec<u8>) -> Result<(), Malformed> {
            Format::default().encode(value, to)
        }
        fn decode(&self, bytes: &[u8], slot: Slot<'_>) -> Result<(), Malformed> {
            slot.fill(&mut postcard::Deserializer::from_bytes(bytes))
        }
    }

    /// Gives its bytes away.
    struct Owned;

    impl Codec for Owned {
        fn name(&self) -> &str {
            "owned"
        }
        fn encode(&self, _: &Value<'_>, _: &mut Vec<u8>) -> Result<(), Malformed> {
            Err(Malformed::new("it is only read"))
        }
        fn decode(&self, bytes: &[u8], slot: Slot<'_>) -> Result<(), Malformed> {
            slot.fill(Gives(bytes.to_vec()))
        }
    }

    struct Gives(Vec<u8>);

    impl<'de> Deserializer<'de> for Gives {
        type Error = Malformed;

        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
            visitor.visit_byte_buf(self.0)
        }
        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
            ignored_any
        }
    }

    fn by(codec: impl Codec) -> Format {
        Format::new(codec, Limits::default())
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Point,
        Circle(u32),
        Box(u8, i8),
        Named { name: String, size: Option<f64> },
    }

    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
        for format in [Format::default(), by(Json), by(Packed)] {
            let mut body = Vec::new();
            format.encode(value, &mut body).unwrap();
            assert_eq!(format.decode::<T>(&body).as_ref(), Ok(value), "{format:?}");
        }
    }

    #[test]
    fn values_come_back_in_every_format() {
        let name = "x".to_owned();
        let (named, none) = (
            Shape::Named {
                name: name.clone(),
                size: Some(1.5),
            },
            Shape::Named { name, size: None },
        );
        comes_back(&vec![
            Shape::Point,
            Shape::Circle(7),
            Shape::Box(1, -1),
            named,
            none,
        ]);
        comes_back(&BTreeMap::from([
            ("a".to_owned(), (true, 'x', ())),
            (String::new(), (false, 'y', ())),
        ]));
        comes_back(&Ipv4Addr::new(192, 0, 2, 1));
    }

    #[test]
    fn what_stands_in_the_place_of_something_else_is_named() {
        let read = |text: &str| by(Json).decode::<Shape>(text.as_bytes());
        assert_eq!(read(r#"{"Point":null}"#), Ok(Shape::Point));
        assert!(read(r#"{"Point":1}"#).is_err());
        let error = by(Json).decode::<Bytes>(b"1").unwrap_err();
        assert!(error.to_string().contains("expected bytes"), "{error}");
        assert_eq!(
            by(Owned).decode::<Bytes>(&[1, 2]).unwrap(),
            Bytes(vec![1, 2])
        );
        assert!(by(Owned).decode::<()>(&[1, 2]).is_err());
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Sparse {
        words: Option<[[u64; 32]; 8]>,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Rare {
        Often,
        Boxed(Box<Sparse>),
        Named { sparse: Box<Sparse> },
        Several(u8, Box<Sparse>),
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Tree {
        Leaf,
        Node(Box<Self>, Box<Self>),
    }

    impl Tree {
        fn of(depth: u32) -> Self {
            match depth {
                0 => Self::Leaf,
                _ => Self::Node(Self::of(depth - 1).into(), Self::of(depth - 1).into()),
            }
        }
    }

    fn costs_too_much<T: Serialize + DeserializeOwned + Clone>(one: T) {
        let most = vec![one; 4000];
        for format in [Format::default(), by(Json), by(Packed)] {
            let mut body = Vec::new();
            format.encode(&most, &mut body).unwrap();
            assert!(format.decode::<Vec<T>>(&body).is_err(), "{format:?}");
        }
    }

    #[test]
    fn what_lies_in_a_box_is_paid_for() {
        let sparse = Box::new(Sparse::default());
        costs_too_much(sparse.clone());
        costs_too_much((sparse.clone(), ()));
        costs_too_much(Some(sparse.clone()));
        costs_too_much(Box::new(None::<[[u64; 32]; 8]>));
        costs_too_much(Box::new((None::<[[u64; 32]; 8]>,)));
        costs_too_much(Rare::Boxed(sparse.clone()));
        costs_too_much(Rare::Named {
            sparse: sparse.clone(),
        });
        costs_too_much(Rare::Several(0, sparse.clone()));
        costs_too_much(BTreeMap::from([(1, sparse)]));
        let mut body = Vec::new();
        Format::default().encode(&Tree::of(14), &mut body).unwrap();
        assert!(Format::default().decode::<Tree>(&body).is_err());
    }

    #[test]
    fn what_is_paid_for_is_paid_for_once() {
        let words = Some([[u64::MAX; 32]; 8]);
        comes_back(&vec![Sparse { words }; 100]);
        comes_back(&vec![Box::new(Sparse { words }); 100]);
        comes_back(&vec![Rare::Often; 4000]);
        let boxed = Rare::Boxed(Box::new(Sparse { words }));
        comes_back(&vec![boxed; 100]);
        comes_back(&vec![Some(Box::<str>::from("short")); 10_000]);
        comes_back(&vec![Box::new((1_u32, 2_u32)); 10_000]);
        comes_back(&vec![[[7_u32; 4]; 4]; 10_000]);
        comes_back(&Tree::of(10));
    }

    #[test]
    fn a_format_has_a_name_and_limits() {
        assert_eq!(
            (Format::default().name(), by(Json).name()),
            ("postcard", "json")
        );
        let flat = Limits {
            depth: 1,
            ..Limits::default()
        };
        for format in [Format::default(), by(Json)] {
            let mut body = Vec::new();
            format.encode(&vec![vec![1_u8]], &mut body).unwrap();
            assert!(format.decode::<Vec<Vec<u8>>>(&body).is_ok());
            assert!(
                format
                    .clone()
                    .limits(flat)
                    .decode::<Vec<Vec<u8>>>(&body)
                    .is_err()
            );
        }
    }
}
