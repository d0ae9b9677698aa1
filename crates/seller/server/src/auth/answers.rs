//! Answers to refused callers: the protocol's error, and the challenge.

use std::borrow::Cow;

use tradepost_a2a::error::{A2aCode, A2aRefusal};

use super::{AuthRefusal, Authenticator, CERTIFICATE_SCHEME, SCHEME};

impl Authenticator {
    /// Returns the protocol's error for a refused caller; `None` where the error catalog has none.
    #[must_use]
    pub fn refusal(&self, denied: &AuthRefusal) -> Option<A2aRefusal> {
        let takes_bearer = self.policy.takes_bearer();
        let scheme = self.first_scheme();
        let unauthenticated = |message: &str| {
            Some(A2aRefusal::new(A2aCode::Unauthenticated, message).with("scheme", &*scheme))
        };
        match denied {
            AuthRefusal::Missing if !self.methods.is_empty() => unauthenticated(
                "this agent requires a credential; send one of a scheme that its card declares",
            ),
            AuthRefusal::Missing if !takes_bearer => unauthenticated(
                "this agent requires a client certificate; show one in the TLS handshake",
            ),
            AuthRefusal::Missing if self.policy.certificates.is_empty() => unauthenticated(
                "this agent requires a credential; send one of a scheme that its card declares, in \
                 the header Authorization",
            ),
            AuthRefusal::Missing => unauthenticated(
                "this agent requires a credential of a scheme that its card declares; send one in \
                 the header Authorization, or show a client certificate",
            ),
            AuthRefusal::Invalid { .. } => unauthenticated("the credential is not valid"),
            AuthRefusal::Expired => unauthenticated("the credential has expired; get a new one"),
            AuthRefusal::Scope { missing } => {
                let message = format!("the credential lacks the scope {missing}");
                let refusal = A2aRefusal::new(A2aCode::PermissionDenied, message);
                Some(refusal.with("scope", missing.to_string()))
            }
            AuthRefusal::Page => Some(A2aRefusal::new(
                A2aCode::PermissionDenied,
                "web pages of other origins may only read here; send a credential, or ask the \
                 agent's operator to let yours do more",
            )),
            AuthRefusal::Limited(_) | AuthRefusal::Unavailable(_) => None,
        }
    }

    /// Returns the value of `WWW-Authenticate` for a refused caller (RFC 6750 §3). Without a
    /// credential it names no error.
    #[must_use]
    pub fn challenge(&self, denied: &AuthRefusal) -> Option<String> {
        self.challenge_for(denied, None)
    }

    /// Returns the same for a resource whose metadata is at this address (RFC 9728 §5.1).
    pub(crate) fn challenge_for(
        &self,
        denied: &AuthRefusal,
        metadata: Option<&str>,
    ) -> Option<String> {
        let (error, code, by_certificate) = match denied {
            AuthRefusal::Missing => (String::new(), None, true),
            AuthRefusal::Invalid { .. } | AuthRefusal::Expired => {
                (", error=\"invalid_token\"".to_owned(), Some("invalid_token"), true)
            }
            AuthRefusal::Scope { missing } => {
                let error = format!(", error=\"insufficient_scope\", scope=\"{missing}\"");
                (error, Some("insufficient_scope"), false)
            }
            AuthRefusal::Page | AuthRefusal::Limited(_) | AuthRefusal::Unavailable(_) => {
                return None;
            }
        };
        let policy = &self.policy;
        let realm = &self.agent_id;
        let metadata =
            metadata.map(|at| format!(", resource_metadata=\"{at}\"")).unwrap_or_default();
        let bearer = policy.takes_bearer();
        let bearer = bearer.then(|| format!("{SCHEME} realm=\"{realm}\"{metadata}{error}"));
        let by_certificate = by_certificate && !policy.certificates.is_empty();
        let certificate = by_certificate.then(|| format!("{CERTIFICATE_SCHEME} realm=\"{realm}\""));
        let by_methods = self.methods.iter().map(|method| method.challenge(realm, code));
        let mut challenges: Vec<String> = bearer.into_iter().chain(by_methods).collect();
        challenges.extend(certificate);
        // Several methods may take the same scheme.
        let mut seen = std::collections::BTreeSet::new();
        challenges.retain(|challenge| seen.insert(challenge.clone()));
        (!challenges.is_empty()).then(|| challenges.join(", "))
    }

    /// Returns the name of the scheme that callers without a credential are told of first.
    fn first_scheme(&self) -> Cow<'static, str> {
        if self.policy.takes_bearer() {
            return SCHEME.into();
        }
        let challenge = self.methods.first().map(|method| method.challenge(&self.agent_id, None));
        let name = challenge.as_deref().and_then(|challenge| challenge.split(' ').next());
        name.map_or(CERTIFICATE_SCHEME.into(), |name| Cow::Owned(name.to_owned()))
    }
}
