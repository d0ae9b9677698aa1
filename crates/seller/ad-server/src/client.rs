//! Requests to an ad server: size and time are bounded, redirects are not followed, and every way to fail
//! becomes an [`AdServerError`].

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{self, Map, Number, Value};
use tradepost_document::text;

use crate::port::{AdServerError, RefusalReason};
use crate::settings::{AdServerSettings, ConnectError, SettingProblem};

/// Maximum size of an answer in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// Maximum size of a report in bytes.
const MAX_REPORT: usize = 16 * 1024 * 1024;

/// Maximum number of characters of an ad server's text that are kept.
pub(crate) const MAX_DETAIL: usize = 200;

/// What is wrong with a count.
pub(crate) const NO_COUNT: &str = "a count is no whole number";

/// Characters that are escaped in a segment of a path: all but those that never need to be.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Members in which ad servers say what went wrong, the most telling first.
const MESSAGES: &[&str] = &["message", "Message", "detail", "error", "Error", "title"];

/// Meaning of an ad server's own error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeMeaning {
    /// Refused for a reason.
    Refused(RefusalReason),
    /// Not now.
    NotYet,
}

/// Looks an ad server's own error code up.
pub(crate) type CodeTable = fn(&str) -> Option<CodeMeaning>;

/// Client of one ad server.
pub(crate) struct AdServerClient {
    client: Client,
    base: String,
    headers: HeaderMap,
    credential: String,
    codes: CodeTable,
    forbidden: RefusalReason,
    timeout: Duration,
    report_timeout: Duration,
}

/// Request to an ad server.
#[derive(Debug, Clone)]
pub(crate) struct AdServerRequest {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
    is_report: bool,
}

impl AdServerRequest {
    /// Creates a request that reads.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None)
    }

    /// Creates a request that makes something.
    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path.into(), Some(body))
    }

    /// Creates a request that changes members of something.
    pub(crate) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PATCH, path.into(), Some(body))
    }

    /// Creates a request that replaces something.
    pub(crate) fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, path.into(), Some(body))
    }

    fn new(method: Method, path: String, body: Option<Value>) -> Self {
        Self { method, path, query: Vec::new(), body, is_report: false }
    }

    /// Adds a parameter of the query.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Allows the size and time of a report.
    pub(crate) fn for_report(mut self) -> Self {
        self.is_report = true;
        self
    }

    /// Returns true if it may have the size and time of a report.
    pub(crate) const fn is_report(&self) -> bool {
        self.is_report
    }

    /// Returns the maximum size of its answer in bytes.
    pub(crate) const fn limit(&self) -> usize {
        if self.is_report { MAX_REPORT } else { MAX_ANSWER }
    }

    /// Prepares it for an ad server with a base address.
    pub(crate) fn prepare(self, client: &Client, base: &str) -> RequestBuilder {
        let mut url = format!("{base}{}", self.path);
        if !self.query.is_empty() {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&self.query);
            url = format!("{url}?{}", query.finish());
        }
        let builder = client.request(self.method, url);
        match self.body {
            Some(body) => builder.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => builder,
        }
    }
}

/// Answer to a request, whatever its status.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    /// Status.
    pub(crate) status: StatusCode,
    /// Time to wait, where the ad server said one.
    pub(crate) retry_after: Option<Duration>,
    /// Body; without success it is empty if it cannot be read.
    pub(crate) body: Vec<u8>,
}

impl RawAnswer {
    /// Reads it as JSON, if it is JSON.
    pub(crate) fn document(&self) -> Option<Value> {
        text::decoded(&self.body).and_then(|body| json::from_str(body).ok())
    }

    /// Reads the answer to a successful request as JSON; an empty answer is `null`.
    pub(crate) fn success(&self) -> Result<Value, AdServerError> {
        let body = text::decoded(&self.body).ok_or_else(|| garbled("it is not UTF-8"))?;
        if body.trim().is_empty() {
            return Ok(Value::Null);
        }
        json::from_str(body).map_err(|_| garbled("it is not JSON"))
    }
}

/// Sends a prepared request once, and reads at most `limit` bytes of the answer.
pub(crate) async fn exchange(
    request: RequestBuilder,
    limit: usize,
) -> Result<RawAnswer, AdServerError> {
    let response = request.send().await.map_err(|error| {
        // An address that cannot be built and a connection that was not made: nothing has left.
        let is_unsent = error.is_builder() || error.is_connect();
        if is_unsent { AdServerError::Unsent } else { AdServerError::Unanswered }
    })?;
    let status = response.status();
    let header = |name: &str| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let retry_after = RetryAfter::from_headers(header).map(RetryAfter::duration);
    let body = if status.is_success() {
        read_body(response, limit).await?
    } else {
        read_body(response, MAX_ANSWER).await.unwrap_or_default()
    };
    Ok(RawAnswer { status, retry_after, body })
}

/// Failure of a request, with what only an adapter can interpret.
#[derive(Debug)]
pub(crate) struct CallFailure {
    /// The failure as the port has it.
    pub(crate) error: AdServerError,
    /// Status of the answer, if there was one.
    pub(crate) status: Option<StatusCode>,
    /// The ad server's own code, if it gave one.
    pub(crate) code: Option<String>,
}

impl From<CallFailure> for AdServerError {
    fn from(failure: CallFailure) -> Self {
        failure.error
    }
}

impl From<AdServerError> for CallFailure {
    fn from(error: AdServerError) -> Self {
        Self { error, status: None, code: None }
    }
}

/// Escapes an id for a path.
pub(crate) fn segment(id: &str) -> String {
    utf8_percent_encode(id, SEGMENT).to_string()
}

/// Reports an answer in which something is missing.
pub(crate) fn garbled(detail: impl Into<String>) -> AdServerError {
    AdServerError::Garbled { detail: detail.into() }
}

/// Refuses before anything is sent.
pub(crate) fn refused(reason: RefusalReason, detail: impl Into<String>) -> AdServerError {
    AdServerError::Refused { reason, detail: detail.into() }
}

/// Refuses to look through more pages of a list.
pub(crate) fn too_long(what: &str) -> AdServerError {
    refused(RefusalReason::Unsupported, format!("a {what} is too long to look through"))
}

/// Reads a typed value of an answer.
pub(crate) fn typed<T: DeserializeOwned>(answer: &Value, what: &str) -> Result<T, AdServerError> {
    T::deserialize(answer).map_err(|_| garbled(format!("it is no {what}")))
}

/// Reads a count.
pub(crate) fn count(number: &Number) -> Result<u64, AdServerError> {
    number.as_u64().ok_or_else(|| garbled(NO_COUNT))
}

/// Returns the members of an object; anything else has none.
pub(crate) fn object_members(document: Value) -> Map {
    if let Value::Object(members) = document { members } else { Map::new() }
}

impl AdServerClient {
    /// Creates a client that sends the credential in a header.
    pub(crate) fn new(
        settings: &AdServerSettings,
        client: Client,
        header: HeaderName,
        scheme: &str,
        codes: CodeTable,
    ) -> Result<Self, ConnectError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let credential = HeaderValue::try_from(format!("{scheme}{}", settings.credential));
        let mut credential = credential.map_err(|_| {
            let message = "the credential has characters that no header can have";
            ConnectError(vec![SettingProblem { setting: "credential", message }])
        })?;
        credential.set_sensitive(true);
        headers.insert(header, credential);
        Ok(Self {
            client,
            base: settings.url.trim_end_matches('/').to_owned(),
            headers,
            credential: settings.credential.clone(),
            codes,
            forbidden: RefusalReason::Permission,
            timeout: settings.timeout,
            report_timeout: settings.report_timeout,
        })
    }

    /// Sets what a status of 403 means, where an ad server gives it to unknown credentials.
    pub(crate) fn with_forbidden(mut self, reason: RefusalReason) -> Self {
        self.forbidden = reason;
        self
    }

    /// Sends another header with every request.
    pub(crate) fn with_header(
        mut self,
        name: HeaderName,
        value: &str,
        setting: &'static str,
    ) -> Result<Self, ConnectError> {
        let value = HeaderValue::try_from(value).map_err(|_| {
            let message = "it has characters that no header can have";
            ConnectError(vec![SettingProblem { setting, message }])
        })?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sends a request and reads the answer as JSON; an empty answer is `null`.
    pub(crate) async fn send(&self, request: AdServerRequest) -> Result<Value, CallFailure> {
        let limit = request.limit();
        let timeout = if request.is_report() { self.report_timeout } else { self.timeout };
        let prepared = request.prepare(&self.client, &self.base);
        let prepared = prepared.headers(self.headers.clone()).timeout(timeout);
        let answer = exchange(prepared, limit).await?;
        if !answer.status.is_success() {
            return Err(self.failure(&answer));
        }
        Ok(answer.success()?)
    }

    /// Reads a failure from an answer without success.
    fn failure(&self, answer: &RawAnswer) -> CallFailure {
        let status = answer.status;
        let retry_after = answer.retry_after;
        let body = answer.document();
        let code = body.as_ref().and_then(|body| body.get("code")).and_then(Value::as_str);
        let detail = self.detail(status, body.as_ref());
        let error = match code.and_then(self.codes) {
            Some(CodeMeaning::Refused(reason)) if !status.is_server_error() => {
                AdServerError::Refused { reason, detail }
            }
            Some(CodeMeaning::NotYet) if !status.is_server_error() => {
                AdServerError::NotYet { retry_after }
            }
            Some(_) | None if status == StatusCode::FORBIDDEN => {
                AdServerError::Refused { reason: self.forbidden, detail }
            }
            Some(_) | None => by_status(status, retry_after, detail),
        };
        CallFailure { error, status: Some(status), code: code.map(str::to_owned) }
    }

    /// Returns the ad server's text, fit for people and without the credential.
    fn detail(&self, status: StatusCode, body: Option<&Value>) -> String {
        let explanation = body.and_then(message).unwrap_or_default();
        plain(&explanation, &self.credential, status)
    }
}

/// Returns a text of an ad server, fit for people and without a secret; where it has none, the status.
pub(crate) fn plain(explanation: &str, secret: &str, status: StatusCode) -> String {
    let explanation =
        if secret.is_empty() { explanation.to_owned() } else { explanation.replace(secret, "…") };
    let explanation = text::plain(&explanation, MAX_DETAIL);
    if explanation.is_empty() { format!("it answered {}", status.as_u16()) } else { explanation }
}

/// Reads a body up to a limit. A body that breaks off counts as no answer.
async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, AdServerError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| AdServerError::Unanswered)? {
        if body.len() + chunk.len() > limit {
            return Err(garbled(format!("it is larger than {limit} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns what an error document says: its message, and the messages of a validation.
fn message(body: &Value) -> Option<String> {
    let explanation = MESSAGES.iter().find_map(|name| {
        let explanation = body.get(*name)?;
        explanation.as_str().or_else(|| explanation.get("message").and_then(Value::as_str))
    });
    let validation = body.get("validation").and_then(Value::as_array);
    let validation = validation.into_iter().flatten().filter_map(|problem| problem.get("message"));
    let validation: Vec<&str> = validation.filter_map(Value::as_str).collect();
    if validation.is_empty() { explanation.map(str::to_owned) } else { Some(validation.join("; ")) }
}

/// Returns what a status without success means. After a status of 5xx the request may have had its effect,
/// except for 501.
pub(crate) fn by_status(
    status: StatusCode,
    retry_after: Option<Duration>,
    detail: String,
) -> AdServerError {
    let reason = match status.as_u16() {
        401 => RefusalReason::Credential,
        403 => RefusalReason::Permission,
        404 | 410 => RefusalReason::Missing,
        405 | 501 => RefusalReason::Unsupported,
        408 => return AdServerError::Unanswered,
        409 => RefusalReason::Conflict,
        423 | 425 | 429 => return AdServerError::NotYet { retry_after },
        300..400 => {
            let detail =
                "it redirects, and redirects are not followed: set its own address".to_owned();
            return AdServerError::Refused { reason: RefusalReason::Invalid, detail };
        }
        400..500 => RefusalReason::Invalid,
        500.. => return AdServerError::Unanswered,
        // Interim answers never end a request.
        _ => return AdServerError::Garbled { detail },
    };
    AdServerError::Refused { reason, detail }
}
