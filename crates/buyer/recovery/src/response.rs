//! Failures in answers, read in one order for all transports (AdCP, then AAP, then A2A):
//!
//! 1. `structuredContent.adcp_error` of an MCP tool result with `isError`
//! 2. `adcp_error` in the data parts of a failed task's artifacts
//! 3. `adcp_error` in the data parts of its status message
//! 4. `adcp_error` in the `data` of a JSON-RPC error, or the details of a status
//! 5. JSON text with `adcp_error` in an MCP tool result with `isError`
//! 6. the first of `errors[]` in the payload; where these and `adcp_error` disagree, the strictest counts
//! 7. AAP's error object, in the same places, or an `ErrorInfo` of its domain
//! 8. the typed details of A2A, then the bare number
//! 9. the status of HTTP or gRPC, then the text
//!
//! Only what the transport or the payload itself calls failed is searched, so that a result is never taken
//! for a failure. A payload that holds `adcp_error` and nothing else is no result. In an MCP tool result
//! without `isError` it is a failure without a code.
// T-6, T-7

use std::time::Duration;

use tradepost_aap::error::{ReceivedRefusal, TYPE};
use tradepost_document::json::Value;

use crate::challenge::Challenge;
use crate::envelope::{self, OpenedAnswer};
use crate::failure::{CallFailure, Defect, KeptResponse, MAX_KEPT};
use crate::refusal::{self, RefusalForm, SellerRefusal};
use crate::text::decoded;

mod places;

pub use places::ErrorLayer;
pub(crate) use places::{FoundError, Places};

/// Largest answer that is read, in bytes.
pub const MAX_READ: usize = 8 * 1024 * 1024;

/// Answer as it came.
#[derive(Debug, Clone, Copy)]
pub struct RawResponse<'a> {
    /// Transport of the answer.
    pub via: Via<'a>,
    /// HTTP status; 0 where there is none.
    pub status: u16,
    /// Media type, as sent.
    pub content_type: Option<&'a str>,
    /// Delay of the `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// Authentication challenges of the server.
    pub challenges: &'a [Challenge],
    /// Body.
    pub body: &'a [u8],
}

/// Transport of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via<'a> {
    /// JSON-RPC 2.0, to the request with this id: a message or task of A2A, an MCP tool result.
    JsonRpc {
        /// Id of the request.
        id: &'a str,
    },
    /// Plain HTTP with JSON: A2A's HTTP+JSON binding, or AdCP over REST.
    HttpJson,
    /// gRPC; the body is the status's details as a JSON array, or empty.
    Grpc {
        /// Number of the status (google.rpc.Code).
        code: i32,
        /// Message of the status.
        message: &'a str,
    },
    /// MCP tool result without its envelope.
    McpTool,
    /// A2A task without its envelope, as from a stream or a webhook; also one of A2A 0.3.
    Task,
    /// Plain text in the place of an answer.
    Text,
}

impl<'a> RawResponse<'a> {
    /// Returns the answer to be kept with a failure.
    #[must_use]
    pub fn kept(&self) -> KeptResponse {
        let content_type = self.content_type.map(ToOwned::to_owned);
        let challenges = self.challenges.to_vec();
        KeptResponse { challenges, ..KeptResponse::new(self.status, content_type, self.body) }
    }

    /// Returns true for an HTTP status of success, and where there is no status.
    fn is_success(&self) -> bool {
        self.status == 0 || (200..300).contains(&self.status)
    }

    /// Returns the failure of an answer with this defect; a status of refusal counts before it.
    #[must_use]
    pub fn garbled(&self, defect: Defect) -> CallFailure {
        if self.is_success() {
            CallFailure::garbled(defect, self.kept())
        } else {
            self.refused(RefusalForm::Http(self.status))
        }
    }

    /// Reads the refusal in a JSON-RPC error.
    #[must_use]
    pub fn refused_with(&self, error: &Value) -> CallFailure {
        match refusal::read(error, self.retry_after, self.kept()) {
            Some(refused) => CallFailure::Refused(Box::new(refused)),
            None => self.garbled(Defect::NotJsonRpc("its error has no whole number as code")),
        }
    }

    /// Returns the failure of an answer that refuses in this form.
    #[must_use]
    pub fn refused(&self, by: RefusalForm) -> CallFailure {
        let retry_after = refusal::stated_by(&by).max(self.retry_after);
        CallFailure::Refused(Box::new(SellerRefusal { by, retry_after, kept: self.kept() }))
    }
}

/// Returns true for a status that redirects; 304 confirms a cached document.
#[must_use]
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 300..=303 | 305..=399)
}

/// Returns the failure in an answer; `None` when it is none. Accepts any bytes without a panic, and keeps at
/// most [`MAX_KEPT`] bytes of them and the error object.
#[must_use]
pub fn read(raw: &RawResponse<'_>) -> Option<CallFailure> {
    if raw.body.len() > MAX_READ {
        return Some(raw.garbled(Defect::TooLarge(MAX_READ)));
    }
    let result = match raw.via {
        Via::JsonRpc { id } => result(raw, id),
        Via::HttpJson => body(raw),
        Via::Grpc { code: 0, .. } => return None,
        Via::Grpc { code, message } => {
            // Details that cannot be read are ignored, because the status alone is a refusal.
            let details = parse(raw.body).unwrap_or_default();
            Err(of_call(raw, code, message, &details))
        }
        Via::McpTool | Via::Task => parse(raw.body).map_err(|defect| raw.garbled(defect)),
        Via::Text => Err(read_text(raw)),
    };
    match result {
        Ok(result) => refusal_in(&result)
            .or_else(|| (!raw.is_success()).then_some(RefusalForm::Http(raw.status)))
            .map(|by| raw.refused(by)),
        Err(failure) => Some(failure),
    }
}

/// Returns the result in the JSON-RPC answer to the request with this id, whatever it contains.
///
/// # Errors
/// The failure, when the answer is an error or cannot be read.
pub fn result(raw: &RawResponse<'_>, id: &str) -> Result<Value, CallFailure> {
    match envelope::open(raw.body, id) {
        Ok(OpenedAnswer::Refused { error }) => Err(raw.refused_with(&error)),
        Ok(OpenedAnswer::Result(_)) if !raw.is_success() => {
            Err(raw.refused(RefusalForm::Http(raw.status)))
        }
        Ok(OpenedAnswer::Result(result)) => {
            // The text is valid JSON, but may be nested too deeply.
            tradepost_document::json::from_str(result).map_err(|_| raw.garbled(Defect::NotJson))
        }
        Err(defect) => Err(raw.garbled(defect)),
    }
}

/// Returns the JSON body of an HTTP answer, whatever it contains; null where there is none.
///
/// # Errors
/// The failure, when the status is one of refusal or the body cannot be read.
pub fn body(raw: &RawResponse<'_>) -> Result<Value, CallFailure> {
    if raw.status == 204 {
        return Ok(Value::Null);
    }
    let value = parse(raw.body).map_err(|defect| raw.garbled(defect))?;
    if raw.is_success() {
        return Ok(value);
    }
    let by_status = |_| RefusalForm::Http(raw.status);
    let Some(status) = value.get("error").filter(|error| error.is_object()) else {
        let refused = refusal::of_data(0, "", &value, by_status, raw.retry_after, raw.kept());
        return Err(CallFailure::Refused(Box::new(refused)));
    };
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    let details = status.get("details").or_else(|| status.get("data")).unwrap_or(&Value::Null);
    Err(of_status(raw, message, details, by_status))
}

/// Reads the refusal of a google.rpc.Status: its typed details, else its status.
fn of_status(
    raw: &RawResponse<'_>,
    message: &str,
    details: &Value,
    otherwise: impl FnOnce(i64) -> RefusalForm,
) -> CallFailure {
    let typed = |number| {
        let mut error = refusal::read_protocol(0, message, details);
        match error.code.known() {
            Some(code) => error.jsonrpc = i64::from(code.jsonrpc()),
            None if error.reason.is_none() => return otherwise(number),
            None => {}
        }
        RefusalForm::Protocol(error)
    };
    let refused = refusal::of_data(0, message, details, typed, raw.retry_after, raw.kept());
    CallFailure::Refused(Box::new(refused))
}

/// Reads the refusal of a gRPC call that ended with this status and this list of details.
#[must_use]
pub fn of_call(raw: &RawResponse<'_>, code: i32, message: &str, details: &Value) -> CallFailure {
    of_status(raw, message, details, |_| RefusalForm::Grpc { code, message: beginning(message) })
}

fn read_text(raw: &RawResponse<'_>) -> CallFailure {
    let Some(text) = decoded(raw.body) else {
        return raw.garbled(Defect::NotUtf8);
    };
    let text = text.trim_ascii();
    if text.is_empty() {
        return raw.garbled(Defect::Empty);
    }
    if let Some(by) = Places::text(text).by() {
        return raw.refused(by);
    }
    // Some gateways leave only the code at the start of the text.
    if let Some(error) = refusal::read_aap(&Value::Null, text) {
        return raw.refused(RefusalForm::Aap { jsonrpc: 0, error });
    }
    if !raw.is_success() {
        return raw.refused(RefusalForm::Http(raw.status));
    }
    raw.refused(RefusalForm::Words { text: beginning(text), malformed: None })
}

fn parse(body: &[u8]) -> Result<Value, Defect> {
    let text = decoded(body).ok_or(Defect::NotUtf8)?;
    if text.trim_ascii().is_empty() {
        return Err(Defect::Empty);
    }
    // The parser bounds the depth of nesting.
    tradepost_document::json::from_str(text).map_err(|_| Defect::NotJson)
}

/// Returns the refusal in a result: that of a tool, a task, a message or a payload.
#[must_use]
pub fn refusal_in(result: &Value) -> Option<RefusalForm> {
    let task = result.get("task").unwrap_or(result);
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Some(Places::tool(result).by_or_words());
    }
    if task.pointer("/status/state").and_then(Value::as_str).is_some_and(has_failed) {
        return Some(Places::task(task).by_or_words());
    }
    // A tool result with only an error has failed, even without `isError`; its code is not relied on (AdCP,
    // `transport-error-mapping`, `mcp-structured-content-no-iserror`).
    if let Some(error) =
        result.get("structuredContent").filter(|structured| is_bare_error(structured))
    {
        let message = error.pointer("/adcp_error/message").and_then(Value::as_str);
        return Some(RefusalForm::Words {
            text: beginning(message.unwrap_or_default()),
            malformed: None,
        });
    }
    // The payload says that it failed, although the transport does not.
    let payloads = Places::payloads(result, task);
    if let Some(by) = payloads.iter().find_map(|payload| of_payload(payload)) {
        return Some(by);
    }
    // An AAP error in the place of a message's result is a refusal.
    let message = result.get("message").unwrap_or(result);
    let parts = message.get("parts").and_then(Value::as_array);
    let mut data = parts.into_iter().flatten().filter_map(|part| part.get("data"));
    data.find_map(|data| of_aap(data).or_else(|| of_payload(data)))
}

fn of_payload(payload: &Value) -> Option<RefusalForm> {
    if is_bare_error(payload) {
        return Some(Places::payload(payload).by_or_words());
    }
    let failed = payload.get("status").and_then(Value::as_str) == Some("failed");
    failed.then(|| Places::payload(payload).by()).flatten()
}

/// Returns true when a payload holds an AdCP error object and nothing else. Such a payload is an error that
/// does not say so, because it has no data of any task.
fn is_bare_error(payload: &Value) -> bool {
    let members = payload.as_object().filter(|members| members.len() == 1);
    members.and_then(|members| members.get("adcp_error")).is_some_and(|error| !error.is_null())
}

fn of_aap(data: &Value) -> Option<RefusalForm> {
    if data.get("type").and_then(Value::as_str) != Some(TYPE) {
        return None;
    }
    Some(RefusalForm::Aap { jsonrpc: 0, error: ReceivedRefusal::read(data)? })
}

/// Returns true for a task state of either release of A2A that has no result.
fn has_failed(state: &str) -> bool {
    matches!(state, "TASK_STATE_FAILED" | "TASK_STATE_REJECTED" | "failed" | "rejected")
}

/// Returns the beginning of a seller's text.
fn beginning(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect()
}

/// Maximum number of characters of a seller's text that are kept beside the answer itself.
const MAX_WORDS: usize = 2_000;

const _: () = assert!(MAX_WORDS < MAX_KEPT, "the words are a part of the answer");

impl Places<'_> {
    /// Returns the typed refusal in these places.
    fn by(&self) -> Option<RefusalForm> {
        match self.find() {
            FoundError::Adcp(adcp) => Some(RefusalForm::Adcp(adcp)),
            FoundError::Malformed(_) | FoundError::Nothing => self.data_values().find_map(of_aap),
        }
    }

    /// Returns the typed refusal in these places, else their text.
    fn by_or_words(&self) -> RefusalForm {
        self.by().unwrap_or_else(|| {
            let malformed = match self.find() {
                FoundError::Malformed(malformed) => Some(malformed),
                FoundError::Adcp(_) | FoundError::Nothing => None,
            };
            RefusalForm::Words { text: beginning(self.words()), malformed }
        })
    }
}

#[cfg(test)]
mod tests;
