//! Access tokens: JSON Web Tokens in the compact form (RFC 7519, RFC 7515), signed by the one
//! issuer that the dealer trusts. The algorithm follows from the issuer's key and must be what
//! the token says, so that no token chooses how it is checked.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::Value;
use tradepost_wire::catalog::Vocabulary as _;

use super::jwks::{Algorithm, KeySet};
use super::{Denied, Principal};
use crate::config::Jwt;
use crate::fault::Fault;
use crate::gate::{Scope, Scopes};

/// How far the issuer's clock may be off, in seconds.
const LEEWAY: f64 = 60.0;

/// Longer tokens are not looked at.
const MAX_TOKEN: usize = 16 * 1024;

/// The longest subject: OpenID Connect Core §2.
const MAX_SUBJECT: usize = 255;

/// Checks tokens.
#[derive(Debug)]
pub struct Verifier {
    policy: Jwt,
    keys: KeySet,
}

/// A token that has been taken apart, and not yet believed.
struct Token<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    /// What was signed.
    signed: &'t str,
    payload: &'t str,
    signature: Vec<u8>,
}

impl Verifier {
    /// For tokens as the policy wants them.
    ///
    /// # Errors
    /// When the keys are in a file that cannot be read.
    pub fn open(policy: Jwt) -> Result<Self, Fault> {
        let keys = KeySet::open(&policy.keys)?;
        Ok(Self { policy, keys })
    }

    /// Whose token this is.
    pub(super) async fn judge(&self, text: &str, now: Timestamp) -> Result<Principal, Denied> {
        let invalid = |reason| Denied::Invalid { reason };
        let token = Token::parse(text).map_err(invalid)?;
        let key_id = token.key_id.as_deref();
        let keys = self.keys.find(key_id, now).await.map_err(Denied::unavailable)?;
        let mut candidates = keys.iter().filter(|key| key.fits(key_id, token.algorithm)).peekable();
        if candidates.peek().is_none() {
            return Err(invalid("no key of the issuer fits the token"));
        }
        if !candidates.any(|key| key.has_signed(token.signed.as_bytes(), &token.signature)) {
            return Err(invalid("wrong signature"));
        }
        // From here on the issuer speaks.
        let claims = object(token.payload).ok_or(invalid("the token's claims are no object"))?;
        self.believe(&claims, now)
    }

    fn believe(&self, claims: &Value, now: Timestamp) -> Result<Principal, Denied> {
        let invalid = |reason| Err(Denied::Invalid { reason });
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(self.policy.issuer.as_str()) {
            return invalid("another issuer");
        }
        let audience = |value: &Value| value.as_str() == Some(self.policy.audience.as_str());
        let meant = match claims.get("aud") {
            Some(Value::Array(several)) => several.iter().any(audience),
            Some(one) => audience(one),
            None => false,
        };
        if !meant {
            return invalid("another audience");
        }
        let now = now.as_duration().as_secs_f64();
        let moment = |name: &str| claims.get(name).map(Value::as_f64);
        match moment("exp") {
            Some(Some(end)) if now < end + LEEWAY => {}
            Some(Some(_)) => return Err(Denied::Expired),
            Some(None) | None => return invalid("the token never expires"),
        }
        match moment("nbf") {
            None => {}
            Some(Some(start)) if start <= now + LEEWAY => {}
            Some(Some(_)) => return invalid("the token is not valid yet"),
            Some(None) => return invalid("nbf is no number"),
        }
        let subject = text("sub").filter(|subject| (1..=MAX_SUBJECT).contains(&subject.len()));
        let Some(subject) = subject else {
            return invalid("the token names nobody");
        };
        let scopes = self.policy.scope_claim.as_ref().map_or(Scopes::All, |name| {
            Scopes::Only(claims.get(name).map(granted).unwrap_or_default())
        });
        Ok(Principal { name: format!("jwt:{subject}"), scopes })
    }
}

/// The scopes of ours in a claim: a text with spaces (RFC 9068 §2.2.3) or a list of texts.
fn granted(claim: &Value) -> BTreeSet<Scope> {
    let known = |text: &str| text.split(' ').filter_map(Scope::from_name).collect::<Vec<_>>();
    match claim {
        Value::String(text) => known(text).into_iter().collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(known).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => BTreeSet::new(),
    }
}

impl<'t> Token<'t> {
    fn parse(text: &'t str) -> Result<Self, &'static str> {
        const FORM: &str = "neither a key nor a token";
        if text.len() > MAX_TOKEN {
            return Err("the token is too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(FORM)?;
        let (header, payload) = signed.split_once('.').ok_or(FORM)?;
        if payload.contains('.') {
            return Err(FORM);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| FORM)?;
        let header = object(header).ok_or(FORM)?;
        // A critical extension is one that must be understood (RFC 7515 §4.1.11), and none is.
        if header.get("crit").is_some() {
            return Err("the token has critical extensions");
        }
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(Algorithm::from_name);
        let algorithm = algorithm.ok_or("the token's algorithm is not accepted")?;
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(FORM),
        };
        Ok(Self { algorithm, key_id, signed, payload, signature })
    }
}

/// A JSON object in base64url.
fn object(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}
