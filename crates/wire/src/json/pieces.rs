//! JSON text in pieces. What is sent again and again is written once, in both forms in which it is sent:
//! as it is, and inside of a text that carries a document.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::{Value, from_str, to_string};

/// JSON text that is kept, or a part of some.
#[derive(Debug)]
pub struct Written {
    plain: String,
    /// As it stands inside of a text: made when it is asked for first.
    quoted: OnceLock<String>,
}

impl Written {
    /// A text that was written.
    #[must_use]
    pub fn new(plain: String) -> Arc<Self> {
        Arc::new(Self { plain, quoted: OnceLock::new() })
    }

    /// What a value is written as.
    #[must_use]
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Arc<Self> {
        Self::new(written(value))
    }

    fn quoted(&self) -> &str {
        self.quoted.get_or_init(|| {
            let mut quoted = String::new();
            quote(&self.plain, &mut quoted);
            quoted
        })
    }
}

/// A text that consists of pieces.
#[derive(Debug, Clone, Default)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Kept(Arc<Written>),
    Fresh(String),
}

impl Pieces {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what is written for this text alone.
    pub fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Fresh(last)) => last.push_str(text),
            Some(Piece::Kept(_)) | None => self.0.push(Piece::Fresh(text.to_owned())),
        }
    }

    /// Adds what a value is written as.
    pub fn write<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.push(&written(value));
    }

    /// Adds what is kept.
    pub fn keep(&mut self, kept: &Arc<Written>) {
        self.0.push(Piece::Kept(Arc::clone(kept)));
    }

    /// Adds another text.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.plain().len()).sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it as it is.
    pub fn write_to(&self, out: &mut String) {
        self.0.iter().for_each(|piece| out.push_str(piece.plain()));
    }

    /// Writes it as it stands inside of a text in JSON, without the quotes around it.
    pub fn write_quoted_to(&self, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Kept(kept) => out.push_str(kept.quoted()),
                Piece::Fresh(text) => quote(text, out),
            }
        }
    }

    /// What it says, when all of it is one value.
    #[must_use]
    pub fn read(&self) -> Option<Value> {
        from_str(&self.to_string()).ok()
    }
}

impl Piece {
    fn plain(&self) -> &str {
        match self {
            Self::Kept(kept) => &kept.plain,
            Self::Fresh(text) => text,
        }
    }
}

impl From<String> for Pieces {
    fn from(text: String) -> Self {
        Self(vec![Piece::Fresh(text)])
    }
}

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| f.write_str(piece.plain()))
    }
}

/// Two are equal that say the same, whatever the pieces are.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Pieces {}

fn written<T: Serialize + ?Sized>(value: &T) -> String {
    to_string(value).unwrap_or_else(|_| unreachable!("our own have text keys and finite numbers"))
}

/// Writes JSON as it stands inside of a text. What is JSON already has no letters in it that have to be
/// escaped but these two, and white space where somebody has indented it.
fn quote(json: &str, out: &mut String) {
    let mut done = 0;
    // Byte by byte: in UTF-8 none of these is a part of another character.
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
    use super::{Pieces, Written};
    use crate::json::{Value, json, to_string, to_string_pretty};

    #[test]
    fn pieces_say_what_one_text_says_as_it_is_and_in_a_text() {
        let kept = Written::of(&json!({"é\"\\\n": [1.50, "\u{1}"]}));
        let mut pieces = Pieces::new();
        pieces.push("[");
        pieces.keep(&kept);
        pieces.push(",");
        pieces.write("it said \"no\"");
        pieces.append(Pieces::from(",".to_owned()));
        pieces.keep(&kept);
        pieces.push("]");
        let whole =
            json!([{"é\"\\\n": [1.50, "\u{1}"]}, "it said \"no\"", {"é\"\\\n": [1.50, "\u{1}"]}]);
        assert_eq!(pieces.to_string(), whole.to_string());
        assert_eq!((pieces.len(), pieces.read()), (whole.to_string().len(), Some(whole.clone())));
        let (mut plain, mut quoted) = (String::new(), "\"".to_owned());
        pieces.write_to(&mut plain);
        pieces.write_quoted_to(&mut quoted);
        quoted.push('"');
        assert_eq!(plain, whole.to_string());
        assert_eq!(quoted, to_string(&Value::from(plain)).unwrap());
        assert_eq!(pieces, Pieces::from(whole.to_string()));
        let indented = to_string_pretty(&whole).unwrap().replace("  ", "\t\r\n");
        let mut quoted = "\"".to_owned();
        Pieces::from(indented.clone()).write_quoted_to(&mut quoted);
        quoted.push('"');
        assert_eq!(quoted, to_string(&Value::from(indented)).unwrap());
    }
}
