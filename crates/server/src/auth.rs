//! Who calls: a bearer credential or a client certificate becomes a [`Principal`], or the caller
//! hears why not.
//!
//! What a caller is told does not depend on how close it was: an unknown, a revoked, a malformed
//! and a wrong credential are all [`Denied::Invalid`], and only the log has the reason. Every
//! binding asks [`Authenticator::authenticate`], after the limits of the transport and before it
//! reads the request.
// requirements §2.1

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use key::Keys;
use tradepost_wire::a2a::error::{Code, Refusal};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::limit::{Exceeded, FAILURES, Key, Limiter};
use crate::permission::{Permission, Scopes};
use crate::tls::client::{ClientCertificate, Subject};

pub mod jwks;
pub mod jwt;
pub mod key;
pub mod known;
pub mod permit;

/// The HTTP authentication scheme of every credential in the header `Authorization`.
pub const SCHEME: &str = "Bearer";

/// What a challenge calls the showing of a certificate in the TLS handshake. No such scheme is
/// registered, but 401 has to name one (RFC 9110 §15.5.2); this is the name of the IETF's drafts.
pub const CERTIFICATE_SCHEME: &str = "ClientCertificate";

/// The name of those who have not said who they are. No credential can have it.
pub const ANONYMOUS: &str = "anonymous";

/// Somebody who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Under which name limits, leads and idempotency keys are kept. The name of an API key, or
    /// `jwt:` and a token's subject, or `mtls:` and a certificate's configured name.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
}

impl Principal {
    /// Everybody who has not said who they are. An agent that lets them in keeps nothing from
    /// them.
    // C-36
    #[must_use]
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), scopes: Scopes::All }
    }

    /// The same, who may read and change nothing.
    #[must_use]
    pub fn reading(self) -> Self {
        Self { scopes: Scopes::Reading, ..self }
    }

    /// Whether this is nobody in particular.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS
    }
}

/// Why a caller is not let in.
#[derive(Debug)]
pub enum Denied {
    /// There is no credential, and this agent wants one.
    Missing,
    /// The credential is not one of ours.
    Invalid {
        /// What is wrong with it: for the log, never for the caller.
        reason: &'static str,
    },
    /// The credential was good and is no longer.
    Expired,
    /// The credential is good, but not for this.
    Scope {
        /// What it lacks.
        missing: Permission,
    },
    /// It comes by a web page whose visitors may only read here, and without a credential.
    Page,
    /// This address has failed too often.
    Limited(Exceeded),
    /// We cannot tell: the store or the issuer of tokens fails. The fault is transient, whatever it
    /// is: nothing is known against the caller.
    Unavailable(Fault),
}

impl Denied {
    /// For `map_err`: we cannot tell.
    pub fn unavailable(fault: Fault) -> Self {
        Self::Unavailable(fault.transient())
    }
}

/// How callers say who they are. The default is an agent that asks nobody.
// C-36
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Auth {
    /// Whether callers without a credential are refused. Then there is at least one scheme.
    pub required: bool,
    /// Whether keys of ours are accepted ([`key`]).
    pub api_keys: bool,
    /// Whose access tokens are accepted.
    pub jwt: Option<Jwt>,
    /// Whose client certificates are accepted; the first that fits counts. They are asked for
    /// when the process has a `client_ca`.
    pub certificates: Vec<KnownCertificate>,
}

impl Auth {
    /// Whether a credential in the header `Authorization` can be good.
    #[must_use]
    pub fn takes_bearer(&self) -> bool {
        self.api_keys || self.jwt.is_some()
    }
}

/// A client certificate, or those of one client, by what is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCertificate {
    /// The client's name.
    pub name: String,
    /// Which certificate.
    pub subject: Subject,
    /// What it permits.
    pub scopes: Scopes,
}

/// Access tokens of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// The claim `iss`, exactly.
    pub issuer: String,
    /// What the claim `aud` must contain.
    pub audience: String,
    /// Where the issuer's public keys are.
    pub keys: KeySource,
    /// The claim that lists a token's scopes. When `None` a token has every scope.
    pub scope_claim: Option<String>,
}

/// Where a JSON Web Key Set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In a file, which is read again when it changes.
    File(PathBuf),
    /// On the web, over TLS except on this machine.
    Url(String),
}

/// What credentials are judged with.
#[derive(Debug, Clone)]
pub struct Means {
    /// The keys that were given out.
    pub keys: Arc<dyn Keys>,
    /// Where the keys of tokens' issuers are fetched.
    pub web: Arc<dyn jwks::Fetch>,
    /// The time.
    pub clock: Clock,
}

impl Means {
    /// For agents that take no tokens, or those of issuers whose keys are in files: nothing is fetched.
    #[must_use]
    pub fn offline(keys: Arc<dyn Keys>, clock: Clock) -> Self {
        Self { keys, web: Arc::new(jwks::Nowhere), clock }
    }
}

/// Lets callers in to one agent.
#[derive(Debug)]
pub struct Authenticator {
    agent_id: String,
    policy: Auth,
    keys: Arc<dyn Keys>,
    tokens: Option<jwt::Verifier>,
    known: Vec<(&'static str, Principal)>,
    failures: Limiter,
    /// How often the log says of one address that nobody could judge its credential.
    unjudged: Limiter,
}

impl Authenticator {
    /// For an agent.
    ///
    /// # Errors
    /// When the file with the keys of a tokens' issuer cannot be read.
    pub fn open(agent_id: &str, policy: Auth, means: &Means) -> Result<Self, Fault> {
        let tokens = policy.jwt.clone().map(|jwt| jwt::Verifier::open(jwt, means)).transpose()?;
        let failures = Limiter::new(FAILURES, means.clock.clone());
        let unjudged = Limiter::new(FAILURES, means.clock.clone());
        let keys = Arc::clone(&means.keys);
        let (agent_id, known) = (agent_id.to_owned(), Vec::new());
        Ok(Self { agent_id, policy, keys, tokens, known, failures, unjudged })
    }

    /// For an agent that asks nobody who they are.
    #[must_use]
    pub fn open_to_all(agent_id: &str) -> Self {
        let means = Means::offline(Arc::new(key::NoKeys), Clock::system());
        let open = Self::open(agent_id, Auth::default(), &means);
        open.unwrap_or_else(|_| unreachable!("without tokens there is no file to read"))
    }

    /// The agent's id.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// The same, with credentials besides that are no secret: for an agent that has nothing to
    /// protect.
    #[must_use]
    pub fn with_tokens(self, known: Vec<(&'static str, Principal)>) -> Self {
        Self { known, ..self }
    }

    /// Who sent a request with these headers from this address, on a connection whose client has
    /// shown this certificate. A credential in the header counts before the certificate, which a
    /// client may show to everybody.
    ///
    /// # Errors
    /// Why nobody is let in. The failure has been logged and counted.
    pub async fn authenticate(
        &self,
        address: IpAddr,
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
        now: Timestamp,
    ) -> Result<Principal, Denied> {
        // Where the agent takes none, nothing is said by what a proxy may have added.
        let bearer = if self.policy.takes_bearer() { credential(headers) } else { Ok(None) };
        let certificate = certificate.filter(|_| !self.policy.certificates.is_empty());
        let outcome = match (bearer, certificate) {
            (Ok(Some(credential)), _) => self.judge(credential, now).await,
            (Ok(None), Some(certificate)) => self.judge_certificate(certificate, now),
            (Ok(None), None) if self.policy.required => Err(Denied::Missing),
            (Ok(None), None) => Ok(Principal::anonymous()),
            (Err(reason), _) => Err(Denied::Invalid { reason }),
        };
        outcome.map_err(|denied| self.record(address, denied))
    }

    /// Whether a request shows a credential, good or bad, of a kind that is taken.
    #[must_use]
    pub fn is_shown(&self, headers: &HeaderMap, certificate: Option<&ClientCertificate>) -> bool {
        self.policy.takes_bearer() && headers.contains_key(header::AUTHORIZATION)
            || certificate.is_some() && !self.policy.certificates.is_empty()
    }

    /// What a protocol says to somebody who is not let in; `None` where there is no catalog row
    /// of the protocol for it.
    #[must_use]
    pub fn refusal(&self, denied: &Denied) -> Option<Refusal> {
        let takes_bearer = self.policy.takes_bearer();
        let scheme = if takes_bearer { SCHEME } else { CERTIFICATE_SCHEME };
        let unauthenticated = |message: &str| {
            Some(Refusal::new(Code::Unauthenticated, message).with("scheme", scheme))
        };
        match denied {
            Denied::Missing if !takes_bearer => unauthenticated(
                "this agent requires a client certificate; show one in the TLS handshake",
            ),
            Denied::Missing if self.policy.certificates.is_empty() => unauthenticated(
                "this agent requires a credential; send one of a scheme that its card declares, in \
                 the header Authorization",
            ),
            Denied::Missing => unauthenticated(
                "this agent requires a credential of a scheme that its card declares; send one in \
                 the header Authorization, or show a client certificate",
            ),
            Denied::Invalid { .. } => unauthenticated("the credential is not valid"),
            Denied::Expired => unauthenticated("the credential has expired; get a new one"),
            Denied::Scope { missing } => {
                let message = format!("the credential lacks the scope {missing}");
                let refusal = Refusal::new(Code::PermissionDenied, message);
                Some(refusal.with("scope", missing.to_string()))
            }
            Denied::Page => Some(Refusal::new(
                Code::PermissionDenied,
                "web pages of other origins may only read here; send a credential, or ask the \
                 agent's operator to let yours do more",
            )),
            Denied::Limited(_) | Denied::Unavailable(_) => None,
        }
    }

    /// The value of `WWW-Authenticate` for somebody who is not let in (RFC 6750 §3). Who sent no
    /// credential made no error.
    #[must_use]
    pub fn challenge(&self, denied: &Denied) -> Option<String> {
        let (error, by_certificate) = match denied {
            Denied::Missing => (String::new(), true),
            Denied::Invalid { .. } | Denied::Expired => {
                (", error=\"invalid_token\"".to_owned(), true)
            }
            Denied::Scope { missing } => {
                (format!(", error=\"insufficient_scope\", scope=\"{missing}\""), false)
            }
            Denied::Page | Denied::Limited(_) | Denied::Unavailable(_) => return None,
        };
        let (policy, realm) = (&self.policy, &self.agent_id);
        let bearer = policy.takes_bearer().then(|| format!("{SCHEME} realm=\"{realm}\"{error}"));
        let by_certificate = by_certificate && !policy.certificates.is_empty();
        let certificate = by_certificate.then(|| format!("{CERTIFICATE_SCHEME} realm=\"{realm}\""));
        let challenges: Vec<_> = bearer.into_iter().chain(certificate).collect();
        (!challenges.is_empty()).then(|| challenges.join(", "))
    }

    /// Forgets addresses that have not failed lately.
    pub fn tidy(&self) {
        self.failures.tidy();
        self.unjudged.tidy();
    }

    async fn judge(&self, credential: &str, now: Timestamp) -> Result<Principal, Denied> {
        // How long this takes tells something, but these credentials are no secret (see
        // `with_tokens`).
        if let Some((_, principal)) = self.known.iter().find(|(known, _)| *known == credential) {
            return Ok(principal.clone());
        }
        // No token begins so: a JWS begins with its header, whose `{` makes the first letter an
        // `e`.
        if self.policy.api_keys && credential.starts_with(key::PREFIX) {
            return key::judge(&*self.keys, &self.agent_id, credential, now);
        }
        match &self.tokens {
            Some(tokens) => tokens.judge(credential, now).await,
            None => Err(Denied::Invalid { reason: "malformed key" }),
        }
    }

    fn judge_certificate(
        &self,
        certificate: &ClientCertificate,
        now: Timestamp,
    ) -> Result<Principal, Denied> {
        // It was valid in the handshake, which may have been hours ago.
        if certificate.has_expired(now) {
            return Err(Denied::Expired);
        }
        let known = self.policy.certificates.iter().find(|known| certificate.is(&known.subject));
        let known = known.ok_or(Denied::Invalid { reason: "unknown certificate" })?;
        // No key can have this name (see `key::is_name`), and no token.
        let name = format!("mtls:{}", known.name);
        Ok(Principal { name, scopes: known.scopes.clone() })
    }

    /// Logs and counts a failure; the credential stays out of it. Where nobody could judge a
    /// credential, its caller has not failed.
    fn record(&self, address: IpAddr, denied: Denied) -> Denied {
        let reason = match &denied {
            Denied::Missing => "no credential",
            Denied::Invalid { reason } => reason,
            Denied::Expired => "expired",
            Denied::Scope { .. } => "scope missing",
            Denied::Page => "a web page",
            Denied::Unavailable(fault) => {
                // Nor must it be a way to fill the log.
                if self.unjudged.admit(&Key::address(address)).is_ok() {
                    let cause = fault.chain();
                    tracing::warn!(agent = %self.agent_id, cause, "a credential could not be judged");
                }
                return denied;
            }
            Denied::Limited(_) => return denied,
        };
        match self.failures.admit(&Key::address(address)) {
            Ok(()) => {
                tracing::warn!(agent = %self.agent_id, reason, "authentication failed");
                denied
            }
            Err(exceeded) => Denied::Limited(exceeded),
        }
    }
}

/// The bearer credential of a request, or what is wrong with the header.
fn credential(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else {
        return Ok(None);
    };
    // Of two, a proxy in front may have checked the other one.
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

    /// Keys that nobody can look up while they are away.
    #[derive(Debug, Default)]
    struct KeysAway(std::sync::atomic::AtomicBool);

    impl Keys for KeysAway {
        fn find(&self, _: &str, _: &str) -> Result<Option<key::ApiKey>, Fault> {
            match self.0.load(std::sync::atomic::Ordering::Relaxed) {
                true => Err(Fault::new("looking a key up", "there are too many sessions")),
                false => Ok(None),
            }
        }

        fn note_use(&self, _: &str, _: jiff::civil::Date) {}
    }

    #[tokio::test]
    async fn a_credential_that_nobody_could_judge_counts_against_nobody() {
        let keys = Arc::new(KeysAway::default());
        let means = Means::offline(Arc::clone(&keys) as _, Clock::system());
        let policy = Auth { required: true, api_keys: true, ..Auth::default() };
        let door = Authenticator::open("shop", policy, &means).unwrap();
        let shown = key::Fresh::generate().unwrap().text;
        let headers = HeaderMap::from_iter([(
            header::AUTHORIZATION,
            format!("Bearer {shown}").parse().unwrap(),
        )]);
        let ask = async || {
            let address = IpAddr::from([192, 0, 2, 1]);
            door.authenticate(address, &headers, None, Timestamp::UNIX_EPOCH).await.unwrap_err()
        };
        keys.0.store(true, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..50 {
            assert!(matches!(ask().await, Denied::Unavailable(_)));
        }
        keys.0.store(false, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..FAILURES.requests {
            assert!(matches!(ask().await, Denied::Invalid { .. }));
        }
        assert!(matches!(ask().await, Denied::Limited(_)), "what is wrong counts");
    }
}
