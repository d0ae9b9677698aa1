//! Tool results, as the result of `tools/call`.

use super::Lifecycle;
use tradepost_a2a::jsonrpc::Id;
use tradepost_document::json::JsonPieces;

/// A tool's result. If `is_shown`, the document appears twice, with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The result for programs: a JSON object.
    pub document: JsonPieces,
    /// True when the document is repeated as a text, for clients that read nothing else.
    pub is_shown: bool,
    /// The text for people and models.
    pub text: String,
    /// True when the call failed.
    pub is_error: bool,
}

impl ToolResult {
    /// Writes the response to the request `id` as JSON.
    #[must_use]
    pub fn body(self, id: &Id, lifecycle: Lifecycle) -> JsonPieces {
        const ENVELOPE: usize = 256;
        let Self { document, is_shown, text, is_error } = self;
        // A single piece is fresh text and is copied twice, with its quotes escaped in one copy.
        let fresh = if document.count() == 1 { document.len() * 5 / 2 } else { 0 };
        let mut body = JsonPieces::from(String::with_capacity(ENVELOPE + fresh + text.len()));
        body.push(r#"{"jsonrpc":"2.0","id":"#);
        body.push(id.as_json());
        body.push(r#","result":{"content":["#);
        if is_shown {
            body.push(r#"{"type":"text","text":""#);
            body.push_quoted(&document);
            body.push(r#""},"#);
        }
        body.push(r#"{"type":"text","text":"#);
        body.write(&text);
        body.push("}");
        body.push(r#"],"structuredContent":"#);
        body.append(document);
        body.push(if is_error { r#","isError":true"# } else { r#","isError":false"# });
        if lifecycle == Lifecycle::Stateless {
            body.push(r#","resultType":"complete""#);
        }
        body.push("}}");
        body
    }
}

/// Wraps a JSON result in the response to the request `id`.
#[must_use]
pub fn body(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json())
}
