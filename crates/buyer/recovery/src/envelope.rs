//! Envelope of JSON-RPC: the result or error in an answer, as it came.

use serde::Deserialize;
use serde::de::IgnoredAny;
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;

use crate::failure::Defect;
use crate::text::decoded;

#[derive(Deserialize)]
struct AnswerEnvelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// JSON-RPC answer to one request.
#[derive(Debug)]
pub enum OpenedAnswer<'a> {
    /// Result, as it came.
    Result(&'a str),
    /// Error object.
    Refused {
        /// Error, as sent.
        error: Value,
    },
}

/// Opens the JSON-RPC answer to the request with this id.
///
/// # Errors
/// The defect, when the body is no JSON-RPC answer or one to another request.
pub fn open<'a>(body: &'a [u8], id: &str) -> Result<OpenedAnswer<'a>, Defect> {
    let text = decoded(body).ok_or(Defect::NotUtf8)?.trim_ascii();
    if text.is_empty() {
        return Err(Defect::Empty);
    }
    let Some(envelope) = object::<AnswerEnvelope<'_>>(text) else {
        // serde refuses a repeated member, which is valid JSON.
        return Err(match tradepost_document::json::from_str::<IgnoredAny>(text) {
            Ok(_) if text.starts_with('{') => Defect::NotJsonRpc("a member is repeated"),
            Ok(_) => Defect::NotJsonRpc("it is not an object"),
            Err(_) => Defect::NotJson,
        });
    };
    if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return Err(Defect::NotJsonRpc("jsonrpc is not \"2.0\""));
    }
    let ours = envelope.id.is_some_and(|found| is_id(found, id));
    match (envelope.result, envelope.error) {
        (Some(_), Some(_)) => Err(Defect::NotJsonRpc("it has both a result and an error")),
        (None, None) => Err(Defect::NotJsonRpc("it has neither a result nor an error")),
        (Some(result), None) if ours => Ok(OpenedAnswer::Result(result.get())),
        // An error about a request whose id could not be read has none.
        (None, Some(error)) if ours || envelope.id.is_none() => {
            let error: Value =
                tradepost_document::json::from_str(error.get()).map_err(|_| Defect::NotJson)?;
            Ok(OpenedAnswer::Refused { error })
        }
        (Some(_), None) | (None, Some(_)) => Err(Defect::WrongId),
    }
}

/// Returns true for this id, which is a text, or a number with this text.
fn is_id(found: &RawValue, id: &str) -> bool {
    let is_number = found.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_number { found.get() == id } else { string(found).as_deref() == Some(id) }
}

/// Reads an object; a JSON array, which serde would accept for a struct, is refused.
#[must_use]
pub fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.starts_with('{').then(|| tradepost_document::json::from_str(text).ok()).flatten()
}

/// Reads a text.
#[must_use]
pub fn string(raw: &RawValue) -> Option<String> {
    tradepost_document::json::from_str(raw.get()).ok()
}
