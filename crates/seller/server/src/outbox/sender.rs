//! Sending of a notification: a POST that follows no redirects, goes only where the guard permits,
//! and reads little of the answer.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use tradepost_document::http::RetryAfter;

use crate::egress::{Egress, ResolveError, client};
use crate::fault::InternalError;

/// Media type of a notification.
// The body is one StreamResponse of this type (A2A 1.0 §4.3.3, CT-04).
const A2A_JSON: &str = "application/a2a+json";

/// Header for a webhook's token, as in earlier versions of the protocol: 1.0 has the token but
/// names no header.
const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// Header by which a receiver recognises a repeated notification.
// Receivers treat duplicates as one (A2A 1.0 §4.3.3, P-06).
const ID_HEADER: &str = "idempotency-key";

/// Maximum number of bytes of an answer that are read, so that its connection can be reused.
const MAX_ANSWER: usize = 16 * 1024;

/// Maximum time for the rest of an answer, which is not needed.
const DRAIN: Duration = Duration::from_secs(1);

/// Maximum `Retry-After` of a receiver that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// A notification.
pub struct Notification {
    /// Address of the webhook.
    pub url: String,
    /// Value of `Authorization`.
    pub authorization: Option<String>,
    /// Token for the receiver.
    pub token: Option<String>,
    /// Id of the notification, the same for each attempt with the same entry.
    pub id: String,
    /// The `StreamResponse`.
    pub body: String,
}

impl fmt::Debug for Notification {
    /// Leaves out secrets and personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Answer of a receiver that accepted a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverReply {
    /// HTTP status, 2xx.
    pub status: u16,
    /// Body; empty when it was long or late.
    pub said: Vec<u8>,
}

/// A failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptError {
    /// Reason.
    pub why: FailureReason,
    /// Pause that the receiver asks for.
    pub retry_after: Option<Duration>,
}

/// Reasons for a failed attempt, without text of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The HTTP status is not 2xx.
    Status(u16),
    /// HTTP status 410: the receiver is gone for good.
    Gone,
    /// The receiver rejects our signature, and would do so again.
    Unverified,
    /// No answer in time.
    TimedOut,
    /// No connection.
    Unreachable,
    /// The name resolves to an address that may not be called.
    Forbidden,
    /// The address is no longer permitted.
    NotPermitted,
    /// The connection broke, or the answer is not HTTP.
    Broken,
}

impl FailureReason {
    /// Returns true when a retry is useless.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Gone | Self::Unverified | Self::NotPermitted => true,
            Self::Status(_)
            | Self::TimedOut
            | Self::Unreachable
            | Self::Forbidden
            | Self::Broken => false,
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "HTTP {status}"),
            Self::Gone => f.write_str("HTTP 410"),
            Self::Unverified => f.write_str("HTTP 401, the signature is not believed"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Unreachable => f.write_str("no connection"),
            Self::Forbidden => f.write_str("the name leads to an address that may not be called"),
            Self::NotPermitted => f.write_str("the address may not be called"),
            Self::Broken => f.write_str("the connection broke"),
        }
    }
}

/// Future of an attempt.
pub type SendFuture<'a> = BoxFuture<'a, Result<(), AttemptError>>;

/// Sends notifications.
pub trait NotificationSender: Send + Sync + fmt::Debug {
    /// Sends a notification once.
    fn send(&self, notification: Notification) -> SendFuture<'_>;
}

/// Sends notifications by HTTP.
#[derive(Debug)]
pub struct HttpSender {
    /// Guard for addresses; `None` when the operator has configured them.
    egress: Option<Egress>,
    timeout: Duration,
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

impl HttpSender {
    /// Creates a sender for addresses that `egress` permits; an attempt takes at most `timeout`.
    #[must_use]
    pub fn new(egress: Egress, timeout: Duration) -> Self {
        Self { egress: Some(egress), timeout, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Creates a sender without a guard, for addresses that the operator has configured.
    #[must_use]
    pub fn without_guard(timeout: Duration) -> Self {
        Self { egress: None, timeout, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    async fn attempt(&self, notification: Notification) -> Result<(), AttemptError> {
        // A value that does not fit into a header cannot be sent by retrying.
        let not_permitted = AttemptError { why: FailureReason::NotPermitted, retry_after: None };
        let headers = headers(&notification).ok_or(not_permitted)?;
        self.post(&notification.url, |_| Some(headers), notification.body).await
    }

    /// Sends a body once. The headers are built for the final address; nothing is sent when
    /// `headers` returns `None`.
    ///
    /// # Errors
    /// The reason why the receiver has not accepted it.
    pub async fn post(
        &self,
        url: &str,
        headers: impl FnOnce(&Url) -> Option<HeaderMap>,
        body: String,
    ) -> Result<(), AttemptError> {
        self.ask(url, headers, body).await.map(|_| ())
    }

    /// Sends a body once and returns the answer.
    ///
    /// # Errors
    /// The reason why the receiver has not accepted it.
    pub async fn ask(
        &self,
        url: &str,
        headers: impl FnOnce(&Url) -> Option<HeaderMap>,
        body: String,
    ) -> Result<ReceiverReply, AttemptError> {
        let failed = |why| AttemptError { why, retry_after: None };
        // Checked again, because the setting that permitted it may have changed since it was
        // stored.
        let url = self.destination(url).ok_or_else(|| failed(FailureReason::NotPermitted))?;
        let client = self.client(url.scheme() == "https").map_err(|fault| {
            tracing::error!(cause = %fault.chain(), "no client for webhooks");
            failed(FailureReason::Broken)
        })?;
        let headers = headers(&url).ok_or_else(|| failed(FailureReason::NotPermitted))?;
        let request = client.post(url).headers(headers).body(body);
        let response = request.send().await.map_err(|error| failed(why(&error)))?;
        let status = response.status();
        let retry_after = retry_after(&response);
        let signature_rejected = rejects_signature(response.headers());
        let said = tokio::time::timeout(DRAIN, drain(response)).await.unwrap_or_default();
        match status {
            status if status.is_success() => Ok(ReceiverReply { status: status.as_u16(), said }),
            StatusCode::GONE => Err(failed(FailureReason::Gone)),
            StatusCode::UNAUTHORIZED if signature_rejected => {
                Err(failed(FailureReason::Unverified))
            }
            status => {
                Err(AttemptError { why: FailureReason::Status(status.as_u16()), retry_after })
            }
        }
    }

    fn destination(&self, url: &str) -> Option<Url> {
        match &self.egress {
            Some(egress) => egress.read(url).ok().map(|destination| destination.url),
            None => Url::parse(url).ok(),
        }
    }

    /// Returns the client for secure or plain requests, created at its first use.
    fn client(&self, secure: bool) -> Result<&Client, InternalError> {
        let slot = if secure { &self.secure } else { &self.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = match &self.egress {
            Some(egress) => client::build(egress, self.timeout, secure)?,
            None => client::without_guard(self.timeout, secure)?,
        };
        // Two threads may each have created a client; the first one stays.
        Ok(slot.get_or_init(|| client))
    }
}

impl NotificationSender for HttpSender {
    fn send(&self, notification: Notification) -> SendFuture<'_> {
        Box::pin(self.attempt(notification))
    }
}

/// Returns the headers of a notification; `None` when a value cannot be sent in a header.
fn headers(notification: &Notification) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(A2A_JSON));
    headers.insert(ID_HEADER, HeaderValue::from_str(&notification.id).ok()?);
    let mut secret = |name: reqwest::header::HeaderName, text: &Option<String>| {
        if let Some(text) = text {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Some(())
    };
    secret(AUTHORIZATION, &notification.authorization)?;
    secret(TOKEN_HEADER.parse().ok()?, &notification.token)?;
    Some(headers)
}

/// Returns true when a receiver rejects a webhook's signature (AdCP 3.1, "Retry semantics for
/// verification failures").
fn rejects_signature(headers: &HeaderMap) -> bool {
    let challenges =
        headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    challenges.map(str::trim_start).any(|challenge| {
        let (scheme, terms) = challenge.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("signature") && terms.contains("error=\"webhook_")
    })
}

fn retry_after(response: &Response) -> Option<Duration> {
    let text = |name: &str| response.headers().get(name)?.to_str().ok();
    let wait = RetryAfter::from_headers(text)?;
    Some(wait.duration().min(MAX_RETRY_AFTER))
}

/// Reads a short answer; a longer one counts as empty.
async fn drain(mut response: Response) -> Vec<u8> {
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if read.len() + chunk.len() > MAX_ANSWER {
            return Vec::new();
        }
        read.extend_from_slice(&chunk);
    }
    read
}

/// Returns the reason why a request got no answer.
fn why(error: &reqwest::Error) -> FailureReason {
    // The guard's error is a source of the client's error.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(ResolveError::Forbidden) = error.downcast_ref::<ResolveError>() {
            return FailureReason::Forbidden;
        }
        cause = error.source();
    }
    if error.is_timeout() {
        FailureReason::TimedOut
    } else if error.is_connect() {
        FailureReason::Unreachable
    } else {
        FailureReason::Broken
    }
}
