//! Private keys: PKCS#8 in PEM, or a JWK.

use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING as P256, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json;
use tradepost_document::json::{Value, json};

use crate::keyset::{KeyMaterial, PublicKey, member};
use crate::{Algorithm, decode};

/// Maximum size of a key file in bytes; a private key has a few hundred.
const MAX_FILE: u64 = 64 * 1024;

const BEGIN: &str = "-----BEGIN ";
const PRIVATE: &str = "PRIVATE KEY-----";

/// Prefix of the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410 §7), in the form without the public
/// key, which all tools read.
const ED25519_PREFIX: [u8; 16] =
    [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// A private key with its key id.
#[derive(Debug)]
pub struct SigningKey {
    pair: KeyPair,
    kid: String,
}

/// A key pair, whose `Debug` shows the public part only.
#[derive(Debug)]
enum KeyPair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

/// Reason why a key cannot be used: a lower-case fragment that quotes nothing of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

fn bad(message: impl Into<String>) -> KeyError {
    KeyError(message.into())
}

impl SigningKey {
    /// Reads a key file.
    ///
    /// # Errors
    /// Those of [`Self::read`], or when the file cannot be read.
    pub fn load(path: &Path, kid: Option<&str>) -> Result<Self, KeyError> {
        let name = path.display();
        let mut text = String::new();
        std::fs::File::open(path)
            // One byte more than the maximum, to detect a larger file.
            .and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text))
            .map_err(|error| bad(format!("cannot read the key file {name}: {error}")))?;
        if u64::try_from(text.len()).is_ok_and(|length| length > MAX_FILE) {
            return Err(bad(format!("{name} is no key file: it is larger than {MAX_FILE} bytes")));
        }
        Self::read(&text, kid).map_err(|why| bad(format!("{name}: {why}")))
    }

    /// Reads a key. Its id is `kid`, or else that of the JWK, or else the thumbprint of its public
    /// part (RFC 7638).
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn read(text: &str, kid: Option<&str>) -> Result<Self, KeyError> {
        let (pair, own) = if text.trim_start().starts_with('{') {
            from_jwk(text)?
        } else {
            (from_pem(text)?, None)
        };
        let kid = kid.map(str::to_owned).or(own);
        let kid = kid.unwrap_or_else(|| public(&pair).thumbprint());
        Ok(Self { pair, kid })
    }

    /// Returns the key id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.pair {
            KeyPair::Es256(_) => Algorithm::Es256,
            KeyPair::EdDsa(_) => Algorithm::EdDsa,
        }
    }

    /// Returns the public part, as an entry of a JWK set.
    #[must_use]
    pub fn public_jwk(&self) -> Value {
        let mut jwk = public(&self.pair).jwk();
        let more = json!({"kid": self.kid, "alg": self.algorithm().name(), "use": "sig"});
        if let Some(members) = jwk.as_object_mut()
            && let Value::Object(more) = more
        {
            members.extend(more);
        }
        jwk
    }

    /// Signs bytes.
    ///
    /// # Errors
    /// When the machine has no random source.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        match &self.pair {
            // A predictable nonce reveals the key, so it never comes from a seed.
            KeyPair::Es256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().to_vec()),
            KeyPair::EdDsa(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

/// Generates a private key as PKCS#8 in PEM.
///
/// # Errors
/// When the machine has no random source; for RSA, which is only verified here.
pub fn generate(algorithm: Algorithm) -> Result<String, Unspecified> {
    let random = SystemRandom::new();
    let der = match algorithm {
        Algorithm::Es256 => EcdsaKeyPair::generate_pkcs8(&P256, &random)?.as_ref().to_vec(),
        Algorithm::EdDsa => {
            let mut seed = [0; 32];
            random.fill(&mut seed)?;
            [ED25519_PREFIX.as_slice(), &seed].concat()
        }
        Algorithm::Rs256 => return Err(Unspecified),
    };
    let mut pem = format!("{BEGIN}{PRIVATE}\n");
    for (index, letter) in STANDARD.encode(der).chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            pem.push('\n');
        }
        pem.push(letter);
    }
    pem.push_str(&format!("\n-----END {PRIVATE}\n"));
    Ok(pem)
}

fn public(pair: &KeyPair) -> PublicKey {
    match pair {
        KeyPair::Es256(pair) => PublicKey(KeyMaterial::P256(pair.public_key().as_ref().to_vec())),
        KeyPair::EdDsa(pair) => {
            PublicKey(KeyMaterial::Ed25519(pair.public_key().as_ref().to_vec()))
        }
    }
}

fn from_pem(text: &str) -> Result<KeyPair, KeyError> {
    // The file may contain other blocks, such as a certificate.
    let block = text.split(BEGIN).find_map(|block| block.strip_prefix(PRIVATE));
    let Some((body, _)) = block.and_then(|block| block.split_once("-----END ")) else {
        return Err(bad(if text.contains("ENCRYPTED PRIVATE KEY") {
            "the key is encrypted; write it without a password with \
             `openssl pkcs8 -in FILE -topk8 -nocrypt`"
        } else if text.contains("EC PRIVATE KEY") {
            "the key is not in PKCS#8; convert it with `openssl pkcs8 -in FILE -topk8 -nocrypt`"
        } else if text.contains("PUBLIC KEY") {
            "the file holds a public key; give the private one"
        } else {
            "holds neither a PEM block PRIVATE KEY nor a JWK"
        }));
    };
    let body: String = body.split_ascii_whitespace().collect();
    let der = STANDARD.decode(body).map_err(|_| bad("the PEM block is not base64"))?;
    if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&P256, &der, &SystemRandom::new()) {
        return Ok(KeyPair::Es256(pair));
    }
    // Most tools leave out the public part, so it cannot be checked.
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der)
        .map(KeyPair::EdDsa)
        .map_err(|_| bad("the key is neither of P-256 nor of Ed25519, or damaged"))
}

fn from_jwk(text: &str) -> Result<(KeyPair, Option<String>), KeyError> {
    const KIND: &str = "the JWK must have kty EC with crv P-256, or kty OKP with crv Ed25519";
    let jwk = json::read(text).map_err(|_| bad("is not a JWK: not plain JSON"))?;
    let public = PublicKey::read(&jwk).map_err(|why| bad(format!("the JWK {why}")))?;
    let public = public.ok_or_else(|| bad(KIND))?;
    let Some(secret) = member(&jwk, "d").and_then(decode).filter(|secret| secret.len() == 32)
    else {
        return Err(bad("the JWK must have the private part d, 32 bytes in base64url"));
    };
    let pair = match &public.0 {
        KeyMaterial::P256(point) => {
            let random = SystemRandom::new();
            EcdsaKeyPair::from_private_key_and_public_key(&P256, &secret, point, &random)
                .map(KeyPair::Es256)
        }
        KeyMaterial::Ed25519(bytes) => {
            Ed25519KeyPair::from_seed_and_public_key(&secret, bytes).map(KeyPair::EdDsa)
        }
        KeyMaterial::Rsa { .. } => return Err(bad(KIND)),
    };
    let pair =
        pair.map_err(|_| bad("the JWK's private and public parts do not belong together"))?;
    Ok((pair, member(&jwk, "kid").map(str::to_owned)))
}
