//! Access tokens of an OpenID Connect provider, which are JSON Web Tokens.

use std::sync::Arc;

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use reqwest::Url;
use tradepost_a2a::card::{OpenIdConnectAuth, SecurityScheme};
use tradepost_document::json::{self, Value};

use super::issuer_client::IssuerClient;
use super::{bearer_token, challenge, names_scheme};
use crate::auth::jwks::Fetch;
use crate::auth::key::NoKeys;
use crate::auth::method::{AuthMethod, AuthRequest, NamedScheme};
use crate::auth::{AuthDeps, AuthRefusal, JwtSettings, KeySource, Principal, SCHEME, jwt};
use crate::clock::Clock;
use crate::fault::InternalError;

/// Path of a provider's metadata below its issuer (OpenID Connect Discovery 1.0 §4).
const METADATA_PATH: &str = "/.well-known/openid-configuration";

/// Accepts access tokens of an OpenID Connect provider: JSON Web Tokens that are signed with one of the keys that the
/// provider's metadata leads to, by RS256, ES256 or EdDSA. The keys are fetched when the first token arrives, and again
/// from time to time and for unknown keys. The claim `scope` has the permissions; a caller is named `jwt:` and the
/// token's subject.
///
/// ```no_run
/// use tradepost_server::auth::Authenticator;
/// use tradepost_server::auth::methods::OpenIdConnect;
/// use tradepost_server::clock::Clock;
///
/// # fn show() -> Result<(), Box<dyn std::error::Error>> {
/// let tokens = OpenIdConnect::open("https://login.example", "echo", &Clock::system())?;
/// let auth = Authenticator::with_required_method("echo", tokens);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OpenIdConnect {
    metadata_url: String,
    tokens: jwt::Verifier,
}

impl OpenIdConnect {
    /// Creates a method for the tokens of an issuer, as `iss` names it, for this audience.
    ///
    /// # Errors
    /// When the issuer is not an address that can be called: it has to begin with `https://`, except on this machine.
    pub fn open(issuer: &str, audience: &str, clock: &Clock) -> Result<Self, InternalError> {
        let metadata_url = format!("{}{METADATA_PATH}", issuer.trim_end_matches('/'));
        let url = Url::parse(&metadata_url)
            .map_err(InternalError::on("reading the address of the tokens' issuer"))?;
        let client = IssuerClient::from_url(&url)?;
        let web = Arc::new(DiscoveredKeys { issuer: issuer.to_owned(), client });
        let deps = AuthDeps { keys: Arc::new(NoKeys), web, clock: clock.clone() };
        let settings = JwtSettings {
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            keys: KeySource::Url(metadata_url.clone()),
            scope_claim: Some("scope".to_owned()),
        };
        Ok(Self { metadata_url, tokens: jwt::Verifier::open(settings, &deps)? })
    }
}

impl AuthMethod for OpenIdConnect {
    fn schemes(&self) -> Vec<NamedScheme> {
        let description = "An access token of the agent's OpenID Connect provider.".to_owned();
        let open_id_connect_url = self.metadata_url.clone();
        let scheme = OpenIdConnectAuth { description, open_id_connect_url };
        vec![NamedScheme { name: "openId".into(), scheme: SecurityScheme::OpenIdConnect(scheme) }]
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
            self.tokens.authenticate(token, request.now).await
        })
    }

    fn challenge(&self, realm: &str, error: Option<&str>) -> String {
        challenge(SCHEME, realm, error)
    }
}

/// Fetches the keys that a provider's metadata leads to.
#[derive(Debug)]
struct DiscoveredKeys {
    issuer: String,
    client: IssuerClient,
}

impl Fetch for DiscoveredKeys {
    fn fetch(&self, url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let metadata = self.client.fetch(url).await?;
            let metadata: Value = json::from_slice(&metadata)
                .map_err(|_| "the provider's metadata is not JSON".to_owned())?;
            let text = |name: &str| metadata.get(name).and_then(Value::as_str);
            // Otherwise another provider could lend its keys (OpenID Connect Discovery 1.0 §4.3).
            if text("issuer") != Some(&*self.issuer) {
                return Err("the provider's metadata is of another issuer".to_owned());
            }
            let keys = text("jwks_uri").and_then(|keys| Url::parse(keys).ok());
            let keys = keys.ok_or("the provider's metadata has no jwks_uri")?;
            // The same rule as for the issuer: TLS, except on this machine.
            IssuerClient::from_url(&keys).map_err(|fault| fault.chain())?.fetch(keys).await
        })
    }
}
