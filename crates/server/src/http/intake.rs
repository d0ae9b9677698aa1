//! What every HTTP binding does with a request before it is looked into: the body within its
//! limits, the protocol version, the extensions, and who calls.

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
use http_body_util::BodyExt as _;
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{self, Release, older};
use tradepost_wire::fault::is_timeout;
use tradepost_wire::http::MediaType;

use super::cors;
use super::head::{host, peer};
use super::pending::{Held, Pending};
use super::settings::Settings;
use crate::agent::{Agent, Caller, Sent};
use crate::auth::{Denied, Principal};
use crate::clock;
use crate::desk::Desk;
use crate::fault::{Fault, LATE};
use crate::limit::Key;
use crate::tls::client::ClientCertificate;

/// Why a body was not taken: for the binding to say in its own words' shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than this, which is permitted.
    TooLarge(usize),
    /// It is of another media type.
    OtherType,
    /// It is compressed, or encoded in another way.
    Encoded,
    /// It ended before its end.
    Broken,
    /// It did not arrive in this time.
    Late(Duration),
    /// It came more slowly than a body has to come.
    Slow,
    /// Too much of other bodies is under way.
    NoRoom,
}

impl Unread {
    /// The status by which HTTP says it.
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
            Self::Late(patience) => {
                format!("the body did not arrive within {} s", patience.as_secs_f64())
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

    /// What the protocol says, where a binding has no other word for it. Limits are named for
    /// programs, too.
    pub fn refusal(self) -> Refusal {
        let code =
            if self == Self::NoRoom { Code::ResourceExhausted } else { Code::InvalidRequest };
        let refusal = Refusal::new(code, self.message());
        match self {
            Self::TooLarge(limit) => refusal.with("maxBytes", limit.to_string()),
            Self::Late(patience) => refusal.with("maxSeconds", patience.as_secs_f64().to_string()),
            Self::NoRoom => refusal.with_wait(Duration::from_secs(SOON.into())),
            Self::Slow => refusal.with("minBytesPerSecond", MIN_BYTES_PER_SECOND.to_string()),
            Self::OtherType | Self::Encoded | Self::Broken => refusal,
        }
    }

    /// Adds what HTTP says to the answer.
    pub fn mark(self, response: &mut Response) {
        let headers = response.headers_mut();
        // What is left of the body would be read as the next request.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        match self {
            // RFC 9110 §12.5.3
            Self::Encoded => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            Self::NoRoom => {
                headers.insert(header::RETRY_AFTER, SOON.into());
            }
            Self::TooLarge(_) | Self::OtherType | Self::Broken | Self::Late(_) | Self::Slow => {}
        }
    }

    /// Whether the rest of the body may still be on its way.
    const fn is_under_way(self) -> bool {
        match self {
            Self::TooLarge(_) | Self::OtherType | Self::Encoded | Self::NoRoom => true,
            Self::Broken | Self::Late(_) | Self::Slow => false,
        }
    }
}

/// Least rate of a body in bytes per second, on every listener: what other servers ask for, and less
/// than the slowest network gives.
pub(super) const MIN_BYTES_PER_SECOND: u64 = 240;

/// After how many seconds to come back when others are being read.
const SOON: u16 = 2;

/// How much of a refused body is still taken, and how long. A client that is sending when its
/// connection is closed loses the answer, because the bytes that nobody reads reset the connection
/// (RFC 9112 §9.6).
const DRAINED_BYTES: usize = 32 * 1024 * 1024;
const DRAINING: Duration = Duration::from_secs(5);

/// A whole body. It counts among those that are kept as long as it is there.
#[derive(Debug)]
pub struct Whole<'d> {
    bytes: Vec<u8>,
    _held: Held<'d>,
}

impl Deref for Whole<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a body of JSON, within the limits.
// E-004, E-005
pub async fn receive<'d>(
    desk: &'d Desk,
    parts: &Parts,
    mut body: Body,
) -> Result<Whole<'d>, Unread> {
    let read = read_json(desk, parts, &mut body).await;
    if read.as_ref().is_err_and(|unread| unread.is_under_way()) {
        discard(&parts.headers, body);
    }
    read
}

/// Takes what is left of a body for which the answer is known already, while that is sent, and
/// throws it away. Nobody waits for it.
pub fn discard(headers: &HeaderMap, body: Body) {
    // Who asks before sending has nothing under way, and must not be told to send it.
    if !body.is_end_stream() && !headers.contains_key(header::EXPECT) {
        tokio::spawn(tokio::time::timeout(DRAINING, drain(body)));
    }
}

/// Throws away what is left of a body.
async fn drain(mut body: Body) {
    let mut drained = 0;
    while let Some(Ok(frame)) = body.frame().await
        && drained < DRAINED_BYTES
    {
        drained += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Reads the bodies of a listener that has no agents, such as that of the console: within a time, and
/// no more of them at once than its memory permits, of which one address has a share.
#[derive(Debug)]
pub struct BodyReader {
    pending: Pending,
    patience: Duration,
    trust_forwarded_for: bool,
}

impl BodyReader {
    /// Takes the limits of a listener; `largest` is how many bytes its largest body may have.
    #[must_use]
    pub fn new(settings: &Settings, largest: usize) -> Self {
        Self {
            pending: Pending::new(settings.max_pending_bytes, largest),
            patience: settings.read_timeout,
            trust_forwarded_for: settings.trust_forwarded_for,
        }
    }

    /// Reads a body of any type that has at most `limit` bytes.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn read(
        &self,
        parts: &Parts,
        body: &mut Body,
        limit: usize,
    ) -> Result<Whole<'_>, Unread> {
        let address = address_of(self.trust_forwarded_for, &parts.headers, &parts.extensions);
        let held = self.pending.hold(Key::address(address), None);
        hold_whole(held, self.patience, &parts.headers, body, limit).await
    }
}

async fn read_json<'d>(
    desk: &'d Desk,
    parts: &Parts,
    body: &mut Body,
) -> Result<Whole<'d>, Unread> {
    let limit = desk.settings.max_body_bytes;
    if is_longer(&parts.headers, limit) {
        return Err(Unread::TooLarge(limit));
    }
    if !media_type(&parts.headers).is_json() {
        return Err(Unread::OtherType);
    }
    collect(desk, parts, body, limit).await
}

/// Whether a body says that it is longer than that.
fn is_longer(headers: &HeaderMap, limit: usize) -> bool {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<usize>().ok());
    declared.is_some_and(|length| length > limit)
}

/// Whether a body is in any other form than that of its media type.
fn is_encoded(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|coding| {
        let coding = coding.trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    })
}

/// Reads a body of any type that is not longer than that, within the time that it may take.
pub async fn collect<'d>(
    desk: &'d Desk,
    parts: &Parts,
    body: &mut Body,
    limit: usize,
) -> Result<Whole<'d>, Unread> {
    let agent = desk.one_of_several(host(&parts.uri, &parts.headers));
    let held = desk.pending.hold(Key::address(address(desk, parts)), agent);
    hold_whole(held, desk.settings.read_timeout, &parts.headers, body, limit).await
}

/// Reads a body of any type into the memory that is counted by `held`.
async fn hold_whole<'p>(
    mut held: Held<'p>,
    patience: Duration,
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<Whole<'p>, Unread> {
    if is_longer(headers, limit) {
        return Err(Unread::TooLarge(limit));
    }
    if is_encoded(headers) {
        return Err(Unread::Encoded);
    }
    let gathered = gather(&mut held, headers, body, limit);
    let bytes = clock::within(patience, gathered).await.unwrap_or(Err(Unread::Late(patience)))?;
    Ok(Whole { bytes, _held: held })
}

/// Copies what arrives into a buffer of its own: a frame of one byte keeps the whole buffer alive
/// that it was read into.
async fn gather(
    held: &mut Held<'_>,
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<Vec<u8>, Unread> {
    // Heads are kept as long as bodies: a crowd of requests with large ones and hardly a body would
    // count for nothing otherwise.
    let head: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if !held.grow(head) {
        return Err(Unread::NoRoom);
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match is_timeout(&error) {
            true => Unread::Slow,
            false => Unread::Broken,
        })?;
        // Trailers say nothing here.
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        // Whatever was declared: a chunked body declares nothing.
        if length > limit {
            return Err(Unread::TooLarge(limit));
        }
        if length > bytes.capacity() {
            // Twice as much each time, so that what arrives in small pieces is copied seldom.
            let capacity = length.max(bytes.capacity() * 2).min(limit);
            if !held.grow(capacity - bytes.capacity()) {
                return Err(Unread::NoRoom);
            }
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// What the body is said to be.
pub(super) fn media_type(headers: &HeaderMap) -> MediaType<'_> {
    let named = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    MediaType::of(named.unwrap_or_default())
}

/// In which the version is named; as a name that is known it is not read from its text each time.
const VERSION: HeaderName = HeaderName::from_static(a2a::VERSION_HEADER);

/// The versions of the protocol that a request asks for, by header and query (A2A §3.6).
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
        // What is not ASCII is no version of ours, and must not pass for none at all.
        .map(|value| Cow::Borrowed(value.to_str().unwrap_or("?").trim()));
    in_headers.chain(in_query).filter(|version| !version.is_empty()).collect()
}

/// Checks the version that a request asks for; every one that it names has to be ours.
// C-33
pub fn check_version(agent: &dyn Agent, parts: &Parts) -> Result<(), Refusal> {
    let asked = versions(parts);
    if asked.is_empty() && agent.requires_version() {
        return a2a::check_version("");
    }
    asked.iter().try_for_each(|version| a2a::check_version(version))
}

/// The release that a request to the endpoint of JSON-RPC is in. Its method tells the two apart where
/// it names no version, as clients of 0.3 do (A2A §3.6.2).
///
/// # Errors
/// That the agent does not speak every version that is named.
pub fn release(agent: &dyn Agent, parts: &Parts, method: &str) -> Result<Release, Refusal> {
    if !agent.card().claims.older {
        return check_version(agent, parts).map(|()| Release::V1_0);
    }
    let asked = versions(parts);
    if asked.is_empty() {
        // Where a version is required, to name none means 0.3 (A2A §3.6.2); elsewhere the method
        // tells.
        let is_older = agent.requires_version() || older::is_method(method);
        return Ok(if is_older { Release::V0_3 } else { Release::V1_0 });
    }
    let spoken = [Release::V1_0, Release::V0_3];
    let all =
        |release: &Release| asked.iter().all(|version| a2a::is_release(version, release.name()));
    spoken.into_iter().find(all).ok_or_else(|| a2a::other_version(&spoken.map(Release::name)))
}

/// The extensions that a request of A2A 1.0 activates.
pub fn activated_extensions(headers: &HeaderMap) -> Vec<String> {
    extensions_of(headers, Release::V1_0)
}

/// The extensions that a request of a release activates.
//
pub(super) fn extensions_of(headers: &HeaderMap, release: Release) -> Vec<String> {
    headers
        .get_all(release.extensions_header())
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty())
        .collect()
}

/// Who calls.
// E-110
pub async fn caller(desk: &Desk, agent: &dyn Agent, parts: &Parts) -> Result<Caller, Denied> {
    let address = address(desk, parts);
    let now = desk.clock.now();
    let certificate = parts.extensions.get::<ClientCertificate>();
    let found = agent.auth().authenticate(address, &parts.headers, certificate, now);
    let principal = in_time(desk, found).await??;
    let principal = cors::limit(desk, &parts.headers, principal);
    Ok(Caller { address, principal })
}

/// What is found out about a caller in the time that an answer may take.
///
/// # Errors
/// That it takes longer.
pub async fn in_time<T>(desk: &Desk, found: impl Future<Output = T>) -> Result<T, Denied> {
    let late = |_| Denied::unavailable(Fault::new("finding out who calls", LATE));
    clock::within(desk.settings.request_timeout, found).await.map_err(late)
}

/// Who calls for something that is open to everybody: whoever shows a credential is judged all the
/// same.
pub async fn visitor(desk: &Desk, agent: &dyn Agent, parts: &Parts) -> Result<Caller, Denied> {
    let certificate = parts.extensions.get::<ClientCertificate>();
    if agent.auth().is_shown(&parts.headers, certificate) {
        return caller(desk, agent, parts).await;
    }
    Ok(Caller { address: address(desk, parts), principal: Principal::anonymous() })
}

/// From where a request comes that came here.
pub fn address(desk: &Desk, parts: &Parts) -> IpAddr {
    address_of(desk.settings.trust_forwarded_for, &parts.headers, &parts.extensions)
}

/// From where a request comes.
pub fn address_of(
    trust_forwarded_for: bool,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> IpAddr {
    let forwarded = || {
        // The last entry is by the proxy that we know; what stands before it came from the caller,
        // who can write anything there.
        let last = headers.get_all("x-forwarded-for").iter().next_back()?;
        last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
    };
    let peer = peer(extensions).map_or([0, 0, 0, 0].into(), |peer| peer.ip());
    let address = if trust_forwarded_for { forwarded() } else { None };
    address.unwrap_or(peer)
}

/// The last event of a stream that the caller has seen.
pub fn resume_after(headers: &HeaderMap) -> Option<i64> {
    const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    headers.get(LAST_EVENT_ID)?.to_str().ok()?.trim().parse().ok()
}

/// How a request was sent.
pub fn sent<'a>(parts: &'a Parts, body: &'a [u8]) -> Sent<'a> {
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    Sent { user_agent, body }
}
