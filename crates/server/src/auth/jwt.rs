//! Access tokens ([`tradepost_keys::jwt`]) of the one issuer that the agent trusts, and which
//! permissions they grant.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_keys::jwt::{Expected, Refused, Token};
use tradepost_wire::json::Value;

use super::jwks::KeySet;
use super::{Denied, Jwt, Means, Principal};
use crate::fault::Fault;
use crate::permission::{Permission, Scopes};

/// Checks tokens.
#[derive(Debug)]
pub struct Verifier {
    policy: Jwt,
    keys: KeySet,
}

impl Verifier {
    /// For tokens as the policy wants them.
    ///
    /// # Errors
    /// When the keys are in a file that cannot be read.
    pub fn open(policy: Jwt, means: &Means) -> Result<Self, Fault> {
        let keys = KeySet::open(&policy.keys, means)?;
        Ok(Self { policy, keys })
    }

    /// Whose token this is.
    pub(super) async fn judge(&self, text: &str, now: Timestamp) -> Result<Principal, Denied> {
        let token = Token::read(text).map_err(|reason| Denied::Invalid { reason })?;
        // These two are what the caller says, before anything is verified; all that they choose
        // among is the issuer's own keys.
        let key_id = token.key_id();
        let keys = self.keys.find(key_id).await.map_err(Denied::unavailable)?;
        let candidates = keys.iter().filter(|key| key.fits(key_id, token.algorithm()));
        let candidates: Vec<_> = candidates.map(|candidate| &candidate.key).collect();
        if candidates.is_empty() {
            return Err(Denied::Invalid { reason: "no key of the issuer fits the token" });
        }
        // From here on the issuer speaks.
        let claims = token.claims(&candidates)?;
        let Jwt { issuer, audience, .. } = &self.policy;
        let subject = Expected { issuer, audience }.subject(&claims, now)?;
        // Where the policy names a claim, a token without it permits nothing.
        let scopes = self.policy.scope_claim.as_ref().map_or(Scopes::All, |name| {
            Scopes::Only(claims.get(name).map(granted).unwrap_or_default())
        });
        // A key's name has no colon (see `key::is_name`), so that no subject can be taken for one.
        Ok(Principal { name: format!("jwt:{subject}"), scopes })
    }
}

impl From<Refused> for Denied {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Expired => Self::Expired,
            Refused::Invalid(reason) => Self::Invalid { reason },
        }
    }
}

/// The permissions in a claim: a text with spaces (RFC 9068 §2.2.3) or a list of texts. Those that
/// mean nothing to us permit nothing.
fn granted(claim: &Value) -> BTreeSet<Permission> {
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
