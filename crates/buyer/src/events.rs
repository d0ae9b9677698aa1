//! Server-sent events, as far as MCP and A2A use them: the data of one event after the other, as
//! the bytes come in. Names, ids and pauses of events mean nothing to either.

use std::collections::VecDeque;

use tradepost_wire::http::MediaType;

/// Reads events out of the bytes of a stream. Whoever feeds it bounds how much that is.
#[derive(Debug, Default)]
pub struct EventReader {
    /// Whether anything was read: a byte order mark stands at the beginning alone.
    begun: bool,
    /// Whether the last byte was a carriage return, of which a line feed may be the other half.
    after_return: bool,
    line: Vec<u8>,
    /// The data of the event that is being read; `None` when it has had none.
    data: Option<Vec<u8>>,
    ready: VecDeque<Vec<u8>>,
}

impl EventReader {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    self.end_line();
                }
                _ => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
        }
    }

    /// The data of the next event that is complete; `None` when there is none as yet.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if !self.begun => rest,
            Some(_) | None => line.as_slice(),
        };
        self.begun = true;
        if line.is_empty() {
            // Without data there was no event.
            self.ready.extend(self.data.take());
        } else if let Some(data) = line.strip_prefix(b"data:") {
            // One space after the colon belongs to the form, and not to the data.
            let data = data.strip_prefix(b" ").unwrap_or(data);
            match &mut self.data {
                Some(before) => {
                    before.push(b'\n');
                    before.extend_from_slice(data);
                }
                None => self.data = Some(data.to_vec()),
            }
        }
    }
}

/// Whether a media type is that of events.
#[must_use]
pub fn is_events(content_type: Option<&str>) -> bool {
    MediaType::of(content_type.unwrap_or_default()).is("text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &str) -> Vec<String> {
        let take = |reader: &mut EventReader| {
            let taken = std::iter::from_fn(|| reader.take());
            taken.map(|data| String::from_utf8(data).unwrap()).collect::<Vec<_>>()
        };
        // In one piece, and byte by byte: the same.
        let mut whole = EventReader::default();
        whole.feed(stream.as_bytes());
        let whole = take(&mut whole);
        let mut reader = EventReader::default();
        let mut pieces = Vec::new();
        for byte in stream.bytes() {
            reader.feed(&[byte]);
            pieces.extend(take(&mut reader));
        }
        assert_eq!(whole, pieces, "{stream:?}");
        whole
    }

    #[test]
    fn the_data_of_every_event_is_read_whatever_ends_the_lines() {
        for ending in ["\n", "\r\n", "\r"] {
            let stream = |lines: &[&str]| lines.join(ending) + ending;
            let lines = ["event: message", "id: 1", "data: {}", "", ": a remark", "data:two", ""];
            assert_eq!(read(&stream(&lines)), ["{}", "two"], "{ending:?}");
            let lines = ["data: {\"a\":", "data:", "data: 1}", "", ""];
            assert_eq!(read(&stream(&lines)), ["{\"a\":\n\n1}"], "{ending:?}");
        }
        assert_eq!(read("\u{feff}data: x\n\n\u{feff}data: y\n\n"), ["x"]);
    }

    #[test]
    fn an_event_without_an_end_or_without_data_is_none() {
        for stream in ["", "data: x\n", "\n\n\n", "data", "event: ping\n\n", "database: x\n\n"] {
            assert_eq!(read(stream), [""; 0], "{stream:?}");
        }
        assert_eq!(read("data:\n\n"), [""]);
    }

    #[test]
    fn the_media_type_may_have_parameters() {
        assert!(is_events(Some("Text/Event-Stream; charset=utf-8")));
        assert!(!is_events(Some("application/json")) && !is_events(None));
    }
}
