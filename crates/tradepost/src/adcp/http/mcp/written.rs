//! What a tool answers, as the result of `tools/call`: the document in `structuredContent`, the
//! same as text for whoever reads nothing else, and a sentence (requirements §2.4).

use axum::http::StatusCode;
use axum::response::Response;
use tradepost_server::http::{answers, json_response};
use tradepost_wire::adcp::Answer;
use tradepost_wire::jsonrpc::Id;

use super::release::Release;

/// An answer, written once: it stands in the result twice, and both are the same bytes.
pub(super) struct Written {
    document: String,
    sentence: String,
    is_error: bool,
}

impl Written {
    /// Writes it.
    pub(super) fn of(answer: &Answer) -> Self {
        Self {
            document: answers::json(answer),
            sentence: sentence(answer),
            is_error: answer.is_failure(),
        }
    }

    /// The answer to the request with this id.
    pub(super) fn respond(self, id: &Id, release: Release) -> Response {
        const ENVELOPE: usize = 256;
        let Self { document, sentence, is_error } = self;
        // Quotes are escaped in the text.
        let mut body = String::with_capacity(ENVELOPE + document.len() * 5 / 2 + sentence.len());
        body.push_str(r#"{"jsonrpc":"2.0","id":"#);
        body.push_str(id.as_json());
        body.push_str(r#","result":{"content":[{"type":"text","text":"#);
        body.push_str(&answers::json(&document));
        body.push_str(r#"},{"type":"text","text":"#);
        body.push_str(&answers::json(&sentence));
        body.push_str(r#"}],"structuredContent":"#);
        body.push_str(&document);
        body.push_str(if is_error { r#","isError":true"# } else { r#","isError":false"# });
        if release == Release::Later {
            body.push_str(r#","resultType":"complete""#);
        }
        body.push_str("}}");
        json_response(StatusCode::OK, body)
    }
}

/// One sentence for people and models.
fn sentence(answer: &Answer) -> String {
    let Some(error) = answer.errors.first().filter(|_| answer.is_failure()) else {
        return answer.message.clone();
    };
    let mut sentence = format!("{}: {}", error.code, error.message);
    if let Some(seconds) = error.retry_after {
        sentence.push_str(&format!(" (retry in {seconds} s)"));
    }
    sentence
}
