//! Reads protocol buffers into JSON. Recursion never goes deeper than JSON may nest, and every
//! container is counted before it is created.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::{
    FieldDescriptor, FieldLabel, FieldType, MessageDescriptor, ProtobufReject, layout, schema,
    well_known,
};
use crate::error::A2aCode;
use crate::jsonrpc::{MAX_CONTAINERS, MAX_DEPTH};
use tradepost_document::json::RESERVED;
use tradepost_document::json::{Map, Number, Value};

const GARBLED: ProtobufReject = no_message("the message is not valid protocol buffers");
const NOT_UNICODE: ProtobufReject = no_message("the message has a text that is not valid UTF-8");
const NOT_FINITE: ProtobufReject =
    no_message("the message has a number that is not finite, which JSON cannot say");
const TOO_DEEP: ProtobufReject = no_message("the message nests deeper than 64 levels");
const TOO_MANY: ProtobufReject = invalid("the message has more than 4096 arrays and objects");
const RESERVED_NAME: ProtobufReject =
    invalid("the message has a member whose name is reserved; rename it");

const fn no_message(message: &'static str) -> ProtobufReject {
    ProtobufReject { code: A2aCode::ParseError, message }
}

const fn invalid(message: &'static str) -> ProtobufReject {
    ProtobufReject { code: A2aCode::InvalidRequest, message }
}

/// The largest double up to which every integer is exact, 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a message as the JSON object that it represents. Unknown fields are ignored, and default
/// values are left out.
///
/// # Errors
///
/// The reason. It never concerns the meaning of a field, which the reader of the parameters checks.
pub fn read(message: &MessageDescriptor, bytes: &[u8]) -> Result<Value, ProtobufReject> {
    Reader::default().message(message, None, bytes)
}

/// The current depth, and the number of arrays and objects.
#[derive(Default)]
struct Reader {
    depth: usize,
    containers: usize,
}

impl Reader {
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ProtobufReject>,
    ) -> Result<T, ProtobufReject> {
        if self.depth >= MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }

    fn count(&mut self) -> Result<(), ProtobufReject> {
        self.containers += 1;
        if self.containers > MAX_CONTAINERS { Err(TOO_MANY) } else { Ok(()) }
    }

    /// Returns the object to continue with: a message may come in pieces.
    fn object(&mut self, before: Option<Value>) -> Result<Map, ProtobufReject> {
        match before {
            Some(Value::Object(members)) => Ok(members),
            Some(_) | None => self.count().map(|()| Map::new()),
        }
    }

    fn array(&mut self, before: Option<Value>) -> Result<Vec<Value>, ProtobufReject> {
        match before {
            Some(Value::Array(items)) => Ok(items),
            Some(_) | None => self.count().map(|()| Vec::new()),
        }
    }

    fn message(
        &mut self,
        message: &MessageDescriptor,
        before: Option<Value>,
        bytes: &[u8],
    ) -> Result<Value, ProtobufReject> {
        let mut members = self.object(before)?;
        self.deeper(|reader| {
            let mut cursor = Cursor(bytes);
            while let Some((number, wire)) = cursor.key()? {
                match message.fields.iter().find(|field| field.number == number) {
                    Some(field) => reader.field(message, field, wire, &mut cursor, &mut members)?,
                    None => cursor.skip(number, wire)?,
                }
            }
            Ok(())
        })?;
        Ok(Value::Object(members))
    }

    fn field(
        &mut self,
        message: &MessageDescriptor,
        field: &FieldDescriptor,
        wire: u8,
        cursor: &mut Cursor<'_>,
        members: &mut Map,
    ) -> Result<(), ProtobufReject> {
        // Take the earlier value, because a message may come in pieces and a list item by item.
        let before = members.get_mut(field.name).map(Value::take);
        let value = match field.rule {
            FieldLabel::Repeated => {
                let mut items = self.array(before)?;
                items.push(self.deeper(|reader| reader.value(field.kind, None, wire, cursor))?);
                Value::Array(items)
            }
            FieldLabel::Map => {
                let mut entries = self.object(before)?;
                let entry = cursor.chunk(wire)?;
                let (key, value) = self.deeper(|reader| {
                    reader.entry(entry, |reader, wire, cursor| {
                        reader.value(field.kind, None, wire, cursor)
                    })
                })?;
                // A map entry without a value has the default; of a message, the empty one.
                entries.insert(key, value.unwrap_or_else(|| default(field.kind)));
                Value::Object(entries)
            }
            FieldLabel::Implicit | FieldLabel::Explicit | FieldLabel::Oneof(_) => {
                self.value(field.kind, before, wire, cursor)?
            }
        };
        if let FieldLabel::Oneof(_) = field.rule {
            // The last field of a oneof wins.
            for other in message.fields.iter().filter(|other| other.rule == field.rule) {
                members.shift_remove(other.name);
            }
        }
        if field.rule == FieldLabel::Implicit && value == default(field.kind) {
            members.shift_remove(field.name);
        } else {
            members.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn value(
        &mut self,
        kind: FieldType,
        before: Option<Value>,
        wire: u8,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value, ProtobufReject> {
        Ok(match kind {
            FieldType::Text => text(cursor.chunk(wire)?)?.into(),
            FieldType::Bytes => STANDARD.encode(cursor.chunk(wire)?).into(),
            FieldType::Bool => (cursor.varint_of(wire)? != 0).into(),
            FieldType::Int32 => int32(cursor.varint_of(wire)?).into(),
            FieldType::Enum(names) => {
                let number = int32(cursor.varint_of(wire)?);
                match names.iter().find(|(known, _)| *known == number) {
                    // The default stays a number, by which an implicit field is recognised as
                    // empty.
                    Some((0, _)) => 0.into(),
                    Some((_, name)) => (*name).into(),
                    None => number.to_string().into(),
                }
            }
            FieldType::Message(message) => self.message(message, before, cursor.chunk(wire)?)?,
            FieldType::Json => self.json(before, cursor.chunk(wire)?)?,
            FieldType::Object => self.structure(before, cursor.chunk(wire)?)?,
            FieldType::Timestamp => {
                let (seconds, nanos) = moment(cursor.chunk(wire)?)?;
                // A time outside the calendar is left for the reader of the parameters to reject.
                Timestamp::new(seconds, nanos)
                    .map_or_else(|_| format!("{seconds}s {nanos}ns"), |at| at.to_string())
                    .into()
            }
            FieldType::Duration => {
                let (seconds, nanos) = moment(cursor.chunk(wire)?)?;
                let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
                let fraction = format!(".{:09}", nanos.unsigned_abs());
                let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
                format!("{sign}{}{fraction}s", seconds.unsigned_abs()).into()
            }
            FieldType::Any => self.any(cursor.chunk(wire)?)?,
        })
    }

    fn entry(
        &mut self,
        bytes: &[u8],
        mut read: impl FnMut(&mut Self, u8, &mut Cursor<'_>) -> Result<Value, ProtobufReject>,
    ) -> Result<(String, Option<Value>), ProtobufReject> {
        let mut key = "";
        let mut value = None;
        let mut cursor = Cursor(bytes);
        while let Some((number, wire)) = cursor.key()? {
            match number {
                well_known::KEY => key = text(cursor.chunk(wire)?)?,
                well_known::VALUE => value = Some(read(self, wire, &mut cursor)?),
                _ => cursor.skip(number, wire)?,
            }
        }
        // Stored JSON is read by `serde_json` again, to which these names mean something else.
        if key.starts_with(RESERVED) { Err(RESERVED_NAME) } else { Ok((key.to_owned(), value)) }
    }

    /// Reads a `google.protobuf.Value`. One without a kind is null.
    fn json(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, ProtobufReject> {
        let mut value = before.unwrap_or_default();
        let mut cursor = Cursor(bytes);
        while let Some((number, wire)) = cursor.key()? {
            value = match number {
                well_known::NULL => {
                    cursor.varint_of(wire)?;
                    Value::Null
                }
                well_known::NUMBER if wire == layout::FIXED64 => {
                    let bytes = cursor.take(8)?.try_into().map_err(|_| GARBLED)?;
                    double(f64::from_le_bytes(bytes))?
                }
                well_known::TEXT => text(cursor.chunk(wire)?)?.into(),
                well_known::BOOL => (cursor.varint_of(wire)? != 0).into(),
                well_known::STRUCT => self.structure(Some(value), cursor.chunk(wire)?)?,
                well_known::LIST => self.list(Some(value), cursor.chunk(wire)?)?,
                well_known::NUMBER => return Err(GARBLED),
                _ => {
                    cursor.skip(number, wire)?;
                    value
                }
            };
        }
        Ok(value)
    }

    fn structure(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, ProtobufReject> {
        let mut members = self.object(before)?;
        self.deeper(|reader| {
            let mut cursor = Cursor(bytes);
            while let Some((number, wire)) = cursor.key()? {
                if number != well_known::MEMBERS {
                    cursor.skip(number, wire)?;
                    continue;
                }
                let (key, value) = reader.entry(cursor.chunk(wire)?, |reader, wire, cursor| {
                    reader.json(None, cursor.chunk(wire)?)
                })?;
                members.insert(key, value.unwrap_or_default());
            }
            Ok(())
        })?;
        Ok(Value::Object(members))
    }

    fn list(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, ProtobufReject> {
        let mut items = self.array(before)?;
        self.deeper(|reader| {
            let mut cursor = Cursor(bytes);
            while let Some((number, wire)) = cursor.key()? {
                if number == well_known::MEMBERS {
                    items.push(reader.json(None, cursor.chunk(wire)?)?);
                } else {
                    cursor.skip(number, wire)?;
                }
            }
            Ok(())
        })?;
        Ok(Value::Array(items))
    }

    /// Reads a `google.protobuf.Any`: a known message as its members, another one as its bytes.
    fn any(&mut self, bytes: &[u8]) -> Result<Value, ProtobufReject> {
        let mut url = "";
        let mut content: &[u8] = &[];
        let mut cursor = Cursor(bytes);
        while let Some((number, wire)) = cursor.key()? {
            match number {
                well_known::TYPE_URL => url = text(cursor.chunk(wire)?)?,
                well_known::CONTENT => content = cursor.chunk(wire)?,
                _ => cursor.skip(number, wire)?,
            }
        }
        let known = schema::ALL.iter().find(|message| url.ends_with(message.name));
        let known = known.filter(|message| {
            url.strip_suffix(message.name).is_some_and(|prefix| prefix.ends_with('/'))
        });
        let mut members = Map::new();
        members.insert("@type".to_owned(), url.into());
        match known {
            Some(message) => self.message(message, Some(Value::Object(members)), content),
            None => {
                self.count()?;
                members.insert("value".to_owned(), STANDARD.encode(content).into());
                Ok(Value::Object(members))
            }
        }
    }
}

/// Returns the default of a field.
fn default(kind: FieldType) -> Value {
    match kind {
        FieldType::Text | FieldType::Bytes => "".into(),
        FieldType::Bool => false.into(),
        FieldType::Int32 | FieldType::Enum(_) => 0.into(),
        FieldType::Message(_) => Value::Object(Map::new()),
        FieldType::Json
        | FieldType::Object
        | FieldType::Timestamp
        | FieldType::Duration
        | FieldType::Any => Value::Null,
    }
}

fn text(bytes: &[u8]) -> Result<&str, ProtobufReject> {
    std::str::from_utf8(bytes).map_err(|_| NOT_UNICODE)
}

/// Converts a varint to `int32`. Negative numbers have ten bytes, of which the lower half counts.
#[expect(clippy::cast_possible_truncation, reason = "that is how an int32 is written")]
fn int32(varint: u64) -> i32 {
    varint as i32
}

/// Converts a double. Whole numbers become integers, because protocol buffers do not distinguish
/// `1` and `1.0`.
#[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
fn double(number: f64) -> Result<Value, ProtobufReject> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Ok((number as i64).into());
    }
    Number::from_f64(number).map(Value::Number).ok_or(NOT_FINITE)
}

/// Reads seconds and nanoseconds.
fn moment(bytes: &[u8]) -> Result<(i64, i32), ProtobufReject> {
    let mut seconds = 0;
    let mut nanos = 0;
    let mut cursor = Cursor(bytes);
    while let Some((number, wire)) = cursor.key()? {
        match number {
            well_known::SECONDS => seconds = cursor.varint_of(wire)?.cast_signed(),
            well_known::NANOS => nanos = int32(cursor.varint_of(wire)?),
            _ => cursor.skip(number, wire)?,
        }
    }
    Ok((seconds, nanos))
}

/// The unread bytes.
struct Cursor<'b>(&'b [u8]);

impl<'b> Cursor<'b> {
    /// Reads the next field's number and wire type; `None` at the end.
    fn key(&mut self) -> Result<Option<(u32, u8)>, ProtobufReject> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = u32::try_from(self.varint()?).map_err(|_| GARBLED)?;
        let number = key >> 3;
        let wire = u8::try_from(key & 7).map_err(|_| GARBLED)?;
        if number == 0 { Err(GARBLED) } else { Ok(Some((number, wire))) }
    }

    fn varint(&mut self) -> Result<u64, ProtobufReject> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte, rest @ ..] = self.0 else { return Err(GARBLED) };
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // Ten bytes could hold more than 64 bits.
            if shift == 63 && bits > 1 {
                return Err(GARBLED);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(GARBLED)
    }

    fn varint_of(&mut self, wire: u8) -> Result<u64, ProtobufReject> {
        if wire == layout::VARINT { self.varint() } else { Err(GARBLED) }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], ProtobufReject> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(GARBLED)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a value with a length prefix.
    fn chunk(&mut self, wire: u8) -> Result<&'b [u8], ProtobufReject> {
        if wire != layout::LENGTH {
            return Err(GARBLED);
        }
        let length = usize::try_from(self.varint()?).map_err(|_| GARBLED)?;
        self.take(length)
    }

    /// Skips the value of an unknown field. Groups can nest, and are followed without recursion.
    fn skip(&mut self, number: u32, wire: u8) -> Result<(), ProtobufReject> {
        let mut open = Vec::new();
        let mut number = number;
        let mut wire = wire;
        loop {
            match wire {
                layout::VARINT => drop(self.varint()?),
                layout::FIXED64 => drop(self.take(8)?),
                layout::LENGTH => drop(self.chunk(wire)?),
                layout::FIXED32 => drop(self.take(4)?),
                layout::GROUP if open.len() < MAX_DEPTH => open.push(number),
                layout::GROUP => return Err(TOO_DEEP),
                layout::END_GROUP if open.pop() == Some(number) => {}
                _ => return Err(GARBLED),
            }
            if open.is_empty() {
                return Ok(());
            }
            (number, wire) = self.key()?.ok_or(GARBLED)?;
        }
    }
}
