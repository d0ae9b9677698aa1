//! A list of bearer tokens.

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use tradepost_a2a::card::{HttpAuth, SecurityScheme};

use super::secrets::SecretList;
use super::{authorization, challenge, names_scheme};
use crate::auth::method::{AuthMethod, AuthRequest, NamedScheme};
use crate::auth::{AuthRefusal, Principal, SCHEME};

/// Accepts the bearer tokens of a list, in the header `Authorization`.
///
/// ```
/// use tradepost_server::auth::methods::BearerTokens;
/// use tradepost_server::auth::{Authenticator, Principal};
/// use tradepost_server::permission::Scopes;
///
/// let tokens = BearerTokens::new().allow("a long random text", Principal::new("acme", Scopes::All));
/// let auth = Authenticator::with_required_method("echo", tokens);
/// assert!(auth.schemes().contains_key("bearer"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct BearerTokens(SecretList);

impl BearerTokens {
    /// Creates a list without tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token of a caller.
    #[must_use]
    pub fn allow(mut self, token: &str, caller: Principal) -> Self {
        self.0.add(token.as_bytes(), caller);
        self
    }
}

impl AuthMethod for BearerTokens {
    fn schemes(&self) -> Vec<NamedScheme> {
        let description = "A token that the agent's operator has issued.".to_owned();
        let scheme = HttpAuth { description, scheme: SCHEME.into(), bearer_format: None };
        vec![NamedScheme { name: "bearer".into(), scheme: SecurityScheme::HttpAuth(scheme) }]
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        names_scheme(headers, SCHEME)
    }

    fn authenticate<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
        let token = authorization(request.headers, SCHEME);
        let found = token.and_then(|token| self.0.find(token.as_bytes()).cloned());
        let found = found.ok_or(AuthRefusal::Invalid { reason: "unknown token" });
        Box::pin(std::future::ready(found))
    }

    fn challenge(&self, realm: &str, error: Option<&str>) -> String {
        challenge(SCHEME, realm, error)
    }
}
