//! A deserializer within limits, around that of a codec of the user's: each part of a value that serde
//! asks for is paid for here. Postcard's reader (`codec.rs`) counts for itself.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::limits::{Budget, HANDLE};

/// What reads, or is read, within a budget.
pub(super) struct Bounded<'l, T> {
    inner: T,
    budget: &'l mut Budget,
    /// How large what it is a part of is; `None` of elements, which have not been paid for: how many there
    /// are the body says, not the type.
    whole: Option<usize>,
}

impl<'l, T> Bounded<'l, T> {
    pub(super) fn new(inner: T, budget: &'l mut Budget) -> Self {
        Self {
            inner,
            budget,
            whole: None,
        }
    }

    /// As above, of what has as many parts as its type says: they are no elements.
    fn fixed(inner: T, budget: &'l mut Budget, whole: usize) -> Self {
        Self {
            inner,
            budget,
            whole: Some(whole),
        }
    }
}

/// What a visitor makes that is no larger than what stands first is paid for by what is in it. Behind it
/// stands whether it has as many parts as its type says.
macro_rules! deserialize {
    ($($least:ident $fixed:literal: $($method:ident ($($name:ident: $type:ty),*))*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let Self { inner, budget, .. } = self;
            let room = budget.room.max($least);
            budget.part::<V::Value>(room).map_err(D::Error::custom)?;
            inner.$method($($name,)* Bounded { inner: visitor, budget, whole: $fixed.then_some(size_of::<V::Value>()) })
        }
    )*)*};
}

/// A value that is not known to be anything is so large in serde before it is what it is to be.
const ANY: usize = 32;
const NONE: usize = 0;

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    deserialize! {
        ANY false:
            deserialize_any ()
            deserialize_ignored_any ();
        HANDLE false:
            deserialize_bool ()
            deserialize_i8 ()
            deserialize_i16 ()
            deserialize_i32 ()
            deserialize_i64 ()
            deserialize_i128 ()
            deserialize_u8 ()
            deserialize_u16 ()
            deserialize_u32 ()
            deserialize_u64 ()
            deserialize_u128 ()
            deserialize_f32 ()
            deserialize_f64 ()
            deserialize_char ()
            deserialize_str ()
            deserialize_string ()
            deserialize_bytes ()
            deserialize_byte_buf ()
            deserialize_unit ()
            deserialize_identifier ()
            deserialize_seq ();
        NONE false:
            deserialize_option ()
            deserialize_map ();
        NONE true:
            deserialize_unit_struct (name: &'static str)
            deserialize_newtype_struct (name: &'static str)
            deserialize_tuple (length: usize)
            deserialize_tuple_struct (name: &'static str, length: usize)
            deserialize_struct (name: &'static str, fields: &'static [&'static str])
            deserialize_enum (name: &'static str, variants: &'static [&'static str]);
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident $type:ty;)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

/// What may take memory of its own.
macro_rules! visit_long {
    ($($method:ident $type:ty;)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.budget.costs(value.len()).map_err(E::custom)?;
            self.inner.$method(value)
        }
    )*};
}

/// What has values in it: one level down.
macro_rules! visit_within {
    ($($method:ident $bound:ident;)*) => {$(
        fn $method<A: $bound<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
            let Self { inner, budget, whole } = self;
            budget.down().map_err(A::Error::custom)?;
            let value = inner.$method(Bounded { inner: parts, budget: &mut *budget, whole });
            budget.up();
            value
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool bool;
        visit_i8 i8;
        visit_i16 i16;
        visit_i32 i32;
        visit_i64 i64;
        visit_i128 i128;
        visit_u8 u8;
        visit_u16 u16;
        visit_u32 u32;
        visit_u64 u64;
        visit_u128 u128;
        visit_f32 f32;
        visit_f64 f64;
        visit_char char;
    }

    visit_long! {
        visit_str &str;
        visit_borrowed_str &'de str;
        visit_string String;
        visit_bytes &[u8];
        visit_borrowed_bytes &'de [u8];
        visit_byte_buf Vec<u8>;
    }

    visit_within! {
        visit_some Deserializer;
        visit_newtype_struct Deserializer;
        visit_seq SeqAccess;
        visit_map MapAccess;
        visit_enum EnumAccess;
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        let Self {
            inner,
            budget,
            whole,
        } = self;
        let paid = match whole {
            Some(whole) => budget.part::<S::Value>(whole),
            // An element, which is there.
            None => budget.element::<S::Value>(),
        };
        paid.map_err(D::Error::custom)?;
        inner.deserialize(Bounded::new(from, budget))
    }
}

impl<T> Bounded<'_, T> {
    /// The next element, which is paid for if there is one.
    fn element<S>(&mut self, seed: S) -> (Bounded<'_, S>, &mut T) {
        let element = Bounded {
            inner: seed,
            budget: &mut *self.budget,
            whole: self.whole,
        };
        (element, &mut self.inner)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let (seed, inner) = self.element(seed);
        inner.next_element_seed(seed)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let (seed, inner) = self.element(seed);
        inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        // That of an element is none itself, and has not been paid for.
        let whole = self.whole.unwrap_or(0);
        let Self { inner, budget, .. } = self;
        inner.next_value_seed(Bounded::fixed(seed, budget, whole))
    }
}

impl<'l, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'l, A> {
    type Error = A::Error;
    type Variant = Bounded<'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let whole = self.whole.unwrap_or(0);
        let Self { inner, budget, .. } = self;
        let seed = Bounded::fixed(seed, &mut *budget, HANDLE);
        let (value, variant) = inner.variant_seed(seed)?;
        Ok((value, Bounded::fixed(variant, budget, whole)))
    }
}

macro_rules! visit_variant {
    ($($method:ident ($($name:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, A::Error> {
            let whole = self.whole.unwrap_or(0);
            let Self { inner, budget, .. } = self;
            budget.part::<V::Value>(whole).map_err(A::Error::custom)?;
            let visitor = Bounded::fixed(visitor, budget, size_of::<V::Value>());
            inner.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let whole = self.whole.unwrap_or(0);
        let Self { inner, budget, .. } = self;
        inner.newtype_variant_seed(Bounded::fixed(seed, budget, whole))
    }

    visit_variant! {
        tuple_variant (length: usize);
        struct_variant (fields: &'static [&'static str]);
    }
}
