//! Bodies: postcard's format, written in bulk, and read with limits.
//!
//! Written by the crate `postcard`, into memory that grows; its own ways to do so go byte by byte.
//! Read by a reader of our own, because a hostile body must cost no more than its size: postcard's
//! follows a megabyte of nesting until the stack ends, which no one can catch, and makes two thousand
//! million `()` of five bytes.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

use super::limits::{Budget, HANDLE, Limits, Malformed};

/// Where postcard writes to.
struct Grows<'a>(&'a mut Vec<u8>);

impl Flavor for Grows<'_> {
    type Output = ();

    #[inline(always)]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }
    #[inline(always)]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Appends a value. After an error there may be a part of it.
///
/// # Errors
/// If the type has a way to fail, or cannot be written in this format (a sequence of unknown length). Of an
/// error of the type's own postcard keeps no text.
#[inline]
pub fn encode<T: Serialize + ?Sized>(value: &T, to: &mut Vec<u8>) -> Result<(), Malformed> {
    postcard::serialize_with_flavor(value, Grows(to)).map_err(|error| match error {
        postcard::Error::SerdeSerCustom => Malformed::new("its `Serialize` gives an error"),
        error => Malformed::because(error),
    })
}

/// Reads a value, which takes all of the bytes.
///
/// # Errors
/// If they are no such value, or cost more than the limits allow.
///
/// ```
/// use tidings::remote::{Limits, decode, encode};
/// let mut bytes = Vec::new();
/// encode(&(300_u32, "hello"), &mut bytes).unwrap();
/// let back: (u32, String) = decode(&bytes, Limits::default()).unwrap();
/// assert_eq!(back, (300, "hello".to_owned()));
/// // Two thousand million elements of nothing.
/// let bomb = [0xff, 0xff, 0xff, 0xff, 0x07];
/// assert!(decode::<Vec<()>>(&bomb, Limits::default()).is_err());
/// ```
#[inline]
pub fn decode<T: DeserializeOwned>(bytes: &[u8], limits: Limits) -> Result<T, Malformed> {
    let mut reader = Reader::new::<T>(bytes, limits);
    let value = T::deserialize(&mut reader)?;
    match reader.rest.is_empty() {
        true => Ok(value),
        false => Err(Malformed::new("bytes are left")),
    }
}

/// Reads a value from the beginning of the bytes; gives the rest, too.
#[doc(hidden)]
#[inline]
pub fn decode_part<'b, T: serde::Deserialize<'b>>(
    bytes: &'b [u8],
    limits: Limits,
) -> Result<(T, &'b [u8]), Malformed> {
    let mut reader = Reader::new::<T>(bytes, limits);
    let value = T::deserialize(&mut reader)?;
    Ok((value, reader.rest))
}

struct Reader<'b> {
    rest: &'b [u8],
    budget: Budget,
}

impl<'b> Reader<'b> {
    #[inline]
    fn new<T>(bytes: &'b [u8], limits: Limits) -> Self {
        Self {
            rest: bytes,
            budget: Budget::new::<T>(bytes.len(), limits),
        }
    }

    #[inline]
    fn take(&mut self, n: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Malformed> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(short)?;
        self.rest = rest;
        Ok(byte)
    }

    /// A number of seven bits a byte, the lowest first, that fits into `bits`, 14 or more. Most are short.
    #[inline]
    fn varint(&mut self, bits: u32) -> Result<u128, Malformed> {
        match self.rest {
            [byte @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u128::from(*byte))
            }
            [low, high @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u128::from(u16::from(*low & 0x7f) | u16::from(*high) << 7))
            }
            _ => self.longer(bits),
        }
    }

    fn longer(&mut self, bits: u32) -> Result<u128, Malformed> {
        let mut value = 0_u128;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if shift >= bits || bits - shift < 7 && part >> (bits - shift) != 0 {
                return Err(Malformed::new("a number is too large"));
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.varint(64)?).map_err(|_| short())
    }

    fn bytes(&mut self) -> Result<&'b [u8], Malformed> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        self.budget.costs(length)?;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<&'b str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed::new("a string is not UTF-8"))
    }

    /// What this visitor makes is read. If it is no larger than `least` it is paid for by what is in it.
    #[inline(always)]
    fn part<V: Visitor<'b>>(&mut self, least: usize) -> Result<(), Malformed> {
        self.budget.part::<V::Value>(self.budget.room.max(least))
    }

    /// One level down, in what this visitor makes.
    #[inline]
    fn within<V: Visitor<'b>, T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        self.part::<V>(0)?;
        self.budget.down()?;
        let value = f(self);
        self.budget.up();
        value
    }
}

#[cold]
fn short() -> Malformed {
    Malformed::new("it ends too early")
}

/// Zigzag: 0, -1, 1, -2, ...
#[inline]
fn signed(value: u128) -> i128 {
    // The halves fit.
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty: $read:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
            let read: fn(&mut Reader<'b>) -> Result<$type, Malformed> = $read;
            if size_of::<V::Value>() > HANDLE {
                self.part::<V>(HANDLE)?;
            }
            visitor.$visit(read(self)?)
        }
    )*};
}

/// Within the width that was read: never lossy.
macro_rules! narrow {
    ($value:expr) => {
        $value
            .try_into()
            .map_err(|_| Malformed::new("a number is too large"))
    };
}

impl<'b> de::Deserializer<'b> for &mut Reader<'b> {
    type Error = Malformed;

    numbers! {
        deserialize_u8 visit_u8 u8: |r| r.byte();
        deserialize_u16 visit_u16 u16: |r| narrow!(r.varint(16)?);
        deserialize_u32 visit_u32 u32: |r| narrow!(r.varint(32)?);
        deserialize_u64 visit_u64 u64: |r| narrow!(r.varint(64)?);
        deserialize_u128 visit_u128 u128: |r| r.varint(128);
        deserialize_i8 visit_i8 i8: |r| Ok(r.byte()?.cast_signed());
        deserialize_i16 visit_i16 i16: |r| narrow!(signed(r.varint(16)?));
        deserialize_i32 visit_i32 i32: |r| narrow!(signed(r.varint(32)?));
        deserialize_i64 visit_i64 i64: |r| narrow!(signed(r.varint(64)?));
        deserialize_i128 visit_i128 i128: |r| Ok(signed(r.varint(128)?));
        deserialize_f32 visit_f32 f32: |r| Ok(f32::from_le_bytes(narrow!(r.take(4)?)?));
        deserialize_f64 visit_f64 f64: |r| Ok(f64::from_le_bytes(narrow!(r.take(8)?)?));
        deserialize_str visit_borrowed_str &'b str: |r| r.text();
        deserialize_string visit_borrowed_str &'b str: |r| r.text();
        deserialize_bytes visit_borrowed_bytes &'b [u8]: |r| r.bytes();
        deserialize_byte_buf visit_borrowed_bytes &'b [u8]: |r| r.bytes();
    }

    fn deserialize_bool<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.byte()? {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            _ => Err(Malformed::new("a bool is 0 or 1")),
        }
    }
    fn deserialize_char<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let mut chars = self.text()?.chars();
        match (chars.next(), chars.next()) {
            (Some(one), None) => visitor.visit_char(one),
            _ => Err(Malformed::new("a char is one")),
        }
    }
    fn deserialize_option<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.byte()? {
            0 => {
                self.part::<V>(0)?;
                visitor.visit_none()
            }
            1 => self.within::<V, _>(|reader| visitor.visit_some(reader)),
            _ => Err(Malformed::new("an option is 0 or 1")),
        }
    }
    fn deserialize_unit<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }
    fn deserialize_unit_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }
    fn deserialize_newtype_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.within::<V, _>(|reader| visitor.visit_newtype_struct(reader))
    }
    fn deserialize_seq<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let left = self.length()?;
        self.budget.room = self.budget.room.max(HANDLE);
        self.within::<V, _>(|reader| visitor.visit_seq(Elements::counted(reader, left)))
    }
    #[inline]
    fn deserialize_tuple<V: Visitor<'b>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.within::<V, _>(|reader| {
            visitor.visit_seq(Elements {
                reader,
                left,
                counted: false,
                whole: size_of::<V::Value>(),
            })
        })
    }
    fn deserialize_tuple_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_tuple(left, visitor)
    }
    fn deserialize_map<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let left = self.length()?;
        self.within::<V, _>(|reader| visitor.visit_map(Elements::counted(reader, left)))
    }
    #[inline]
    fn deserialize_struct<V: Visitor<'b>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.deserialize_tuple(fields.len(), visitor)
    }
    fn deserialize_enum<V: Visitor<'b>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.within::<V, _>(|reader| visitor.visit_enum(reader))
    }
    fn deserialize_any<V: Visitor<'b>>(self, _: V) -> Result<V::Value, Malformed> {
        Err(Malformed::new("the format does not say what a value is"))
    }
    fn deserialize_identifier<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.deserialize_any(visitor)
    }
    fn deserialize_ignored_any<V: Visitor<'b>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.deserialize_any(visitor)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The elements of a sequence, a map or a tuple.
struct Elements<'r, 'b> {
    reader: &'r mut Reader<'b>,
    left: usize,
    /// As many as the body says, not the type; and they have not been paid for.
    counted: bool,
    /// How large the tuple is of which they are parts; of no tuple they have been paid for.
    whole: usize,
}

impl<'r, 'b> Elements<'r, 'b> {
    #[inline]
    fn counted(reader: &'r mut Reader<'b>, left: usize) -> Self {
        Self {
            reader,
            left,
            counted: true,
            whole: usize::MAX,
        }
    }

    /// The next element, or the next key of a map.
    #[inline]
    fn next_seeded<S: DeserializeSeed<'b>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Malformed> {
        if self.left == 0 {
            return Ok(None);
        }
        if std::mem::take(&mut self.counted) {
            // For all of them, before the first.
            self.reader
                .budget
                .elements(self.left, size_of::<S::Value>())?;
        }
        self.left -= 1;
        self.reader.budget.part::<S::Value>(self.whole)?;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    /// How many there can be: each takes a byte, or no memory.
    fn hint(&self) -> Option<usize> {
        Some(self.left.min(self.reader.rest.len()))
    }
}

impl<'b> de::SeqAccess<'b> for Elements<'_, 'b> {
    type Error = Malformed;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'b>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Malformed> {
        self.next_seeded(seed)
    }
    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'b> de::MapAccess<'b> for Elements<'_, 'b> {
    type Error = Malformed;

    fn next_key_seed<S: DeserializeSeed<'b>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Malformed> {
        self.next_seeded(seed)
    }
    fn next_value_seed<S: DeserializeSeed<'b>>(&mut self, seed: S) -> Result<S::Value, Malformed> {
        self.reader.budget.part::<S::Value>(0)?;
        seed.deserialize(&mut *self.reader)
    }
    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'b> de::EnumAccess<'b> for &mut Reader<'b> {
    type Error = Malformed;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'b>>(self, seed: S) -> Result<(S::Value, Self), Malformed> {
        let variant: u32 = narrow!(self.varint(32)?)?;
        let value = seed.deserialize(variant.into_deserializer())?;
        Ok((value, self))
    }
}

impl<'b> de::VariantAccess<'b> for &mut Reader<'b> {
    type Error = Malformed;

    fn unit_variant(self) -> Result<(), Malformed> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'b>>(self, seed: S) -> Result<S::Value, Malformed> {
        self.budget.part::<S::Value>(self.budget.room)?;
        seed.deserialize(self)
    }
    fn tuple_variant<V: Visitor<'b>>(self, left: usize, visitor: V) -> Result<V::Value, Malformed> {
        de::Deserializer::deserialize_tuple(self, left, visitor)
    }
    fn struct_variant<V: Visitor<'b>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        de::Deserializer::deserialize_tuple(self, fields.len(), visitor)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::fmt;
    use std::fmt::Debug;
    use std::net::Ipv4Addr;

    use serde::Serialize;
    use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

    use super::super::Bytes;
    use super::{Limits, decode, encode};

    fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        decode(bytes, Limits::default()).ok()
    }

    fn come_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(values: &[T]) {
        for value in values {
            let mut bytes = Vec::new();
            encode(value, &mut bytes).unwrap();
            assert_eq!(read::<T>(&bytes).as_ref(), Some(value));
        }
    }

    #[test]
    fn bytes_come_back_through_a_format_that_has_none() {
        let bytes = Bytes(vec![0, 7, 255]);
        let text = serde_json::to_string(&bytes).unwrap();
        assert_eq!(text, "[0,7,255]");
        assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap(), bytes);
        assert!(serde_json::from_str::<Bytes>("[256]").is_err());
    }

    #[test]
    fn numbers_come_back_to_the_ends_of_their_width_and_no_larger_one_does() {
        come_back(&[0, 1, u8::MAX]);
        come_back(&[0, 127, 128, 300, u16::MAX]);
        come_back(&[0, 128, 1 << 21, u32::MAX]);
        come_back(&[0, 128, 1 << 42, u64::MAX]);
        come_back(&[0, 128, 1 << 84, u128::MAX]);
        come_back(&[0, -1, i8::MIN, i8::MAX]);
        come_back(&[0, -1, 1, -2, 63, -64, 64, i16::MIN, i16::MAX]);
        come_back(&[0, -300, i32::MIN, i32::MAX]);
        come_back(&[0, -300, i64::MIN, i64::MAX]);
        come_back(&[0, -300, i128::MIN, i128::MAX]);
        come_back(&[1.5_f32, -0.25]);
        come_back(&[1.5_f64, -0.25]);
        // Eighteen times seven bits, and two more.
        let longest = |last| [&[0xff; 18][..], &[last]].concat();
        assert_eq!(read(&longest(3)), Some(u128::MAX));
        assert_eq!(read::<u128>(&longest(4)), None);
        assert_eq!(read::<u128>(&[&[0x80; 19][..], &[0]].concat()), None);
        assert_eq!(read::<u16>(&[0xff, 0xff, 4]), None);
    }

    #[test]
    fn what_may_be_one_of_few_bytes_or_of_some_letters_is_nothing_else() {
        come_back(&[false, true]);
        assert_eq!(read::<bool>(&[2]), None);
        come_back(&[None, Some(7_u8)]);
        assert_eq!(read::<Option<u8>>(&[2, 7]), None);
        come_back(&['x', '\u{e9}']);
        assert_eq!(read::<char>(&[2, b'a', b'b']), None);
        assert_eq!(read::<char>(&[0]), None);
        come_back(&[String::new(), "abc".to_owned()]);
        assert_eq!(read::<String>(&[1, 0xff]), None);
        come_back(&[Bytes(Vec::new()), Bytes(vec![1, 2, 3])]);
        // As people write it it would be text.
        come_back(&[Ipv4Addr::new(192, 0, 2, 1)]);
    }

    #[test]
    fn depth_is_that_of_one_value_in_another_and_not_of_one_beside_another() {
        come_back(&[vec![Some(1_u8); 100]]);
        come_back(&[Some(Some(Some(1_u8)))]);
    }

    /// How many parts it was told that there are, and how many there were.
    #[derive(Debug, PartialEq)]
    struct Told<const MAP: bool>(Option<usize>, usize);

    impl<'de, const MAP: bool> Deserialize<'de> for Told<MAP> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            match MAP {
                true => from.deserialize_map(Counts),
                false => from.deserialize_seq(Counts),
            }
        }
    }

    struct Counts<const MAP: bool>;

    impl<'de, const MAP: bool> Visitor<'de> for Counts<MAP> {
        type Value = Told<MAP>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("parts")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Told<MAP>, A::Error> {
            let mut told = Told(parts.size_hint(), 0);
            while parts.next_element::<()>()?.is_some() {
                told.1 += 1;
            }
            Ok(told)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Told<MAP>, A::Error> {
            let mut told = Told(parts.size_hint(), 0);
            while parts.next_entry::<u8, u8>()?.is_some() {
                told.1 += 1;
            }
            Ok(told)
        }
    }

    #[test]
    fn how_many_parts_there_can_be_is_known_and_no_more_than_the_bytes_that_are_left() {
        assert_eq!(read(&[2, 1, 1, 2, 2]), Some(Told::<true>(Some(2), 2)));
        assert_eq!(read(&[3]), Some(Told::<false>(Some(0), 3)));
        let rest = decode::<(Told<false>, u8, u8)>(&[5, 1, 2], Limits::default());
        assert_eq!(rest.unwrap().0, Told(Some(2), 5));
    }
}
