//! Trusted public keys: a JWK set (RFC 7517), or a single JWK.

use jiff::{SignedDuration, Timestamp};
use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use tradepost_document::json;
use tradepost_document::json::{Value, json};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::{Algorithm, decode, encode};

/// Maximum number of keys of a set.
const MAX_KEYS: usize = 1_000;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(pub(crate) KeyMaterial);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyMaterial {
    /// Uncompressed point.
    P256(Vec<u8>),
    /// Key of 32 bytes.
    Ed25519(Vec<u8>),
    /// Modulus and exponent.
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl PublicKey {
    /// Reads a JWK; `None` when it is of a kind that agents do not sign with.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence about it.
    pub fn read(jwk: &Value) -> Result<Option<Self>, &'static str> {
        if member(jwk, "kty") == Some("RSA") {
            return Ok(None);
        }
        let Some(read) = Self::from_jwk(jwk)? else { return Ok(None) };
        match jwk.get("alg").map(|alg| alg.as_str().and_then(Algorithm::from_jws_name)) {
            None => Ok(Some(read)),
            Some(Some(algorithm)) if algorithm == read.algorithm() => Ok(Some(read)),
            Some(_) => Err("has an alg that does not belong to its kty and crv"),
        }
    }

    /// Reads a JWK of a token issuer, which may also sign with RSA; `None` for other kinds and
    /// purposes, and for a damaged key, because RFC 7517 §5 requires that such keys are ignored.
    #[must_use]
    pub fn from_issuer_jwk(jwk: &Value) -> Option<Self> {
        if member(jwk, "use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let read = Self::from_jwk(jwk).ok().flatten()?;
        let stated = member(jwk, "alg").map(Algorithm::from_jws_name);
        stated.is_none_or(|stated| stated == Some(read.algorithm())).then_some(read)
    }

    /// Reads a JWK by its `kty` and `crv`, ignoring its `alg`.
    fn from_jwk(jwk: &Value) -> Result<Option<Self>, &'static str> {
        let bytes = |name| member(jwk, name).and_then(decode);
        let coordinate = |name| bytes(name).filter(|x| x.len() == 32);
        let material = match (member(jwk, "kty"), member(jwk, "crv")) {
            (Some("EC"), Some("P-256")) => {
                let absent = "must have x and y, 32 bytes each in base64url";
                let x = coordinate("x").ok_or(absent)?;
                let y = coordinate("y").ok_or(absent)?;
                KeyMaterial::P256([vec![4], x, y].concat())
            }
            (Some("OKP"), Some("Ed25519")) => {
                KeyMaterial::Ed25519(coordinate("x").ok_or("must have x, 32 bytes in base64url")?)
            }
            (Some("RSA"), _) => {
                let absent = "must have n and e in base64url";
                let n = bytes("n").ok_or(absent)?;
                let e = bytes("e").ok_or(absent)?;
                KeyMaterial::Rsa { n, e }
            }
            (None, _) => return Err("must have kty"),
            (Some(_), _) => return Ok(None),
        };
        Ok(Some(Self(material)))
    }

    /// Returns the algorithm for which it verifies.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            KeyMaterial::P256(_) => Algorithm::Es256,
            KeyMaterial::Ed25519(_) => Algorithm::EdDsa,
            KeyMaterial::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Returns the members of the JWK, in the order of RFC 7638.
    #[must_use]
    pub fn jwk(&self) -> Value {
        match &self.0 {
            KeyMaterial::P256(point) => {
                // An uncompressed point starts with 4.
                let (x, y) =
                    point.get(1..).unwrap_or_default().split_at_checked(32).unwrap_or_default();
                json!({"crv": "P-256", "kty": "EC", "x": encode(x), "y": encode(y)})
            }
            KeyMaterial::Ed25519(bytes) => {
                json!({"crv": "Ed25519", "kty": "OKP", "x": encode(bytes)})
            }
            KeyMaterial::Rsa { n, e } => json!({"e": encode(e), "kty": "RSA", "n": encode(n)}),
        }
    }

    /// Returns the thumbprint (RFC 7638), which is the key id when there is no other.
    #[must_use]
    pub fn thumbprint(&self) -> String {
        encode(digest(&SHA256, self.jwk().to_string().as_bytes()))
    }

    /// Returns true when it made this signature of this message.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.0 {
            KeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(bytes) => {
                UnparsedPublicKey::new(&ED25519, bytes).verify(message, signature)
            }
            KeyMaterial::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
        };
        verified.is_ok()
    }
}

/// A trusted key with its id and its validity.
#[derive(Debug, Clone)]
pub(crate) struct TrustedKey {
    pub(crate) kid: String,
    pub(crate) key: PublicKey,
    expires: Option<Timestamp>,
    begins: Option<Timestamp>,
    revoked: bool,
}

impl TrustedKey {
    /// Returns the reason why it may not be used now (A2A 1.0 §8.4.3: neither when expired nor when
    /// revoked).
    pub(crate) fn objection(&self, now: Timestamp) -> Option<&'static str> {
        if self.revoked {
            Some("the key is revoked")
        } else if self.expires.is_some_and(|end| now >= end) {
            Some("the key has expired")
        } else if self.begins.is_some_and(|begin| now < begin) {
            Some("the key is not valid yet")
        } else {
            None
        }
    }
}

/// A set of trusted keys.
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    keys: Vec<TrustedKey>,
}

impl KeySet {
    /// Reads a JWK set, or a single JWK. Keys of other kinds are ignored, as RFC 7517 requires;
    /// `exp`, `nbf` and `revoked` (`OpenID` Federation §8.7.2) are honoured.
    ///
    /// # Errors
    /// Every problem.
    pub fn read(text: &str) -> Result<Self, Problems> {
        let set = json::read(text)?;
        let mut problems = Problems::new();
        let keys = match set.get("keys") {
            Some(Value::Array(keys)) if keys.len() > MAX_KEYS => {
                let message = format!("has more than {MAX_KEYS} keys");
                reject(&DocumentPlace::Root.key("keys"), &mut problems, message);
                Vec::new()
            }
            Some(Value::Array(keys)) => {
                let keys = keys.iter().enumerate();
                let at = DocumentPlace::Root.key("keys");
                keys.filter_map(|(n, jwk)| trusted(jwk, &at.index(n), &mut problems)).collect()
            }
            None if set.get("kty").is_some() => {
                trusted(&set, &DocumentPlace::Root, &mut problems).into_iter().collect()
            }
            Some(_) | None => {
                let message = "must be a JWK set, {\"keys\": [...]}, or one JWK";
                reject(&DocumentPlace::Root, &mut problems, message);
                Vec::new()
            }
        };
        problems.into_result(Some(Self { keys }))
    }

    /// Returns the number of usable keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys with an id; a set may use one id for keys of several kinds.
    pub(crate) fn named<'a>(&'a self, kid: &'a str) -> impl Iterator<Item = &'a TrustedKey> + 'a {
        self.keys.iter().filter(move |key| key.kid == kid)
    }
}

fn trusted(jwk: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<TrustedKey> {
    // Key sets are published, so a private key in one has to be reported.
    if jwk.get("d").is_some() || jwk.get("k").is_some() {
        let message = "holds a private key; keep it secret, and give its public part";
        reject(at, problems, message);
        return None;
    }
    let key = match PublicKey::read(jwk) {
        Ok(key) => key?,
        Err(why) => {
            reject(at, problems, why);
            return None;
        }
    };
    let verifies = |operation: &Value| operation == "verify";
    let for_signatures = jwk.get("use").is_none_or(|purpose| purpose == "sig")
        && jwk
            .get("key_ops")
            .is_none_or(|all| all.as_array().is_some_and(|o| o.iter().any(verifies)));
    let mut moment = |name: &str| -> Option<Timestamp> {
        let value = jwk.get(name)?;
        let seconds = value.as_f64();
        let since = seconds.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
        // A time beyond the calendar is clamped to its end.
        let read = since.and_then(|since| Timestamp::UNIX_EPOCH.saturating_add(since).ok());
        if read.is_none() {
            reject(&at.key(name), problems, "must be a number of seconds since 1970");
        }
        read
    };
    let expires = moment("exp");
    let begins = moment("nbf");
    // An object there has time and reason; any value except null revokes.
    let revoked = jwk.get("revoked").is_some_and(|revoked| !revoked.is_null());
    let kid = member(jwk, "kid").map_or_else(|| key.thumbprint(), str::to_owned);
    for_signatures.then_some(TrustedKey { kid, key, expires, begins, revoked })
}

/// Returns a member that is a string.
pub(crate) fn member<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
