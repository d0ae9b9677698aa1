//! Writes protocol buffers from JSON. Only our own documents are written, so a value that does not
//! fit its field is an internal error and never a caller's.

use jiff::Timestamp;

use super::{
    FieldDescriptor, FieldLabel, FieldType, MessageDescriptor, layout, schema, well_known,
};
use tradepost_document::format;
use tradepost_document::json::{Map, Value};

/// A member that does not fit its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} does not fit {message}")]
pub struct Mismatch {
    /// The message.
    pub message: &'static str,
    /// The member; empty for the message itself.
    pub field: &'static str,
}

/// Writes a JSON object as a message. Unknown members are ignored.
///
/// # Errors
///
/// The first member that does not fit.
pub fn write(message: &'static MessageDescriptor, value: &Value) -> Result<Vec<u8>, Mismatch> {
    let mut out = Vec::new();
    write_message(message, value, &mut out)?;
    Ok(out)
}

fn write_message(
    message: &'static MessageDescriptor,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), Mismatch> {
    let mismatch = |field| Mismatch { message: message.name, field };
    let members = value.as_object().ok_or_else(|| mismatch(""))?;
    for field in message.fields {
        let Some(value) = members.get(field.name) else { continue };
        // Null means absent, except where it is a value of its own.
        if value.is_null() && !matches!(field.kind, FieldType::Json) {
            continue;
        }
        write_field(field, value, out)
            .map_err(|inner| inner.unwrap_or_else(|| mismatch(field.name)))?;
    }
    Ok(())
}

/// An error; `None` stands for the current field.
type Failure = Option<Mismatch>;

fn write_field(field: &FieldDescriptor, value: &Value, out: &mut Vec<u8>) -> Result<(), Failure> {
    match field.rule {
        FieldLabel::Repeated => {
            for item in value.as_array().ok_or(None)? {
                write_value(field.number, field.kind, item, out)?;
            }
        }
        FieldLabel::Map => {
            for (key, value) in value.as_object().ok_or(None)? {
                let mut entry = Vec::new();
                chunk(well_known::KEY, key.as_bytes(), &mut entry);
                write_value(well_known::VALUE, field.kind, value, &mut entry)?;
                chunk(field.number, &entry, out);
            }
        }
        FieldLabel::Implicit if is_default(field.kind, value) => {}
        FieldLabel::Implicit | FieldLabel::Explicit | FieldLabel::Oneof(_) => {
            write_value(field.number, field.kind, value, out)?;
        }
    }
    Ok(())
}

pub(crate) fn is_default(kind: FieldType, value: &Value) -> bool {
    match kind {
        FieldType::Text | FieldType::Bytes => value == "",
        FieldType::Bool => *value == Value::Bool(false),
        FieldType::Int32 => value.as_i64() == Some(0),
        FieldType::Enum(_)
        | FieldType::Message(_)
        | FieldType::Json
        | FieldType::Object
        | FieldType::Timestamp
        | FieldType::Duration
        | FieldType::Any => false,
    }
}

fn write_value(
    number: u32,
    kind: FieldType,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    match kind {
        FieldType::Text => chunk(number, value.as_str().ok_or(None)?.as_bytes(), out),
        FieldType::Bytes => {
            let text = value.as_str().ok_or(None)?;
            chunk(number, &format::base64(text).ok_or(None)?, out);
        }
        FieldType::Bool => scalar(number, value.as_bool().ok_or(None)?.into(), out),
        FieldType::Int32 => scalar(number, int32(value)?, out),
        FieldType::Enum(names) => {
            let name = value.as_str().ok_or(None)?;
            let known = names.iter().find(|(_, known)| *known == name);
            // An enum number without a name was read as a text, and becomes the number again.
            let known = known.map_or_else(|| name.parse().ok(), |(number, _)| Some(*number));
            scalar(number, sign_extended(known.ok_or(None)?), out);
        }
        FieldType::Message(message) => {
            let mut content = Vec::new();
            write_message(message, value, &mut content)?;
            chunk(number, &content, out);
        }
        FieldType::Json => chunk(number, &json(value), out),
        FieldType::Object => chunk(number, &structure(value.as_object().ok_or(None)?), out),
        FieldType::Timestamp => {
            let at: Timestamp = value.as_str().and_then(|text| text.parse().ok()).ok_or(None)?;
            // Nanoseconds count forward, also before the epoch.
            let nanos = at.as_nanosecond().rem_euclid(1_000_000_000);
            let seconds = at.as_nanosecond().div_euclid(1_000_000_000);
            chunk(number, &moment(seconds, nanos).ok_or(None)?, out);
        }
        FieldType::Duration => {
            let nanos = value.as_str().and_then(duration).ok_or(None)?;
            // Seconds and nanoseconds have the same sign, unlike in a timestamp.
            let content = moment(nanos / 1_000_000_000, nanos % 1_000_000_000).ok_or(None)?;
            chunk(number, &content, out);
        }
        FieldType::Any => {
            let url = value.get("@type").and_then(Value::as_str).ok_or(None)?;
            let name = url.strip_prefix(well_known::TYPE_PREFIX).ok_or(None)?;
            let known = schema::ALL.iter().find(|message| message.name == name).ok_or(None)?;
            let mut content = Vec::new();
            chunk(well_known::TYPE_URL, url.as_bytes(), &mut content);
            chunk(well_known::CONTENT, &write(known, value)?, &mut content);
            chunk(number, &content, out);
        }
    }
    Ok(())
}

/// Writes a `google.protobuf.Value`.
fn json(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Null => scalar(well_known::NULL, 0, &mut out),
        Value::Bool(value) => scalar(well_known::BOOL, (*value).into(), &mut out),
        Value::Number(number) => {
            let biggest = if number.to_string().starts_with('-') { f64::MIN } else { f64::MAX };
            key(well_known::NUMBER, layout::FIXED64, &mut out);
            out.extend_from_slice(&number.as_f64().unwrap_or(biggest).to_le_bytes());
        }
        Value::String(text) => chunk(well_known::TEXT, text.as_bytes(), &mut out),
        Value::Array(items) => {
            let mut list = Vec::new();
            items.iter().for_each(|item| chunk(well_known::MEMBERS, &json(item), &mut list));
            chunk(well_known::LIST, &list, &mut out);
        }
        Value::Object(members) => chunk(well_known::STRUCT, &structure(members), &mut out),
    }
    out
}

/// Writes a `google.protobuf.Struct`.
fn structure(members: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in members {
        let mut entry = Vec::new();
        chunk(well_known::KEY, name.as_bytes(), &mut entry);
        chunk(well_known::VALUE, &json(value), &mut entry);
        chunk(well_known::MEMBERS, &entry, &mut out);
    }
    out
}

fn int32(value: &Value) -> Result<u64, Failure> {
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok()).ok_or(None)?;
    Ok(sign_extended(number))
}

fn sign_extended(number: i32) -> u64 {
    // A negative `int32` takes ten bytes, so that it can be read as an `int64`.
    i64::from(number).cast_unsigned()
}

/// Reads a duration in nanoseconds.
fn duration(text: &str) -> Option<i128> {
    let text = text.strip_suffix('s')?;
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.len() > 9 || !digits(seconds) || !digits(fraction) {
        return None;
    }
    Some(sign * format!("{seconds}{fraction:0<9}").parse::<i128>().ok()?)
}

fn moment(seconds: i128, nanos: i128) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let seconds = i64::try_from(seconds).ok()?.cast_unsigned();
    for (number, value) in [
        (well_known::SECONDS, seconds),
        (well_known::NANOS, sign_extended(i32::try_from(nanos).ok()?)),
    ] {
        // Zero is left out, as for every field without presence.
        if value != 0 {
            scalar(number, value, &mut out);
        }
    }
    Some(out)
}

fn key(number: u32, wire: u8, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | u64::from(wire), out);
}

fn scalar(number: u32, value: u64, out: &mut Vec<u8>) {
    key(number, layout::VARINT, out);
    varint(value, out);
}

fn chunk(number: u32, content: &[u8], out: &mut Vec<u8>) {
    key(number, layout::LENGTH, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while let Ok(byte) = u8::try_from(value & 0x7f) {
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}
