//! The JSON reader. It reports what parsers read differently: duplicate members, of which some take
//! the first and some the last. Depth and the number of containers are limited, because a bracket
//! takes two bytes to send and hundreds to store.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::map::Entry;
use super::{Map, Number, RESERVED, Value};
use crate::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// The deepest nesting of brackets; an agent card needs ten.
pub const MAX_DEPTH: usize = 64;

/// The capacity that an object gets with its first member.
const SOME: usize = 4;

/// The limits of a document.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// The deepest nesting of arrays and objects.
    pub depth: usize,
    /// The largest number of arrays and objects.
    pub containers: usize,
    /// True when a member may have a [reserved](RESERVED) name.
    pub reserved: bool,
}

/// The reason why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// The text is not JSON, or not Unicode.
    Syntax,
    /// Arrays and objects nest too deep.
    Deep,
    /// There are too many arrays and objects.
    Many,
    /// A member has a [reserved](RESERVED) name.
    Reserved,
}

/// Reads a text, such as one covered by a signature. Reserved member names are permitted.
///
/// # Errors
///
/// All problems, or one at the root if the text is not JSON.
pub fn read(text: &str) -> Result<Value, Problems> {
    let bounds = ReadLimits { depth: MAX_DEPTH, containers: usize::MAX, reserved: true };
    let mut problems = Problems::new();
    let mut reader = JsonReader { every: true, ..JsonReader::new(text, bounds) };
    if let Ok(value) = reader.document(&DocumentPlace::Root, &mut problems) {
        return problems.into_result(Some(value));
    }
    // This reader does not count lines, so `serde_json` finds the place when one is needed.
    let place = serde_json::from_str::<&RawValue>(text).err().map_or_else(
        || "no place that can be told".to_owned(),
        |error| format!("line {} column {}", error.line(), error.column()),
    );
    // Earlier problems mean nothing in a text that is not JSON.
    let mut problems = Problems::new();
    reject(&DocumentPlace::Root, &mut problems, format!("is not JSON at {place}"));
    problems.into_result(None)
}

/// Reads a text within limits. Returns its duplicate members as problems.
///
/// # Errors
///
/// The reason why the text cannot be read.
pub fn document(text: &str, bounds: ReadLimits) -> Result<(Value, Problems), ReadError> {
    let mut problems = Problems::new();
    let value = JsonReader::new(text, bounds).document(&DocumentPlace::Root, &mut problems)?;
    Ok((value, problems))
}

fn reject(at: &DocumentPlace<'_>, problems: &mut Problems, message: impl Into<String>) {
    crate::parse::push(at, problems, Keyword::Format, message, ProblemDetail::None);
}

/// Records a duplicate member.
pub fn duplicate_key(at: &DocumentPlace<'_>, problems: &mut Problems) {
    reject(at, problems, "is there twice; readers differ in which they take");
}

/// A reader with its position in the text.
pub struct JsonReader<'t> {
    text: &'t str,
    /// The number of bytes read.
    at: usize,
    bounds: ReadLimits,
    depth: usize,
    containers: usize,
    /// True when too deep nesting and invalid Unicode are recorded as problems, after which reading
    /// continues.
    every: bool,
}

impl<'t> JsonReader<'t> {
    /// Creates a reader of a text that stays within these limits.
    #[must_use]
    pub fn new(text: &'t str, bounds: ReadLimits) -> Self {
        Self { text, at: 0, bounds, depth: 0, containers: 0, every: false }
    }

    /// Reads the whole text as one value.
    pub(crate) fn document(
        &mut self,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Result<Value, ReadError> {
        let value = self.value(at, problems)?;
        self.end()?;
        Ok(value)
    }

    /// Checks that nothing follows.
    pub fn end(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(ReadError::Syntax),
        }
    }

    /// Skips white space and returns the next byte.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Skips the next byte if it is `byte`.
    fn pass(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    fn expect(&mut self, byte: u8) -> Result<(), ReadError> {
        if self.pass(byte) { Ok(()) } else { Err(ReadError::Syntax) }
    }

    /// Reads the next value.
    pub fn value(
        &mut self,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Result<Value, ReadError> {
        match self.peek().ok_or(ReadError::Syntax)? {
            b'{' if !self.too_deep(at, problems)? => {
                let mut members = Map::new();
                self.members(at, problems, |reader, name, problems| {
                    let value = reader.value(&at.key(&name), problems)?;
                    if members.is_empty() {
                        // Grow to the usual size at once, because most objects have several
                        // members.
                        members.reserve(SOME);
                    }
                    match members.entry(name.into_owned()) {
                        Entry::Vacant(free) => {
                            free.insert(value);
                        }
                        Entry::Occupied(mut taken) => {
                            // The last value counts, as in most readers; the duplicate is reported.
                            duplicate_key(&at.key(taken.key()), problems);
                            taken.insert(value);
                        }
                    }
                    Ok(())
                })?;
                Ok(Value::Object(members))
            }
            b'[' if !self.too_deep(at, problems)? => {
                let mut items = Vec::new();
                self.items(|reader| {
                    let item = reader.value(&at.index(items.len()), problems)?;
                    items.push(item);
                    Ok(())
                })?;
                Ok(Value::Array(items))
            }
            // Skip a value that nests too deep.
            b'{' | b'[' => self.raw().map(|_| Value::Null),
            b'"' => {
                let text = self.string()?;
                self.unicode(text, at, problems).map(|text| text.map_or(Value::Null, Value::from))
            }
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => Err(ReadError::Syntax),
        }
    }

    /// Skips the next value and returns its text.
    pub fn raw(&mut self) -> Result<&'t RawValue, ReadError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let raw = values.next().and_then(Result::ok).ok_or(ReadError::Syntax)?;
        self.at += values.byte_offset();
        Ok(raw)
    }

    /// Reads an object; `take` reads the value of each member.
    pub fn members(
        &mut self,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
        mut take: impl FnMut(&mut Self, Cow<'t, str>, &mut Problems) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.container(b'{', b'}', |reader| {
            if reader.peek() != Some(b'"') {
                return Err(ReadError::Syntax);
            }
            let name = reader.string()?;
            let name = reader.unicode(name, at, problems)?;
            reader.expect(b':')?;
            match name {
                Some(name) if !reader.bounds.reserved && name.starts_with(RESERVED) => {
                    Err(ReadError::Reserved)
                }
                Some(name) => take(reader, name, problems),
                // A member whose name is invalid has no place; its value is still checked.
                None => reader.value(at, problems).map(drop),
            }
        })
    }

    /// Reads an array; `take` reads each item.
    pub(crate) fn items(
        &mut self,
        take: impl FnMut(&mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.container(b'[', b']', take)
    }

    fn container(
        &mut self,
        open: u8,
        close: u8,
        mut take: impl FnMut(&mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.expect(open)?;
        self.depth += 1;
        self.containers += 1;
        if self.depth > self.bounds.depth {
            return Err(ReadError::Deep);
        }
        if self.containers > self.bounds.containers {
            return Err(ReadError::Many);
        }
        if !self.pass(close) {
            loop {
                take(self)?;
                if self.pass(close) {
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Returns true if the container that opens here nests too deep and is to be skipped.
    fn too_deep(&self, at: &DocumentPlace<'_>, problems: &mut Problems) -> Result<bool, ReadError> {
        if self.depth < self.bounds.depth {
            return Ok(false);
        }
        if !self.every {
            return Err(ReadError::Deep);
        }
        reject(at, problems, format!("nests deeper than {} levels", self.bounds.depth));
        Ok(true)
    }

    /// Checks that a text is Unicode; otherwise records a problem or stops.
    fn unicode(
        &self,
        text: Option<Cow<'t, str>>,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Result<Option<Cow<'t, str>>, ReadError> {
        if text.is_none() {
            if !self.every {
                return Err(ReadError::Syntax);
            }
            reject(at, problems, "holds text that is not Unicode");
        }
        Ok(text)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ReadError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(ReadError::Syntax);
        }
        self.at += word.len();
        Ok(value)
    }

    /// Reads a number (RFC 8259 §6).
    fn number(&mut self) -> Result<Number, ReadError> {
        let start = self.at;
        self.at += usize::from(self.rest().first() == Some(&b'-'));
        let whole = self.digits();
        // Leading zeros are not permitted.
        let zeros = self.text.as_bytes().get(self.at - whole) == Some(&b'0') && whole > 1;
        if whole == 0 || zeros {
            return Err(ReadError::Syntax);
        }
        if self.rest().first() == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(ReadError::Syntax);
            }
        }
        if let Some(b'e' | b'E') = self.rest().first() {
            self.at += 1;
            self.at += usize::from(matches!(self.rest().first(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return Err(ReadError::Syntax);
            }
        }
        self.text.get(start..self.at).map(Number::from_text).ok_or(ReadError::Syntax)
    }

    fn digits(&mut self) -> usize {
        let rest = self.rest();
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        count
    }

    /// Reads a string (RFC 8259 §7); `None` if it contains half of a surrogate pair.
    fn string(&mut self) -> Result<Option<Cow<'t, str>>, ReadError> {
        self.at += 1;
        let plain = self.plain()?;
        if self.rest().first() == Some(&b'"') {
            self.at += 1;
            return Ok(Some(Cow::Borrowed(plain)));
        }
        let mut text = plain.to_owned();
        let mut whole = true;
        loop {
            match self.byte()? {
                b'"' => return Ok(whole.then_some(Cow::Owned(text))),
                // The only other end of plain text is a backslash.
                _ => match self.escape()? {
                    Some(character) => text.push(character),
                    None => whole = false,
                },
            }
            text.push_str(self.plain()?);
        }
    }

    /// Reads up to the next quote or backslash.
    fn plain(&mut self) -> Result<&'t str, ReadError> {
        let start = self.at;
        self.at += plain(self.rest()).ok_or(ReadError::Syntax)?;
        if self.rest().first().is_some_and(|byte| *byte < 0x20) {
            return Err(ReadError::Syntax);
        }
        self.text.get(start..self.at).ok_or(ReadError::Syntax)
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        let byte = self.rest().first().copied().ok_or(ReadError::Syntax)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads an escape after its backslash; `None` for half of a surrogate pair.
    fn escape(&mut self) -> Result<Option<char>, ReadError> {
        Ok(Some(match self.byte()? {
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.unit()?;
                if matches!(unit, 0xD800..0xDC00) && self.rest().starts_with(br"\u") {
                    let before = self.at;
                    self.at += 2;
                    let pair = [unit, self.unit()?];
                    if let Some(Ok(character)) = char::decode_utf16(pair).next() {
                        return Ok(Some(character));
                    }
                    // The second escape is a character of its own.
                    self.at = before;
                }
                return Ok(char::from_u32(unit.into()));
            }
            _ => return Err(ReadError::Syntax),
        }))
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Result<u16, ReadError> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(ReadError::Syntax)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ReadError::Syntax);
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| ReadError::Syntax)
    }
}

/// Returns the number of bytes before the first quote, backslash or control character. It looks at
/// eight bytes at once, because most input is text.
fn plain(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks();
    for (word, place) in words.iter().zip((0..).step_by(8)) {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return Some(place + special.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(bytes.len() - rest.len() + place)
}

/// Returns a word whose lowest set bit is in the first special byte. Bytes below a bound are found
/// by a subtraction, which borrows only from higher bytes.
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let below =
        |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & (ONES << 7);
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | is(b'"') | is(b'\\')
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_is_special_is_found_wherever_it_stands() {
        for special in [b'"', b'\\', 0, 0x1f] {
            for length in 0..40 {
                for place in 0..length {
                    for filling in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xff] {
                        let mut bytes = vec![filling; length];
                        bytes[place] = special;
                        assert_eq!(plain(&bytes), Some(place), "{bytes:?}");
                        // A second special byte after it changes nothing.
                        bytes[length - 1] = b'"';
                        assert_eq!(plain(&bytes), Some(place), "{bytes:?}");
                    }
                }
            }
        }
        assert_eq!(plain(&[b'a'; 40]), None);
    }
}
