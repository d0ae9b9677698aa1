//! Access tokens ([`tradepost_keys::jwt`]) of the one trusted issuer, and the permissions they
//! grant.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::json::Value;
use tradepost_keys::jwt::{ExpectedClaims, TokenRefusal, UnverifiedToken};

use super::jwks::IssuerKeys;
use super::{AuthDeps, AuthRefusal, JwtSettings, Principal};
use crate::fault::InternalError;
use crate::permission::{Permission, Scopes};

/// Verifies access tokens.
#[derive(Debug)]
pub struct Verifier {
    policy: JwtSettings,
    keys: IssuerKeys,
}

impl Verifier {
    /// Creates a verifier for a policy.
    ///
    /// # Errors
    /// When the file with the keys cannot be read.
    pub fn open(policy: JwtSettings, deps: &AuthDeps) -> Result<Self, InternalError> {
        let keys = IssuerKeys::open(&policy.keys, deps)?;
        Ok(Self { policy, keys })
    }

    /// Returns the principal of a token.
    pub(super) async fn authenticate(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<Principal, AuthRefusal> {
        let token =
            UnverifiedToken::read(text).map_err(|reason| AuthRefusal::Invalid { reason })?;
        // Key id and algorithm are not verified yet; they only select among the issuer's keys.
        let key_id = token.key_id();
        let keys = self.keys.find(key_id).await.map_err(AuthRefusal::unavailable)?;
        let candidates = keys.iter().filter(|key| key.fits(key_id, token.algorithm()));
        let candidates: Vec<_> = candidates.map(|candidate| &candidate.key).collect();
        if candidates.is_empty() {
            return Err(AuthRefusal::Invalid { reason: "no key of the issuer fits the token" });
        }
        // The signature is verified from here on.
        let claims = token.claims(&candidates)?;
        let JwtSettings { issuer, audience, .. } = &self.policy;
        let subject = ExpectedClaims { issuer, audience }.subject(&claims, now)?;
        // When the policy names a claim, a token without it has no permissions.
        let scopes = self.policy.scope_claim.as_ref().map_or(Scopes::All, |name| {
            Scopes::Only(claims.get(name).map(granted).unwrap_or_default())
        });
        // The name of an API key has no colon (see `key::is_name`), so no subject can imitate one.
        Ok(Principal { name: format!("jwt:{subject}"), scopes })
    }
}

impl From<TokenRefusal> for AuthRefusal {
    fn from(refused: TokenRefusal) -> Self {
        match refused {
            TokenRefusal::Expired => Self::Expired,
            TokenRefusal::Invalid(reason) => Self::Invalid { reason },
        }
    }
}

/// Reads the permissions in a claim: a string with spaces (RFC 9068 §2.2.3) or a list of strings.
/// Unknown ones permit nothing.
pub(super) fn granted(claim: &Value) -> BTreeSet<Permission> {
    let words = |text: &str| {
        let words = text.split(' ').filter(|word| !word.is_empty());
        words.map(|word| word.to_owned().into()).collect::<Vec<Permission>>()
    };
    match claim {
        Value::String(text) => words(text).into_iter().collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => BTreeSet::new(),
    }
}
