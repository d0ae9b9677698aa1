//! The one HTTP client of this crate, and its limits: time, size, no redirects, no proxy from the
//! environment, and TLS that fails only those who need it.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LOCATION, RETRY_AFTER,
};
use reqwest::{Client, Request, RequestBuilder, Url, redirect};

use crate::failure::{Defect, Failure, Kept, Unanswered, Unsent};
use crate::refusal;

/// What a request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte sent to the last byte received.
    pub timeout: Duration,
    /// For making a connection.
    pub connect: Duration,
    /// The largest answer, in bytes.
    pub max_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            max_body: 8 * 1024 * 1024,
        }
    }
}

/// Sends requests.
#[derive(Debug)]
pub struct Transport {
    limits: Limits,
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

/// An answer with its body.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The media type, as sent.
    pub content_type: Option<String>,
    /// The entity tag, as sent.
    pub etag: Option<String>,
    /// How long the `Retry-After` header asks to wait.
    pub retry_after: Option<Duration>,
    /// The whole header.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The answer, for a failure.
    #[must_use]
    pub fn kept(&self) -> Kept {
        Kept::new(self.status, self.content_type.clone(), &self.body)
    }

    /// Whether the status is one of success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Transport {
    /// A client with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// The same over clients that somebody else has set up: one for addresses without TLS, one for
    /// those with it. Limits of time and connection are theirs.
    #[must_use]
    pub fn over(plain: Client, secure: Client, limits: Limits) -> Self {
        Self { limits, plain: plain.into(), secure: secure.into() }
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// `Unsent`, `Unanswered` or `Garbled`; a status of refusal is not an error here.
    pub async fn get(&self, url: &Url, etag: Option<&str>) -> Result<Response, Failure> {
        self.get_unless(url, etag, None).await
    }

    /// Fetches a document unless it still has this entity tag or this time of last change, both as
    /// they were sent.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_unless(
        &self,
        url: &Url,
        etag: Option<&str>,
        last_modified: Option<&str>,
    ) -> Result<Response, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.1"));
        for (name, text) in [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, last_modified)] {
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        }
        self.send(self.client(url)?.get(url.clone()).headers(headers)).await
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        self.send(self.client(url)?.post(url.clone()).headers(headers).body(body)).await
    }

    /// Posts JSON to a server that may answer with a stream of events, which is read until
    /// `is_enough` says so of what came so far.
    pub(crate) async fn post_for_events(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
        is_enough: impl FnMut(&[u8]) -> bool + Send,
    ) -> Result<Response, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        self.read(self.client(url)?.post(url.clone()).headers(headers).body(body), is_enough).await
    }

    /// Sends any request at all and gives the answer as it begins: for the prober, which judges
    /// what a client would not let through.
    ///
    /// # Errors
    /// `Unsent` or `Unanswered`.
    pub(crate) async fn open(&self, request: Request) -> Result<reqwest::Response, Failure> {
        let client = self.client(request.url())?;
        client.execute(request).await.map_err(|error| self.before_the_answer(&error))
    }

    /// Its limits.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        self.read(request, |_| false).await
    }

    async fn read(
        &self,
        request: RequestBuilder,
        mut is_enough: impl FnMut(&[u8]) -> bool + Send,
    ) -> Result<Response, Failure> {
        let sent = request.send().await;
        let mut response = sent.map_err(|error| self.before_the_answer(&error))?;
        let header = |name| {
            let value: &HeaderValue = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let retry_after = header(RETRY_AFTER)
            .and_then(|text| refusal::retry_after(&text, header(DATE).as_deref()));
        let (content_type, etag) = (header(CONTENT_TYPE), header(ETAG));
        let location = header(LOCATION);
        let headers = response.headers().clone();
        let status = response.status().as_u16();
        let kept = |body: &[u8]| Kept::new(status, content_type.clone(), body);
        if matches!(status, 300..=303 | 305..=399) {
            return Err(Failure::garbled(Defect::Redirect { location }, kept(&[])));
        }
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.limits.max_body => {
                    let defect = Defect::TooLarge(self.limits.max_body);
                    return Err(Failure::garbled(defect, kept(&body)));
                }
                Ok(Some(chunk)) => {
                    body.extend_from_slice(&chunk);
                    if is_enough(&body) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    let defect = if error.is_timeout() {
                        Defect::Stalled(self.limits.timeout)
                    } else {
                        Defect::Truncated
                    };
                    return Err(Failure::garbled(defect, kept(&body)));
                }
            }
        }
        Ok(Response { status, content_type, etag, retry_after, headers, body })
    }

    /// What an error means that came before the head of an answer was read.
    fn before_the_answer(&self, error: &reqwest::Error) -> Failure {
        if error.is_connect() {
            Failure::Unsent(Unsent::Unreachable(innermost(error)))
        } else if error.is_builder() {
            Failure::Unsent(Unsent::Setup(innermost(error)))
        } else if error.is_timeout() {
            Failure::Unanswered(Unanswered::TimedOut(self.limits.timeout))
        } else {
            Failure::Unanswered(Unanswered::Broken(innermost(error)))
        }
    }

    fn client(&self, url: &Url) -> Result<&Client, Failure> {
        let slot = match url.scheme() {
            "http" => &self.plain,
            "https" => &self.secure,
            _ => return Err(Failure::address(url.as_str(), "is neither http nor https")),
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let built = if url.scheme() == "https" { secure(self.limits) } else { plain(self.limits) };
        let client = built.map_err(|why| Failure::Unsent(Unsent::Setup(why)))?;
        Ok(slot.get_or_init(|| client))
    }
}

fn builder(limits: Limits) -> reqwest::ClientBuilder {
    Client::builder()
        .user_agent(concat!("tradepost/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // Only who calls knows whether a request may be sent twice.
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .timeout(limits.timeout)
        .connect_timeout(limits.connect.min(limits.timeout))
}

/// A client without TLS, so that a machine without certificates can still talk to a local agent.
fn plain(limits: Limits) -> Result<Client, String> {
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = builder(limits).tls_backend_preconfigured(tls).build();
    client.map_err(|error| innermost(&error))
}

/// A client that trusts what the machine trusts.
fn secure(limits: Limits) -> Result<Client, String> {
    // When the process has a provider already, that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = builder(limits).https_only(true).build();
    client.map_err(|error| innermost(&error))
}

/// The cause at the bottom: the layers above it say nothing but "error sending request".
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
