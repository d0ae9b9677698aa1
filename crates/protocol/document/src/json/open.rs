//! Reads a [`Value`] inside a typed document, and typed values from a [`Value`].

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Error;

use super::read::{JsonReader, ReadLimits};
use super::{Map, Number, RAW, Value};
use crate::problem::{DocumentPlace, Problems};

/// The same depth as `serde_json`.
const BOUNDS: ReadLimits = ReadLimits { depth: 127, containers: usize::MAX, reserved: true };

impl<'de> Deserialize<'de> for Value {
    /// Reads every digit if the source is JSON text; from other formats, what serde can express.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, RawTextVisitor)
    }
}

/// Reads a text. Of duplicate members the last counts.
fn parse(text: &str) -> Result<Value, Error> {
    JsonReader::new(text, BOUNDS).document(&DocumentPlace::Root, &mut Problems::new()).map_err(
        |_| {
            serde_json::from_str::<serde_json::Value>(text)
                .err()
                .unwrap_or_else(|| Error::custom("nests too deep"))
        },
    )
}

/// A visitor that takes the text of a value from `serde_json`, and the value itself from other
/// deserializers.
struct RawTextVisitor;

impl<'de> Visitor<'de> for RawTextVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        /// Borrows if the whole document is borrowed.
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

        map.next_key::<IgnoredAny>()?;
        let Text(text) = map.next_value()?;
        parse(&text).map_err(A::Error::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, of: D) -> Result<Value, D::Error> {
        of.deserialize_any(ValueVisitor)
    }
}

/// A visitor that builds a value from serde's calls.
struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, of: D) -> Result<Value, D::Error> {
        Value::deserialize(of)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, of: D) -> Result<Value, D::Error> {
        Value::deserialize(of)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element()? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some((name, value)) = members.next_entry()? {
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Number(number) => of_number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.iter());
                let read = visitor.visit_seq(&mut items)?;
                items.end().map(|()| read)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.as_str(), value));
                let mut members = MapDeserializer::new(members);
                let read = visitor.visit_map(&mut members)?;
                members.end().map(|()| read)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Only this form passes on all digits of a number.
        if name == RAW
            && let Value::Number(number) = self
        {
            return visitor.visit_map(MapDeserializer::new([(RAW, number.text())].into_iter()));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let single = self.as_object().filter(|members| members.len() == 1);
        match (self.as_str(), single.and_then(|members| members.first())) {
            (Some(name), _) => visitor.visit_enum(Variant { name, inner: None }),
            (None, Some((name, inner))) => visitor.visit_enum(Variant { name, inner: Some(inner) }),
            (None, None) => Err(Error::invalid_type(self.unexpected(), &"a variant's name")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn of_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    if let Some(number) = number.as_u64() {
        return visitor.visit_u64(number);
    }
    if let Some(number) = number.as_i64() {
        return visitor.visit_i64(number);
    }
    let float = number.as_f64().ok_or_else(|| Error::custom("number out of range"))?;
    visitor.visit_f64(float)
}

/// A variant with its name and content.
struct Variant<'de> {
    name: &'de str,
    inner: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        seed.deserialize(self.name.into_deserializer()).map(|name| (name, self))
    }
}

impl<'de> Variant<'de> {
    fn inner(self) -> Result<&'de Value, Error> {
        self.inner.ok_or_else(|| Error::custom("a variant without what belongs to it"))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.inner.map_or(Ok(()), Deserialize::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.inner()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.inner()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.inner()?.deserialize_any(visitor)
    }
}
