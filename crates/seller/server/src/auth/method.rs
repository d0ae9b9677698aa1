//! Ways of authentication that an agent adds to those of [`AuthSettings`](super::AuthSettings): each finds out who
//! sent a request, from its headers.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tradepost_a2a::card::SecurityScheme;

use super::{AuthRefusal, Principal};
use crate::tls::client::ClientCertificate;

/// What authentication sees of a request.
#[derive(Clone, Copy)]
pub struct AuthRequest<'a> {
    /// Headers, with the credential.
    pub headers: &'a HeaderMap,
    /// Network address of the caller.
    pub address: IpAddr,
    /// Certificate of the caller, from the TLS handshake.
    pub certificate: Option<&'a ClientCertificate>,
    /// Time of the request.
    pub now: Timestamp,
}

impl fmt::Debug for AuthRequest<'_> {
    /// Leaves out the headers, which have credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthRequest").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A security scheme with the name by which cards list it.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedScheme {
    /// Name, unique on the card.
    pub name: Cow<'static, str>,
    /// The scheme.
    pub scheme: SecurityScheme,
}

/// A way of authentication. An [`Authenticator`](super::Authenticator) can have several: a request is accepted when
/// a way accepts the credential of its kind.
///
/// ```
/// use axum::http::HeaderMap;
/// use tradepost_server::a2a::card::{ApiKeyAuth, ApiKeyLocation, SecurityScheme};
/// use tradepost_server::agent::BoxFuture;
/// use tradepost_server::auth::method::{AuthMethod, AuthRequest, NamedScheme};
/// use tradepost_server::auth::{AuthRefusal, Authenticator, Principal};
/// use tradepost_server::permission::Scopes;
///
/// /// Believes a gateway in front of the server, which alone can reach it.
/// #[derive(Debug)]
/// struct Gateway;
///
/// impl AuthMethod for Gateway {
///     fn schemes(&self) -> Vec<NamedScheme> {
///         let description = "The user, as the gateway has found it out.".to_owned();
///         let location = ApiKeyLocation::Header;
///         let key = ApiKeyAuth { description, location, name: "X-Gateway-User".to_owned() };
///         vec![NamedScheme { name: "gateway".into(), scheme: SecurityScheme::ApiKey(key) }]
///     }
///
///     fn is_shown(&self, headers: &HeaderMap) -> bool {
///         headers.contains_key("x-gateway-user")
///     }
///
///     fn authenticate<'a>(
///         &'a self,
///         request: AuthRequest<'a>,
///     ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
///         Box::pin(async move {
///             let user = request.headers.get("x-gateway-user").and_then(|user| user.to_str().ok());
///             let user = user.ok_or(AuthRefusal::Invalid { reason: "not a name" })?;
///             Ok(Principal::new(format!("gateway:{user}"), Scopes::All))
///         })
///     }
///
///     fn challenge(&self, realm: &str, _: Option<&str>) -> String {
///         format!("Gateway realm=\"{realm}\"")
///     }
/// }
///
/// let auth = Authenticator::with_required_method("echo", Gateway);
/// assert!(auth.schemes().contains_key("gateway"));
/// ```
pub trait AuthMethod: fmt::Debug + Send + Sync {
    /// Returns the schemes by which a card tells callers of it; one of them is sufficient.
    fn schemes(&self) -> Vec<NamedScheme>;

    /// Returns true when a request has a credential of this kind, valid or not.
    fn is_shown(&self, headers: &HeaderMap) -> bool;

    /// Finds out who sent a request that has a credential of this kind ([`is_shown`](Self::is_shown)).
    ///
    /// The name of the principal identifies the caller in limits and as the owner of tasks, so two callers must not
    /// have the same. A prefix with a colon keeps the names of different methods apart.
    ///
    /// # Errors
    /// The reason for the refusal. [`AuthRefusal::Unavailable`] says that the credential could not be checked; it does
    /// not count as a failure of the caller.
    fn authenticate<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>>;

    /// Returns the challenge for callers without a valid credential (RFC 9110 §11.6.1): a scheme and its parameters.
    /// `error` is the error code of RFC 6750 §3.1 for a credential that was refused.
    fn challenge(&self, realm: &str, error: Option<&str>) -> String;
}

/// Returns the refusal that takes precedence: an unavailable check, then an exceeded rate limit, then a refusal that
/// a genuine credential can get, then an invalid or missing credential; the first one among equals.
pub(super) fn stronger(one: AuthRefusal, other: AuthRefusal) -> AuthRefusal {
    let rank = |refusal: &AuthRefusal| match refusal {
        AuthRefusal::Unavailable(_) => 3,
        AuthRefusal::Limited(_) => 2,
        AuthRefusal::Expired | AuthRefusal::Scope { .. } | AuthRefusal::Page => 1,
        AuthRefusal::Invalid { .. } | AuthRefusal::Missing => 0,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

/// Returns the refusal that takes precedence among the earlier one and this one (see [`stronger`]).
pub(super) fn strongest(earlier: Option<AuthRefusal>, other: AuthRefusal) -> AuthRefusal {
    match earlier {
        Some(earlier) => stronger(earlier, other),
        None => other,
    }
}
