//! JSON documents that keep what was written: the digits of a number, the order of members, names
//! that other parsers give a meaning of their own.
//!
//! The types are used like those of `serde_json`, whose own [`Value`](serde_json::Value) keeps
//! neither, unless features are set that change every other user of it in a program. Text is
//! written, and typed documents are read, by `serde_json`; a [`Value`] inside of them is read here.
//! [`read`] and [`Bounds`] are for what strangers send.

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
pub use pieces::{Pieces, Written};
pub use read::{Bounds, MAX_DEPTH, Stop, document, read};
pub(crate) use read::{Reader, twice};
pub use serde_json::{
    Deserializer, Error, Result, from_reader, from_slice, from_str, to_string, to_string_pretty,
    to_vec, to_writer, value::RawValue, value::to_raw_value,
};
pub use value::{Index, Step, Value};

pub use crate::__json as json;

/// What `serde_json` calls the members by which it passes numbers and raw text through serde. In
/// a document they would be taken for such by whoever reads it with `serde_json`.
pub const RESERVED: &str = "$serde_json::private::";

/// By this name a reader tells `serde_json` that it wants the text of a value.
const RAW: &str = "$serde_json::private::RawValue";

/// The document that a value is written as.
///
/// # Errors
/// The value's own, and maps whose keys are no text.
pub fn to_value<T: Serialize>(value: T) -> Result<Value> {
    value.serialize(build::Builder)
}

/// A typed value out of a document.
///
/// # Errors
/// The document is of another shape.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T> {
    T::deserialize(&value)
}

/// An object of the members that are there.
pub(crate) fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Writes a member that is there.
pub(crate) fn put<M: SerializeMap>(
    members: &mut M,
    name: &'static str,
    value: Option<impl Serialize>,
) -> std::result::Result<(), M::Error> {
    value.map_or(Ok(()), |value| members.serialize_entry(name, &value))
}

#[cfg(test)]
mod tests;
