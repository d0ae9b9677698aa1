//! Names and passwords (RFC 7617).

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use tradepost_a2a::card::{HttpAuth, SecurityScheme};
use tradepost_document::format::base64;

use super::secrets::SecretList;
use super::{authorization, challenge, names_scheme};
use crate::auth::method::{AuthMethod, AuthRequest, NamedScheme};
use crate::auth::{AuthRefusal, Principal};

/// The HTTP authentication scheme.
const BASIC: &str = "Basic";

/// Accepts names with passwords, in the header `Authorization` (HTTP basic authentication).
///
/// ```
/// use tradepost_server::auth::methods::BasicPasswords;
/// use tradepost_server::auth::{Authenticator, Principal};
/// use tradepost_server::permission::Scopes;
///
/// let ada = Principal::new("ada", Scopes::All);
/// let auth = Authenticator::with_required_method("echo", BasicPasswords::new().allow("a password", ada));
/// assert!(auth.schemes().contains_key("basic"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct BasicPasswords(SecretList);

impl BasicPasswords {
    /// Creates a list without passwords.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the password of a caller, whose name is that of the principal.
    #[must_use]
    pub fn allow(mut self, password: &str, caller: Principal) -> Self {
        self.0.add(format!("{}:{password}", caller.name).as_bytes(), caller);
        self
    }
}

impl AuthMethod for BasicPasswords {
    fn schemes(&self) -> Vec<NamedScheme> {
        let description = "A name and a password from the agent's operator.".to_owned();
        let scheme = HttpAuth { description, scheme: BASIC.into(), bearer_format: None };
        vec![NamedScheme { name: "basic".into(), scheme: SecurityScheme::HttpAuth(scheme) }]
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        names_scheme(headers, BASIC)
    }

    fn authenticate<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
        let shown = authorization(request.headers, BASIC).and_then(base64);
        let found = shown.and_then(|shown| self.0.find(&shown).cloned());
        let found = found.ok_or(AuthRefusal::Invalid { reason: "unknown name or password" });
        Box::pin(std::future::ready(found))
    }

    fn challenge(&self, realm: &str, _: Option<&str>) -> String {
        format!("{}, charset=\"UTF-8\"", challenge(BASIC, realm, None))
    }
}
