//! Access tokens that their authorization server is asked about (RFC 7662).

use std::fmt;

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use reqwest::Url;
use tradepost_a2a::card::{OAuth2Auth, OAuthFlow, SecurityScheme};
use tradepost_document::json::{self, Value};

use super::issuer_client::IssuerClient;
use super::{bearer_token, challenge, names_scheme};
use crate::auth::jwt::granted;
use crate::auth::method::{AuthMethod, AuthRequest, NamedScheme};
use crate::auth::{AuthRefusal, Principal, SCHEME};
use crate::fault::InternalError;
use crate::permission::Scopes;

/// What an internal error was about.
const WHAT: &str = "asking an authorization server about a token";

/// Accepts access tokens of an OAuth 2.0 authorization server, which is asked about each token with each request, so
/// that a revocation takes effect at once. The members `scope` of its answers are the permissions; a caller is named
/// `oauth:` and the `sub` of the token, or its `client_id` where it has none.
///
/// ```no_run
/// use tradepost_server::a2a::card::OAuthFlow;
/// use tradepost_server::auth::Authenticator;
/// use tradepost_server::auth::methods::TokenIntrospection;
///
/// # fn show(secret: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let flow = OAuthFlow::ClientCredentials {
///     token_url: "https://login.example/token".to_owned(),
///     scopes: [("tasks:write".to_owned(), "Sending messages".to_owned())].into(),
/// };
/// let server = "https://login.example/introspect";
/// let tokens = TokenIntrospection::new(server, "echo", secret, flow)?.for_audience("echo");
/// let auth = Authenticator::with_required_method("echo", tokens);
/// # Ok(())
/// # }
/// ```
pub struct TokenIntrospection {
    endpoint: Url,
    authorization: String,
    client: IssuerClient,
    audience: Option<String>,
    flow: OAuthFlow,
}

impl fmt::Debug for TokenIntrospection {
    /// Leaves out the client's secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.endpoint.host_str();
        f.debug_struct("TokenIntrospection").field("host", &host).finish_non_exhaustive()
    }
}

impl TokenIntrospection {
    /// Creates a method for the introspection endpoint of a server, at which this agent is a client with an id and a
    /// secret. `flow` says on the card how callers get a token.
    ///
    /// # Errors
    /// When the address cannot be called: it has to begin with `https://`, except on this machine.
    pub fn new(
        endpoint: &str,
        client_id: &str,
        client_secret: &str,
        flow: OAuthFlow,
    ) -> Result<Self, InternalError> {
        let endpoint = Url::parse(endpoint)
            .map_err(InternalError::on("reading the address of token introspection"))?;
        let client = IssuerClient::from_url(&endpoint)?;
        // Both are encoded as form values before they are joined (RFC 6749 §2.3.1).
        let encoded =
            |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
        let both = format!("{}:{}", encoded(client_id), encoded(client_secret));
        let authorization = format!("Basic {}", STANDARD.encode(both));
        Ok(Self { endpoint, authorization, client, audience: None, flow })
    }

    /// Accepts only tokens whose `aud` has this value.
    #[must_use]
    pub fn for_audience(self, audience: &str) -> Self {
        Self { audience: Some(audience.to_owned()), ..self }
    }

    /// Returns the principal of a token that the authorization server calls active (RFC 7662), unless it has expired or is
    /// for another audience.
    async fn judge(&self, token: &str, now: Timestamp) -> Result<Principal, AuthRefusal> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("token_type_hint", "access_token")
            .finish();
        let unavailable = |cause: String| AuthRefusal::unavailable(InternalError::new(WHAT, cause));
        let endpoint = self.endpoint.clone();
        let body = self.client.post(endpoint, form, &self.authorization).await;
        let body = body.map_err(unavailable)?;
        let answer: Value = json::from_slice(&body)
            .map_err(|_| unavailable("the answer is not JSON".to_owned()))?;
        let is_active = answer.get("active").and_then(Value::as_bool);
        let is_active =
            is_active.ok_or_else(|| unavailable("the answer has no member active".to_owned()))?;
        if !is_active {
            return Err(AuthRefusal::Invalid { reason: "the token is not active" });
        }
        let end = answer.get("exp").and_then(Value::as_i64);
        if end.is_some_and(|end| end <= now.as_second()) {
            return Err(AuthRefusal::Expired);
        }
        let is_for_us = |audience: &String| match answer.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(audience)),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                false
            }
        };
        if !self.audience.as_ref().is_none_or(is_for_us) {
            return Err(AuthRefusal::Invalid { reason: "the token is for another audience" });
        }
        let text =
            |name: &str| answer.get(name).and_then(Value::as_str).filter(|value| !value.is_empty());
        let name = text("sub").or_else(|| text("client_id"));
        let name = name.ok_or(AuthRefusal::Invalid { reason: "the token names no caller" })?;
        let scopes = answer.get("scope").map(granted).unwrap_or_default();
        Ok(Principal::new(format!("oauth:{name}"), Scopes::Only(scopes)))
    }
}

impl AuthMethod for TokenIntrospection {
    fn schemes(&self) -> Vec<NamedScheme> {
        let description = "An access token of the agent's authorization server.".to_owned();
        let flows = self.flow.clone();
        let scheme = OAuth2Auth { description, flows, oauth2_metadata_url: None };
        vec![NamedScheme { name: "oauth2".into(), scheme: SecurityScheme::OAuth2(scheme) }]
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        names_scheme(headers, SCHEME)
    }

    fn authenticate<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
        Box::pin(async move {
            let token = bearer_token(request.headers)?;
            self.judge(token, request.now).await
        })
    }

    fn challenge(&self, realm: &str, error: Option<&str>) -> String {
        challenge(SCHEME, realm, error)
    }
}
