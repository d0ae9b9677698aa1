//! Authentication of a publisher's callers: a signature counts before every other credential.

use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use tradepost_adcp::signing::{SignatureError, SignedKind};
use tradepost_server::agent::{Agent as _, Caller};
use tradepost_server::auth::{AuthRefusal, SCHEME, ShownCredential};
use tradepost_server::http::intake;
use tradepost_server::registry::AgentRegistry;

use crate::adcp::identity::{ReceivedRequest, SenderClaim, SenderRefusal};
use crate::adcp::seller::{self, PublisherAgent};

/// Authenticates a caller. A signature is checked first: a wrong one ends the request, whatever
/// other credential there is. `is_open` is true for requests that need no credential.
pub(super) async fn caller(
    registry: &AgentRegistry,
    publisher: &PublisherAgent,
    parts: &Parts,
    body: &[u8],
    is_open: bool,
) -> Result<Caller, SenderRefusal> {
    let judged = signed(registry, publisher, parts, body).await?;
    let with_credential = adcp_auth(parts);
    let parts = with_credential.as_ref().unwrap_or(parts);
    let needed = match judged {
        SenderClaim::Signed(signer) => {
            let address = intake::address(registry, parts);
            let principal = seller::signer(&signer);
            let credential = ShownCredential::from_headers(&parts.headers);
            return Ok(Caller { address, principal, credential });
        }
        SenderClaim::Unsigned { needed } => needed,
    };
    let caller = match is_open {
        true => intake::visitor(registry, publisher, parts).await,
        false => intake::caller(registry, publisher, parts).await,
    };
    match caller {
        Ok(caller) if needed && caller.principal.is_anonymous() => {
            Err(SignatureError::Required.into())
        }
        // This call lacks a signature; a better token would not help.
        Err(AuthRefusal::Missing | AuthRefusal::Invalid { .. } | AuthRefusal::Expired)
            if needed =>
        {
            Err(SignatureError::Required.into())
        }
        decided => Ok(decided?),
    }
}

/// Returns the request with the token of `x-adcp-auth` as its bearer token: AdCP clients use that
/// header when an intermediary needs `Authorization` itself. `None` without the header, or when
/// there is an `Authorization` too.
fn adcp_auth(parts: &Parts) -> Option<Parts> {
    let token = parts.headers.get("x-adcp-auth")?.to_str().ok()?.trim();
    if parts.headers.contains_key(AUTHORIZATION) {
        return None;
    }
    let has_scheme = token
        .get(..SCHEME.len() + 1)
        .is_some_and(|start| start.eq_ignore_ascii_case(&format!("{SCHEME} ")));
    let bearer = if has_scheme { token.to_owned() } else { format!("{SCHEME} {token}") };
    let mut value = HeaderValue::from_str(&bearer).ok()?;
    value.set_sensitive(true);
    let mut with_credential = parts.clone();
    with_credential.headers.insert(AUTHORIZATION, value);
    Some(with_credential)
}

/// Returns the signer of a request to a publisher.
pub(super) async fn signed(
    registry: &AgentRegistry,
    publisher: &PublisherAgent,
    parts: &Parts,
    body: &[u8],
) -> Result<SenderClaim, SenderRefusal> {
    let Some(identity) = &publisher.identity else {
        return Ok(SenderClaim::Unsigned { needed: false });
    };
    let received =
        ReceivedRequest { method: &parts.method, uri: &parts.uri, headers: &parts.headers, body };
    let judge = identity.judge(&received, registry.clock.now());
    intake::in_time(registry, judge).await?.inspect_err(|refused| {
        // Not counted against the address: a signer finds its mistake by the code.
        if let SenderRefusal::Signature(fault) = refused {
            tracing::info!(
                agent = publisher.id(),
                code = fault.code(SignedKind::Request),
                "a signature was not believed"
            );
        }
    })
}
