//! What a tool answers, as the result of `tools/call`.

use super::Release;
use crate::json::Pieces;
use crate::jsonrpc::Id;

/// An answer. What it shows stands in the result twice where `is_shown`: both are the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// For programs: an object in JSON.
    pub document: Pieces,
    /// Whether the document stands among the texts as well, for those who read nothing else.
    pub is_shown: bool,
    /// For people and models.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolResult {
    /// The answer to the request with this id: JSON.
    #[must_use]
    pub fn body(self, id: &Id, release: Release) -> Pieces {
        const ENVELOPE: usize = 256;
        let Self { document, is_shown, text, is_error } = self;
        // What is in one piece is written for this answer, and quotes are escaped in the text.
        let fresh = if document.count() == 1 { document.len() * 5 / 2 } else { 0 };
        let mut body = Pieces::from(String::with_capacity(ENVELOPE + fresh + text.len()));
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
        if release == Release::Later {
            body.push(r#","resultType":"complete""#);
        }
        body.push("}}");
        body
    }
}

/// The answer to the request with this id, out of a result in JSON.
#[must_use]
pub fn body(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json())
}
