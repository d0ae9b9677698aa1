//! JSON documents that keep the text's details: the digits of numbers, the order of members, and
//! member names that other parsers treat specially.
//!
//! The types are used like those of `serde_json`, whose own [`Value`](serde_json::Value) keeps none
//! of these unless features are set that affect every other user of it in a program. `serde_json`
//! writes text and reads typed documents; a [`Value`] inside them is read here. [`read`] and
//! [`ReadLimits`] are for untrusted text.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;

mod build;
mod convert;
mod literal;
pub mod map;
mod number;
mod open;
mod pieces;
mod read;
mod value;

pub use literal::literal;
pub use map::Map;
pub use number::Number;
pub use pieces::{JsonPieces, SharedJson};
pub use read::{JsonReader, MAX_DEPTH, ReadError, ReadLimits, document, duplicate_key, read};
pub use serde_json::{
    Deserializer, Error, Result, from_reader, from_slice, from_str, to_string, to_string_pretty,
    to_vec, to_writer, value::RawValue, value::to_raw_value,
};
pub use value::{Value, ValueIndex, ValueStep};

pub use crate::__json as json;
pub use crate::__object as object;

/// The prefix of the member names with which `serde_json` passes numbers and raw text through
/// serde. `serde_json` would misread a document with such a member.
pub const RESERVED: &str = "$serde_json::private::";

/// The name with which a reader asks `serde_json` for the text of a value.
const RAW: &str = "$serde_json::private::RawValue";

/// Converts `value` to a document.
///
/// # Errors
///
/// Errors of the value's own serializer, and map keys that are not text.
pub fn to_value<T: Serialize>(value: T) -> Result<Value> {
    value.serialize(build::ValueSerializer)
}

/// Reads a typed value from a document.
///
/// # Errors
///
/// If the document has another shape.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T> {
    T::deserialize(&value)
}

/// Builds an object of the members that are present.
pub fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Writes a member if it is present.
pub fn put<M: SerializeMap>(
    members: &mut M,
    name: &'static str,
    value: Option<impl Serialize>,
) -> std::result::Result<(), M::Error> {
    value.map_or(Ok(()), |value| members.serialize_entry(name, &value))
}

#[cfg(test)]
mod tests;
