//! Secrets that callers may show. Only their hashes are kept, and all of them are compared, so that the time of an
//! answer does not tell how close a guess was.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::auth::Principal;

/// Secrets, each with the caller that shows it.
#[derive(Clone, Default)]
pub(super) struct SecretList(Vec<KnownSecret>);

#[derive(Clone)]
struct KnownSecret {
    hash: [u8; 32],
    principal: Principal,
}

impl fmt::Debug for SecretList {
    /// Shows the names of the callers only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|known| &known.principal.name)).finish()
    }
}

impl SecretList {
    /// Adds a secret.
    pub(super) fn add(&mut self, secret: &[u8], principal: Principal) {
        self.0.push(KnownSecret { hash: Sha256::digest(secret).into(), principal });
    }

    /// Returns the caller with this secret.
    pub(super) fn find(&self, shown: &[u8]) -> Option<&Principal> {
        let hash: [u8; 32] = Sha256::digest(shown).into();
        let mut place = u64::MAX;
        for (number, known) in (0_u64..).zip(&self.0) {
            let is_same: Choice = hash.ct_eq(&known.hash);
            place.conditional_assign(&number, is_same);
        }
        self.0.get(usize::try_from(place).ok()?).map(|known| &known.principal)
    }
}
