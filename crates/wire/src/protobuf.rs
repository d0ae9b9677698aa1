//! Protocol buffers, read into the JSON that they stand for (ProtoJSON) and written from it, by
//! the tables of [`schema`].
//!
//! A request that comes as protocol buffers becomes the same JSON value as one that comes as
//! JSON, so that there is one reader of parameters and one list of problems; and what is answered
//! is the same document on every binding. The limits are those of JSON, too: how deep things nest,
//! and how many there are (see [`jsonrpc`](crate::jsonrpc)).
//!
//! What protocol buffers cannot carry is lost here and nowhere else: a number in
//! `google.protobuf.Value` is a double, so that integers beyond 2^53 and decimals of more than
//! seventeen digits are rounded, what is too big for a double becomes the biggest one, and `1.0`
//! is `1`.

use std::fmt;

use crate::a2a::error::Code;

mod read;
#[rustfmt::skip]
pub mod schema;
mod write;

pub use read::read;
pub(crate) use write::is_default;
pub use write::{Mismatch, write};

/// A message's fields.
#[derive(Debug)]
pub struct Message {
    /// Its full name.
    pub name: &'static str,
    /// In ascending order of their numbers.
    pub fields: &'static [Field],
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its number.
    pub number: u32,
    /// The member's name in JSON.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// When it is there, and how often.
    pub rule: Rule,
}

const fn field(number: u32, name: &'static str, kind: Kind, rule: Rule) -> Field {
    Field { number, name, kind, rule }
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `string`.
    Text,
    /// `bytes`: base64 in JSON.
    Bytes,
    /// `bool`.
    Bool,
    /// `int32`.
    Int32,
    /// An enum: a value's name in JSON. Where it has none here it is its number as a text, so that
    /// a reader who wants a name has one to refuse.
    Enum(&'static [(i32, &'static str)]),
    /// A message.
    Message(&'static Message),
    /// `google.protobuf.Value`: any JSON.
    Json,
    /// `google.protobuf.Struct`: an object.
    Object,
    /// `google.protobuf.Timestamp`: RFC 3339 in JSON.
    Timestamp,
    /// `google.protobuf.Duration`: seconds with an `s` behind them in JSON.
    Duration,
    /// `google.protobuf.Any`: an object with an `@type` in JSON.
    Any,
}

/// When a field is there, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Once; its default is the same as nothing.
    Implicit,
    /// Once or not at all.
    Explicit,
    /// At most one of those of this number is there.
    Oneof(u8),
    /// An array.
    Repeated,
    /// An object with these values.
    Map,
}

/// Why bytes are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reject {
    /// `ParseError` or `InvalidRequest`.
    pub code: Code,
    /// What is wrong, without any of the bytes.
    pub message: &'static str,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for Reject {}

/// `google.protobuf.Value` and its kin have no table: they are JSON.
mod well_known {
    pub(super) const NULL: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const TEXT: u32 = 3;
    pub(super) const BOOL: u32 = 4;
    pub(super) const STRUCT: u32 = 5;
    pub(super) const LIST: u32 = 6;
    /// `Struct.fields`, `ListValue.values`.
    pub(super) const MEMBERS: u32 = 1;
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
    pub(super) const SECONDS: u32 = 1;
    pub(super) const NANOS: u32 = 2;
    pub(super) const TYPE_URL: u32 = 1;
    pub(super) const CONTENT: u32 = 2;
    /// What stands before a message's name in `Any.type_url`.
    pub(super) const TYPE_PREFIX: &str = "type.googleapis.com/";
}

/// How a field's value is laid out.
mod layout {
    pub(super) const VARINT: u8 = 0;
    pub(super) const FIXED64: u8 = 1;
    pub(super) const LENGTH: u8 = 2;
    pub(super) const GROUP: u8 = 3;
    pub(super) const END_GROUP: u8 = 4;
    pub(super) const FIXED32: u8 = 5;
}
