//! JSON text in shared pieces. Text that is sent repeatedly is written once, in both forms in which
//! it is sent: as it is, and escaped inside a JSON string.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::{RawValue, Value, from_str, to_string};

/// A piece of JSON text that is kept for reuse.
#[derive(Debug)]
pub struct SharedJson {
    plain: String,
    /// The text as it appears inside a JSON string; computed on first use.
    quoted: OnceLock<String>,
}

impl SharedJson {
    /// Keeps a text.
    #[must_use]
    pub fn new(plain: String) -> Arc<Self> {
        Arc::new(Self { plain, quoted: OnceLock::new() })
    }

    /// Keeps the JSON text of a value.
    #[must_use]
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Arc<Self> {
        Self::new(written(value))
    }

    /// The size in bytes of both forms together.
    #[must_use]
    pub fn size(&self) -> usize {
        self.plain.len() + self.quoted().len()
    }

    fn quoted(&self) -> &str {
        self.quoted.get_or_init(|| {
            let mut quoted = String::new();
            quote(&self.plain, &mut quoted);
            quoted
        })
    }
}

/// Compares the texts.
impl PartialEq for SharedJson {
    fn eq(&self, other: &Self) -> bool {
        self.plain == other.plain
    }
}

impl Eq for SharedJson {}

/// The usual length in bytes of a text between two kept pieces, at most.
const INITIAL_CAPACITY: usize = 256;

/// A text that consists of pieces.
#[derive(Debug, Clone, Default)]
pub struct JsonPieces(Vec<JsonPiece>);

/// A part of a text.
#[derive(Debug, Clone)]
pub struct JsonPiece(PieceText);

#[derive(Debug, Clone)]
enum PieceText {
    Kept(Arc<SharedJson>),
    /// A kept text as it appears inside a JSON string.
    Quoted(Arc<SharedJson>),
    /// A text that others have, too.
    Raw(Arc<RawValue>),
    Fresh(String),
}

impl JsonPieces {
    /// Creates an empty text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a text that is used once.
    pub fn push(&mut self, text: &str) {
        self.fresh().push_str(text);
    }

    /// The text at the end that is used once; appended if there is none.
    fn fresh(&mut self) -> &mut String {
        if !matches!(self.0.last(), Some(JsonPiece(PieceText::Fresh(_)))) {
            self.0.push(JsonPiece(PieceText::Fresh(String::with_capacity(INITIAL_CAPACITY))));
        }
        match self.0.last_mut() {
            Some(JsonPiece(PieceText::Fresh(last))) => last,
            Some(JsonPiece(PieceText::Kept(_) | PieceText::Quoted(_) | PieceText::Raw(_)))
            | None => {
                unreachable!("it was put there")
            }
        }
    }

    /// Appends the JSON text of a value.
    pub fn write<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.push(&written(value));
    }

    /// Appends a kept text.
    pub fn keep(&mut self, kept: &Arc<SharedJson>) {
        self.0.push(JsonPiece(PieceText::Kept(Arc::clone(kept))));
    }

    /// Appends a text that others have, too, without copying it.
    pub fn share(&mut self, text: Arc<RawValue>) {
        self.0.push(JsonPiece(PieceText::Raw(text)));
    }

    /// Appends another text, escaped as the inside of a JSON string and without quotes.
    pub fn push_quoted(&mut self, other: &Self) {
        for JsonPiece(part) in &other.0 {
            match part {
                PieceText::Kept(kept) => {
                    self.0.push(JsonPiece(PieceText::Quoted(Arc::clone(kept))))
                }
                PieceText::Quoted(kept) => quote(kept.quoted(), self.fresh()),
                PieceText::Raw(text) => quote(text.get(), self.fresh()),
                PieceText::Fresh(text) => quote(text, self.fresh()),
            }
        }
    }

    /// Appends another text.
    pub fn append(&mut self, other: Self) {
        for piece in other.0 {
            match (self.0.last_mut(), piece) {
                (Some(JsonPiece(PieceText::Fresh(last))), JsonPiece(PieceText::Fresh(text))) => {
                    last.push_str(&text)
                }
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// The size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.plain().len()).sum()
    }

    /// The number of pieces.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Joins all pieces into one. Pieces with both forms are not escaped again.
    #[must_use]
    pub fn joined(&self) -> Arc<SharedJson> {
        let mut quoted = Self::new();
        quoted.push_quoted(self);
        let plain = String::from(self.clone());
        Arc::new(SharedJson { plain, quoted: String::from(quoted).into() })
    }

    /// Parses the text, if it is one JSON value.
    #[must_use]
    pub fn read(&self) -> Option<Value> {
        from_str(&self.to_string()).ok()
    }
}

impl JsonPiece {
    fn plain(&self) -> &str {
        match &self.0 {
            PieceText::Kept(kept) => &kept.plain,
            PieceText::Quoted(kept) => kept.quoted(),
            PieceText::Raw(text) => text.get(),
            PieceText::Fresh(text) => text,
        }
    }
}

impl AsRef<[u8]> for JsonPiece {
    fn as_ref(&self) -> &[u8] {
        self.plain().as_bytes()
    }
}

impl IntoIterator for JsonPieces {
    type Item = JsonPiece;
    type IntoIter = std::vec::IntoIter<JsonPiece>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<String> for JsonPieces {
    fn from(text: String) -> Self {
        Self(vec![JsonPiece(PieceText::Fresh(text))])
    }
}

impl From<JsonPieces> for String {
    fn from(pieces: JsonPieces) -> Self {
        let length = pieces.len();
        let mut pieces = pieces.0.into_iter();
        let mut text = match pieces.next() {
            Some(JsonPiece(PieceText::Fresh(text))) => text,
            Some(kept) => kept.plain().to_owned(),
            None => Self::new(),
        };
        text.reserve_exact(length - text.len());
        pieces.for_each(|piece| text.push_str(piece.plain()));
        text
    }
}

impl fmt::Display for JsonPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| f.write_str(piece.plain()))
    }
}

/// Compares the texts, however they are divided.
impl PartialEq for JsonPieces {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for JsonPieces {}

fn written<T: Serialize + ?Sized>(value: &T) -> String {
    to_string(value).unwrap_or_else(|_| unreachable!("our own have text keys and finite numbers"))
}

/// Appends JSON text as the inside of a JSON string. In JSON text only quotes and backslashes need
/// escaping, and the white space of indented text.
fn quote(json: &str, out: &mut String) {
    // About an eighth is escaped; reserve it, because growing copies the text.
    out.reserve(json.len() + json.len() / 8);
    let mut done = 0;
    // Go byte by byte: in UTF-8 none of these bytes is part of another character.
    for (at, letter) in json.bytes().enumerate() {
        let escaped = match letter {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            _ => continue,
        };
        out.push_str(json.get(done..at).unwrap_or_default());
        out.push_str(escaped);
        done = at + 1;
    }
    out.push_str(json.get(done..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::{JsonPieces, SharedJson};
    use crate::json::{Value, json, to_string, to_string_pretty};

    /// Writes the pieces as a JSON string.
    fn quoted(pieces: &JsonPieces) -> String {
        let mut text = JsonPieces::from("\"".to_owned());
        text.push_quoted(pieces);
        text.push("\"");
        text.to_string()
    }

    #[test]
    fn pieces_say_what_one_text_says_plain_and_quoted() {
        let kept = SharedJson::from_value(&json!({"é\"\\\n": [1.50, "\u{1}"]}));
        let mut pieces = JsonPieces::new();
        pieces.push("[");
        pieces.keep(&kept);
        pieces.push(",");
        pieces.write("it said \"no\"");
        pieces.append(JsonPieces::from(",".to_owned()));
        pieces.keep(&kept);
        pieces.push("]");
        let whole =
            json!([{"é\"\\\n": [1.50, "\u{1}"]}, "it said \"no\"", {"é\"\\\n": [1.50, "\u{1}"]}]);
        assert_eq!(pieces.to_string(), whole.to_string());
        assert_eq!((pieces.len(), pieces.read()), (whole.to_string().len(), Some(whole.clone())));
        let plain = whole.to_string();
        assert_eq!(quoted(&pieces), to_string(&Value::from(plain.as_str())).unwrap());
        assert_eq!(pieces, JsonPieces::from(plain.clone()));
        let joined = pieces.joined();
        let mut one = JsonPieces::new();
        one.keep(&joined);
        assert_eq!((one.to_string(), quoted(&one)), (plain.clone(), quoted(&pieces)));
        assert_eq!(joined.size(), plain.len() + quoted(&pieces).len() - 2);
        // A quoted text may be quoted again.
        let mut inside = JsonPieces::new();
        inside.push_quoted(&one);
        let twice = to_string(&Value::from(inside.to_string())).unwrap();
        assert_eq!(quoted(&inside), twice);
        let sent: Vec<u8> =
            pieces.clone().into_iter().flat_map(|piece| piece.as_ref().to_vec()).collect();
        assert_eq!(sent, plain.as_bytes());
        let indented = to_string_pretty(&whole).unwrap().replace("  ", "\t\r\n");
        let found = quoted(&JsonPieces::from(indented.clone()));
        assert_eq!(found, to_string(&Value::from(indented)).unwrap());
    }
}
