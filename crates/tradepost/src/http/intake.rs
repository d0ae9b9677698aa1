//! What every HTTP binding does with a request before it is looked into: the body within its
//! limits, the protocol version, the extensions, and who calls.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use tradepost_wire::a2a;
use tradepost_wire::a2a::error::Refusal;
use tradepost_wire::adcp::signing::Fault;

use super::Peer;
use crate::adcp::identity::{Received, Standing};
use crate::adcp::seller::{self, PublisherAgent};
use crate::auth::{Denied, Principal};
use crate::desk::{Agent, Caller, Desk};
use crate::tls::client::ClientCertificate;

/// Why a body was not taken: for the binding to say in its own words' shape.
pub(super) type Unread = (StatusCode, &'static str);

const TOO_LARGE: Unread =
    (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this agent accepts");

/// How much of a refused body is still taken, and how long. A client that is sending when its
/// connection is closed loses the answer, because the bytes that nobody reads reset the connection
/// (RFC 9112 §9.6).
const DRAINED_BYTES: usize = 32 * 1024 * 1024;
const DRAINING: Duration = Duration::from_secs(5);

/// Reads a body of JSON, within the limits (`E-004`, `E-005`).
pub(super) async fn receive(
    desk: &Desk,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Bytes, Unread> {
    let read = read_json(desk, headers, &mut body).await;
    let under_way = matches!(
        read,
        Err((StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNSUPPORTED_MEDIA_TYPE, _))
    );
    // Who asks before sending has nothing under way.
    if under_way && !headers.contains_key(header::EXPECT) {
        let _ = tokio::time::timeout(DRAINING, drain(body)).await;
    }
    read
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

async fn read_json(desk: &Desk, headers: &HeaderMap, body: &mut Body) -> Result<Bytes, Unread> {
    let limit = desk.server.max_body_bytes;
    if is_longer(headers, limit) {
        return Err(TOO_LARGE);
    }
    if !is_json(headers) {
        let message = "the Content-Type must be application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    collect(desk, headers, body, limit).await
}

/// Whether a body says that it is longer than that.
fn is_longer(headers: &HeaderMap, limit: usize) -> bool {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<usize>().ok());
    declared.is_some_and(|length| length > limit)
}

/// Reads a body of any type that is not longer than that, within the time that it may take.
pub(super) async fn collect(
    desk: &Desk,
    headers: &HeaderMap,
    body: &mut Body,
    limit: usize,
) -> Result<Bytes, Unread> {
    if is_longer(headers, limit) {
        return Err(TOO_LARGE);
    }
    let patience = Duration::try_from(desk.server.read_timeout).unwrap_or(Duration::MAX);
    match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body ended early")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    let json = |text: &str| text.eq_ignore_ascii_case("json");
    kind.eq_ignore_ascii_case("application")
        && (json(subtype) || subtype.rsplit_once('+').is_some_and(|(_, suffix)| json(suffix)))
}

/// Checks the version that a request asks for, by header or query (A2A §3.6, C-33); every one that
/// it names has to be ours.
pub(super) fn check_version(agent: &Agent, parts: &Parts) -> Result<(), Refusal> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let in_query = form_urlencoded::parse(query)
        .filter(|(name, _)| name.eq_ignore_ascii_case(a2a::VERSION_HEADER))
        .map(|(_, value)| value.into_owned());
    let in_headers = parts
        .headers
        .get_all(a2a::VERSION_HEADER)
        .iter()
        .map(|value| value.to_str().unwrap_or("?").trim().to_owned());
    let mut asked = in_headers.chain(in_query).filter(|v| !v.is_empty()).peekable();
    if asked.peek().is_none() && agent.requires_version() {
        return a2a::check_version("");
    }
    asked.try_for_each(|version| a2a::check_version(&version))
}

/// The extensions that a request activates.
pub(crate) fn activated_extensions(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(a2a::EXTENSIONS_HEADER)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty())
        .collect()
}

/// Who calls (`E-110`).
pub(super) async fn caller(desk: &Desk, agent: &Agent, parts: &Parts) -> Result<Caller, Denied> {
    let address = address(desk, parts);
    let now = desk.clock.now();
    let certificate = parts.extensions.get::<ClientCertificate>();
    let principal = agent.auth().authenticate(address, &parts.headers, certificate, now).await?;
    Ok(Caller { address, principal })
}

/// Who calls for something that is open to everybody: whoever shows a credential is judged all the
/// same.
pub(super) async fn visitor(desk: &Desk, agent: &Agent, parts: &Parts) -> Result<Caller, Denied> {
    let certificate = parts.extensions.get::<ClientCertificate>();
    if agent.auth().is_shown(&parts.headers, certificate) {
        return caller(desk, agent, parts).await;
    }
    Ok(Caller { address: address(desk, parts), principal: Principal::anonymous() })
}

/// Who calls a publisher. A signature is looked at first: one that is there and wrong ends the
/// request, whatever other credential it has. `is_open` is for what everybody may ask.
pub(super) async fn publisher_caller(
    desk: &Desk,
    agent: &Agent,
    publisher: &PublisherAgent,
    parts: &Parts,
    body: &[u8],
    is_open: bool,
) -> Result<Caller, Denied> {
    let needed = match signed(desk, publisher, parts, body).await? {
        Standing::Signed(signer) => {
            let principal = seller::signer(&signer);
            return Ok(Caller { address: address(desk, parts), principal });
        }
        Standing::Unsigned { needed } => needed,
    };
    let caller = match is_open {
        true => visitor(desk, agent, parts).await,
        false => caller(desk, agent, parts).await,
    };
    match caller {
        Ok(caller) if needed && caller.principal.is_anonymous() => {
            Err(Denied::Signature(Fault::Required))
        }
        Err(Denied::Missing | Denied::Invalid { .. } | Denied::Expired) if needed => {
            Err(Denied::Signature(Fault::Required))
        }
        decided => decided,
    }
}

/// Who has signed a request to a publisher.
pub(super) async fn signed(
    desk: &Desk,
    publisher: &PublisherAgent,
    parts: &Parts,
    body: &[u8],
) -> Result<Standing, Denied> {
    let Some(identity) = &publisher.identity else {
        return Ok(Standing::Unsigned { needed: false });
    };
    let received = Received {
        method: &parts.method,
        uri: &parts.uri,
        headers: &parts.headers,
        body,
        secure: desk.server.tls.is_some(),
    };
    identity.judge(&received, desk.clock.now()).await.map_err(|fault| {
        // Not counted against the address: the code is what a signer finds its mistake by.
        tracing::info!(agent = publisher.id(), code = %fault, "a signature was not believed");
        Denied::Signature(fault)
    })
}

fn address(desk: &Desk, parts: &Parts) -> IpAddr {
    let forwarded = || {
        let last = parts.headers.get_all("x-forwarded-for").iter().next_back()?;
        last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
    };
    let peer = parts.extensions.get::<Peer>().map_or([0, 0, 0, 0].into(), |peer| peer.0.ip());
    let address = if desk.server.trust_forwarded_for { forwarded() } else { None };
    address.unwrap_or(peer)
}

/// The last event of a stream that the caller has seen.
pub(super) fn resume_after(headers: &HeaderMap) -> Option<i64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}
