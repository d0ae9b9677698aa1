#![doc = include_str!("../README.md")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

#[cfg(feature = "adcp")]
pub mod adcp;
pub mod card;
pub mod hmac;
pub mod http_signature;
pub mod jwt;
pub mod keyset;
pub mod private;
pub mod replay;

pub use keyset::{KeySet, PublicKey};
pub use private::{SigningKey, generate};
pub use tradepost_document::algorithm::Algorithm;

/// Encodes base64url without padding, as JWS requires.
#[must_use]
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url as JWS requires: without padding, and with one spelling for every value, so
/// that a signature has no second spelling.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Computes the SHA-256 of bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
