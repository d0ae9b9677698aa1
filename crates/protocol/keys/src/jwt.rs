//! Access tokens: JSON Web Tokens in the compact form (RFC 7519, RFC 7515). The algorithm follows
//! from the issuer's key and must equal the token's, so that a token cannot choose how it is
//! verified.

use jiff::Timestamp;
use tradepost_document::json;
use tradepost_document::json::Value;

use crate::{Algorithm, PublicKey, decode};

/// Maximum clock difference to the issuer in seconds.
const LEEWAY: f64 = 60.0;

/// Maximum length of a token in bytes.
const MAX_TOKEN: usize = 16 * 1024;

/// Maximum length of a subject (OpenID Connect Core §2).
const MAX_SUBJECT: usize = 255;

/// A parsed token that is not verified yet.
#[derive(Debug)]
pub struct UnverifiedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: &'t str,
    payload: &'t str,
    signature: Vec<u8>,
}

/// Reason why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// Expired.
    Expired,
    /// Invalid, with the reason for the log.
    Invalid(&'static str),
}

impl<'t> UnverifiedToken<'t> {
    /// Parses a token.
    ///
    /// # Errors
    /// The reason why it cannot be valid, for the log.
    pub fn read(text: &'t str) -> Result<Self, &'static str> {
        const FORM: &str = "neither a key nor a token";
        if text.len() > MAX_TOKEN {
            return Err("the token is too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(FORM)?;
        let (header, payload) = signed.split_once('.').ok_or(FORM)?;
        if payload.contains('.') {
            return Err(FORM);
        }
        let signature = decode(signature).ok_or(FORM)?;
        let header = object(header).ok_or(FORM)?;
        // A critical extension has to be understood (RFC 7515 §4.1.11), and none is.
        if header.get("crit").is_some() {
            return Err("the token has critical extensions");
        }
        let algorithm =
            header.get("alg").and_then(Value::as_str).and_then(Algorithm::from_jws_name);
        let algorithm = algorithm.ok_or("the token's algorithm is not accepted")?;
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(FORM),
        };
        Ok(Self { algorithm, key_id, signed, payload, signature })
    }

    /// Returns the algorithm in its header.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the key id in its header.
    #[must_use]
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Verifies the signature with these keys, and returns the claims.
    ///
    /// # Errors
    /// When none of the keys made the signature, or the claims cannot be read.
    pub fn claims(&self, keys: &[&PublicKey]) -> Result<Value, TokenRefusal> {
        let has_signed = |key: &&PublicKey| {
            key.algorithm() == self.algorithm
                && key.verifies(self.signed.as_bytes(), &self.signature)
        };
        if !keys.iter().any(has_signed) {
            return Err(TokenRefusal::Invalid("wrong signature"));
        }
        object(self.payload).ok_or(TokenRefusal::Invalid("the token's claims are no object"))
    }
}

/// Expected issuer and audience of claims.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedClaims<'e> {
    /// Issuer, exactly as it writes itself.
    pub issuer: &'e str,
    /// Our own audience.
    pub audience: &'e str,
}

impl ExpectedClaims<'_> {
    /// Checks claims at a time, and returns their subject.
    ///
    /// # Errors
    /// The reason why they are refused.
    pub fn subject<'c>(&self, claims: &'c Value, now: Timestamp) -> Result<&'c str, TokenRefusal> {
        let invalid = |reason| Err(TokenRefusal::Invalid(reason));
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(self.issuer) {
            return invalid("another issuer");
        }
        let audience = |value: &Value| value.as_str() == Some(self.audience);
        let meant = match claims.get("aud") {
            Some(Value::Array(several)) => several.iter().any(audience),
            Some(one) => audience(one),
            None => false,
        };
        if !meant {
            return invalid("another audience");
        }
        let now = now.as_duration().as_secs_f64();
        // A time may have a fraction (RFC 7519 §2).
        let moment = |name: &str| claims.get(name).map(Value::as_f64);
        match moment("exp") {
            Some(Some(end)) if now < end + LEEWAY => {}
            Some(Some(_)) => return Err(TokenRefusal::Expired),
            Some(None) | None => return invalid("the token never expires"),
        }
        match moment("nbf") {
            None => {}
            Some(Some(start)) if start <= now + LEEWAY => {}
            Some(Some(_)) => return invalid("the token is not valid yet"),
            Some(None) => return invalid("nbf is no number"),
        }
        // A caller needs a name, for limits and ownership.
        let subject = text("sub").filter(|subject| (1..=MAX_SUBJECT).contains(&subject.len()));
        subject.ok_or(TokenRefusal::Invalid("the token names nobody"))
    }
}

/// Decodes a JSON object from base64url.
fn object(text: &str) -> Option<Value> {
    // Duplicate claims are refused, because two readers could take different ones.
    json::read(std::str::from_utf8(&decode(text)?).ok()?).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;
    use crate::{SigningKey, encode, generate};

    const NOW: i64 = 1_777_550_400;

    fn token(key: &SigningKey, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = encode(key.sign(signed.as_bytes()).unwrap());
        format!("{signed}.{signature}")
    }

    #[test]
    fn a_token_is_believed_by_its_key_not_its_header() {
        let key = SigningKey::read(&generate(Algorithm::EdDsa).unwrap(), Some("k")).unwrap();
        let other = SigningKey::read(&generate(Algorithm::Es256).unwrap(), Some("k")).unwrap();
        let public = |key: &SigningKey| PublicKey::from_issuer_jwk(&key.public_jwk()).unwrap();
        let right = public(&key);
        let wrong = public(&other);
        let good = token(&key, &json!({"alg": "EdDSA", "kid": "k"}), &json!({"sub": "a"}));
        let read = UnverifiedToken::read(&good).unwrap();
        assert_eq!((read.algorithm(), read.key_id()), (Algorithm::EdDsa, Some("k")));
        assert_eq!(read.claims(&[&wrong, &right]), Ok(json!({"sub": "a"})));
        assert_eq!(read.claims(&[&wrong]), Err(TokenRefusal::Invalid("wrong signature")));
        // The key is right, but the token names another algorithm.
        let lying = token(&key, &json!({"alg": "ES256"}), &json!({"sub": "a"}));
        let lying = UnverifiedToken::read(&lying).unwrap();
        assert_eq!(lying.claims(&[&right]), Err(TokenRefusal::Invalid("wrong signature")));
        for (header, why) in [
            (json!({"alg": "none"}), "the token's algorithm is not accepted"),
            (json!({"alg": "EdDSA", "crit": []}), "the token has critical extensions"),
            (json!({"alg": "EdDSA", "kid": 1}), "neither a key nor a token"),
        ] {
            assert_eq!(UnverifiedToken::read(&token(&key, &header, &json!({}))).unwrap_err(), why);
        }
    }

    #[test]
    fn claims_hold_for_one_issuer_one_audience_and_a_while() {
        let expected = ExpectedClaims { issuer: "https://issuer.example", audience: "us" };
        let now = Timestamp::from_second(NOW).unwrap();
        let claims = |change: Value| {
            let mut claims = json!({
                "iss": "https://issuer.example", "aud": ["them", "us"], "sub": "ada", "exp": NOW + 1,
            });
            claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            claims
        };
        let invalid = |reason| Err(TokenRefusal::Invalid(reason));
        for (change, outcome) in [
            (json!({}), Ok("ada")),
            (json!({"exp": NOW - 59, "nbf": NOW + 60}), Ok("ada")),
            (json!({"exp": NOW - 60}), Err(TokenRefusal::Expired)),
            (json!({"exp": null}), invalid("the token never expires")),
            (json!({"nbf": NOW + 61}), invalid("the token is not valid yet")),
            (json!({"nbf": "soon"}), invalid("nbf is no number")),
            (json!({"iss": "https://issuer.example/"}), invalid("another issuer")),
            (json!({"aud": "them"}), invalid("another audience")),
            (json!({"sub": ""}), invalid("the token names nobody")),
        ] {
            let claims = claims(change);
            assert_eq!(expected.subject(&claims, now), outcome, "{claims}");
        }
    }
}
