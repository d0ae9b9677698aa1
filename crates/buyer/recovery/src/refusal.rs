//! Refusals of a seller, read leniently: AdCP's error object first, then AAP's, then the typed details of
//! A2A, then the bare number, then the status of HTTP or gRPC. [`crate::response`] says where each is searched.

use std::fmt;
use std::time::Duration;

use tradepost_a2a::error::{A2aCode, DOMAIN, FieldViolation};
use tradepost_aap::error::{AapCode, DOMAIN as AAP_DOMAIN, ReceivedRefusal};
use tradepost_adcp::error::{AdcpError, ErrorFormatError, Recovery, RecoveryRule};
use tradepost_document::catalog::{Vocabulary, WireName};
use tradepost_document::http::RetryAfter;
use tradepost_document::json::Value;

use crate::challenge::Challenge;
use crate::failure::KeptResponse;
use crate::response::{self, ErrorLayer, Places};
use crate::text::{SENTENCE, WORD, bounded, plain};

/// Longest delay that is accepted from a seller.
pub const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest AdCP message that is shown, in bytes.
// Z-3
pub const MAX_MESSAGE: usize = 256;

/// Maximum number of violations and of metadata entries of an error that are kept.
const MAX_LISTED: usize = 100;

/// Refusal of a seller.
#[derive(Debug)]
pub struct SellerRefusal {
    /// Form of the refusal.
    pub by: RefusalForm,
    /// Delay that the seller asks for, rounded up to milliseconds and at most [`MAX_DELAY`]: the longest of
    /// those in the errors, the typed details and the `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// Answer.
    pub kept: KeptResponse,
}

/// Form of a refusal.
#[derive(Debug)]
pub enum RefusalForm {
    /// AdCP's error object.
    Adcp(Box<Adcp>),
    /// AAP's error object.
    Aap {
        /// JSON-RPC number of the error.
        jsonrpc: i64,
        /// Error object.
        error: ReceivedRefusal,
    },
    /// A2A or JSON-RPC error.
    Protocol(ProtocolError),
    /// A gRPC status without typed details.
    Grpc {
        /// Number of the status (google.rpc.Code).
        code: i32,
        /// Message for people, as sent.
        message: String,
    },
    /// HTTP status, with a body that is not an answer of any protocol.
    Http(u16),
    /// Refusal without an error object: an MCP tool result with `isError`, or a failed task.
    Words {
        /// Beginning of the text for people, as sent.
        text: String,
        /// Defect of the error object, if there was one.
        malformed: Option<ErrorFormatError>,
    },
}

/// AdCP error, and its place in the answer.
#[derive(Debug)]
pub struct Adcp {
    /// Error that decides: the strictest of all layers, and the first of several that are equally strict.
    pub error: AdcpError,
    /// Errors that the payload lists.
    pub listed: Vec<AdcpError>,
    /// Layer of the error.
    pub layer: response::ErrorLayer,
    /// JSON-RPC number of the error; 0 when it has none.
    pub jsonrpc: i64,
}

/// A2A or JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    /// JSON-RPC number.
    pub jsonrpc: i64,
    /// Catalog row; for an unknown number the reason given, else the number.
    pub code: WireName<A2aCode>,
    /// Message for people, as sent.
    pub message: String,
    /// `ErrorInfo.reason`, as sent.
    pub reason: Option<String>,
    /// `ErrorInfo.metadata`, as sent.
    pub metadata: Vec<(String, String)>,
    /// Wrong fields of a `BadRequest`.
    pub violations: Vec<FieldViolation>,
}

impl Adcp {
    /// Combines the error at `layer` with those that the payload lists; `None` when there is none. The
    /// strictest decides, so that a request is not repeated when one layer says that it can only fail.
    #[must_use]
    pub fn from_errors(
        envelope: Option<(ErrorLayer, AdcpError)>,
        listed: Vec<AdcpError>,
    ) -> Option<Self> {
        let of_payload = listed.iter().map(|error| (ErrorLayer::Payload, error.clone()));
        let all = envelope.into_iter().chain(of_payload);
        let stricter = |best: (ErrorLayer, AdcpError), next: (ErrorLayer, AdcpError)| {
            if Strictness::from_error(&next.1) > Strictness::from_error(&best.1) {
                next
            } else {
                best
            }
        };
        let (layer, error) = all.reduce(stricter)?;
        Some(Self { error, listed, layer, jsonrpc: 0 })
    }
}

/// Strictness of an error, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strictness {
    Note,
    Transient,
    Correctable,
    Terminal,
    /// Forbidden to repeat, whatever class the error states.
    Forbidden,
}

impl Strictness {
    fn from_error(error: &AdcpError) -> Self {
        match error.rule() {
            RecoveryRule::Advisory => Self::Note,
            RecoveryRule::Gate
            | RecoveryRule::Misconfigured
            | RecoveryRule::Leak
            | RecoveryRule::Never
            | RecoveryRule::Final
            | RecoveryRule::Seller => Self::Forbidden,
            RecoveryRule::Class
            | RecoveryRule::Credentials
            | RecoveryRule::Renewal
            | RecoveryRule::Context
            | RecoveryRule::Throttled
            | RecoveryRule::Reread
            | RecoveryRule::InFlight
            | RecoveryRule::NewKey
            | RecoveryRule::Reconcile
            | RecoveryRule::Scope
            | RecoveryRule::Strip
            | RecoveryRule::Permission
            | RecoveryRule::Billing
            | RecoveryRule::AgentBilling
            | RecoveryRule::Setup
            | RecoveryRule::Person
            | RecoveryRule::Action
            | RecoveryRule::Moved => match error.class() {
                Recovery::Transient => Self::Transient,
                Recovery::Correctable => Self::Correctable,
                Recovery::Terminal => Self::Terminal,
            },
        }
    }
}

impl ProtocolError {
    /// Returns the challenge in the error's metadata, in the form of `WWW-Authenticate`.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        let found = self.metadata.iter().find(|(name, _)| name == "challenge");
        found.map(|(_, challenge)| challenge.as_str())
    }
}

impl SellerRefusal {
    /// Returns the authentication challenges of the header, else that of the error.
    #[must_use]
    pub fn challenges(&self) -> Vec<Challenge> {
        match &self.by {
            RefusalForm::Protocol(error) if self.kept.challenges.is_empty() => {
                Challenge::read_all(error.challenge())
            }
            RefusalForm::Adcp(_)
            | RefusalForm::Aap { .. }
            | RefusalForm::Protocol(_)
            | RefusalForm::Grpc { .. }
            | RefusalForm::Http(_)
            | RefusalForm::Words { .. } => self.kept.challenges.clone(),
        }
    }

    /// Returns true when the same request may succeed later. The seller's statement takes precedence over the
    /// catalog.
    // R-ER-05
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match &self.by {
            RefusalForm::Aap { error, .. } => error.retryable,
            RefusalForm::Protocol(error) => match error.code.known() {
                Some(code) => is_retryable(code),
                None => self.retry_after.is_some(),
            },
            RefusalForm::Adcp(adcp) => {
                adcp.error.class() == Recovery::Transient && adcp.error.rule().permits_repeating()
            }
            RefusalForm::Grpc { code, .. } => {
                // DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, UNAVAILABLE.
                matches!(code, 4 | 8 | 10 | 14)
            }
            RefusalForm::Http(status) => is_transient(*status),
            RefusalForm::Words { .. } => false,
        }
    }
}

impl fmt::Display for SellerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, message) = match &self.by {
            RefusalForm::Aap { error, .. } => (error.code.name(), error.message.as_str()),
            RefusalForm::Protocol(error) => (error.code.name(), error.message.as_str()),
            RefusalForm::Adcp(adcp) => {
                let code = plain(adcp.error.code.name(), WORD);
                return write_code_and_message(
                    f,
                    &code,
                    &bounded(&adcp.error.message, MAX_MESSAGE),
                );
            }
            RefusalForm::Grpc { code, message } => {
                return write!(
                    f,
                    "the server answers with gRPC status {code}: {}",
                    plain(message, SENTENCE)
                );
            }
            RefusalForm::Http(status) => return write!(f, "the server answers with HTTP {status}"),
            RefusalForm::Words { text, .. } => {
                let text = bounded(text, MAX_MESSAGE);
                return if text.is_empty() {
                    f.write_str("the seller failed and does not say why")
                } else {
                    write!(f, "the seller failed: {text}")
                };
            }
        };
        let code = plain(code, WORD);
        // Sellers often put the code at the start of the message (C-11); it is shown once.
        let message = message
            .strip_prefix(code.as_str())
            .map_or(message, |rest| rest.trim_start_matches([':', ' ']));
        write_code_and_message(f, &code, &plain(message, SENTENCE))
    }
}

/// Writes the code, and the message unless it is empty.
fn write_code_and_message(f: &mut fmt::Formatter<'_>, code: &str, message: &str) -> fmt::Result {
    if message.is_empty() { f.write_str(code) } else { write!(f, "{code}: {message}") }
}

/// Returns true for an HTTP status that is transient.
#[must_use]
pub fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Returns true when a request refused with this code may succeed later, unchanged.
#[must_use]
pub fn is_retryable(code: A2aCode) -> bool {
    matches!(code, A2aCode::InternalError | A2aCode::Unavailable | A2aCode::ResourceExhausted)
}

/// Reads the `error` member of a JSON-RPC answer; `None` when it is no error object.
#[must_use]
pub fn read(
    error: &Value,
    retry_after: Option<Duration>,
    kept: KeptResponse,
) -> Option<SellerRefusal> {
    let jsonrpc = error.get("code").and_then(whole)?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let data = error.get("data").unwrap_or(&Value::Null);
    let protocol = |jsonrpc| RefusalForm::Protocol(read_protocol(jsonrpc, message, data));
    Some(of_data(jsonrpc, message, data, protocol, retry_after, kept))
}

/// Reads a refusal from its typed part: an error object of AdCP or AAP in `data`, else the form that
/// `otherwise` returns for the number.
pub(crate) fn of_data(
    jsonrpc: i64,
    message: &str,
    data: &Value,
    otherwise: impl FnOnce(i64) -> RefusalForm,
    retry_after: Option<Duration>,
    kept: KeptResponse,
) -> SellerRefusal {
    let by = match Places::data(data).find() {
        response::FoundError::Adcp(mut adcp) => {
            adcp.jsonrpc = jsonrpc;
            RefusalForm::Adcp(adcp)
        }
        response::FoundError::Malformed(_) | response::FoundError::Nothing => {
            match read_aap(data, message) {
                Some(error) => RefusalForm::Aap { jsonrpc, error },
                None => otherwise(jsonrpc),
            }
        }
    };
    let retry_after = [stated_by(&by), retry_info(data), retry_after].into_iter().flatten().max();
    SellerRefusal { retry_after, by, kept }
}

/// Returns the delay that an error object asks for; the longest of several.
#[must_use]
pub fn stated_by(by: &RefusalForm) -> Option<Duration> {
    match by {
        RefusalForm::Adcp(adcp) => {
            let all = std::iter::once(&adcp.error).chain(&adcp.listed);
            let longest = all.filter_map(|error| error.retry_after).max()?;
            Some(Duration::from_secs(u64::from(longest)))
        }
        RefusalForm::Aap { error, .. } => stated_delay(&error.details),
        RefusalForm::Protocol(_)
        | RefusalForm::Grpc { .. }
        | RefusalForm::Http(_)
        | RefusalForm::Words { .. } => None,
    }
}

/// Reads `RetryInfo.retryDelay` from typed details, such as `"3.5s"`.
fn retry_info(details: &Value) -> Option<Duration> {
    let info = typed(details, "RetryInfo")?;
    RetryAfter::from_protobuf(info.get("retryDelay")?.as_str()?).map(bounded_delay)
}

/// Returns the first detail of a google.rpc type.
pub(crate) fn typed<'v>(details: &'v Value, name: &str) -> Option<&'v Value> {
    let wanted = format!("google.rpc.{name}");
    details.as_array()?.iter().find(|detail| {
        let kind = detail.get("@type").and_then(Value::as_str).unwrap_or_default();
        kind.rsplit('/').next().is_some_and(|kind| kind == wanted)
    })
}

fn whole(value: &Value) -> Option<i64> {
    value.as_number().and_then(tradepost_document::parse::whole_number)
}

pub(crate) fn read_aap(data: &Value, message: &str) -> Option<ReceivedRefusal> {
    if let Some(received) = ReceivedRefusal::read(data) {
        return Some(received);
    }
    let items = data.as_array().map(Vec::as_slice).unwrap_or_default();
    // A google.protobuf.Struct in JSON has its members in `value`.
    let objects = items.iter().chain(items.iter().filter_map(|item| item.get("value")));
    if let Some(received) = objects.into_iter().find_map(ReceivedRefusal::read) {
        return Some(received);
    }
    if let Some(received) = read_aap_info(data, message) {
        return Some(received);
    }
    if !data.is_null() {
        return None;
    }
    // Some gateways drop the data, so that only the code at the start of the message is left.
    let (name, text) = message.split_once(':')?;
    let code = AapCode::from_name(name.trim())?;
    Some(ReceivedRefusal {
        code: WireName::Known(code),
        message: text.trim().to_owned(),
        retryable: code.retryable(),
        error_id: String::new(),
        details: Value::Null,
    })
}

/// Reads AAP's error from an `ErrorInfo` of its domain, for bindings that carry only typed details.
fn read_aap_info(details: &Value, message: &str) -> Option<ReceivedRefusal> {
    let info = typed(details, "ErrorInfo")?;
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    if text(info, "domain").as_deref() != Some(AAP_DOMAIN) {
        return None;
    }
    let code = WireName::<AapCode>::parse(&text(info, "reason")?);
    let metadata = info.get("metadata").unwrap_or(&Value::Null);
    let default = code.known().is_some_and(AapCode::retryable);
    let stated = text(metadata, "retryable").and_then(|word| word.parse().ok());
    Some(ReceivedRefusal {
        message: message.to_owned(),
        retryable: stated.unwrap_or(default),
        error_id: text(metadata, "error_id").unwrap_or_default(),
        details: Value::Null,
        code,
    })
}

pub(crate) fn read_protocol(jsonrpc: i64, message: &str, data: &Value) -> ProtocolError {
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let info = typed(data, "ErrorInfo");
    let reason = info.map(|info| text(info, "reason")).filter(|reason| !reason.is_empty());
    let own = info.filter(|info| text(info, "domain") == DOMAIN);
    let own = own.map(|info| text(info, "reason"));
    // Some rows share a number, and other bindings have none; then the reason identifies the row.
    let row = A2aCode::from_jsonrpc_and_reason(jsonrpc, own.as_deref())
        .or_else(|| A2aCode::from_name(own.as_deref()?));
    let code = match (row, &reason) {
        (Some(row), _) => WireName::Known(row),
        (None, Some(reason)) => WireName::Other(reason.as_str().into()),
        (None, None) => WireName::Other(jsonrpc.to_string().into()),
    };
    let metadata = info.and_then(|info| info.get("metadata")).and_then(Value::as_object);
    let metadata = metadata
        .into_iter()
        .flatten()
        .take(MAX_LISTED)
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let violations = typed(data, "BadRequest")
        .and_then(|detail| detail.get("fieldViolations"))
        .and_then(Value::as_array);
    let violations =
        violations.into_iter().flatten().take(MAX_LISTED).map(|violation| FieldViolation {
            field: text(violation, "field"),
            description: text(violation, "description"),
        });
    ProtocolError {
        jsonrpc,
        code,
        message: message.to_owned(),
        metadata: metadata.collect(),
        violations: violations.collect(),
        reason,
    }
}

/// Returns `details.retry_after_ms` or `details.retry_after_seconds`, whichever is longer.
// R-ER-07
fn stated_delay(details: &Value) -> Option<Duration> {
    let number = |name: &str| details.get(name)?.as_number()?.as_f64();
    let milliseconds = number("retry_after_ms").and_then(RetryAfter::from_milliseconds);
    let seconds = number("retry_after_seconds").and_then(RetryAfter::from_seconds);
    milliseconds.max(seconds).map(bounded_delay)
}

/// Returns the delay that a response asks for in its headers, by their lower-case names.
#[must_use]
pub fn header_delay(header: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    RetryAfter::from_headers(header).map(bounded_delay)
}

fn bounded_delay(wait: RetryAfter) -> Duration {
    wait.duration().min(MAX_DELAY)
}

#[cfg(test)]
mod tests;
