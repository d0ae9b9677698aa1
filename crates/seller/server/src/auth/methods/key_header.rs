//! API keys in a header of their own.

use axum::http::{HeaderMap, HeaderName};
use futures_util::future::BoxFuture;
use tradepost_a2a::card::{ApiKeyAuth, ApiKeyLocation, SecurityScheme};

use super::secrets::SecretList;
use crate::auth::method::{AuthMethod, AuthRequest, NamedScheme};
use crate::auth::{AuthRefusal, Principal};

/// Accepts keys in a header of the request, such as `X-API-Key`.
///
/// ```
/// use axum::http::HeaderName;
/// use tradepost_server::auth::methods::ApiKeyHeader;
/// use tradepost_server::auth::{Authenticator, Principal};
/// use tradepost_server::permission::{Permission, Scopes};
///
/// let reader = Principal::new("reader", Scopes::only([Permission::TASKS_READ]));
/// let keys = ApiKeyHeader::new(HeaderName::from_static("x-api-key"))
///     .allow("a long random text", Principal::new("acme", Scopes::All))
///     .allow("another one", reader);
/// let auth = Authenticator::with_required_method("echo", keys);
/// assert_eq!(auth.requirements().len(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct ApiKeyHeader {
    header: HeaderName,
    keys: SecretList,
}

impl ApiKeyHeader {
    /// Creates a method without keys, for keys in this header.
    #[must_use]
    pub fn new(header: HeaderName) -> Self {
        Self { header, keys: SecretList::default() }
    }

    /// Adds a key of a caller.
    #[must_use]
    pub fn allow(mut self, key: &str, caller: Principal) -> Self {
        self.keys.add(key.as_bytes(), caller);
        self
    }
}

impl AuthMethod for ApiKeyHeader {
    fn schemes(&self) -> Vec<NamedScheme> {
        let description = "A key that the agent's operator has issued.".to_owned();
        let name = self.header.to_string();
        let scheme = ApiKeyAuth { description, location: ApiKeyLocation::Header, name };
        vec![NamedScheme { name: "key".into(), scheme: SecurityScheme::ApiKey(scheme) }]
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(&self.header)
    }

    fn authenticate<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
        let mut shown = request.headers.get_all(&self.header).iter();
        let key = shown.next().filter(|_| shown.next().is_none());
        let found = key.and_then(|key| self.keys.find(key.as_bytes()).cloned());
        let found = found.ok_or(AuthRefusal::Invalid { reason: "unknown key in a header" });
        Box::pin(std::future::ready(found))
    }

    /// Names the header. No scheme is registered for keys in a header, but a 401 answer has to name one.
    fn challenge(&self, realm: &str, _: Option<&str>) -> String {
        format!("ApiKey realm=\"{realm}\", header=\"{}\"", self.header)
    }
}
