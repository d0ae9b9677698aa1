//! Reads protocol buffers into the JSON that they represent (ProtoJSON) and writes them from it, by
//! the tables of [`schema`].
//!
//! A request in protocol buffers becomes the same JSON value as one in JSON, so that there is one
//! reader of parameters and one list of problems, and a response is the same document on every
//! binding. The limits on depth and count are those of JSON too (see [`jsonrpc`](crate::jsonrpc)).
//!
//! Numbers lose precision here and nowhere else: a number in `google.protobuf.Value` is a double,
//! so integers beyond 2^53 and decimals of more than seventeen digits are rounded, a number too
//! large for a double becomes the largest one, and `1.0` becomes `1`.

use crate::error::A2aCode;

#[rustfmt::skip]
pub mod descriptors;
mod read;
#[rustfmt::skip]
pub mod schema;
mod write;

pub use read::read;
pub(crate) use write::is_default;
pub use write::{Mismatch, write};

/// A file of the definition, as reflection tells it.
#[derive(Debug)]
pub struct FileDescription {
    /// The name by which other files import it.
    pub name: &'static str,
    /// The full names of its services, methods, messages and enums.
    pub symbols: &'static [&'static str],
    /// The file as `google.protobuf.FileDescriptorProto`.
    pub bytes: &'static [u8],
}

/// A message with its fields.
#[derive(Debug)]
pub struct MessageDescriptor {
    /// The full name.
    pub name: &'static str,
    /// The fields in ascending order of their numbers.
    pub fields: &'static [FieldDescriptor],
}

/// A field.
#[derive(Debug)]
pub struct FieldDescriptor {
    /// The field number.
    pub number: u32,
    /// The member's name in JSON.
    pub name: &'static str,
    /// The type.
    pub kind: FieldType,
    /// The presence and repetition.
    pub rule: FieldLabel,
}

const fn field(
    number: u32,
    name: &'static str,
    kind: FieldType,
    rule: FieldLabel,
) -> FieldDescriptor {
    FieldDescriptor { number, name, kind, rule }
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// `string`.
    Text,
    /// `bytes`, base64 in JSON.
    Bytes,
    /// `bool`.
    Bool,
    /// `int32`.
    Int32,
    /// An enum: the value's name in JSON. A number without a name becomes a text with the number,
    /// so that a reader of names can reject it.
    Enum(&'static [(i32, &'static str)]),
    /// A message.
    Message(&'static MessageDescriptor),
    /// `google.protobuf.Value`, any JSON.
    Json,
    /// `google.protobuf.Struct`, an object.
    Object,
    /// `google.protobuf.Timestamp`, RFC 3339 in JSON.
    Timestamp,
    /// `google.protobuf.Duration`, seconds with the suffix `s` in JSON.
    Duration,
    /// `google.protobuf.Any`, an object with an `@type` in JSON.
    Any,
}

/// The presence and repetition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLabel {
    /// Single; the default value is the same as absence.
    Implicit,
    /// Single or absent.
    Explicit,
    /// At most one of the fields with the same group number is present.
    Oneof(u8),
    /// An array.
    Repeated,
    /// An object with values of this type.
    Map,
}

/// The reason why bytes are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ProtobufReject {
    /// `ParseError` or `InvalidRequest`.
    pub code: A2aCode,
    /// The problem, without any of the bytes.
    pub message: &'static str,
}

/// Field numbers of `google.protobuf.Value` and related messages, which have no table because they
/// are JSON.
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
    /// The prefix of a message's name in `Any.type_url`.
    pub(super) const TYPE_PREFIX: &str = "type.googleapis.com/";
}

/// Wire types of fields.
mod layout {
    pub(super) const VARINT: u8 = 0;
    pub(super) const FIXED64: u8 = 1;
    pub(super) const LENGTH: u8 = 2;
    pub(super) const GROUP: u8 = 3;
    pub(super) const END_GROUP: u8 = 4;
    pub(super) const FIXED32: u8 = 5;
}
