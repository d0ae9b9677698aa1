//! From bytes to JSON. Nothing recurses deeper than JSON may nest, and nothing is made that was
//! not counted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::{Field, Kind, Message, Reject, Rule, layout, schema, well_known};
use crate::a2a::error::Code;
use crate::json::RESERVED;
use crate::json::{Map, Number, Value};
use crate::jsonrpc::{MAX_CONTAINERS, MAX_DEPTH};

const GARBLED: Reject = no_message("the message is not valid protocol buffers");
const NOT_UNICODE: Reject = no_message("the message has a text that is not valid UTF-8");
const NOT_FINITE: Reject =
    no_message("the message has a number that is not finite, which JSON cannot say");
const TOO_DEEP: Reject = no_message("the message nests deeper than 64 levels");
const TOO_MANY: Reject = invalid("the message has more than 4096 arrays and objects");
const RESERVED_NAME: Reject = invalid("the message has a member whose name is reserved; rename it");

const fn no_message(message: &'static str) -> Reject {
    Reject { code: Code::ParseError, message }
}

const fn invalid(message: &'static str) -> Reject {
    Reject { code: Code::InvalidRequest, message }
}

/// Up to here every integer is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a message as the JSON object that it stands for. Unknown fields are ignored, and what is
/// a field's default is not there.
///
/// # Errors
/// Why not. It is never about what a field means: that is for the reader of the parameters.
pub fn read(message: &Message, bytes: &[u8]) -> Result<Value, Reject> {
    Reader::default().message(message, None, bytes)
}

/// How deep we are, and how many arrays and objects there are.
#[derive(Default)]
struct Reader {
    depth: usize,
    containers: usize,
}

impl Reader {
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Reject>,
    ) -> Result<T, Reject> {
        if self.depth >= MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }

    fn count(&mut self) -> Result<(), Reject> {
        self.containers += 1;
        if self.containers > MAX_CONTAINERS { Err(TOO_MANY) } else { Ok(()) }
    }

    /// The object to go on with: a message that comes in pieces is one.
    fn object(&mut self, before: Option<Value>) -> Result<Map, Reject> {
        match before {
            Some(Value::Object(members)) => Ok(members),
            Some(_) | None => self.count().map(|()| Map::new()),
        }
    }

    fn array(&mut self, before: Option<Value>) -> Result<Vec<Value>, Reject> {
        match before {
            Some(Value::Array(items)) => Ok(items),
            Some(_) | None => self.count().map(|()| Vec::new()),
        }
    }

    fn message(
        &mut self,
        message: &Message,
        before: Option<Value>,
        bytes: &[u8],
    ) -> Result<Value, Reject> {
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
        message: &Message,
        field: &Field,
        wire: u8,
        cursor: &mut Cursor<'_>,
        members: &mut Map,
    ) -> Result<(), Reject> {
        // What came of it before: a message may come in pieces, and a list item by item.
        let before = members.get_mut(field.name).map(Value::take);
        let value = match field.rule {
            Rule::Repeated => {
                let mut items = self.array(before)?;
                items.push(self.deeper(|reader| reader.value(field.kind, None, wire, cursor))?);
                Value::Array(items)
            }
            Rule::Map => {
                let mut entries = self.object(before)?;
                let entry = cursor.chunk(wire)?;
                let (key, value) = self.deeper(|reader| {
                    reader.entry(entry, |reader, wire, cursor| {
                        reader.value(field.kind, None, wire, cursor)
                    })
                })?;
                // An entry without a value has its default; for a message that is an empty one.
                entries.insert(key, value.unwrap_or_else(|| default(field.kind)));
                Value::Object(entries)
            }
            Rule::Implicit | Rule::Explicit | Rule::Oneof(_) => {
                self.value(field.kind, before, wire, cursor)?
            }
        };
        if let Rule::Oneof(_) = field.rule {
            // The last one wins.
            for other in message.fields.iter().filter(|other| other.rule == field.rule) {
                members.shift_remove(other.name);
            }
        }
        if field.rule == Rule::Implicit && value == default(field.kind) {
            members.shift_remove(field.name);
        } else {
            members.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn value(
        &mut self,
        kind: Kind,
        before: Option<Value>,
        wire: u8,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value, Reject> {
        Ok(match kind {
            Kind::Text => text(cursor.chunk(wire)?)?.into(),
            Kind::Bytes => STANDARD.encode(cursor.chunk(wire)?).into(),
            Kind::Bool => (cursor.varint_of(wire)? != 0).into(),
            Kind::Int32 => int32(cursor.varint_of(wire)?).into(),
            Kind::Enum(names) => {
                let number = int32(cursor.varint_of(wire)?);
                match names.iter().find(|(known, _)| *known == number) {
                    // The default is a number, by which an implicit field is
                    // known to hold nothing.
                    Some((0, _)) => 0.into(),
                    Some((_, name)) => (*name).into(),
                    None => number.to_string().into(),
                }
            }
            Kind::Message(message) => self.message(message, before, cursor.chunk(wire)?)?,
            Kind::Json => self.json(before, cursor.chunk(wire)?)?,
            Kind::Object => self.structure(before, cursor.chunk(wire)?)?,
            Kind::Timestamp => {
                let (seconds, nanos) = moment(cursor.chunk(wire)?)?;
                // One that no calendar has is left for the reader of the parameters to refuse.
                Timestamp::new(seconds, nanos)
                    .map_or_else(|_| format!("{seconds}s {nanos}ns"), |at| at.to_string())
                    .into()
            }
            Kind::Duration => {
                let (seconds, nanos) = moment(cursor.chunk(wire)?)?;
                let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
                let fraction = format!(".{:09}", nanos.unsigned_abs());
                let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
                format!("{sign}{}{fraction}s", seconds.unsigned_abs()).into()
            }
            Kind::Any => self.any(cursor.chunk(wire)?)?,
        })
    }

    fn entry(
        &mut self,
        bytes: &[u8],
        mut read: impl FnMut(&mut Self, u8, &mut Cursor<'_>) -> Result<Value, Reject>,
    ) -> Result<(String, Option<Value>), Reject> {
        let (mut key, mut value) = ("", None);
        let mut cursor = Cursor(bytes);
        while let Some((number, wire)) = cursor.key()? {
            match number {
                well_known::KEY => key = text(cursor.chunk(wire)?)?,
                well_known::VALUE => value = Some(read(self, wire, &mut cursor)?),
                _ => cursor.skip(number, wire)?,
            }
        }
        // What is stored is read again, by a reader to which these names mean something else.
        if key.starts_with(RESERVED) { Err(RESERVED_NAME) } else { Ok((key.to_owned(), value)) }
    }

    /// `google.protobuf.Value`. One without a kind is null.
    fn json(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, Reject> {
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

    fn structure(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, Reject> {
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

    fn list(&mut self, before: Option<Value>, bytes: &[u8]) -> Result<Value, Reject> {
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

    /// `google.protobuf.Any`: a message that we know as its members, another one as its bytes.
    fn any(&mut self, bytes: &[u8]) -> Result<Value, Reject> {
        let (mut url, mut content): (&str, &[u8]) = ("", &[]);
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

/// What a field without a value is.
fn default(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Bytes => "".into(),
        Kind::Bool => false.into(),
        Kind::Int32 | Kind::Enum(_) => 0.into(),
        Kind::Message(_) => Value::Object(Map::new()),
        Kind::Json | Kind::Object | Kind::Timestamp | Kind::Duration | Kind::Any => Value::Null,
    }
}

fn text(bytes: &[u8]) -> Result<&str, Reject> {
    std::str::from_utf8(bytes).map_err(|_| NOT_UNICODE)
}

/// Negative numbers come with ten bytes, of which the lower half counts.
#[expect(clippy::cast_possible_truncation, reason = "that is how an int32 is written")]
fn int32(varint: u64) -> i32 {
    varint as i32
}

/// Whole numbers are written as such: protocol buffers do not tell `1` from `1.0`.
#[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
fn double(number: f64) -> Result<Value, Reject> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Ok((number as i64).into());
    }
    Number::from_f64(number).map(Value::Number).ok_or(NOT_FINITE)
}

/// Seconds and nanoseconds.
fn moment(bytes: &[u8]) -> Result<(i64, i32), Reject> {
    let (mut seconds, mut nanos) = (0, 0);
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

/// What is left to read.
struct Cursor<'b>(&'b [u8]);

impl<'b> Cursor<'b> {
    /// The next field's number and layout; `None` at the end.
    fn key(&mut self) -> Result<Option<(u32, u8)>, Reject> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = u32::try_from(self.varint()?).map_err(|_| GARBLED)?;
        let (number, wire) = (key >> 3, u8::try_from(key & 7).map_err(|_| GARBLED)?);
        if number == 0 { Err(GARBLED) } else { Ok(Some((number, wire))) }
    }

    fn varint(&mut self) -> Result<u64, Reject> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte, rest @ ..] = self.0 else { return Err(GARBLED) };
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // Ten bytes have room for more than 64 bits.
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

    fn varint_of(&mut self, wire: u8) -> Result<u64, Reject> {
        if wire == layout::VARINT { self.varint() } else { Err(GARBLED) }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Reject> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(GARBLED)?;
        self.0 = rest;
        Ok(taken)
    }

    /// What is written behind its length.
    fn chunk(&mut self, wire: u8) -> Result<&'b [u8], Reject> {
        if wire != layout::LENGTH {
            return Err(GARBLED);
        }
        let length = usize::try_from(self.varint()?).map_err(|_| GARBLED)?;
        self.take(length)
    }

    /// Passes over the value of a field that nobody knows. Groups can nest, and are followed
    /// without recursion.
    fn skip(&mut self, number: u32, wire: u8) -> Result<(), Reject> {
        let mut open = Vec::new();
        let (mut number, mut wire) = (number, wire);
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
