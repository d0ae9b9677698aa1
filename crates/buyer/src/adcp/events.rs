//! Server-sent events, as far as MCP uses them: the one that is the answer to a request is looked
//! for while they come. Notifications and requests of the server are passed over.

use serde_json::Value;

/// Looks for the answer to the request with one id.
#[derive(Debug)]
pub(super) struct Finder<'a> {
    id: &'a str,
    /// How much of the stream has been looked at: whole lines.
    read: usize,
    /// How much of it is known to have no further end of a line.
    seen: usize,
    /// The data of the event that is being read.
    data: Vec<u8>,
    found: Option<Vec<u8>>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(id: &'a str) -> Self {
        Self { id, read: 0, seen: 0, data: Vec::new(), found: None }
    }

    /// Looks at what came since the last look at this stream, which is given from its beginning;
    /// whether the answer has come.
    pub(super) fn feed(&mut self, stream: &[u8]) -> bool {
        while self.found.is_none() {
            let unseen = stream.get(self.seen..).unwrap_or_default();
            let Some(end) = unseen.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.seen = stream.len();
                break;
            };
            let rest = stream.get(self.read..).unwrap_or_default();
            let end = self.seen + end - self.read;
            let ending = match rest.get(end..) {
                Some([b'\r', b'\n', ..]) => 2,
                // What follows may belong to it.
                Some([b'\r']) => break,
                Some(_) | None => 1,
            };
            let line = rest.get(..end).unwrap_or_default();
            let line = if self.read == 0 {
                line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
            } else {
                line
            };
            self.read += end + ending;
            self.seen = self.read;
            self.line(line);
        }
        self.found.is_some()
    }

    /// The answer.
    pub(super) fn into_found(self) -> Option<Vec<u8>> {
        self.found
    }

    fn line(&mut self, line: &[u8]) {
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if self.is_answer(&data) {
                self.found = Some(data);
            }
        }
    }

    fn is_answer(&self, data: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(data) else {
            return false;
        };
        let id = message.get("id").filter(|id| !id.is_null());
        // An error about a request whose id could not be read has none.
        match id {
            Some(id) => {
                id == self.id && (message.get("result").is_some() || message.get("error").is_some())
            }
            None => message.get("error").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stream: &str) -> Option<String> {
        // In one piece, and byte by byte: the same.
        let mut whole = Finder::new("7");
        whole.feed(stream.as_bytes());
        let whole = whole.into_found();
        let mut pieces = Finder::new("7");
        for end in 0..=stream.len() {
            if pieces.feed(&stream.as_bytes()[..end]) {
                break;
            }
        }
        assert_eq!(whole, pieces.into_found(), "{stream:?}");
        whole.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_answer_is_found_among_other_events() {
        let answer = r#"{"jsonrpc":"2.0","id":"7","result":{}}"#;
        let failure = r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#;
        for ending in ["\n", "\r\n", "\r"] {
            let stream = |lines: &[&str]| lines.join(ending) + ending;
            let data = format!("data: {answer}");
            // The one after it completes a lone carriage return.
            let lines = ["event: message", "id: 1", data.as_str(), "", ": more"];
            assert_eq!(found(&stream(&lines)).as_deref(), Some(answer), "{ending:?}");
            let first = r#"data:{"method":"notifications/progress"}"#;
            let other = r#"data: {"id":"8","result":{}}"#;
            let ping = r#"data: {"id":"7","method":"ping"}"#;
            let lines = [": hello", first, "", other, "", ping, "", "data: x", "", &data, "", ""];
            assert_eq!(found(&stream(&lines)).as_deref(), Some(answer), "{ending:?}");
            let lines = ["data: {\"id\":\"7\",", "data: \"result\":1}", "", ""];
            assert_eq!(found(&stream(&lines)).as_deref(), Some("{\"id\":\"7\",\n\"result\":1}"));
            let refused = format!("data: {failure}");
            assert_eq!(found(&stream(&[&refused, "", ""])).as_deref(), Some(failure));
        }
        let marked = format!("\u{feff}data: {answer}\n\n");
        assert_eq!(found(&marked).as_deref(), Some(answer));
    }

    #[test]
    fn an_event_without_an_end_is_none() {
        for stream in ["", "data: {\"id\":\"7\",\"result\":1}\n", "data:\n\n", "\n\n\n", "data"] {
            assert_eq!(found(stream), None, "{stream:?}");
        }
    }
}
