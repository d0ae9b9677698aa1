//! Log of requests and answers for people, without the secrets in them.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Url};
use tradepost_adcp::credentials::is_credential;
use tradepost_document::json::{Map, Value};

use crate::text::{decoded, escape_json};

/// Text in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// Maximum number of characters of a body that are shown.
const MAX_SHOWN: usize = 64 * 1024;

/// Minimum length of a secret that is hidden, in bytes; a shorter one occurs in too much other text.
const MIN_SECRET: usize = 4;

/// Header with the id of an MCP session, which is secret because it gives access to the session.
const SESSION: &str = "mcp-session-id";

/// Number of a request and its answer in one log, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeNumber(u64);

/// Log of every request and answer of a transport. Secrets are hidden: the values of headers, members and
/// parameters that are named like credentials, also in JSON within texts; signed tokens; and every credential
/// that was sent, wherever it comes back. Everything else is shown, including personal data in requests.
pub struct TrafficLog {
    write: Box<dyn Fn(&str) + Send + Sync>,
    count: AtomicU64,
    /// Credentials that were sent.
    sent: Mutex<Vec<String>>,
}

impl fmt::Debug for TrafficLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrafficLog")
    }
}

impl TrafficLog {
    /// Creates a log that calls `write` for each request, head of an answer, body and event, with lines that
    /// are fit for a terminal.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { write: Box::new(write), count: AtomicU64::new(0), sent: Mutex::default() }
    }

    /// Logs a request, which goes through this proxy.
    pub(super) fn request(&self, request: &Request, proxy: Option<&str>) -> ExchangeNumber {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        for (name, value) in request.headers() {
            if is_secret_header(name, value) {
                self.remember(value);
            }
        }
        let by = proxy.map(|proxy| format!(" by the proxy {proxy}")).unwrap_or_default();
        let mut out =
            format!("> #{number} {} {}{by}", request.method(), self.address(request.url()));
        self.push_headers(&mut out, '>', request.headers());
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        self.push_body(&mut out, '>', content_type(request.headers()), body);
        (self.write)(&out);
        ExchangeNumber(number)
    }

    /// Logs the status and headers of an answer.
    pub(super) fn head(&self, number: ExchangeNumber, status: u16, headers: &HeaderMap) {
        let mut out = format!("< #{} HTTP {status}", number.0);
        self.push_headers(&mut out, '<', headers);
        (self.write)(&out);
    }

    /// Logs the body of an answer, or one of its events.
    pub(super) fn body(&self, number: ExchangeNumber, content_type: Option<&str>, body: &[u8]) {
        let mut out = format!("< #{} {} bytes", number.0, body.len());
        self.push_body(&mut out, '<', content_type, body);
        (self.write)(&out);
    }

    /// Logs that no answer came, and why.
    pub(super) fn failed(&self, number: ExchangeNumber, why: &str) {
        (self.write)(&format!("< #{} no answer: {}", number.0, self.line(why)));
    }

    fn push_headers(&self, out: &mut String, mark: char, headers: &HeaderMap) {
        for (name, value) in headers {
            let shown = if is_secret_header(name, value) {
                // The scheme of a credential is not secret.
                let text = value.to_str().unwrap_or_default();
                match text.split_once(' ') {
                    Some((scheme, _)) if name.as_str().ends_with("authorization") => {
                        format!("{scheme} {HIDDEN}")
                    }
                    Some(_) | None => HIDDEN.to_owned(),
                }
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            out.push_str(&format!("\n{mark} {name}: {}", self.line(&shown)));
        }
    }

    fn push_body(&self, out: &mut String, mark: char, content_type: Option<&str>, body: &[u8]) {
        if body.is_empty() {
            return;
        }
        let is_grpc = content_type.is_some_and(|kind| kind.starts_with("application/grpc"));
        let Some(text) = decoded(body).filter(|_| !is_grpc) else {
            out.push_str(&format!("\n{mark} ({} bytes that are no text)", body.len()));
            return;
        };
        let is_form =
            content_type.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
        let text = match tradepost_document::json::from_str::<Value>(text) {
            Ok(document) => hidden(document, false).to_string(),
            Err(_) if is_form => parameters(text),
            Err(_) => without_secrets_of_text(text),
        };
        let text = self.without_sent(&text);
        for line in beginning(&text).lines() {
            // A carriage return would let a server overwrite its line on a terminal.
            out.push_str(&format!("\n{mark} {}", escape_json(line).replace('\r', " ")));
        }
    }

    /// Returns an address without the values of its secret parameters.
    fn address(&self, url: &Url) -> String {
        let mut shown = url.clone();
        if let Some(query) = url.query() {
            shown.set_query(Some(&parameters(query)));
        }
        self.line(shown.as_str())
    }

    /// Returns a text as one line, without the secrets that were sent.
    fn line(&self, text: &str) -> String {
        escape_json(&self.without_sent(text)).replace(['\n', '\r'], " ")
    }

    fn remember(&self, value: &HeaderValue) {
        let Ok(text) = value.to_str() else { return };
        let secret = text.split_once(' ').map_or(text, |(_, secret)| secret).trim();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= MIN_SECRET && !sent.iter().any(|known| known == secret) {
            sent.push(secret.to_owned());
        }
    }

    fn without_sent(&self, text: &str) -> String {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let text = without_signed_tokens(text);
        sent.iter().fold(text, |text, secret| text.replace(secret.as_str(), HIDDEN))
    }
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn is_secret_header(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || name == SESSION || is_secret(name.as_str())
}

/// Returns true for the name of a secret: a credential or a token, except the tokens for pages of a list.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_token = lower.ends_with("token") && !lower.contains("page") && !lower.contains("cursor");
    // Not in lower case, because capitals separate the words of a name.
    is_credential(name) || is_token || lower == "governance_context"
}

/// Hides the texts and numbers of secret members; with `all`, every text and number.
fn hidden(value: Value, all: bool) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, member)| {
                let all = all || is_secret(&name);
                (name, hidden(member, all))
            });
            Value::Object(members.collect::<Map>())
        }
        Value::Array(items) => items.into_iter().map(|item| hidden(item, all)).collect(),
        Value::String(_) | Value::Number(_) if all => HIDDEN.into(),
        Value::String(text) => without_secrets_of_text(&text).into(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

/// Hides the secret members in the JSON document within a text, or within each of its lines: the content of
/// an MCP tool, or a stream of events. Documents may be nested in texts; the depth is small, because quoting
/// doubles the length.
fn without_secrets_of_text(text: &str) -> String {
    without_secrets_of_document(text).unwrap_or_else(|| {
        let lines = text
            .split('\n')
            .map(|line| without_secrets_of_document(line).map_or(Cow::Borrowed(line), Cow::Owned));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// Hides the secret members in the JSON document that a text is or contains; `None` where there is nothing to hide.
fn without_secrets_of_document(text: &str) -> Option<String> {
    [('{', '}'), ('[', ']')].into_iter().find_map(|(first, last)| {
        let begin = text.find(first)?;
        let end = text.rfind(last)? + last.len_utf8();
        let (before, from) = text.split_at(begin);
        let (document, after) = from.split_at_checked(end.checked_sub(begin)?)?;
        let document = tradepost_document::json::from_str::<Value>(document).ok()?;
        let shown = hidden(document.clone(), false);
        (shown != document).then(|| format!("{before}{shown}{after}"))
    })
}

/// Hides the values of the secret parameters of a query or a form.
fn parameters(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        Some(_) | None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

/// Hides signed tokens (JWS): three parts of base64url, of which the first is a JSON object.
fn without_signed_tokens(text: &str) -> String {
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '-' | '_' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("eyJ") {
        let (before, from) = rest.split_at(at);
        let end = from.find(|byte| !is_part(byte)).unwrap_or(from.len());
        let (token, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(if token.matches('.').count() >= 2 { HIDDEN } else { token });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Cuts a body to the length that is shown.
fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str(&format!("\n… ({} bytes in all)", text.len()));
    }
    shown
}

#[cfg(test)]
mod tests;
