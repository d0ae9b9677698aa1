//! One notification on the wire: a POST that follows no redirect, asks the guard where it may go,
//! and reads of the answer what a header says.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Client, Response, StatusCode, Url};
use tradepost_wire::http::date;

use crate::egress::{Egress, Unresolved, client};
use crate::fault::Fault;

/// The media type of a notification.
// CT-04
const A2A_JSON: &str = "application/a2a+json";

/// The header of a webhook's token, as the protocol's earlier versions name it: 1.0 keeps the
/// token and names no header.
const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// The header by which a receiver knows a notification that it has had.
// P-06
const ID_HEADER: &str = "idempotency-key";

/// How much of an answer is read, so that its connection can be used again.
const MAX_ANSWER: usize = 16 * 1024;

/// How long the rest of an answer may take. It is of no interest, and somebody else may wait.
const DRAIN: Duration = Duration::from_secs(1);

/// How long a receiver can ask to be left alone; whoever asks for more gets this.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// What is sent.
pub struct Notification {
    /// Where to.
    pub url: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// What the receiver wants to see again.
    pub token: Option<String>,
    /// The same for the same entry of a task, however often it is sent.
    pub id: String,
    /// A `StreamResponse`.
    pub body: String,
}

impl fmt::Debug for Notification {
    /// Without everything that is secret or somebody's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a receiver answered that has taken something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The status, which is 2xx.
    pub status: u16,
    /// The body; empty when it was long, or did not come at once.
    pub said: Vec<u8>,
}

/// Why a receiver has not taken a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed {
    /// Why.
    pub why: Why,
    /// How long the receiver asks to be left alone.
    pub retry_after: Option<Duration>,
}

/// In short, and without anything that the receiver said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It answered with a status that is not 2xx.
    Status(u16),
    /// It answered 410: nobody is there and nobody will be.
    Gone,
    /// It does not believe our signature, and would not believe it again.
    Unverified,
    /// It did not answer in time.
    TimedOut,
    /// There was no connection.
    Unreachable,
    /// Its name leads to an address that may not be called.
    Forbidden,
    /// Its address is one that may not be called any more.
    NotPermitted,
    /// The connection broke, or what came is not HTTP.
    Broken,
}

impl Why {
    /// Whether trying again is of no use.
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

impl fmt::Display for Why {
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

/// An attempt.
pub type Sending<'a> = BoxFuture<'a, Result<(), Failed>>;

/// Sends notifications.
pub trait Sender: Send + Sync + fmt::Debug {
    /// Sends one, once.
    fn send(&self, notification: Notification) -> Sending<'_>;
}

/// Sends them by HTTP.
#[derive(Debug)]
pub struct HttpSender {
    /// Who says where it may go; `None` when the addresses are the operator's own.
    egress: Option<Egress>,
    timeout: Duration,
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

impl HttpSender {
    /// Sends where `egress` permits; an attempt takes at most `timeout`.
    #[must_use]
    pub fn new(egress: Egress, timeout: Duration) -> Self {
        Self { egress: Some(egress), timeout, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Sends to addresses that the operator has set, wherever they are: nobody else can name them.
    #[must_use]
    pub fn unguarded(timeout: Duration) -> Self {
        Self { egress: None, timeout, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    async fn attempt(&self, notification: Notification) -> Result<(), Failed> {
        // What no header can hold cannot be sent by trying again.
        let not_permitted = Failed { why: Why::NotPermitted, retry_after: None };
        let headers = headers(&notification).ok_or(not_permitted)?;
        self.post(&notification.url, |_| Some(headers), notification.body).await
    }

    /// Sends a body, once. The headers are made for the address as it is going to be called;
    /// without them nothing is sent.
    ///
    /// # Errors
    /// Why the receiver has not taken it.
    pub async fn post(
        &self,
        url: &str,
        headers: impl FnOnce(&Url) -> Option<HeaderMap>,
        body: String,
    ) -> Result<(), Failed> {
        self.ask(url, headers, body).await.map(|_| ())
    }

    /// The same, for an answer that is of interest.
    ///
    /// # Errors
    /// Why the receiver has not taken it.
    pub async fn ask(
        &self,
        url: &str,
        headers: impl FnOnce(&Url) -> Option<HeaderMap>,
        body: String,
    ) -> Result<Taken, Failed> {
        let failed = |why| Failed { why, retry_after: None };
        // Judged again: the setting that permitted it may have changed since it was kept.
        let url = self.destination(url).ok_or_else(|| failed(Why::NotPermitted))?;
        let client = self.client(url.scheme() == "https").map_err(|fault| {
            tracing::error!(cause = %fault.chain(), "no client for webhooks");
            failed(Why::Broken)
        })?;
        let headers = headers(&url).ok_or_else(|| failed(Why::NotPermitted))?;
        let request = client.post(url).headers(headers).body(body);
        let response = request.send().await.map_err(|error| failed(why(&error)))?;
        let status = response.status();
        let retry_after = retry_after(&response);
        let doubted = doubts_signature(response.headers());
        let said = tokio::time::timeout(DRAIN, drain(response)).await.unwrap_or_default();
        match status {
            status if status.is_success() => Ok(Taken { status: status.as_u16(), said }),
            StatusCode::GONE => Err(failed(Why::Gone)),
            StatusCode::UNAUTHORIZED if doubted => Err(failed(Why::Unverified)),
            status => Err(Failed { why: Why::Status(status.as_u16()), retry_after }),
        }
    }

    fn destination(&self, url: &str) -> Option<Url> {
        match &self.egress {
            Some(egress) => egress.read(url).ok().map(|destination| destination.url),
            None => Url::parse(url).ok(),
        }
    }

    fn client(&self, secure: bool) -> Result<&Client, Fault> {
        let slot = if secure { &self.secure } else { &self.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = match &self.egress {
            Some(egress) => client::build(egress, self.timeout, secure)?,
            None => client::unguarded(self.timeout, secure)?,
        };
        // Two may have made one each; the first stays.
        Ok(slot.get_or_init(|| client))
    }
}

impl Sender for HttpSender {
    fn send(&self, notification: Notification) -> Sending<'_> {
        Box::pin(self.attempt(notification))
    }
}

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

/// Whether a receiver says that it does not believe a webhook's signature (AdCP, "Retry semantics for
/// verification failures").
fn doubts_signature(headers: &HeaderMap) -> bool {
    let said = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    said.map(str::trim_start).any(|challenge| {
        let (scheme, terms) = challenge.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("signature") && terms.contains("error=\"webhook_")
    })
}

fn retry_after(response: &Response) -> Option<Duration> {
    let text = |name| response.headers().get(name)?.to_str().ok();
    let wait = date::retry_after(text(RETRY_AFTER)?, text(DATE).and_then(date::read))?;
    Some(wait.min(LONGEST_WAIT))
}

/// Reads a little of the answer; nothing when there is more than that.
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

fn why(error: &reqwest::Error) -> Why {
    // The guard's word stands below what the client makes of it.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(Unresolved::Forbidden) = error.downcast_ref::<Unresolved>() {
            return Why::Forbidden;
        }
        cause = error.source();
    }
    if error.is_timeout() {
        Why::TimedOut
    } else if error.is_connect() {
        Why::Unreachable
    } else {
        Why::Broken
    }
}
