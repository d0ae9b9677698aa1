//! The algorithms with which cards, requests, webhooks and tokens are signed, and what each is called
//! where. Which of them may be used for what is a matter of each profile.

use crate::catalog::{Vocabulary as _, catalog};

catalog! {
    /// An algorithm of signatures, by its name in a header of JWS and in a key.
    pub enum Algorithm {
        /// Its name in an HTTP message signature (RFC 9421 §6.2).
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
    /// The algorithm that a header of JWS or a key names. RFC 9864 has a second name for EdDSA with
    /// Ed25519.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        if name == "Ed25519" { Some(Self::EdDsa) } else { Self::from_name(name) }
    }

    /// The algorithm that an HTTP message signature names.
    #[must_use]
    pub fn of_http(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.http_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_and_eddsa_has_two() {
        for algorithm in Algorithm::ALL.iter().copied() {
            assert_eq!(Algorithm::of(algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::of_http(algorithm.http_name()), Some(algorithm));
        }
        assert_eq!(Algorithm::of("Ed25519"), Some(Algorithm::EdDsa));
        for none in ["none", "HS256", "eddsa", "ed25519", ""] {
            assert_eq!(Algorithm::of(none), None, "{none}");
        }
        assert_eq!(Algorithm::of_http("EdDSA"), None);
    }
}
