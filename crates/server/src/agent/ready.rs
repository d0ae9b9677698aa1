//! JSON that is ready to send, of which a long part may be shared with other answers.

use std::borrow::Cow;
use std::io::{self, Write};

use bytes::Bytes;
use serde::Serialize;

/// JSON as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    text: Vec<u8>,
    /// What stands at this place of the text, and is not copied into it.
    shared: Option<(usize, Bytes)>,
}

impl From<Vec<u8>> for Ready {
    fn from(text: Vec<u8>) -> Self {
        Self { text, shared: None }
    }
}

impl Ready {
    /// Writes a value with some room. `shared`, which is JSON that the value holds, is sent from where it is.
    ///
    /// # Errors
    /// When the value does not serialise.
    pub fn write<T: Serialize>(
        value: &T,
        room: usize,
        shared: Option<Bytes>,
    ) -> tradepost_wire::json::Result<Self> {
        let mut writer = Around { text: Vec::with_capacity(room), shared, place: None };
        tradepost_wire::json::to_writer(&mut writer, value)?;
        Ok(Self { text: writer.text, shared: writer.place.zip(writer.shared) })
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len() + self.shared.as_ref().map_or(0, |(_, shared)| shared.len())
    }

    /// Whether it is nothing at all, which no JSON is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in one piece.
    #[must_use]
    pub fn whole(&self) -> Cow<'_, [u8]> {
        match &self.shared {
            Some((place, shared)) => {
                let (before, after) = self.text.split_at(*place);
                [before, shared, after].concat().into()
            }
            None => self.text.as_slice().into(),
        }
    }

    /// The pieces of it between two texts, those that are short put together.
    pub(crate) fn pieces(self, before: String, after: &'static str) -> Vec<Bytes> {
        let Self { mut text, shared } = self;
        let Some((place, shared)) = shared else {
            return vec![before.into(), text.into(), Bytes::from_static(after.as_bytes())];
        };
        let mut rest = text.split_off(place);
        rest.extend_from_slice(after.as_bytes());
        let mut start = before.into_bytes();
        start.append(&mut text);
        vec![start.into(), shared, rest.into()]
    }
}

/// Keeps what is written, but for what it knows by the place in memory where it is.
struct Around {
    text: Vec<u8>,
    shared: Option<Bytes>,
    place: Option<usize>,
}

impl Write for Around {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_shared = |shared: &Bytes| std::ptr::eq(shared.as_ref(), bytes);
        if self.place.is_none() && self.shared.as_ref().is_some_and(is_shared) {
            self.place = Some(self.text.len());
        } else {
            self.text.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tradepost_wire::aap::Raw;
    use tradepost_wire::json::json;

    use super::*;

    #[test]
    fn what_is_shared_is_written_where_it_stands_and_not_copied() {
        let raw = Raw::from_text(r#"{"long": [1, 2.50]}"#.to_owned()).unwrap();
        let shared = Bytes::from_owner(raw.clone());
        let value = ("é", &raw, [&raw], 1);
        let expected = tradepost_wire::json::to_string(&value).unwrap();
        let ready = Ready::write(&value, 0, Some(shared.clone())).unwrap();
        assert_eq!(ready.whole(), expected.as_bytes());
        assert_eq!(ready.len(), expected.len());
        let pieces = ready.pieces("<".to_owned(), ">");
        assert_eq!(pieces.concat(), format!("<{expected}>").as_bytes());
        assert!(pieces.iter().any(|piece| std::ptr::eq(piece.as_ref(), shared.as_ref())));
        // The same text elsewhere is other memory.
        let copied = Ready::write(&json!({"a": 1}), 0, Some(shared)).unwrap();
        assert_eq!(copied, Ready::from(br#"{"a":1}"#.to_vec()));
        assert_eq!(copied.pieces("<".to_owned(), ">").concat(), br#"<{"a":1}>"#);
    }
}
