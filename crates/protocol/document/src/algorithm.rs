//! The signature algorithms of agent cards, requests, webhooks and tokens, with their names in each
//! format. Each profile decides which algorithms it accepts.

use crate::catalog::{Vocabulary as _, catalog};

catalog! {
    /// A signature algorithm, by its name in JWS headers and keys.
    pub enum Algorithm {
        /// The name in HTTP message signatures (RFC 9421 §6.2).
        http_name: &'static str,
        /// `kty` and `crv` of its keys (RFC 7518 §6, RFC 8037 §2).
        key_type: (&'static str, Option<&'static str>),
    }

    /// ECDSA on P-256 with SHA-256 (RFC 7518 §3.4).
    Es256 = "ES256" { http_name: "ecdsa-p256-sha256", key_type: ("EC", Some("P-256")) }
    /// Ed25519 (RFC 8037 §3.1).
    EdDsa = "EdDSA" { http_name: "ed25519", key_type: ("OKP", Some("Ed25519")) }
    /// RSA, PKCS #1 v1.5, with SHA-256 (RFC 7518 §3.3).
    Rs256 = "RS256" { http_name: "rsa-v1_5-sha256", key_type: ("RSA", None) }
}

impl Algorithm {
    /// Returns the algorithm with this name in a JWS header or key. `Ed25519` is accepted as the
    /// second name of `EdDSA` (RFC 9864).
    #[must_use]
    pub fn from_jws_name(name: &str) -> Option<Self> {
        if name == "Ed25519" { Some(Self::EdDsa) } else { Self::from_name(name) }
    }

    /// Returns the algorithm with this name in an HTTP message signature.
    #[must_use]
    pub fn from_http_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.http_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_and_eddsa_has_two() {
        for algorithm in Algorithm::ALL.iter().copied() {
            assert_eq!(Algorithm::from_jws_name(algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::from_http_name(algorithm.http_name()), Some(algorithm));
        }
        assert_eq!(Algorithm::from_jws_name("Ed25519"), Some(Algorithm::EdDsa));
        for none in ["none", "HS256", "eddsa", "ed25519", ""] {
            assert_eq!(Algorithm::from_jws_name(none), None, "{none}");
        }
        assert_eq!(Algorithm::from_http_name("EdDSA"), None);
    }
}
