#![doc = include_str!("../README.md")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tradepost_wire::problem::{At, Extra, Keyword, Problems};

pub mod card;
pub mod jwt;
pub mod keyset;
pub mod private;

pub use keyset::{KeySet, PublicKey};
pub use private::{SigningKey, generate};
pub use tradepost_wire::algorithm::Algorithm;

/// Encodes base64url as JWS wants it.
#[must_use]
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url as JWS wants it: without padding, and with one spelling for every value, so
/// that a signature cannot be written in a second way.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Notes what is wrong at a place of a card or a key set.
fn reject(at: &At<'_>, problems: &mut Problems, message: impl Into<String>) {
    tradepost_wire::parse::push(at, problems, Keyword::Format, message, Extra::None);
}
