//! Server-sent events as MCP and A2A use them: reads the data of each event as the bytes arrive. Names, ids
//! and retry times of events are ignored, because neither protocol uses them.

use std::collections::VecDeque;

use tradepost_document::http::MediaType;

/// Reads events from the bytes of a stream. The caller bounds the number of bytes.
#[derive(Debug, Default)]
pub struct EventReader {
    /// True once a line was read: only the first may begin with a byte order mark.
    begun: bool,
    /// True when the last byte was a carriage return, which a line feed may follow.
    after_return: bool,
    line: Vec<u8>,
    /// Data of the event that is being read; `None` when it has none so far.
    data: Option<Vec<u8>>,
    ready: VecDeque<Vec<u8>>,
}

impl EventReader {
    /// Reads the next bytes.
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

    /// Returns the data of the next complete event; `None` when there is none yet.
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
            // An event without data is none.
            self.ready.extend(self.data.take());
        } else if let Some(data) = line.strip_prefix(b"data:") {
            // One space after the colon belongs to the format, not to the data.
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

/// Returns true for the media type of events.
#[must_use]
pub fn is_events(content_type: Option<&str>) -> bool {
    MediaType::new(content_type.unwrap_or_default()).is("text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &str) -> Vec<String> {
        let take = |reader: &mut EventReader| {
            let taken = std::iter::from_fn(|| reader.take());
            taken.map(|data| String::from_utf8(data).unwrap()).collect::<Vec<_>>()
        };
        // The result is the same in one piece and byte by byte.
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
    fn data_of_events_is_read_whatever_ends_the_lines() {
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
