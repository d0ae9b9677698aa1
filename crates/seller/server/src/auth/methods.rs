//! Ready-made [ways of authentication](super::method): one for each security scheme of A2A that needs no TLS. Client
//! certificates are in [`AuthSettings`](super::AuthSettings), beside the API keys and tokens of one issuer that this
//! library manages itself.
//!
//! | scheme of A2A | type |
//! |---|---|
//! | API key | [`ApiKeyHeader`] |
//! | HTTP, `Bearer` | [`BearerTokens`] |
//! | HTTP, `Basic` | [`BasicPasswords`] |
//! | OAuth 2.0 | [`TokenIntrospection`] |
//! | OpenID Connect | [`OpenIdConnect`] |
//! | mutual TLS | [`AuthSettings::certificates`](super::AuthSettings::certificates) |

mod basic;
mod bearer;
mod introspection;
mod issuer_client;
mod key_header;
mod openid;
mod secrets;

pub use basic::BasicPasswords;
pub use bearer::BearerTokens;
pub use introspection::TokenIntrospection;
pub use key_header::ApiKeyHeader;
pub use openid::OpenIdConnect;

use axum::http::{HeaderMap, header};

use super::{AuthRefusal, SCHEME};

/// Returns what follows the name of a scheme in the header `Authorization`, when there is exactly one with this scheme.
fn authorization<'h>(headers: &'h HeaderMap, scheme: &str) -> Option<&'h str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    // Several headers are not read, because a proxy in front may have checked another one.
    let value = sent.next().filter(|_| sent.next().is_none())?;
    let text = value.to_str().ok()?.trim();
    let shown = text.split_once(' ').filter(|(name, _)| name.eq_ignore_ascii_case(scheme))?.1;
    Some(shown.trim()).filter(|shown| !shown.is_empty())
}

/// Returns the bearer token of a request whose header names that scheme.
fn bearer_token(headers: &HeaderMap) -> Result<&str, AuthRefusal> {
    authorization(headers, SCHEME).ok_or(AuthRefusal::Invalid { reason: "malformed header" })
}

/// Returns true when the header `Authorization` names a scheme.
fn names_scheme(headers: &HeaderMap, scheme: &str) -> bool {
    headers.get_all(header::AUTHORIZATION).iter().any(|value| {
        let text = value.as_bytes().trim_ascii();
        let name = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        name.eq_ignore_ascii_case(scheme.as_bytes())
    })
}

/// Writes a challenge with a realm and an error code.
fn challenge(scheme: &str, realm: &str, error: Option<&str>) -> String {
    let error = error.map(|error| format!(", error=\"{error}\"")).unwrap_or_default();
    format!("{scheme} realm=\"{realm}\"{error}")
}
