//! Signing in with an OpenID provider: authorization code with PKCE, and an id token that is believed by
//! the provider's keys alone (OpenID Connect Core §3.1). What a sign-in began with is in a cookie of the
//! browser, so that it ends where it began.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tradepost_buyer::Url;
use tradepost_buyer::transport::{HttpTransport, TransportLimits};
use tradepost_keys::jwt::{ExpectedClaims, TokenRefusal, UnverifiedToken};
use tradepost_keys::{encode, sha256};
use tradepost_server::auth::jwks::IssuerKeys;
use tradepost_server::auth::{AuthDeps, KeySource};
use tradepost_server::fault::InternalError;
use tradepost_store::staff::StaffMember;
use tradepost_wire::json::{self, Value};

use super::address_places::AddressPlaces;
use super::request::digest;
use super::{PATH, password};
use crate::config::oidc::{Oidc, RoleGrant};

mod pages;

/// Where the provider sends people back to, below the console.
pub(super) const BACK: &str = "sign-in/oidc/back";

/// How long somebody may take at the provider.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// For how long it is remembered where the provider is.
const FRESH: SignedDuration = SignedDuration::from_mins(60);

/// For how long it is remembered that the provider cannot be used: whoever comes meanwhile need not wait for
/// it once more.
const AWAY_FOR: SignedDuration = SignedDuration::from_secs(30);

/// By how much the provider's clock may be behind ours.
const AUTH_TIME_LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// The longest name of a person.
const NAME: usize = 200;

/// What a request to the provider may cost.
const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(10),
    connect: Duration::from_secs(5),
    max_body: 256 * 1024,
};

/// Number of sign-ins that wait for the provider at once. Whoever comes beyond it hears that it cannot be
/// reached: one that answers nobody keeps few waiting, and no thread.
const ASKING_AT_ONCE: usize = 32;

/// Number of codes that one address, or one IPv6 network of 64 bits, may have redeemed at once.
const EXCHANGES_PER_ADDRESS: usize = 4;

/// Time that a step of a sign-in may take at the provider, all its requests together.
const DEADLINE: Duration = Duration::from_secs(15);

/// A provider.
#[derive(Debug)]
pub(super) struct OidcProvider {
    pub(super) settings: Oidc,
    secret: String,
    /// Where people come back, as the provider knows it.
    back: String,
    transport: HttpTransport,
    means: AuthDeps,
    /// Whoever holds it is finding out.
    found: tokio::sync::Mutex<Option<(Timestamp, Discovered)>>,
    /// Places for sign-ins that ask the provider.
    asking: Semaphore,
    /// Those of them that redeem a code, by address.
    exchanging: AddressPlaces,
    /// The sign-ins that have ended, each with when it began: none ends twice.
    ended: Mutex<BTreeMap<String, Timestamp>>,
}

/// Where the provider is, or why that could not be found out.
type Discovered = Result<Arc<ProviderAddresses>, String>;

/// Where the provider is.
#[derive(Debug)]
struct ProviderAddresses {
    authorize: Url,
    token: Url,
    keys: IssuerKeys,
}

/// A sign-in that has begun: what its cookie says, of which everything else is made.
#[derive(Debug)]
pub(super) struct StartedSignIn {
    pub(super) cookie: String,
    at: Timestamp,
    /// The session of somebody who is in and signs in anew, to prove that it is still the same person.
    pub(super) renews: Option<String>,
    /// Where somebody wanted to go.
    pub(super) next: String,
}

/// Whom the provider vouches for.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) name: String,
    /// What they may, if anything.
    pub(super) grant: Option<RoleGrant>,
    /// When they gave a password or the like there, where the provider says so.
    pub(super) signed_in_at: Option<Timestamp>,
}

impl Vouched {
    /// The same as somebody who may come in, who has no password.
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

/// Why nobody is believed who came back from the provider. The reasons are for the log, and say nothing of
/// what the provider or the browser said.
#[derive(Debug)]
pub(super) enum RedeemFailure {
    /// It is no sign-in that this browser began, or one that has ended. The provider was not asked.
    NotOurs(&'static str),
    /// The provider, or a place to ask it, could not be had.
    ProviderAway(String),
    /// The provider does not vouch for whoever came back, or not in a way that is believed.
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
    /// Begins one. `next` is a page of ours, or nothing; `renews` the id of a session.
    pub(super) fn fresh(
        now: Timestamp,
        next: &str,
        renews: Option<String>,
    ) -> Result<Self, InternalError> {
        let session = renews.as_deref().unwrap_or_default();
        let cookie = format!("{}.{}.{session}.{next}", now.as_second(), password::token()?);
        Ok(Self { cookie, at: now, renews, next: next.to_owned() })
    }

    /// The one of a cookie, unless it is too old.
    pub(super) fn read(cookie: &str, now: Timestamp) -> Option<Self> {
        // The page comes last, because it may have dots of its own.
        let mut parts = cookie.splitn(4, '.');
        let at = Timestamp::from_second(parts.next()?.parse().ok()?).ok()?;
        parts.next()?;
        let session = parts.next()?;
        let renews = Some(session.to_owned()).filter(|id| !id.is_empty());
        let next = parts.next()?.to_owned();
        let age = now.duration_since(at);
        // A moment to come was not written here, and would make a sign-in last for as long as
        // somebody likes.
        let is_fresh = !age.is_negative() && age < PATIENCE;
        is_fresh.then(|| Self { cookie: cookie.to_owned(), at, renews, next })
    }

    fn part(&self, purpose: &str) -> String {
        // Of one secret three, none of which leads to another: the state stands in addresses, and
        // must not give away the verifier by which a code is redeemed.
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
    /// Sets it up. `base` is where browsers reach the console.
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
            back: format!("{base}{PATH}/{BACK}"),
            transport: HttpTransport::new(LIMITS),
            means: means.clone(),
            found: tokio::sync::Mutex::default(),
            asking: Semaphore::new(ASKING_AT_ONCE),
            exchanging: AddressPlaces::new(EXCHANGES_PER_ADDRESS),
            ended: Mutex::default(),
            settings,
        })
    }

    /// Asks the provider for something, when there is a place for it and within a deadline.
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

    /// Where a browser goes to sign in.
    ///
    /// # Errors
    /// Why nobody can, for the log.
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
            // The provider asks the person anew, and says when (OpenID Connect Core §3.1.2.1).
            url.query_pairs_mut().append_pair("prompt", "login").append_pair("max_age", "0");
        }
        Ok(url.into())
    }

    /// Whom the provider vouches for, by the code with which a browser came back.
    ///
    /// # Errors
    /// Why nobody is believed.
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
        // Before the provider is asked: of two that come at once one goes on, and one that fails
        // from here on is not tried again.
        if !self.end(begun) {
            return Err(RedeemFailure::NotOurs("it has ended before"));
        }
        let claims = self.in_time(self.said(begun, code)).await?;
        let nonce = claims.get("nonce").and_then(Value::as_str).unwrap_or_default();
        let is_same: bool = nonce.as_bytes().ct_eq(begun.nonce().as_bytes()).into();
        if !is_same {
            return Err(RedeemFailure::refused("the token is of another sign-in"));
        }
        self.vouched(&claims).map_err(RedeemFailure::Refused)
    }

    /// What the provider says of whoever came back with this code.
    async fn said(&self, begun: &StartedSignIn, code: &str) -> Result<Value, RedeemFailure> {
        let found = self.found().await.map_err(RedeemFailure::ProviderAway)?;
        let token = self.exchange(&found, begun, code).await?;
        self.claims(&found, &token).await
    }

    /// Notes that a sign-in ends; `false` when it has ended before.
    fn end(&self, begun: &StartedSignIn) -> bool {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.means.clock.now();
        // Older ones are refused by their age, so that they need not be remembered.
        ended.retain(|_, at| now.duration_since(*at) < PATIENCE);
        ended.insert(begun.state(), begun.at).is_none()
    }

    /// Where the provider is, as it publishes itself (OpenID Connect Discovery §4).
    async fn found(&self) -> Discovered {
        let mut known = self.found.lock().await;
        let now = self.means.clock.now();
        if let Some((at, found)) = known.as_ref() {
            let lasts = if found.is_ok() { FRESH } else { AWAY_FOR };
            if now.duration_since(*at) < lasts {
                return found.clone();
            }
        }
        // With the lock held: whoever comes meanwhile waits for this answer and does not ask for
        // another.
        let found = self.discover().await.map(Arc::new);
        *known = Some((now, found.clone()));
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
        // OpenID Connect Discovery §4.3: one provider must not be able to speak for another.
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err("the provider publishes another issuer".to_owned());
        }
        let address = |name: &str| {
            let url = document.get(name).and_then(Value::as_str).and_then(|it| Url::parse(it).ok());
            // A provider on this machine may do without TLS, and nobody else.
            let is_here =
                |url: &Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
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

    /// The id token that the provider gives for a code.
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

    /// Who we are to the provider (RFC 6749 §2.3.1).
    fn credentials(&self) -> HeaderValue {
        let escaped =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", escaped(&self.settings.client_id), escaped(&self.secret));
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        let value = HeaderValue::from_str(&format!("Basic {encoded}"));
        value.unwrap_or_else(|_| unreachable!("base64 is plain text"))
    }

    /// What an id token says, when it is to be believed (OpenID Connect Core §3.1.3.7).
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
        let several = claims.get("aud").and_then(Value::as_array).is_some_and(|it| it.len() > 1);
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
            !name.is_empty() && name.len() <= NAME && !name.contains(char::is_control)
        };
        let name = name.filter(is_name).ok_or("the token has no usable name")?;
        let held = held(claims, &self.settings.role_claim);
        let granted = |grant: &&RoleGrant| held.contains(&grant.value.as_str());
        // People of the console have names without a colon.
        let name = format!("oidc:{name}");
        let signed_in_at = claims.get("auth_time").and_then(Value::as_i64);
        let signed_in_at = signed_in_at.and_then(|at| Timestamp::from_second(at).ok());
        let grant = self.settings.grants.iter().find(granted).cloned();
        Ok(Vouched { name, grant, signed_in_at })
    }
}

/// The texts of a claim, which may stand inside of others: `realm_access.roles`.
fn held<'c>(claims: &'c Value, name: &str) -> Vec<&'c str> {
    let inside = || name.split('.').try_fold(claims, |value, step| value.get(step));
    // As a whole first: claims that are named by an address have dots in them, and lead nowhere.
    match claims.get(name).or_else(inside) {
        Some(Value::String(text)) => text.split(' ').collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}
