//! Steps that every HTTP binding takes before it parses a request: the body within its limits, the
//! protocol version, the extensions, and the caller.

use std::borrow::Cow;
use std::future::Future;
use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::{self as a2a, A2aRelease, older};
use tradepost_document::fault::is_timeout;
use tradepost_document::http::{MediaType, RetryAfter};

use super::cors;
use super::head::{host, peer};
use super::pending::{PendingMemory, RequestMemory};
use super::plain::set_retry_after;
use super::settings::HttpSettings;
use crate::agent::{Agent, Caller, RequestMeta};
use crate::auth::method::AuthRequest;
use crate::auth::{AuthRefusal, Principal, ShownCredential};
use crate::clock;
use crate::fault::{InternalError, LATE};
use crate::limit::LimitKey;
use crate::registry::AgentRegistry;
use crate::tls::client::ClientCertificate;

/// Reason why a body was not read, for which each binding has its own error format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// The body is longer than the permitted number of bytes.
    TooLarge(usize),
    /// The body has another media type.
    OtherType,
    /// The body is compressed, or encoded in another way.
    Encoded,
    /// The connection ended before the body.
    Broken,
    /// The body did not arrive within this time.
    Late(Duration),
    /// The body arrived below the minimum rate.
    Slow,
    /// Pending bodies use all the memory reserved for them.
    NoRoom,
}

impl BodyError {
    /// Returns the HTTP status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::OtherType | Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::Late(_) | Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the message for the caller.
    fn message(self) -> String {
        match self {
            Self::TooLarge(limit) => {
                format!("the body is larger than the {limit} bytes that this agent accepts")
            }
            Self::OtherType => "the Content-Type must be application/json".to_owned(),
            Self::Encoded => {
                "encoded bodies are not read here; leave Content-Encoding out".to_owned()
            }
            Self::Broken => "the body ended early".to_owned(),
            Self::Late(timeout) => {
                format!("the body did not arrive within {} s", timeout.as_secs_f64())
            }
            Self::Slow => {
                format!(
                    "the body came at less than {MIN_BYTES_PER_SECOND} bytes a second; send it \
                     without pauses"
                )
            }
            Self::NoRoom => "too many bodies are under way; send it again in a moment".to_owned(),
        }
    }

    /// Returns the protocol's refusal. Limits are in the metadata for programs.
    pub fn refusal(self) -> A2aRefusal {
        let code =
            if self == Self::NoRoom { A2aCode::ResourceExhausted } else { A2aCode::InvalidRequest };
        let refusal = A2aRefusal::new(code, self.message());
        match self {
            Self::TooLarge(limit) => refusal.with("maxBytes", limit.to_string()),
            Self::Late(timeout) => refusal.with("maxSeconds", timeout.as_secs_f64().to_string()),
            Self::NoRoom => refusal.with_wait(NO_ROOM_RETRY_AFTER.duration()),
            Self::Slow => refusal.with("minBytesPerSecond", MIN_BYTES_PER_SECOND.to_string()),
            Self::OtherType | Self::Encoded | Self::Broken => refusal,
        }
    }

    /// Sets the HTTP headers of the answer.
    pub fn mark(self, response: &mut Response) {
        let headers = response.headers_mut();
        // The rest of the body would be read as the next request.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        match self {
            // The answer names the accepted codings (RFC 9110 §12.5.3).
            Self::Encoded => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            Self::NoRoom => set_retry_after(headers, NO_ROOM_RETRY_AFTER),
            Self::TooLarge(_) | Self::OtherType | Self::Broken | Self::Late(_) | Self::Slow => {}
        }
    }

    /// Returns true when the rest of the body may still arrive.
    const fn is_under_way(self) -> bool {
        match self {
            Self::TooLarge(_) | Self::OtherType | Self::Encoded | Self::NoRoom => true,
            Self::Broken | Self::Late(_) | Self::Slow => false,
        }
    }
}

/// Minimum rate of a body in bytes per second, on every listener: as in other servers, and below
/// that of the slowest network.
pub(super) const MIN_BYTES_PER_SECOND: u64 = 240;

/// Retry-after when pending bodies use all the memory.
const NO_ROOM_RETRY_AFTER: RetryAfter = RetryAfter::new(Duration::from_secs(2));

/// Maximum number of bytes and maximum time for reading the rest of a refused body. A client that
/// is still sending when its connection is closed loses the answer, because unread bytes reset the
/// connection (RFC 9112 §9.6).
const DRAINED_BYTES: usize = 32 * 1024 * 1024;
const DRAINING: Duration = Duration::from_secs(5);

/// A complete body. Its memory counts as pending while it exists.
#[derive(Debug)]
pub struct FullBody<'d> {
    bytes: Vec<u8>,
    _held: RequestMemory<'d>,
}

impl Deref for FullBody<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a JSON body, within the limits.
// Bodies that are too large or have another type are refused before parsing (E-004, E-005).
pub async fn receive<'d>(
    registry: &'d AgentRegistry,
    parts: &Parts,
    mut body: Body,
) -> Result<FullBody<'d>, BodyError> {
    let read = read_json(registry, parts, &mut body).await;
    if read.as_ref().is_err_and(|unread| unread.is_under_way()) {
        discard(&parts.headers, body);
    }
    read
}

/// Reads and discards the rest of a body in the background, while its refusal is sent.
pub fn discard(headers: &HeaderMap, body: Body) {
    // A client with `Expect` waits before it sends, and must not be told to continue.
    if !body.is_end_stream() && !headers.contains_key(header::EXPECT) {
        tokio::spawn(tokio::time::timeout(DRAINING, drain(body)));
    }
}

/// Discards the rest of a body.
async fn drain(mut body: Body) {
    let mut drained = 0;
    while let Some(Ok(frame)) = body.frame().await
        && drained < DRAINED_BYTES
    {
        drained += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Reads the bodies of a listener without agents, such as the console's: within a time, and within
/// a memory limit of which each address has a share.
#[derive(Debug)]
pub struct BodyReader {
    pending: PendingMemory,
    timeout: Duration,
    trust_forwarded_for: bool,
}

impl BodyReader {
    /// Creates a reader with the limits of a listener; `largest` is the maximum size of a body in
    /// bytes.
    #[must_use]
    pub fn new(settings: &HttpSettings, largest: usize) -> Self {
        Self {
            pending: PendingMemory::new(settings.max_pending_bytes, largest),
            timeout: settings.read_timeout,
            trust_forwarded_for: settings.trust_forwarded_for,
        }
    }

    /// Reads a body of any type with at most `limit` bytes.
    ///
    /// # Errors
    /// The reason why it was not read.
    pub async fn read(
        &self,
        parts: &Parts,
        body: &mut Body,
        limit: usize,
    ) -> Result<FullBody<'_>, BodyError> {
        let address = address_of(self.trust_forwarded_for, &parts.headers, &parts.extensions);
        let held = self.pending.hold(LimitKey::address(address), None);
        read_counted(held, self.timeout, &parts.headers, body, limit).await
    }
}

/// Reads a body of JSON, up to the maximum size.
async fn read_json<'d>(
    registry: &'d AgentRegistry,
    parts: &Parts,
    body: &mut Body,
) -> Result<FullBody<'d>, BodyError> {
    let limit = registry.settings.max_body_bytes;
    if is_longer(&parts.headers, limit) {
        return Err(BodyError::TooLarge(limit));
    }
    if !media_type(&parts.headers).is_json() {
        return Err(BodyError::OtherType);
    }
    collect(registry, parts, body, limit).await
}

/// Returns true when the declared length of a body exceeds the limit.
fn is_longer(headers: &HeaderMap, limit: usize) -> bool {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<usize>().ok());
    declared.is_some_and(|length| length > limit)
}

/// Returns true when a body has a content coding.
fn is_encoded(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|coding| {
        let coding = coding.trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    })
}

/// Reads a body of any type within the size limit and the time limit.
pub async fn collect<'d>(
    registry: &'d AgentRegistry,
    parts: &Parts,
    body: &mut Body,
    limit: usize,
) -> Result<FullBody<'d>, BodyError> {
    let agent = registry.agent_of_host(host(&parts.uri, &parts.headers));
    let held = registry.pending.hold(LimitKey::address(address(registry, parts)), agent);
    read_counted(held, registry.settings.read_timeout, &parts.headers, body, limit).await
}

/// Reads a body of any type into memory counted by `held`.
async fn read_counted<'p>(
    mut held: RequestMemory<'p>,
    timeout: Duration,
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<FullBody<'p>, BodyError> {
    if is_longer(headers, limit) {
        return Err(BodyError::TooLarge(limit));
    }
    if is_encoded(headers) {
        return Err(BodyError::Encoded);
    }
    let gathered = gather(&mut held, headers, body, limit);
    let bytes = clock::within(timeout, gathered).await.unwrap_or(Err(BodyError::Late(timeout)))?;
    Ok(FullBody { bytes, _held: held })
}

/// Copies the body into its own buffer, because a frame of one byte keeps the whole buffer alive
/// that it was read into.
async fn gather(
    held: &mut RequestMemory<'_>,
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<Vec<u8>, BodyError> {
    // Heads are counted too, because they stay in memory as long as bodies.
    let head: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if !held.grow(head) {
        return Err(BodyError::NoRoom);
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match is_timeout(&error) {
            true => BodyError::Slow,
            false => BodyError::Broken,
        })?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        // Checked while reading, because a chunked body declares no length.
        if length > limit {
            return Err(BodyError::TooLarge(limit));
        }
        if length > bytes.capacity() {
            // Doubled each time, so that a body in small pieces is copied seldom.
            let capacity = length.max(bytes.capacity() * 2).min(limit);
            if !held.grow(capacity - bytes.capacity()) {
                return Err(BodyError::NoRoom);
            }
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Returns the media type of the body.
pub(super) fn media_type(headers: &HeaderMap) -> MediaType<'_> {
    let named = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    MediaType::new(named.unwrap_or_default())
}

/// Header that names the version. A constant, so that it is not parsed for each request.
const VERSION: HeaderName = HeaderName::from_static(a2a::VERSION_HEADER);

/// Returns the protocol versions that a request asks for, by header and query (A2A 1.0 §3.6).
pub fn versions(parts: &Parts) -> Vec<Cow<'_, str>> {
    let in_query = parts.uri.query().into_iter();
    let in_query = in_query
        .flat_map(|query| form_urlencoded::parse(query.as_bytes()))
        .filter(|(name, _)| name.eq_ignore_ascii_case(a2a::VERSION_HEADER))
        .map(|(_, value)| value);
    let in_headers = parts
        .headers
        .get_all(VERSION)
        .iter()
        // A value that is not ASCII counts as an unknown version, not as none.
        .map(|value| Cow::Borrowed(value.to_str().unwrap_or("?").trim()));
    in_headers.chain(in_query).filter(|version| !version.is_empty()).collect()
}

/// Checks that every version that a request asks for is supported.
// AAP's own examples send no version, so a missing one is accepted unless the agent requires it
// (A2A 1.0 §3.6.2, C-33).
pub fn check_version(agent: &dyn Agent, parts: &Parts) -> Result<(), A2aRefusal> {
    let asked = versions(parts);
    if asked.is_empty() && agent.requires_version() {
        return a2a::check_version("");
    }
    asked.iter().try_for_each(|version| a2a::check_version(version))
}

/// Returns the protocol release of a request to the JSON-RPC endpoint. Without a version its method
/// tells, as for clients of 0.3 (A2A 1.0 §3.6.2).
///
/// # Errors
/// When the agent does not support every version that is named.
pub fn release(agent: &dyn Agent, parts: &Parts, method: &str) -> Result<A2aRelease, A2aRefusal> {
    if !agent.card().claims.older {
        return check_version(agent, parts).map(|()| A2aRelease::V1_0);
    }
    let asked = versions(parts);
    if asked.is_empty() {
        // Where a version is required, a missing one means 0.3 (A2A 1.0 §3.6.2); elsewhere the
        // method tells.
        let is_older = agent.requires_version() || older::is_method(method);
        return Ok(if is_older { A2aRelease::V0_3 } else { A2aRelease::V1_0 });
    }
    let spoken = [A2aRelease::V1_0, A2aRelease::V0_3];
    let all =
        |release: &A2aRelease| asked.iter().all(|version| a2a::is_release(version, release.name()));
    spoken.into_iter().find(all).ok_or_else(|| a2a::other_version(&spoken.map(A2aRelease::name)))
}

/// Returns the extensions that a request of A2A 1.0 activates.
pub fn activated_extensions(headers: &HeaderMap) -> Vec<String> {
    extensions_of(headers, A2aRelease::V1_0)
}

/// Returns the extensions that a request of a release activates.
// The header is a comma-separated list and may be repeated (A2A 1.0 §3.2.6, X-05).
pub(super) fn extensions_of(headers: &HeaderMap, release: A2aRelease) -> Vec<String> {
    headers
        .get_all(release.extensions_header())
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty())
        .collect()
}

/// Authenticates the caller.
// Missing or invalid credentials are refused before the request is parsed (A2A 1.0 §3.3.2, E-110).
pub async fn caller(
    registry: &AgentRegistry,
    agent: &dyn Agent,
    parts: &Parts,
) -> Result<Caller, AuthRefusal> {
    let address = address(registry, parts);
    let now = registry.clock.now();
    let certificate = parts.extensions.get::<ClientCertificate>();
    let found = agent.auth().authenticate(address, &parts.headers, certificate, now);
    let principal = in_time(registry, found).await??;
    let principal = cors::limit(registry, &parts.headers, principal);
    Ok(Caller { address, principal, credential: ShownCredential::from_headers(&parts.headers) })
}

/// Authenticates the caller of a passed-on request, whose credential may be for another agent. If this agent requires
/// no credential, an invalid or expired one makes the caller anonymous. Failures do not count towards the limit of
/// failed credentials.
///
/// # Errors
/// The reason why the agent refuses the caller.
pub async fn passed_caller(
    registry: &AgentRegistry,
    agent: &dyn Agent,
    parts: &Parts,
) -> Result<Caller, AuthRefusal> {
    let address = address(registry, parts);
    let certificate = parts.extensions.get::<ClientCertificate>();
    let now = registry.clock.now();
    let request = AuthRequest { headers: &parts.headers, address, certificate, now };
    let found = in_time(registry, agent.auth().judge(request)).await?;
    let is_open = !agent.auth().is_required();
    let principal = match found {
        Ok(principal) => principal,
        Err(AuthRefusal::Invalid { .. } | AuthRefusal::Expired) if is_open => {
            Principal::anonymous()
        }
        Err(denied) => return Err(denied),
    };
    let credential = match principal.is_anonymous() {
        true => None,
        false => ShownCredential::from_headers(&parts.headers),
    };
    let principal = cors::limit(registry, &parts.headers, principal);
    Ok(Caller { address, principal, credential })
}

/// Runs work on authentication within the request timeout.
///
/// # Errors
/// When it takes longer.
pub fn in_time<T>(
    registry: &AgentRegistry,
    found: impl Future<Output = T>,
) -> impl Future<Output = Result<T, AuthRefusal>> {
    let late = |_| AuthRefusal::unavailable(InternalError::new("finding out who calls", LATE));
    clock::within(registry.settings.request_timeout, found).map(move |found| found.map_err(late))
}

/// Identifies the caller of a public resource: a credential is checked all the same.
pub async fn visitor(
    registry: &AgentRegistry,
    agent: &dyn Agent,
    parts: &Parts,
) -> Result<Caller, AuthRefusal> {
    let certificate = parts.extensions.get::<ClientCertificate>();
    if agent.auth().is_shown(&parts.headers, certificate) {
        return caller(registry, agent, parts).await;
    }
    let principal = Principal::anonymous();
    Ok(Caller { address: address(registry, parts), principal, credential: None })
}

/// Returns the network address of the caller.
pub fn address(registry: &AgentRegistry, parts: &Parts) -> IpAddr {
    address_of(registry.settings.trust_forwarded_for, &parts.headers, &parts.extensions)
}

/// Returns the network address of a caller, from the connection or a trusted proxy.
pub fn address_of(
    trust_forwarded_for: bool,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> IpAddr {
    let forwarded = || {
        // The last entry is by the trusted proxy; the entries before it come from the caller, who
        // can write anything there.
        let last = headers.get_all("x-forwarded-for").iter().next_back()?;
        last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
    };
    let peer = peer(extensions).map_or([0, 0, 0, 0].into(), |peer| peer.ip());
    let address = if trust_forwarded_for { forwarded() } else { None };
    address.unwrap_or(peer)
}

/// Returns the last event of a stream that the caller has received.
pub fn resume_after(headers: &HeaderMap) -> Option<i64> {
    const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    headers.get(LAST_EVENT_ID)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the raw request data for evidence.
pub fn sent<'a>(parts: &'a Parts, body: &'a [u8]) -> RequestMeta<'a> {
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    RequestMeta { user_agent, body }
}
