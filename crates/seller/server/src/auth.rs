//! Authentication: turns a bearer credential or a client certificate into a [`Principal`], or
//! refuses it.
//!
//! The refusal does not tell how close a credential was: an unknown, a revoked, a malformed and a
//! wrong one are all [`AuthRefusal::Invalid`], and only the log has the reason. Every binding calls
//! [`Authenticator::authenticate`] after the transport limits and before it reads the request.
// The order of checks is that of docs/requirements/aap.md, "Which code wins".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
pub use group::GroupMember;
use jiff::Timestamp;
use key::KeyLookup;
use method::{AuthMethod, AuthRequest, stronger, strongest};
use tradepost_a2a::card::{SecurityRequirement, SecurityScheme};

use crate::card;
use crate::clock::Clock;
use crate::fault::InternalError;
use crate::limit::{ExhaustedCallers, FAILURES, LimitKey, Limiter, RateLimitExceeded};
use crate::permission::{Permission, Scopes};
use crate::tls::client::{CertificateSubject, ClientCertificate};

pub mod agreement;
mod answers;
mod group;
pub mod jwks;
pub mod jwt;
pub mod key;
pub mod key_cache;
pub mod method;
pub mod methods;
pub mod permit;

/// The HTTP authentication scheme of every credential in the header `Authorization`.
pub const SCHEME: &str = "Bearer";

/// Scheme name in a challenge for a TLS client certificate. No scheme is registered for it, but a
/// 401 answer has to name one (RFC 9110 §15.5.2); this is the name in the IETF's drafts.
pub const CERTIFICATE_SCHEME: &str = "ClientCertificate";

/// Name of callers without a credential. No credential can have it.
pub const ANONYMOUS: &str = "anonymous";

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Name for limits, leads and idempotency keys: the name of an API key, or `jwt:` and a token's
    /// subject, or `mtls:` and a certificate's configured name.
    pub name: String,
    /// Permissions.
    pub scopes: Scopes,
}

impl Principal {
    /// Creates the principal of a caller with a name and permissions.
    #[must_use]
    pub fn new(name: impl Into<String>, scopes: Scopes) -> Self {
        Self { name: name.into(), scopes }
    }

    /// Creates the principal of callers without a credential, with all permissions.
    // Anonymous access is the default of AAP (C-36).
    #[must_use]
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), scopes: Scopes::All }
    }

    /// Restricts the principal to read-only permissions.
    #[must_use]
    pub fn reading(self) -> Self {
        Self { scopes: Scopes::Reading, ..self }
    }

    /// Returns true for callers without a credential.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS
    }
}

/// Bearer credential of a request. Its debug form hides it, so that it cannot reach a log.
#[derive(Clone)]
pub struct ShownCredential(String);

impl ShownCredential {
    /// Reads the credential of these headers. `None` unless exactly one can be read.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = credential(headers).ok().flatten()?;
        Some(Self(text.to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ShownCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownCredential(hidden)")
    }
}

/// Reason why a caller is refused.
#[derive(Debug)]
pub enum AuthRefusal {
    /// No credential, and the agent requires one.
    Missing,
    /// An unknown credential.
    Invalid {
        /// Details for the log, never for the caller.
        reason: &'static str,
    },
    /// An expired credential.
    Expired,
    /// A valid credential without the necessary permission.
    Scope {
        /// The missing permission.
        missing: Permission,
    },
    /// A caller without a credential on a web page whose visitors may only read.
    Page,
    /// Too many failures from this address.
    Limited(RateLimitExceeded),
    /// The store or the token issuer is unavailable. The fault is transient, because nothing is
    /// known against the caller.
    Unavailable(InternalError),
}

impl AuthRefusal {
    /// Converts a fault, for `map_err`.
    pub fn unavailable(fault: InternalError) -> Self {
        Self::Unavailable(fault.transient())
    }
}

/// Authentication settings of an agent. The default accepts callers without credentials.
// Anonymous access is the default of AAP (C-36).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthSettings {
    /// True when callers without a credential are refused. Then there is at least one scheme.
    pub required: bool,
    /// True when API keys of the agent are accepted ([`key`]).
    pub api_keys: bool,
    /// Issuer whose access tokens are accepted.
    pub jwt: Option<JwtSettings>,
    /// Accepted client certificates; the first that matches counts. They are requested when the
    /// process has a `client_ca`.
    pub certificates: Vec<KnownCertificate>,
}

impl AuthSettings {
    /// Returns true when a credential in the header `Authorization` can be valid.
    #[must_use]
    pub fn takes_bearer(&self) -> bool {
        self.api_keys || self.jwt.is_some()
    }
}

/// One or more client certificates, identified by a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCertificate {
    /// Name of the client.
    pub name: String,
    /// Field that identifies the certificate.
    pub subject: CertificateSubject,
    /// Permissions.
    pub scopes: Scopes,
}

/// Access tokens of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtSettings {
    /// Exact value of the claim `iss`.
    pub issuer: String,
    /// Value that the claim `aud` must contain.
    pub audience: String,
    /// Source of the issuer's public keys.
    pub keys: KeySource,
    /// Claim that lists a token's scopes; when `None` a token has every scope.
    pub scope_claim: Option<String>,
}

/// Source of a JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file, which is read again when it changes.
    File(PathBuf),
    /// A web address, over TLS except on this machine.
    Url(String),
}

/// Dependencies of authentication.
#[derive(Debug, Clone)]
pub struct AuthDeps {
    /// Lookup of API keys.
    pub keys: Arc<dyn KeyLookup>,
    /// Client that fetches keys of token issuers.
    pub web: Arc<dyn jwks::Fetch>,
    /// Clock.
    pub clock: Clock,
}

impl AuthDeps {
    /// Creates dependencies without network, for agents that accept no tokens, or those of issuers
    /// whose keys are in files.
    #[must_use]
    pub fn offline(keys: Arc<dyn KeyLookup>, clock: Clock) -> Self {
        Self { keys, web: Arc::new(jwks::NoFetch), clock }
    }
}

/// Authenticates the callers of one agent.
#[derive(Debug)]
pub struct Authenticator {
    agent_id: String,
    policy: AuthSettings,
    keys: Arc<dyn KeyLookup>,
    tokens: Option<jwt::Verifier>,
    known: Vec<(&'static str, Principal)>,
    methods: Vec<Arc<dyn AuthMethod>>,
    /// Agents whose callers are accepted.
    group: Vec<Arc<dyn GroupMember>>,
    failures: Limiter,
    /// Addresses that have used up their failures, whose credentials no agent of the group looks up.
    exhausted: ExhaustedCallers,
    /// Rate limit for log entries about credentials that could not be checked, per address.
    unjudged: Limiter,
}

impl Authenticator {
    /// Creates an authenticator for an agent.
    ///
    /// # Errors
    /// When the file with the keys of a token issuer cannot be read.
    pub fn open(
        agent_id: &str,
        policy: AuthSettings,
        deps: &AuthDeps,
    ) -> Result<Self, InternalError> {
        let tokens = policy.jwt.clone().map(|jwt| jwt::Verifier::open(jwt, deps)).transpose()?;
        let failures = Limiter::new(FAILURES, deps.clock.clone());
        let exhausted = ExhaustedCallers::new(deps.clock.clone());
        let unjudged = Limiter::new(FAILURES, deps.clock.clone());
        let keys = Arc::clone(&deps.keys);
        let agent_id = agent_id.to_owned();
        let known = Vec::new();
        let methods = Vec::new();
        let group = Vec::new();
        Ok(Self {
            agent_id,
            policy,
            keys,
            tokens,
            known,
            methods,
            group,
            failures,
            exhausted,
            unjudged,
        })
    }

    /// Creates an authenticator that accepts every caller.
    #[must_use]
    pub fn open_to_all(agent_id: &str) -> Self {
        let deps = AuthDeps::offline(Arc::new(key::NoKeys), Clock::system());
        let open = Self::open(agent_id, AuthSettings::default(), &deps);
        open.unwrap_or_else(|_| unreachable!("without tokens there is no file to read"))
    }

    /// Creates an authenticator that refuses callers without a credential of this method, or of one that is added.
    #[must_use]
    pub fn with_required_method(agent_id: &str, method: impl AuthMethod + 'static) -> Self {
        let mut authenticator = Self::open_to_all(agent_id).with_method(method);
        authenticator.policy.required = true;
        authenticator
    }

    /// Adds a way of authentication, one of [`methods`] or another.
    #[must_use]
    pub fn with_method(mut self, method: impl AuthMethod + 'static) -> Self {
        self.methods.push(Arc::new(method));
        self
    }

    /// Returns the security schemes that it accepts, for the agent's card. A name that two methods have gets a number.
    #[must_use]
    pub fn schemes(&self) -> BTreeMap<Cow<'static, str>, SecurityScheme> {
        let mut all = card::schemes(&self.policy);
        for named in self.methods.iter().flat_map(|method| method.schemes()) {
            let numbered = |number: u32| match number {
                1 => named.name.clone(),
                _ => Cow::Owned(format!("{}{number}", named.name)),
            };
            let free = (1..).map(numbered).find(|name| !all.contains_key(name));
            all.extend(free.map(|name| (name, named.scheme)));
        }
        all
    }

    /// Returns the security requirements for the agent's card: any one scheme is sufficient, and none is necessary
    /// where callers without a credential are accepted.
    #[must_use]
    pub fn requirements(&self) -> Vec<SecurityRequirement> {
        if !self.policy.required {
            return Vec::new();
        }
        card::any_of(self.schemes().into_keys())
    }

    /// Returns true when callers without a credential are refused.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.policy.required
    }

    /// Returns the id of the agent.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// Adds credentials that are not secret, for an agent without anything to protect.
    #[must_use]
    pub fn with_tokens(self, known: Vec<(&'static str, Principal)>) -> Self {
        Self { known, ..self }
    }

    /// Authenticates a request by its headers, its address and the client certificate of its
    /// connection. A credential in the header wins over the certificate, which a client may present
    /// to every server.
    ///
    /// # Errors
    /// The reason for the refusal. The failure has been logged and counted.
    pub async fn authenticate(
        &self,
        address: IpAddr,
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
        now: Timestamp,
    ) -> Result<Principal, AuthRefusal> {
        let outcome = self.judge(AuthRequest { headers, address, certificate, now }).await;
        outcome.map_err(|denied| self.record(address, denied))
    }

    /// Authenticates a request without logging or counting a failure, for a caller whose credential may be that of
    /// another agent.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub async fn judge(&self, request: AuthRequest<'_>) -> Result<Principal, AuthRefusal> {
        match self.authenticate_by_methods(request).await {
            Some(Ok(principal)) => Ok(principal),
            Some(Err(refused)) => match self.authenticate_by_settings(request).await {
                Some(Ok(principal)) => Ok(principal),
                Some(Err(other)) => Err(stronger(refused, other)),
                None => Err(refused),
            },
            None => match self.authenticate_by_settings(request).await {
                Some(outcome) => outcome,
                None if self.policy.required => Err(AuthRefusal::Missing),
                None => Ok(Principal::anonymous()),
            },
        }
    }

    /// Authenticates a request by the methods whose credential it has; `None` when it has none.
    async fn authenticate_by_methods(
        &self,
        request: AuthRequest<'_>,
    ) -> Option<Result<Principal, AuthRefusal>> {
        let mut refused: Option<AuthRefusal> = None;
        for method in self.methods.iter().filter(|method| method.is_shown(request.headers)) {
            match method.authenticate(request).await {
                Ok(principal) => return Some(Ok(principal)),
                Err(other) => refused = Some(strongest(refused, other)),
            }
        }
        refused.map(Err)
    }

    /// Authenticates a request by the settings; `None` when it has no credential of their kinds.
    async fn authenticate_by_settings(
        &self,
        request: AuthRequest<'_>,
    ) -> Option<Result<Principal, AuthRefusal>> {
        if !self.group.is_empty() {
            return self.authenticate_by_group(request).await;
        }
        let AuthRequest { headers, certificate, now, .. } = request;
        // Where the agent accepts no bearer credentials, the header is ignored, because a proxy may
        // have added it.
        let bearer = if self.policy.takes_bearer() { credential(headers) } else { Ok(None) };
        let certificate = certificate.filter(|_| !self.policy.certificates.is_empty());
        match (bearer, certificate) {
            (Ok(Some(credential)), _) => Some(self.authenticate_credential(credential, now).await),
            (Ok(None), Some(certificate)) => Some(self.authenticate_certificate(certificate, now)),
            (Ok(None), None) => None,
            (Err(reason), _) => Some(Err(AuthRefusal::Invalid { reason })),
        }
    }

    /// Returns true when a request has a credential of an accepted kind, valid or not.
    #[must_use]
    pub fn is_shown(&self, headers: &HeaderMap, certificate: Option<&ClientCertificate>) -> bool {
        self.policy.takes_bearer() && headers.contains_key(header::AUTHORIZATION)
            || certificate.is_some() && !self.policy.certificates.is_empty()
            || self.methods.iter().any(|method| method.is_shown(headers))
    }

    /// Removes expired rate-limit entries.
    pub fn tidy(&self) {
        self.failures.tidy();
        self.exhausted.tidy();
        self.unjudged.tidy();
    }

    /// Authenticates a bearer credential: one of the public tokens (`with_tokens`), an API key, or an issuer's token.
    async fn authenticate_credential(
        &self,
        credential: &str,
        now: Timestamp,
    ) -> Result<Principal, AuthRefusal> {
        // Not compared in constant time, because these credentials are not secret (see
        // `with_tokens`).
        if let Some((_, principal)) = self.known.iter().find(|(known, _)| *known == credential) {
            return Ok(principal.clone());
        }
        // No token has this prefix: a JWS begins with its header, whose `{` encodes to an `e`.
        if self.policy.api_keys && credential.starts_with(key::PREFIX) {
            return key::authenticate(&*self.keys, &self.agent_id, credential, now);
        }
        match &self.tokens {
            Some(tokens) => tokens.authenticate(credential, now).await,
            None => Err(AuthRefusal::Invalid { reason: "malformed key" }),
        }
    }

    /// Authenticates a client certificate by its subject.
    fn authenticate_certificate(
        &self,
        certificate: &ClientCertificate,
        now: Timestamp,
    ) -> Result<Principal, AuthRefusal> {
        // Checked again, because the handshake may have been hours ago.
        if certificate.has_expired(now) {
            return Err(AuthRefusal::Expired);
        }
        let known = self.policy.certificates.iter().find(|known| certificate.is(&known.subject));
        let known = known.ok_or(AuthRefusal::Invalid { reason: "unknown certificate" })?;
        // Neither an API key (see `key::is_name`) nor a token can have this name.
        let name = format!("mtls:{}", known.name);
        Ok(Principal { name, scopes: known.scopes.clone() })
    }

    /// Logs and counts a failure, without the credential. A credential that could not be checked
    /// does not count as a failure.
    fn record(&self, address: IpAddr, denied: AuthRefusal) -> AuthRefusal {
        let reason = match &denied {
            AuthRefusal::Missing => "no credential",
            AuthRefusal::Invalid { reason } => reason,
            AuthRefusal::Expired => "expired",
            AuthRefusal::Scope { .. } => "scope missing",
            AuthRefusal::Page => "a web page",
            AuthRefusal::Unavailable(fault) => {
                // Rate-limited, so that callers cannot fill the log.
                if self.unjudged.admit(&LimitKey::address(address)).is_ok() {
                    let cause = fault.chain();
                    tracing::warn!(agent = %self.agent_id, cause, "a credential could not be judged");
                }
                return denied;
            }
            AuthRefusal::Limited(_) => return denied,
        };
        let caller = LimitKey::address(address);
        match self.failures.admit(&caller) {
            Ok(()) => {
                tracing::warn!(agent = %self.agent_id, reason, "authentication failed");
                denied
            }
            Err(exceeded) => {
                if !self.group.is_empty() {
                    self.exhausted.note(caller, exceeded);
                }
                AuthRefusal::Limited(exceeded)
            }
        }
    }
}

/// Returns the bearer credential of a request, or the defect of the header.
fn credential(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else {
        return Ok(None);
    };
    // Several headers are refused, because a proxy in front may have checked another one.
    if sent.next().is_some() {
        return Err("several credentials");
    }
    let text = value.to_str().map_err(|_| "malformed header")?;
    let (scheme, credential) = text.trim().split_once(' ').ok_or("malformed header")?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err("another scheme");
    }
    Some(credential.trim()).filter(|text| !text.is_empty()).map(Some).ok_or("malformed header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_credential_is_one_header_with_one_scheme() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            credential(&headers).map(|text| text.map(str::to_owned))
        };
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["Bearer abc"]), Ok(Some("abc".to_owned())));
        assert_eq!(read(&["bEARER   abc "]), Ok(Some("abc".to_owned())));
        assert_eq!(read(&["Bearer"]), Err("malformed header"));
        assert_eq!(read(&["Bearer "]), Err("malformed header"));
        assert_eq!(read(&[""]), Err("malformed header"));
        assert_eq!(read(&["Basic abc"]), Err("another scheme"));
        assert_eq!(read(&["Bearer a", "Bearer b"]), Err("several credentials"));
    }

    /// A key store that can be made unavailable.
    #[derive(Debug, Default)]
    struct UnavailableKeys(std::sync::atomic::AtomicBool);

    impl KeyLookup for UnavailableKeys {
        fn find(&self, _: &str, _: &str) -> Result<Option<key::ApiKey>, InternalError> {
            match self.0.load(std::sync::atomic::Ordering::Relaxed) {
                true => Err(InternalError::new("looking a key up", "there are too many sessions")),
                false => Ok(None),
            }
        }

        fn note_use(&self, _: &str, _: jiff::civil::Date) {}
    }

    #[tokio::test]
    async fn a_credential_that_nobody_could_judge_counts_against_nobody() {
        let keys = Arc::new(UnavailableKeys::default());
        let deps = AuthDeps::offline(Arc::clone(&keys) as _, Clock::system());
        let policy = AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
        let authenticator = Authenticator::open("shop", policy, &deps).unwrap();
        let shown = key::NewApiKey::generate().unwrap().text;
        let headers = HeaderMap::from_iter([(
            header::AUTHORIZATION,
            format!("Bearer {shown}").parse().unwrap(),
        )]);
        let ask = async || {
            let address = IpAddr::from([192, 0, 2, 1]);
            authenticator
                .authenticate(address, &headers, None, Timestamp::UNIX_EPOCH)
                .await
                .unwrap_err()
        };
        keys.0.store(true, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..50 {
            assert!(matches!(ask().await, AuthRefusal::Unavailable(_)));
        }
        keys.0.store(false, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..FAILURES.requests {
            assert!(matches!(ask().await, AuthRefusal::Invalid { .. }));
        }
        assert!(matches!(ask().await, AuthRefusal::Limited(_)), "what is wrong counts");
    }
}
