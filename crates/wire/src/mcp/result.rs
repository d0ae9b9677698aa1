//! What a tool answers, as the result of `tools/call`.

use super::Release;
use crate::json::{self, Pieces};
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
    pub fn body(&self, id: &Id, release: Release) -> String {
        const ENVELOPE: usize = 256;
        let Self { document, is_shown, text, is_error } = self;
        // Quotes are escaped in the text.
        let shown = if *is_shown { document.len() * 3 / 2 } else { 0 };
        let mut body = String::with_capacity(ENVELOPE + document.len() + shown + text.len());
        body.push_str(r#"{"jsonrpc":"2.0","id":"#);
        body.push_str(id.as_json());
        body.push_str(r#","result":{"content":["#);
        if *is_shown {
            body.push_str(r#"{"type":"text","text":""#);
            document.write_quoted_to(&mut body);
            body.push_str(r#""},"#);
        }
        body.push_str(r#"{"type":"text","text":"#);
        let text = json::to_string(text).unwrap_or_else(|_| unreachable!("it is a text"));
        body.push_str(&text);
        body.push('}');
        body.push_str(r#"],"structuredContent":"#);
        document.write_to(&mut body);
        body.push_str(if *is_error { r#","isError":true"# } else { r#","isError":false"# });
        if release == Release::Later {
            body.push_str(r#","resultType":"complete""#);
        }
        body.push_str("}}");
        body
    }
}

/// The answer to the request with this id, out of a result in JSON.
#[must_use]
pub fn body(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json())
}
