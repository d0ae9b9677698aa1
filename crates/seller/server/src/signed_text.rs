//! Signed texts, such as page tokens: signed with a key from the store, so that they outlive the
//! process, and bound to a purpose.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::fault::InternalError;

/// Secrets that outlive the process.
pub trait Secrets: fmt::Debug + Send + Sync {
    /// Returns the secret with this name; stores `fresh` as the secret when there is none.
    ///
    /// # Errors
    /// When it cannot be read or stored.
    fn secret(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, InternalError>;
}

/// Length of a signature in bytes.
const SIGNATURE_BYTES: usize = 16;

/// Signs texts and verifies them.
pub struct Seal(Vec<u8>);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// Opens the store's key with this name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(secrets: &dyn Secrets, name: &'static str) -> Result<Self, InternalError> {
        // Two random UUIDs have 244 random bits.
        let fresh = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        let fresh = fresh.iter().flat_map(|id| *id.as_bytes()).collect();
        secrets.secret(name, fresh).map(Self)
    }

    /// Derives a key for one purpose, the same in every process with the store.
    #[must_use]
    pub fn derive(&self, purpose: &[impl AsRef<str>]) -> [u8; 32] {
        // Told apart from signatures by its first part, which no purpose of theirs has.
        let parts = ["derived key"].into_iter().chain(purpose.iter().map(AsRef::as_ref));
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Signs a text for one purpose.
    #[must_use]
    pub fn write(&self, purpose: &[impl AsRef<str>], text: &str) -> String {
        format!("{}.{text}", self.sign(purpose, text))
    }

    /// Returns the text, if it was signed for this purpose.
    #[must_use]
    pub fn read<'t>(&self, purpose: &[impl AsRef<str>], sealed: &'t str) -> Option<&'t str> {
        let (signature, text) = sealed.split_once('.')?;
        let right = self.sign(purpose, text);
        // Compared in constant time, so that the time does not tell how much of a guess is right.
        bool::from(right.as_bytes().ct_eq(signature.as_bytes())).then_some(text)
    }

    /// Returns true when a text has the form of a signed one, for any purpose.
    #[must_use]
    pub fn looks_sealed(text: &str) -> bool {
        let signature = text.split_once('.').map_or("", |(signature, _)| signature);
        signature.len() == 2 * SIGNATURE_BYTES
            && signature.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn sign(&self, purpose: &[impl AsRef<str>], text: &str) -> String {
        let mac = self.mac(purpose.iter().map(AsRef::as_ref).chain([text]));
        // Half of the output is the most that may be left out (RFC 2104 §5).
        tradepost_document::format::hex(mac.finalize().into_bytes().iter().take(SIGNATURE_BYTES))
    }

    /// Computes the MAC of a list of parts.
    fn mac<'p>(&self, parts: impl Iterator<Item = &'p str>) -> Hmac<Sha256> {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC takes a key of any length")
        };
        // Each part has its length as a prefix, so that different lists of parts never have the
        // same bytes.
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}
