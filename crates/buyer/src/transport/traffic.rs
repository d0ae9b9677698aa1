//! What travels, shown to people: requests and answers, with the secrets in them hidden.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Url};
use tradepost_wire::adcp::credentials::is_credential;
use tradepost_wire::json::{Map, Value};

use crate::text::{decoded, escape_json};

/// What stands in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// How many characters of a body are shown.
const MAX_SHOWN: usize = 64 * 1024;

/// A shorter text is found in too much that is no secret.
const MIN_SECRET: usize = 4;

/// The header with the id of a session of MCP, which opens the session to whoever knows it.
const SESSION: &str = "mcp-session-id";

/// Which request an answer belongs to, among those that one log was shown: they count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeNumber(u64);

/// Is shown every request and every answer of a transport. Secrets are hidden: the values of headers,
/// members and parameters that are named like credentials, also in documents within texts, signed tokens, and every
/// credential that was sent, wherever it comes back. Everything else is shown, also what a request says of a person.
pub struct TrafficLog {
    write: Box<dyn Fn(&str) + Send + Sync>,
    count: AtomicU64,
    /// The credentials that were sent.
    sent: Mutex<Vec<String>>,
}

impl fmt::Debug for TrafficLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrafficLog")
    }
}

impl TrafficLog {
    /// A log that is written by this: each request, head of an answer, body and event at once, in lines
    /// that are fit for a terminal.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { write: Box::new(write), count: AtomicU64::new(0), sent: Mutex::default() }
    }

    /// A request on its way, by this proxy.
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

    /// The head of the answer to a request.
    pub(super) fn head(&self, number: ExchangeNumber, status: u16, headers: &HeaderMap) {
        let mut out = format!("< #{} HTTP {status}", number.0);
        self.push_headers(&mut out, '<', headers);
        (self.write)(&out);
    }

    /// The body of an answer, or an event of it.
    pub(super) fn body(&self, number: ExchangeNumber, content_type: Option<&str>, body: &[u8]) {
        let mut out = format!("< #{} {} bytes", number.0, body.len());
        self.push_body(&mut out, '<', content_type, body);
        (self.write)(&out);
    }

    /// That no answer came, and why.
    pub(super) fn failed(&self, number: ExchangeNumber, why: &str) {
        (self.write)(&format!("< #{} no answer: {}", number.0, self.line(why)));
    }

    fn push_headers(&self, out: &mut String, mark: char, headers: &HeaderMap) {
        for (name, value) in headers {
            let shown = if is_secret_header(name, value) {
                // The scheme says how the caller is known, and is no secret.
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
        let text = match tradepost_wire::json::from_str::<Value>(text) {
            Ok(document) => hidden(document, false).to_string(),
            Err(_) if is_form => parameters(text),
            Err(_) => without_secrets_of_text(text),
        };
        let text = self.without_sent(&text);
        for line in beginning(&text).lines() {
            // A carriage return would let a server write over its line on a terminal.
            out.push_str(&format!("\n{mark} {}", escape_json(line).replace('\r', " ")));
        }
    }

    /// An address without the values of its secret parameters.
    fn address(&self, url: &Url) -> String {
        let mut shown = url.clone();
        if let Some(query) = url.query() {
            shown.set_query(Some(&parameters(query)));
        }
        self.line(shown.as_str())
    }

    /// One line of text, without what was sent as a secret.
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

/// Whether a name is that of a secret: a credential, or a token. Those by which pages of a list are
/// asked for open nothing.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_token = lower.ends_with("token") && !lower.contains("page") && !lower.contains("cursor");
    // The words of a name are told apart by its capitals.
    is_credential(name) || is_token || lower == "governance_context"
}

/// A document without the texts and numbers of its secret members; `all` are, within such a member.
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

/// A text without the secret members of the document in it, or of those in its lines: the content of a tool of MCP, or a
/// stream of events. Texts of documents may have documents again; each is less than half as long as the one around it
/// where it is quoted once more, so that few fit.
fn without_secrets_of_text(text: &str) -> String {
    without_secrets_of_document(text).unwrap_or_else(|| {
        let lines = text
            .split('\n')
            .map(|line| without_secrets_of_document(line).map_or(Cow::Borrowed(line), Cow::Owned));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// A text without the secret members of the document that it is or that stands among its words; `None` where there is
/// nothing to hide.
fn without_secrets_of_document(text: &str) -> Option<String> {
    [('{', '}'), ('[', ']')].into_iter().find_map(|(first, last)| {
        let begin = text.find(first)?;
        let end = text.rfind(last)? + last.len_utf8();
        let (before, from) = text.split_at(begin);
        let (document, after) = from.split_at_checked(end.checked_sub(begin)?)?;
        let document = tradepost_wire::json::from_str::<Value>(document).ok()?;
        let shown = hidden(document.clone(), false);
        (shown != document).then(|| format!("{before}{shown}{after}"))
    })
}

/// The parameters of a query or a form, without the values of the secret ones.
fn parameters(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        Some(_) | None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

/// Text without signed tokens (JWS): three parts of base64url, of which the first is a JSON object.
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

/// As much of a body as is shown.
fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str(&format!("\n… ({} bytes in all)", text.len()));
    }
    shown
}

#[cfg(test)]
mod tests;
