//! Sign-in with an OpenID provider: authorization code with PKCE, and an id token that is verified with
//! the provider's keys (OpenID Connect Core §3.1). A cookie ties the sign-in to the browser in which it
//! began.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tradepost_client::Url;
use tradepost_client::transport::{HttpTransport, TransportLimits};
use tradepost_document::backoff::Backoff;
use tradepost_document::http::own_page::is_loopback_host;
use tradepost_document::json::{self, Value};
use tradepost_document::stale::{StaleTerms, StaleValue};
use tradepost_keys::jwt::{ExpectedClaims, TokenRefusal, UnverifiedToken};
use tradepost_keys::{encode, sha256};
use tradepost_runtime::config::oidc::{Oidc, RoleGrant};
use tradepost_runtime::random;
use tradepost_server::auth::jwks::IssuerKeys;
use tradepost_server::auth::{AuthDeps, KeySource};
use tradepost_server::fault::InternalError;
use tradepost_store::staff::StaffMember;

use super::PATH;
use super::address_places::AddressPlaces;
use super::request::digest;

mod pages;

/// Path below the console to which the provider redirects.
pub(super) const CALLBACK_PATH: &str = "sign-in/oidc/back";

/// Maximum time between leaving for the provider and coming back.
const SIGN_IN_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Time for which the provider's metadata are cached.
const METADATA_LIFETIME: Duration = Duration::from_mins(60);

/// Time for which a failure to read the metadata is cached, so that later sign-ins do not wait for
/// another timeout.
const UNAVAILABLE_PAUSE: Duration = Duration::from_secs(30);

/// Terms of the provider's metadata. None serve when they are older: without the provider nobody can sign in
/// anyway.
const METADATA_TERMS: StaleTerms = StaleTerms {
    fresh_for: METADATA_LIFETIME,
    usable_for: METADATA_LIFETIME,
    pace: Duration::ZERO,
    waits: Backoff::constant(UNAVAILABLE_PAUSE),
};

/// Tolerance by which the provider's clock may be behind ours.
const AUTH_TIME_LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// Maximum length of a person's name in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Limits of a request to the provider.
const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(10),
    connect: Duration::from_secs(5),
    max_body: 256 * 1024,
};

/// Number of sign-ins that wait for the provider at once; beyond it, sign-ins are refused. A provider
/// that does not answer blocks only these, and no thread.
const MAX_CONCURRENT_REQUESTS: usize = 32;

/// Number of codes that one address, or one IPv6 network of 64 bits, may redeem at once.
const EXCHANGES_PER_ADDRESS: usize = 4;

/// Timeout of a step of a sign-in at the provider, for all its requests together.
const DEADLINE: Duration = Duration::from_secs(15);

/// An OpenID provider.
#[derive(Debug)]
pub(super) struct OidcProvider {
    pub(super) settings: Oidc,
    secret: String,
    /// Redirect URI that the provider knows.
    back: String,
    transport: HttpTransport,
    means: AuthDeps,
    /// Cached metadata; the lock is held while they are read.
    found: tokio::sync::Mutex<StaleValue<Arc<ProviderAddresses>, String>>,
    /// Limits the sign-ins that wait for the provider.
    asking: Semaphore,
    /// Limits the codes that are being redeemed, by address.
    exchanging: AddressPlaces,
    /// Sign-ins that have ended, each with the time of its begin: none can end twice.
    ended: Mutex<BTreeMap<String, Timestamp>>,
}

/// The provider's endpoints, or the reason why they could not be read.
type Discovered = Result<Arc<ProviderAddresses>, String>;

/// The provider's endpoints and keys.
#[derive(Debug)]
struct ProviderAddresses {
    authorize: Url,
    token: Url,
    keys: IssuerKeys,
}

/// A sign-in in progress. All its values are derived from its cookie.
#[derive(Debug)]
pub(super) struct StartedSignIn {
    pub(super) cookie: String,
    at: Timestamp,
    /// Session that is renewed, when a person who is signed in signs in anew to confirm their identity.
    pub(super) renews: Option<String>,
    /// Page to show after the sign-in.
    pub(super) next: String,
}

/// A person as confirmed by the provider.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) name: String,
    /// Role, if any.
    pub(super) grant: Option<RoleGrant>,
    /// Time at which they last authenticated there, if the provider reports it.
    pub(super) signed_in_at: Option<Timestamp>,
}

impl Vouched {
    /// Returns the person as a member without a password, if there is a role.
    pub(super) fn member(&self, now: Timestamp) -> Option<StaffMember> {
        let grant = self.grant.as_ref()?;
        Some(StaffMember {
            name: self.name.clone(),
            dealer_id: grant.dealer_id.clone(),
            role: grant.role,
            password: String::new(),
            created_at: now,
        })
    }
}

/// Reason why a sign-in at the provider failed. The texts are for the log, and repeat nothing from the
/// provider or the browser.
#[derive(Debug)]
pub(super) enum RedeemFailure {
    /// The browser did not begin this sign-in, or it has ended. The provider was not asked.
    NotOurs(&'static str),
    /// The provider did not answer, or too many sign-ins wait for it.
    ProviderAway(String),
    /// The provider does not confirm the person, or its token is not valid.
    Refused(String),
}

impl RedeemFailure {
    fn reason(&self) -> &str {
        match self {
            Self::NotOurs(reason) => reason,
            Self::ProviderAway(reason) | Self::Refused(reason) => reason,
        }
    }

    fn away(reason: impl Into<String>) -> Self {
        Self::ProviderAway(reason.into())
    }

    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }
}

impl StartedSignIn {
    /// Begins a sign-in. `next` is a page of the console, or empty; `renews` is the id of a session.
    pub(super) fn fresh(
        now: Timestamp,
        next: &str,
        renews: Option<String>,
    ) -> Result<Self, InternalError> {
        let session = renews.as_deref().unwrap_or_default();
        let cookie = format!("{}.{}.{session}.{next}", now.as_second(), random::token()?);
        Ok(Self { cookie, at: now, renews, next: next.to_owned() })
    }

    /// Reads a sign-in from its cookie, unless it is too old.
    pub(super) fn read(cookie: &str, now: Timestamp) -> Option<Self> {
        // The page is last, because it may contain dots.
        let mut parts = cookie.splitn(4, '.');
        let at = Timestamp::from_second(parts.next()?.parse().ok()?).ok()?;
        parts.next()?;
        let session = parts.next()?;
        let renews = Some(session.to_owned()).filter(|id| !id.is_empty());
        let next = parts.next()?.to_owned();
        let age = now.duration_since(at);
        // A time in the future was not written here, and would extend the sign-in.
        let is_fresh = !age.is_negative() && age < SIGN_IN_TIMEOUT;
        is_fresh.then(|| Self { cookie: cookie.to_owned(), at, renews, next })
    }

    fn part(&self, purpose: &str) -> String {
        // Three values from one secret, none of which reveals another: the state appears in URLs, and
        // must not reveal the verifier that redeems the code.
        encode(digest(purpose, &self.cookie))
    }

    fn state(&self) -> String {
        self.part("oidc state")
    }

    fn nonce(&self) -> String {
        self.part("oidc nonce")
    }

    fn verifier(&self) -> String {
        self.part("oidc verifier")
    }
}

impl OidcProvider {
    /// Opens a provider. `base` is the console's public address.
    ///
    /// # Errors
    /// When the secret cannot be read.
    pub(super) fn open(
        settings: Oidc,
        base: &str,
        means: &AuthDeps,
    ) -> Result<Self, InternalError> {
        let secret =
            settings.secret.read().map_err(InternalError::on("reading the secret of OIDC"))?;
        Ok(Self {
            secret,
            back: format!("{base}{PATH}/{CALLBACK_PATH}"),
            transport: HttpTransport::new(LIMITS),
            means: means.clone(),
            found: tokio::sync::Mutex::new(StaleValue::new(METADATA_TERMS)),
            asking: Semaphore::new(MAX_CONCURRENT_REQUESTS),
            exchanging: AddressPlaces::new(EXCHANGES_PER_ADDRESS),
            ended: Mutex::default(),
            settings,
        })
    }

    /// Runs requests to the provider, with the limit on waiting sign-ins and a timeout.
    async fn in_time<T>(
        &self,
        asking: impl Future<Output = Result<T, RedeemFailure>>,
    ) -> Result<T, RedeemFailure> {
        let place = self.asking.try_acquire();
        let _place =
            place.map_err(|_| RedeemFailure::away("too many sign-ins wait for the provider"))?;
        let answer = tokio::time::timeout(DEADLINE, asking).await;
        answer.unwrap_or_else(|_| Err(RedeemFailure::away("the provider takes too long")))
    }

    /// Returns the URL at the provider to which a browser is sent.
    ///
    /// # Errors
    /// The reason for the log, when the provider cannot be used.
    pub(super) async fn address(&self, begun: &StartedSignIn) -> Result<String, RedeemFailure> {
        let finding = async { self.found().await.map_err(RedeemFailure::ProviderAway) };
        let found = self.in_time(finding).await?;
        let mut url = found.authorize.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.back)
            .append_pair("scope", &self.settings.scope)
            .append_pair("state", &begun.state())
            .append_pair("nonce", &begun.nonce())
            .append_pair("code_challenge", &encode(sha256(begun.verifier().as_bytes())))
            .append_pair("code_challenge_method", "S256");
        if begun.renews.is_some() {
            // The provider authenticates the person again, and reports the time (OpenID Connect Core
            // §3.1.2.1).
            url.query_pairs_mut().append_pair("prompt", "login").append_pair("max_age", "0");
        }
        Ok(url.into())
    }

    /// Redeems the code with which a browser came back, and returns the person.
    ///
    /// # Errors
    /// The reason why the sign-in failed.
    pub(super) async fn redeem(
        &self,
        address: &str,
        begun: &StartedSignIn,
        state: &str,
        code: &str,
    ) -> Result<Vouched, RedeemFailure> {
        let is_same: bool = state.as_bytes().ct_eq(begun.state().as_bytes()).into();
        if !is_same {
            return Err(RedeemFailure::NotOurs("it is not the sign-in that this browser began"));
        }
        let place = self.exchanging.take(address);
        let _place = place.ok_or_else(|| {
            RedeemFailure::away("too many sign-ins of one address wait for the provider")
        })?;
        // Before the provider is asked: of two concurrent requests one continues, and a failed one cannot
        // be repeated.
        if !self.end(begun) {
            return Err(RedeemFailure::NotOurs("it has ended before"));
        }
        let claims = self.in_time(self.redeem_claims(begun, code)).await?;
        let nonce = claims.get("nonce").and_then(Value::as_str).unwrap_or_default();
        let is_same: bool = nonce.as_bytes().ct_eq(begun.nonce().as_bytes()).into();
        if !is_same {
            return Err(RedeemFailure::refused("the token is of another sign-in"));
        }
        self.vouched(&claims).map_err(RedeemFailure::Refused)
    }

    /// Exchanges the code and returns the claims of its id token.
    async fn redeem_claims(
        &self,
        begun: &StartedSignIn,
        code: &str,
    ) -> Result<Value, RedeemFailure> {
        let found = self.found().await.map_err(RedeemFailure::ProviderAway)?;
        let token = self.exchange(&found, begun, code).await?;
        self.claims(&found, &token).await
    }

    /// Marks a sign-in as ended; `false` when it had ended before.
    fn end(&self, begun: &StartedSignIn) -> bool {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.means.clock.now();
        // Older ones are refused by their age, so they can be forgotten.
        ended.retain(|_, at| now.duration_since(*at) < SIGN_IN_TIMEOUT);
        ended.insert(begun.state(), begun.at).is_none()
    }

    /// Returns the provider's endpoints from its metadata (OpenID Connect Discovery §4).
    async fn found(&self) -> Discovered {
        let mut known = self.found.lock().await;
        let now = self.means.clock.elapsed();
        if let Some(found) = known.fresh(now) {
            return Ok(Arc::clone(found));
        }
        if let Some(reason) = known.breaker().refusal(now) {
            return Err(reason.clone());
        }
        // With the lock held, so that concurrent sign-ins wait for this answer and do not ask again.
        let found = self.discover().await.map(Arc::new);
        match &found {
            Ok(found) => known.succeeded(now, Arc::clone(found)),
            Err(reason) => {
                known.failed(now, reason.clone());
            }
        }
        found
    }

    async fn discover(&self) -> Result<ProviderAddresses, String> {
        let issuer = &self.settings.issuer;
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let url = Url::parse(&address).map_err(|_| "the issuer is no address")?;
        let own = url.clone();
        let body = self.means.web.fetch(url).await?;
        let document = std::str::from_utf8(&body).ok().and_then(|text| json::read(text).ok());
        let document = document.ok_or("what the provider publishes of itself is no JSON")?;
        // OpenID Connect Discovery §4.3: one provider must not be able to impersonate another.
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err("the provider publishes another issuer".to_owned());
        }
        let address = |name: &str| {
            let url = document.get(name).and_then(Value::as_str);
            let url = url.and_then(|url| Url::parse(url).ok());
            // Only a provider on this machine may be used without TLS.
            let is_here = |url: &Url| url.host_str().is_some_and(is_loopback_host);
            let is_safe = |url: &Url| url.scheme() == "https" || is_here(&own) && is_here(url);
            url.filter(is_safe).ok_or_else(|| format!("the provider publishes no usable {name}"))
        };
        let keys = IssuerKeys::open(&KeySource::Url(address("jwks_uri")?.into()), &self.means);
        Ok(ProviderAddresses {
            authorize: address("authorization_endpoint")?,
            token: address("token_endpoint")?,
            keys: keys.map_err(|fault| fault.chain().to_string())?,
        })
    }

    /// Exchanges a code for the id token.
    async fn exchange(
        &self,
        found: &ProviderAddresses,
        begun: &StartedSignIn,
        code: &str,
    ) -> Result<String, RedeemFailure> {
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.back)
            .append_pair("code_verifier", &begun.verifier())
            .finish();
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, self.credentials());
        let posted = self.transport.post_form(&found.token, headers, body);
        let answer = posted.await.map_err(|failure| RedeemFailure::away(failure.to_string()))?;
        if answer.status >= 500 {
            let reason = format!("the provider answered the code with {}", answer.status);
            return Err(RedeemFailure::ProviderAway(reason));
        }
        if !answer.is_success() {
            let reason = format!("the provider refused the code with {}", answer.status);
            return Err(RedeemFailure::Refused(reason));
        }
        let text = std::str::from_utf8(&answer.body).unwrap_or_default();
        let document = json::read(text)
            .map_err(|_| RedeemFailure::refused("the provider's answer is no JSON"))?;
        let token = document.get("id_token").and_then(Value::as_str);
        token
            .map(str::to_owned)
            .ok_or_else(|| RedeemFailure::refused("the provider gave no id token"))
    }

    /// Returns the client's credentials (RFC 6749 §2.3.1).
    fn credentials(&self) -> HeaderValue {
        let escaped =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", escaped(&self.settings.client_id), escaped(&self.secret));
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        let value = HeaderValue::from_str(&format!("Basic {encoded}"));
        value.unwrap_or_else(|_| unreachable!("base64 is plain text"))
    }

    /// Verifies an id token and returns its claims (OpenID Connect Core §3.1.3.7).
    async fn claims(&self, found: &ProviderAddresses, token: &str) -> Result<Value, RedeemFailure> {
        let token = UnverifiedToken::read(token).map_err(RedeemFailure::refused)?;
        let keys = found.keys.find(token.key_id()).await;
        let keys = keys.map_err(|fault| RedeemFailure::away(fault.chain()))?;
        let fits = keys.iter().filter(|key| key.fits(token.key_id(), token.algorithm()));
        let keys: Vec<_> = fits.map(|key| &key.key).collect();
        let why = |refused| match refused {
            TokenRefusal::Expired => RedeemFailure::refused("the token has expired"),
            TokenRefusal::Invalid(reason) => RedeemFailure::refused(reason),
        };
        let claims = token.claims(&keys).map_err(why)?;
        let Oidc { issuer, client_id: audience, .. } = &self.settings;
        ExpectedClaims { issuer, audience }
            .subject(&claims, self.means.clock.now())
            .map_err(why)?;
        let audiences = claims.get("aud").and_then(Value::as_array);
        let several = audiences.is_some_and(|audiences| audiences.len() > 1);
        match claims.get("azp").and_then(Value::as_str) {
            Some(party) if party != audience => {
                Err(RedeemFailure::refused("the token was made for another"))
            }
            None if several => {
                Err(RedeemFailure::refused("the token does not say for whom it was made"))
            }
            Some(_) | None => Ok(claims),
        }
    }

    fn vouched(&self, claims: &Value) -> Result<Vouched, String> {
        let name = claims.get(&self.settings.name_claim).and_then(Value::as_str);
        let is_name = |name: &&str| {
            !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)
        };
        let name = name.filter(is_name).ok_or("the token has no usable name")?;
        let held = held(claims, &self.settings.role_claim);
        let granted = |grant: &&RoleGrant| held.contains(&grant.value.as_str());
        // Staff with a password have names without a colon.
        let name = format!("oidc:{name}");
        let signed_in_at = claims.get("auth_time").and_then(Value::as_i64);
        let signed_in_at = signed_in_at.and_then(|at| Timestamp::from_second(at).ok());
        let grant = self.settings.grants.iter().find(granted).cloned();
        Ok(Vouched { name, grant, signed_in_at })
    }
}

/// Returns the texts of a claim, which may be nested: `realm_access.roles`.
fn held<'c>(claims: &'c Value, name: &str) -> Vec<&'c str> {
    let inside = || name.split('.').try_fold(claims, |value, step| value.get(step));
    // As one name first: names of claims that are URLs contain dots.
    match claims.get(name).or_else(inside) {
        Some(Value::String(text)) => text.split(' ').collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}
