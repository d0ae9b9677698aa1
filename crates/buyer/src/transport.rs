//! The one HTTP client of this crate, and its limits: time, size, no redirects, no proxy from the
//! environment, and TLS that fails only those who need it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LOCATION, RETRY_AFTER,
};
use reqwest::{Client, ClientBuilder, Request, RequestBuilder, Url, redirect};

use crate::events;
use crate::failure::{Defect, Failure, Kept, MAX_KEPT, Unanswered, Unsent};
use crate::refusal::{self, By, Refused};

mod calls;

pub(crate) use calls::Messages;

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

/// Sends requests. A clone shares the connections.
#[derive(Debug, Clone)]
pub struct Transport {
    limits: Limits,
    clients: Arc<Clients>,
}

/// Each is made when it is needed first.
#[derive(Debug, Default)]
struct Clients {
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
    plain_http2: OnceLock<Client>,
    secure_http2: OnceLock<Client>,
}

/// An answer with its body.
#[derive(Debug, Clone)]
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
        self.kept_with(&self.body)
    }

    /// The same with this body.
    fn kept_with(&self, body: &[u8]) -> Kept {
        Kept::new(self.status, self.content_type.clone(), body)
    }

    /// The failure that its status stands for, whatever the body says.
    #[must_use]
    pub fn refused(&self) -> Failure {
        let (by, retry_after, kept) = (By::Http(self.status), self.retry_after, self.kept());
        Failure::Refused(Box::new(Refused { by, retry_after, kept }))
    }

    /// Whether the status is one of success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What came to a request that may be answered with events.
#[derive(Debug)]
pub(crate) enum Opened {
    /// One answer.
    Whole(Response),
    /// Events, as they come.
    Events(Box<Events>),
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    /// The answer without its body.
    head: Response,
    response: reqwest::Response,
    reader: events::Reader,
    /// The beginning of what came.
    body: Vec<u8>,
    length: usize,
    max_body: usize,
    time: Duration,
}

impl Events {
    /// The data of the next event; `None` when the stream has ended. All events together may be as
    /// large as an answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(data) = self.reader.take() {
                return Ok(Some(data));
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    self.length += chunk.len();
                    if self.length > self.max_body {
                        return Err(self.garbled(Defect::TooLarge(self.max_body)));
                    }
                    let room = MAX_KEPT.saturating_sub(self.body.len());
                    self.body.extend(chunk.iter().take(room));
                    self.reader.feed(&chunk);
                }
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.garbled(cut(&error, self.time))),
            }
        }
    }

    /// The stream as an answer that has this body.
    pub(crate) fn response(&self, body: Vec<u8>) -> Response {
        Response { body, ..self.head.clone() }
    }

    pub(crate) fn garbled(&self, defect: Defect) -> Failure {
        let length = self.length;
        Failure::garbled(defect, Kept { length, ..self.head.kept_with(&self.body) })
    }
}

/// What is wrong with an answer whose end did not come.
fn cut(error: &reqwest::Error, time: Duration) -> Defect {
    if error.is_timeout() { Defect::Stalled(time) } else { Defect::Truncated }
}

impl Transport {
    /// A client with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::of(limits, OnceLock::new(), OnceLock::new())
    }

    /// The same over clients that somebody else has set up: one for addresses without TLS, one for
    /// those with it. Limits of time and connection are theirs.
    #[must_use]
    pub fn over(plain: Client, secure: Client, limits: Limits) -> Self {
        Self::of(limits, plain.into(), secure.into())
    }

    fn of(limits: Limits, plain: OnceLock<Client>, secure: OnceLock<Client>) -> Self {
        Self { limits, clients: Arc::new(Clients { plain, secure, ..Clients::default() }) }
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

    /// Posts a form, and wants JSON.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_form(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        form: String,
    ) -> Result<Response, Failure> {
        let media_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        self.send(self.client(url)?.post(url.clone()).headers(headers).body(form)).await
    }

    /// Posts JSON to a server that may answer with a stream of events, within this time.
    pub(crate) async fn post_for_events(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        time: Duration,
    ) -> Result<Opened, Failure> {
        let request = self.client(url)?.post(url.clone()).body(body).timeout(time);
        self.for_events(request, headers, "application/json", time).await
    }

    /// Sends a request of A2A's HTTP+JSON binding, a POST when it has a body; the answer may be a
    /// stream of events.
    pub(crate) async fn http_json(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        time: Duration,
    ) -> Result<Opened, Failure> {
        let client = self.client(url)?;
        let request = match body {
            Some(body) => client.post(url.clone()).body(body),
            None => client.get(url.clone()),
        };
        self.for_events(request.timeout(time), headers, "application/a2a+json", time).await
    }

    async fn for_events(
        &self,
        request: RequestBuilder,
        mut headers: HeaderMap,
        media_type: &'static str,
        time: Duration,
    ) -> Result<Opened, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let types = match media_type {
            "application/json" => "application/json, text/event-stream",
            _ => "application/a2a+json, application/json, text/event-stream",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(types));
        let (head, response) = self.begin(request.headers(headers)).await?;
        if !events::is_events(head.content_type.as_deref()) {
            return self.complete(head, response, time).await.map(Opened::Whole);
        }
        let (reader, body) = (events::Reader::default(), Vec::new());
        let max_body = self.limits.max_body;
        let events = Events { head, response, reader, body, length: 0, max_body, time };
        Ok(Opened::Events(Box::new(events)))
    }

    /// Sends any request at all and gives the answer as it begins, of whatever kind it is: for those
    /// who judge what a client would not let through. The limit of size is theirs to keep.
    ///
    /// # Errors
    /// `Unsent` or `Unanswered`.
    pub async fn open(&self, request: Request) -> Result<reqwest::Response, Failure> {
        let client = self.client(request.url())?;
        client.execute(request).await.map_err(|error| self.before_the_answer(&error))
    }

    /// The same by HTTP/2 alone, which gRPC needs: without TLS by prior knowledge. It is always over a
    /// client of its own, with these limits.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_http2(&self, request: Request) -> Result<reqwest::Response, Failure> {
        let client = self.http2_client(request.url())?;
        client.execute(request).await.map_err(|error| self.before_the_answer(&error))
    }

    /// Its limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let (head, response) = self.begin(request).await?;
        self.complete(head, response, self.limits.timeout).await
    }

    /// Sends a request and reads the head of the answer.
    async fn begin(
        &self,
        request: RequestBuilder,
    ) -> Result<(Response, reqwest::Response), Failure> {
        // Where the whole answer may take longer, its beginning may not.
        let sent = tokio::time::timeout(self.limits.timeout, request.send()).await;
        let timed_out = |_| Failure::Unanswered(Unanswered::TimedOut(self.limits.timeout));
        let response = sent.map_err(timed_out)?.map_err(|error| self.before_the_answer(&error))?;
        let header = |name| {
            let value: &HeaderValue = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let head = Response {
            status: response.status().as_u16(),
            content_type: header(CONTENT_TYPE),
            etag: header(ETAG),
            retry_after: header(RETRY_AFTER)
                .and_then(|text| refusal::retry_after(&text, header(DATE).as_deref())),
            headers: response.headers().clone(),
            body: Vec::new(),
        };
        // 304 is no redirect: what is kept still holds.
        if matches!(head.status, 300..=303 | 305..=399) {
            let location = header(LOCATION);
            return Err(Failure::garbled(Defect::Redirect { location }, head.kept()));
        }
        Ok((head, response))
    }

    /// Reads the rest of an answer.
    async fn complete(
        &self,
        head: Response,
        mut response: reqwest::Response,
        time: Duration,
    ) -> Result<Response, Failure> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.limits.max_body => {
                    let defect = Defect::TooLarge(self.limits.max_body);
                    return Err(Failure::garbled(defect, head.kept_with(&body)));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(Response { body, ..head }),
                Err(error) => {
                    return Err(Failure::garbled(cut(&error, time), head.kept_with(&body)));
                }
            }
        }
    }

    /// What an error means that came before the head of an answer was read.
    fn before_the_answer(&self, error: &reqwest::Error) -> Failure {
        // First, because a timeout while connecting is one before anything was sent.
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
        let Clients { plain, secure, .. } = &*self.clients;
        self.made(url, [plain, secure], ClientBuilder::http1_only)
    }

    /// One that speaks HTTP/2 alone.
    fn http2_client(&self, url: &Url) -> Result<&Client, Failure> {
        let Clients { plain_http2, secure_http2, .. } = &*self.clients;
        self.made(url, [plain_http2, secure_http2], ClientBuilder::http2_prior_knowledge)
    }

    /// The client of these two that an address needs, made when there is none.
    fn made<'c>(
        &self,
        url: &Url,
        [without_tls, with_tls]: [&'c OnceLock<Client>; 2],
        version: fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<&'c Client, Failure> {
        let (slot, build): (_, fn(ClientBuilder) -> _) = match url.scheme() {
            "http" => (without_tls, plain),
            "https" => (with_tls, secure),
            _ => return Err(Failure::address(url.as_str(), "is neither http nor https")),
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let built = build(version(builder(self.limits)));
        let client = built.map_err(|why| Failure::Unsent(Unsent::Setup(why)))?;
        Ok(slot.get_or_init(|| client))
    }
}

fn builder(limits: Limits) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("tradepost/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // Only who calls knows whether a request may be sent twice.
        .retry(reqwest::retry::never())
        .referer(false)
        // A proxy of the environment would read what is sent and decide where it goes.
        .no_proxy()
        .timeout(limits.timeout)
        .connect_timeout(limits.connect.min(limits.timeout))
}

/// A client without TLS, so that a machine without certificates can still talk to a local agent.
fn plain(builder: ClientBuilder) -> Result<Client, String> {
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = builder.tls_backend_preconfigured(tls).build();
    client.map_err(|error| innermost(&error))
}

/// A client that trusts what the machine trusts.
fn secure(builder: ClientBuilder) -> Result<Client, String> {
    // When the process has a provider already, that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = builder.https_only(true).build();
    client.map_err(|error| innermost(&error))
}

/// The cause at the bottom: the layers above it say nothing but "error sending request".
#[must_use]
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
