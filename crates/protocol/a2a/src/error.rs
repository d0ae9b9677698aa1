//! Errors of JSON-RPC 2.0 and A2A 1.0 (A2A 1.0 §5.4, §9.5), one row each.

use std::time::Duration;

use serde::{Serialize, Serializer};

use tradepost_document::catalog::{Vocabulary, catalog};
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, json};

/// Domain of every `ErrorInfo` (A2A 1.0 §9.5).
pub const DOMAIN: &str = "a2a-protocol.org";

catalog! {
    /// Error codes of the protocol, as opposed to those of a commerce profile.
    pub enum A2aCode {
        /// JSON-RPC error code.
        jsonrpc: i32,
        /// HTTP status in the HTTP+JSON binding.
        http: u16,
        /// Name of the gRPC status code.
        grpc: &'static str,
        /// True for A2A's own errors, which carry an `ErrorInfo`.
        a2a: bool,
        /// Message for people when nothing more precise is known.
        title: &'static str,
        /// Advice for the caller.
        hint: &'static str;
        /// HTTP status of the JSON-RPC answer.
        jsonrpc_http: u16 = 200,
        /// True when other rows have the same JSON-RPC code, so that only `ErrorInfo.reason`
        /// identifies this one.
        by_reason: bool = false,
    }
    /// The body is not valid JSON: it is truncated, is not UTF-8, or is nested too deeply.
    ParseError = "PARSE_ERROR" {
        jsonrpc: -32700, http: 400, grpc: "INVALID_ARGUMENT", a2a: false,
        title: "Invalid JSON payload", hint: "send one complete JSON document in UTF-8",
    }
    /// The body is JSON, but not a JSON-RPC 2.0 request.
    InvalidRequest = "INVALID_REQUEST" {
        jsonrpc: -32600, http: 400, grpc: "INVALID_ARGUMENT", a2a: false,
        title: "Request payload validation error",
        hint: "send an object with jsonrpc \"2.0\", id, method and params",
    }
    /// No operation has this name.
    MethodNotFound = "METHOD_NOT_FOUND" {
        jsonrpc: -32601, http: 404, grpc: "UNIMPLEMENTED", a2a: false,
        title: "Method not found", hint: "use an A2A v1.0 operation such as SendMessage",
    }
    /// The parameters do not have the shape that the operation requires.
    InvalidParams = "INVALID_PARAMS" {
        jsonrpc: -32602, http: 400, grpc: "INVALID_ARGUMENT", a2a: false,
        title: "Invalid parameters", hint: "correct every field listed and send again",
    }
    /// The agent failed. The agent's log has the cause under the error id.
    InternalError = "INTERNAL_ERROR" {
        jsonrpc: -32603, http: 500, grpc: "INTERNAL", a2a: false,
        title: "Internal error",
        hint: "quote the error id to the agent's operator; a retry may fail in the same way",
    }
    /// The agent is temporarily unable to answer: its store or another service that it needs is
    /// unavailable, or it is overloaded (A2A §3.3.2). JSON-RPC has no code for this;
    /// `ErrorInfo.reason` distinguishes it from an internal error. `google.rpc.RetryInfo` and
    /// `Retry-After` say how long to wait before a retry.
    Unavailable = "UNAVAILABLE" {
        jsonrpc: -32603, http: 503, grpc: "UNAVAILABLE", a2a: false,
        title: "Temporarily unavailable",
        hint: "wait as long as RetryInfo or Retry-After says and send the same request again";
        by_reason: true,
    }
    /// The task does not exist, or the caller may not see it.
    TaskNotFound = "TASK_NOT_FOUND" {
        jsonrpc: -32001, http: 404, grpc: "NOT_FOUND", a2a: true,
        title: "Task not found", hint: "check the task id; this agent might not store tasks",
    }
    /// The task has ended and cannot be canceled.
    TaskNotCancelable = "TASK_NOT_CANCELABLE" {
        jsonrpc: -32002, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Task cannot be canceled", hint: "read the task's state; it has ended",
    }
    /// The agent does not support push notifications.
    PushNotificationNotSupported = "PUSH_NOTIFICATION_NOT_SUPPORTED" {
        jsonrpc: -32003, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Push notifications are not supported", hint: "poll instead, or read the card's capabilities",
    }
    /// The agent does not support the operation, or not in this situation.
    UnsupportedOperation = "UNSUPPORTED_OPERATION" {
        jsonrpc: -32004, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Operation is not supported", hint: "read the card's capabilities for the supported operations",
    }
    /// A part has a media type that the agent cannot read or produce.
    ContentTypeNotSupported = "CONTENT_TYPE_NOT_SUPPORTED" {
        jsonrpc: -32005, http: 400, grpc: "INVALID_ARGUMENT", a2a: true,
        title: "Content type is not supported", hint: "send a media type that the card lists",
    }
    /// An agent's answer does not conform to the specification.
    InvalidAgentResponse = "INVALID_AGENT_RESPONSE" {
        jsonrpc: -32006, http: 500, grpc: "INTERNAL", a2a: true,
        title: "Invalid agent response", hint: "report it to the agent's operator",
    }
    /// The card declares an extended card, but none is configured.
    ExtendedAgentCardNotConfigured = "EXTENDED_AGENT_CARD_NOT_CONFIGURED" {
        jsonrpc: -32007, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Extended agent card is not configured", hint: "use the public card",
    }
    /// The agent requires an extension that the request did not declare.
    ExtensionSupportRequired = "EXTENSION_SUPPORT_REQUIRED" {
        jsonrpc: -32008, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Extension support is required", hint: "name the extension in A2A-Extensions",
    }
    /// The agent does not support the requested protocol version.
    VersionNotSupported = "VERSION_NOT_SUPPORTED" {
        jsonrpc: -32009, http: 400, grpc: "FAILED_PRECONDITION", a2a: true,
        title: "Protocol version is not supported", hint: "send A2A-Version with a version that the card lists",
    }
    /// The agent requires authentication, and the request has no valid credential (A2A §3.3.2; the
    /// specification defines no JSON-RPC code). The HTTP status is 401 in every binding over HTTP.
    /// `WWW-Authenticate` says which credential to send, and `metadata.challenge` repeats it.
    Unauthenticated = "UNAUTHENTICATED" {
        jsonrpc: -32000, http: 401, grpc: "UNAUTHENTICATED", a2a: false,
        title: "Authentication is required",
        hint: "send a valid credential of a scheme that the card's securitySchemes declare";
        jsonrpc_http: 401, by_reason: true,
    }
    /// The credential is valid but does not permit the operation (A2A §3.3.2; the specification
    /// defines no JSON-RPC code). The HTTP status is 403 in every binding over HTTP, and
    /// `metadata.scope` names the missing scope.
    PermissionDenied = "PERMISSION_DENIED" {
        jsonrpc: -32000, http: 403, grpc: "PERMISSION_DENIED", a2a: false,
        title: "Permission is denied",
        hint: "ask the agent's operator for a credential with the missing scope";
        jsonrpc_http: 403, by_reason: true,
    }
    /// The caller sends too many requests (A2A §13.4; the specification defines no error for it).
    /// The HTTP status is 429 in every binding over HTTP. `google.rpc.RetryInfo` and `Retry-After`
    /// say how long to wait before a retry. A dealer answers with AAP's `RATE_LIMITED` instead.
    ResourceExhausted = "RESOURCE_EXHAUSTED" {
        jsonrpc: -32000, http: 429, grpc: "RESOURCE_EXHAUSTED", a2a: false,
        title: "Too many requests",
        hint: "wait as long as Retry-After says and send again";
        jsonrpc_http: 429, by_reason: true,
    }
}

impl A2aCode {
    /// Returns the row of a JSON-RPC code; `None` for -32000, which only the reason in the details
    /// explains.
    #[must_use]
    pub fn from_jsonrpc(code: i64) -> Option<Self> {
        let mut rows = Self::ALL.iter().copied();
        rows.find(|row| i64::from(row.jsonrpc()) == code && !row.by_reason())
    }

    /// Returns the row of an error with this JSON-RPC code and this `ErrorInfo.reason` of
    /// [`DOMAIN`]. The reason is more precise; one that belongs to another code is ignored.
    #[must_use]
    pub fn from_jsonrpc_and_reason(code: i64, reason: Option<&str>) -> Option<Self> {
        let named = reason.and_then(Self::from_name);
        named.filter(|row| i64::from(row.jsonrpc()) == code).or_else(|| Self::from_jsonrpc(code))
    }
}

/// A wrong field of the parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldViolation {
    /// Path in A2A's notation: `message.parts[0].data`.
    pub field: String,
    /// Description of the problem and of permitted values.
    pub description: String,
}

/// A protocol error with its details.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
#[non_exhaustive]
pub struct A2aRefusal {
    /// Error code.
    pub code: A2aCode,
    /// Message for people.
    pub message: String,
    /// Facts for programs, in `ErrorInfo.metadata`.
    pub metadata: Vec<(&'static str, String)>,
    /// Every wrong field, for [`A2aCode::InvalidParams`].
    pub violations: Vec<FieldViolation>,
    /// Retry-after, where retrying helps.
    pub wait: Option<Duration>,
}

impl A2aRefusal {
    /// Creates an error with a message of its own.
    #[must_use]
    pub fn new(code: A2aCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, metadata: Vec::new(), violations: Vec::new(), wait: None }
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    /// Sets the retry-after. Every binding sends it as `google.rpc.RetryInfo` and as
    /// `metadata.retryAfterSeconds`, and those of HTTP as `Retry-After`.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Sets the authentication challenge, in the form of `WWW-Authenticate` (RFC 9110 §11.6.1).
    /// Every binding sends it as that header (gRPC as metadata of the call) and as
    /// `metadata.challenge`.
    #[must_use]
    pub fn with_challenge(self, challenge: impl Into<String>) -> Self {
        self.with(CHALLENGE, challenge)
    }

    /// Returns the authentication challenge, if there is one.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        let found = self.metadata.iter().find(|(key, _)| *key == CHALLENGE);
        found.map(|(_, challenge)| challenge.as_str())
    }

    /// Returns true when there are details to send.
    #[must_use]
    pub fn has_details(&self) -> bool {
        self.says_reason() || !self.violations.is_empty()
    }

    fn says_reason(&self) -> bool {
        let needs_reason = self.code.a2a() || self.code.by_reason();
        needs_reason || !self.metadata.is_empty() || self.wait.is_some()
    }

    /// Returns the details with `@type` (A2A 1.0 §3.3.2): `ErrorInfo`, `BadRequest` for wrong
    /// fields, and `RetryInfo` where retrying helps.
    fn details(&self, says_reason: bool) -> Vec<Value> {
        let info = says_reason.then(|| {
            let metadata = self.metadata.iter().map(|(key, value)| (*key, value.clone()));
            let seconds = self.wait.map(|wait| RetryAfter::new(wait).seconds().to_string());
            let wait = seconds.map(|seconds| (RETRY_AFTER_SECONDS, seconds));
            json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": self.code.name(),
                "domain": DOMAIN,
                "metadata": metadata.chain(wait).collect::<Value>(),
            })
        });
        let fields = (!self.violations.is_empty()).then(|| {
            json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": self.violations,
            })
        });
        info.into_iter().chain(fields).chain(self.wait.map(retry_info)).collect()
    }
}

/// Key of the challenge in `ErrorInfo.metadata`.
const CHALLENGE: &str = "challenge";

/// Key of the retry-after in `ErrorInfo.metadata`.
const RETRY_AFTER_SECONDS: &str = "retryAfterSeconds";

/// Converts a retry-after to `google.rpc.RetryInfo`, rounded up to milliseconds.
#[must_use]
pub fn retry_info(wait: Duration) -> Value {
    let delay = RetryAfter::new(wait).protobuf();
    json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
}

/// Serialises the [details](A2aRefusal::has_details).
impl Serialize for A2aRefusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.details(self.says_reason()).serialize(serializer)
    }
}

/// Details in which every error has its reason: those of google.rpc.Status (A2A 1.0 §11.6), whose
/// reader has no JSON-RPC code.
#[derive(Debug)]
pub struct StatusDetails<'a>(pub &'a A2aRefusal);

impl Serialize for StatusDetails<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.details(true).serialize(serializer)
    }
}
