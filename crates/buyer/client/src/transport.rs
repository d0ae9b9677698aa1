//! HTTP client of this crate, with its limits: time, size, no redirects, no proxy but those of its
//! [`Network`]. TLS is set up when it is first needed, so that a failure affects only addresses with TLS.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LOCATION, WWW_AUTHENTICATE,
};
use reqwest::{Client, Request, RequestBuilder, Url};

use crate::challenge::Challenge;
use crate::events;
use crate::failure::{
    CallFailure, Defect, KeptResponse, MAX_KEPT, ProxyProblem, Unanswered, Unsent,
};
use crate::refusal::{self, RefusalForm, SellerRefusal};
use crate::response::{self, RawResponse, Via};

pub use crate::failure::CertificateProblem;

mod calls;
mod clients;
mod network;
mod traffic;

pub(crate) use calls::Messages;
use clients::Clients;
pub use network::{BadAuthorities, BadProxy, Network};
pub use traffic::{ExchangeNumber, TrafficLog};

/// Limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportLimits {
    /// Time from the first byte sent to the last byte received.
    pub timeout: Duration,
    /// Time for connecting.
    pub connect: Duration,
    /// Maximum size of an answer, in bytes.
    pub max_body: usize,
}

impl Default for TransportLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            max_body: 8 * 1024 * 1024,
        }
    }
}

/// Sends requests. Clones share the connections.
#[derive(Debug, Clone)]
pub struct HttpTransport {
    limits: TransportLimits,
    network: Arc<Network>,
    clients: Arc<Clients>,
}

/// Answer with its body.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Media type, as sent.
    pub content_type: Option<String>,
    /// Entity tag, as sent.
    pub etag: Option<String>,
    /// Delay of the `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// Authentication challenges of the server.
    pub challenges: Vec<Challenge>,
    /// All headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the answer of this transport, to be read.
    pub(crate) fn raw<'a>(&'a self, via: Via<'a>) -> RawResponse<'a> {
        RawResponse {
            via,
            status: self.status,
            content_type: self.content_type.as_deref(),
            retry_after: self.retry_after,
            challenges: &self.challenges,
            body: &self.body,
        }
    }

    /// Returns the answer to be kept with a failure.
    #[must_use]
    pub fn kept(&self) -> KeptResponse {
        self.kept_with(&self.body)
    }

    /// Returns the answer with this body, to be kept with a failure.
    fn kept_with(&self, body: &[u8]) -> KeptResponse {
        let challenges = self.challenges.clone();
        KeptResponse {
            challenges,
            ..KeptResponse::new(self.status, self.content_type.clone(), body)
        }
    }

    /// Returns the failure of the HTTP status, whatever the body says.
    #[must_use]
    pub fn refused(&self) -> CallFailure {
        let by = RefusalForm::Http(self.status);
        let retry_after = self.retry_after;
        let kept = self.kept();
        CallFailure::Refused(Box::new(SellerRefusal { by, retry_after, kept }))
    }

    /// Returns true for an HTTP status of success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Answer to a request that may be answered with events.
#[derive(Debug)]
pub(crate) enum OpenedResponse {
    /// Single answer.
    Whole(Box<Response>),
    /// Stream of events.
    Events(Box<Events>),
}

/// Stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    /// Answer without its body.
    head: Response,
    response: reqwest::Response,
    reader: events::EventReader,
    /// Beginning of the body.
    body: Vec<u8>,
    length: usize,
    max_body: usize,
    time: Duration,
    network: Arc<Network>,
}

impl Events {
    /// Returns the data of the next event; `None` when the stream has ended. All events together may be as
    /// large as one answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        loop {
            if let Some(data) = self.taken() {
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

    fn taken(&mut self) -> Option<Vec<u8>> {
        let data = self.reader.take()?;
        self.network.show_body(number_of(&self.response), Some("text/event-stream"), &data);
        Some(data)
    }

    /// Returns the answer with this body.
    pub(crate) fn response(&self, body: Vec<u8>) -> Response {
        Response { body, ..self.head.clone() }
    }

    pub(crate) fn garbled(&self, defect: Defect) -> CallFailure {
        let length = self.length;
        CallFailure::garbled(defect, KeptResponse { length, ..self.head.kept_with(&self.body) })
    }
}

/// Returns the defect of an answer that ended before its end.
fn cut(error: &reqwest::Error, time: Duration) -> Defect {
    if error.is_timeout() { Defect::Stalled(time) } else { Defect::Truncated }
}

impl HttpTransport {
    /// Creates a transport with these limits, and without a proxy.
    #[must_use]
    pub fn new(limits: TransportLimits) -> Self {
        Self::with_network(Network::default(), limits)
    }

    /// Creates a transport in this network, with these limits.
    #[must_use]
    pub fn with_network(network: Network, limits: TransportLimits) -> Self {
        Self { limits, network: Arc::new(network), clients: Arc::default() }
    }

    /// Creates a transport with clients that the caller has set up: one for addresses without TLS, one for
    /// those with it. Their own limits of time and connection apply.
    #[must_use]
    pub fn with_clients(plain: Client, secure: Client, limits: TransportLimits) -> Self {
        let clients = Clients::new(plain, secure);
        Self { limits, network: Arc::default(), clients: Arc::new(clients) }
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// `Unsent`, `Unanswered` or `Garbled`; an HTTP status of failure is not an error here.
    pub async fn get(&self, url: &Url, etag: Option<&str>) -> Result<Response, CallFailure> {
        self.get_unless(url, etag, None).await
    }

    /// Fetches a document unless it still has this entity tag or this time of last change, both as they were sent.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_unless(
        &self,
        url: &Url,
        etag: Option<&str>,
        last_modified: Option<&str>,
    ) -> Result<Response, CallFailure> {
        let mut headers = document_headers();
        for (name, text) in [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, last_modified)] {
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        }
        self.send(self.client(url)?.get(url.clone()).headers(headers)).await
    }

    /// Fetches a document past all caches on the way.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_anew(&self, url: &Url) -> Result<Response, CallFailure> {
        let mut headers = document_headers();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
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
    ) -> Result<Response, CallFailure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        self.send(self.client(url)?.post(url.clone()).headers(headers).body(body)).await
    }

    /// Posts a form and accepts JSON.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_form(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        form: String,
    ) -> Result<Response, CallFailure> {
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
    ) -> Result<OpenedResponse, CallFailure> {
        let request = self.client(url)?.post(url.clone()).body(body).timeout(time);
        self.for_events(request, headers, "application/json", time).await
    }

    /// Sends a request of A2A's HTTP+JSON binding, a POST when it has a body; the answer may be a stream of events.
    pub(crate) async fn http_json(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        time: Duration,
    ) -> Result<OpenedResponse, CallFailure> {
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
    ) -> Result<OpenedResponse, CallFailure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let types = match media_type {
            "application/json" => "application/json, text/event-stream",
            _ => "application/a2a+json, application/json, text/event-stream",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(types));
        let (head, response) = self.begin(request.headers(headers)).await?;
        if !events::is_events(head.content_type.as_deref()) {
            return self
                .complete(head, response, time)
                .await
                .map(|whole| OpenedResponse::Whole(Box::new(whole)));
        }
        let reader = events::EventReader::default();
        let body = Vec::new();
        let max_body = self.limits.max_body;
        let network = Arc::clone(&self.network);
        let events = Events { head, response, reader, body, length: 0, max_body, time, network };
        Ok(OpenedResponse::Events(Box::new(events)))
    }

    /// Sends any request and returns the answer before its body is read: for callers that check answers which
    /// this client would refuse. The caller has to bound the size of the body, and to log it ([`Self::show_body`]).
    ///
    /// # Errors
    /// `Unsent` or `Unanswered`.
    pub async fn open(&self, request: Request) -> Result<reqwest::Response, CallFailure> {
        let client = self.client(request.url())?;
        self.execute(client, request).await
    }

    /// Sends any request as [`Self::open`] does, by HTTP/2 alone, which gRPC needs; without TLS by prior
    /// knowledge. It always uses a client of its own, with these limits.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_http2(&self, request: Request) -> Result<reqwest::Response, CallFailure> {
        let client = self.http2_client(request.url())?;
        self.execute(client, request).await
    }

    /// Writes the body of an answer from [`Self::open`] to the traffic log, if there is one.
    pub fn show_body(
        &self,
        number: Option<ExchangeNumber>,
        content_type: Option<&str>,
        body: &[u8],
    ) {
        self.network.show_body(number, content_type, body);
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> TransportLimits {
        self.limits
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CallFailure> {
        let (head, response) = self.begin(request).await?;
        self.complete(head, response, self.limits.timeout).await
    }

    /// Sends a request and reads the headers of the answer.
    async fn begin(
        &self,
        request: RequestBuilder,
    ) -> Result<(Response, reqwest::Response), CallFailure> {
        let (client, request) = request.build_split();
        let request =
            request.map_err(|error| CallFailure::Unsent(Unsent::Setup(innermost(&error))))?;
        let response = self.execute(&client, request).await?;
        let header = |name: &str| {
            let value: &HeaderValue = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let head = Response {
            status: response.status().as_u16(),
            content_type: header(CONTENT_TYPE.as_str()),
            etag: header(ETAG.as_str()),
            retry_after: refusal::header_delay(header),
            challenges: challenges(response.headers()),
            headers: response.headers().clone(),
            body: Vec::new(),
        };
        if response::is_redirect(head.status) {
            let location = header(LOCATION.as_str());
            return Err(CallFailure::garbled(Defect::Redirect { location }, head.kept()));
        }
        Ok((head, response))
    }

    /// Reads the rest of an answer.
    async fn complete(
        &self,
        head: Response,
        mut response: reqwest::Response,
        time: Duration,
    ) -> Result<Response, CallFailure> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.limits.max_body => {
                    let defect = Defect::TooLarge(self.limits.max_body);
                    return Err(CallFailure::garbled(defect, head.kept_with(&body)));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => {
                    let number = number_of(&response);
                    self.network.show_body(number, head.content_type.as_deref(), &body);
                    return Ok(Response { body, ..head });
                }
                Err(error) => {
                    return Err(CallFailure::garbled(cut(&error, time), head.kept_with(&body)));
                }
            }
        }
    }

    /// Sends a request, waits for the headers of the answer, and logs both.
    async fn execute(
        &self,
        client: &Client,
        request: Request,
    ) -> Result<reqwest::Response, CallFailure> {
        let url = request.url().clone();
        let proxy = self.network.proxy_of(&url);
        let log = self.network.traffic.as_deref();
        let number = log.map(|log| log.request(&request, proxy.as_deref()));
        // The headers have to come within the usual time, even if the whole answer may take longer.
        let limit = self.limits.timeout;
        let sent = tokio::time::timeout(limit, client.execute(request)).await;
        let opened = match sent {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.before_the_answer(&error, &url, proxy.as_deref())),
            Err(_) => Err(CallFailure::Unanswered(Unanswered::TimedOut(limit))),
        };
        let shown = log.zip(number);
        let mut response = opened.inspect_err(|failure| {
            if let Some((log, number)) = shown {
                log.failed(number, &failure.to_string());
            }
        })?;
        if let Some((log, number)) = shown {
            log.head(number, response.status().as_u16(), response.headers());
            response.extensions_mut().insert(number);
        }
        match proxy {
            // Only proxies answer with 407 (RFC 9110 §15.5.8), and they do not pass on such a request.
            // Through a tunnel the answer is the seller's.
            Some(proxy) if url.scheme() == "http" && response.status().as_u16() == 407 => {
                let why = ProxyProblem::Credentials;
                Err(CallFailure::Unsent(Unsent::Proxy { proxy, why }))
            }
            Some(_) | None => Ok(response),
        }
    }

    /// Maps an error from before the headers of an answer.
    fn before_the_answer(
        &self,
        error: &reqwest::Error,
        url: &Url,
        proxy: Option<&str>,
    ) -> CallFailure {
        if let Some(problem) = network::certificate_problem(error) {
            let host = url.host_str().unwrap_or_default().to_owned();
            return CallFailure::Unsent(Unsent::Certificate { host, problem });
        }
        // First, because a timeout while connecting means that nothing was sent.
        if error.is_connect() {
            let why = innermost(error);
            // Without TLS the only connection is that to the proxy.
            let of_proxy = url.scheme() == "http" || network::is_of_tunnel(error);
            CallFailure::Unsent(match proxy.filter(|_| of_proxy) {
                Some(proxy) => {
                    Unsent::Proxy { proxy: proxy.to_owned(), why: ProxyProblem::from_reason(why) }
                }
                None => Unsent::Unreachable(why),
            })
        } else if error.is_builder() {
            CallFailure::Unsent(Unsent::Setup(innermost(error)))
        } else if error.is_timeout() {
            CallFailure::Unanswered(Unanswered::TimedOut(self.limits.timeout))
        } else {
            CallFailure::Unanswered(Unanswered::Broken(innermost(error)))
        }
    }
}

/// Returns the headers of a request for a document.
fn document_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.1"));
    headers
}

/// Reads the challenges in headers or trailers.
fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    Challenge::read_all(values.filter_map(|value| value.to_str().ok()))
}

/// Returns the number of the exchange that an answer belongs to, when there is a traffic log.
fn number_of(response: &reqwest::Response) -> Option<ExchangeNumber> {
    response.extensions().get().copied()
}

/// Returns the innermost cause; the outer errors say nothing but "error sending request".
#[must_use]
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
