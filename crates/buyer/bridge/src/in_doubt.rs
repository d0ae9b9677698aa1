//! Memory of calls in doubt, which may or may not have acted. The same call made again is sent unchanged, under its
//! first key.

use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use tradepost_document::cache::BoundedCache;

/// Maximum number of calls; beyond it, the one used longest ago is forgotten.
const MAX_CALLS: usize = 10_000;

/// Calls in doubt by the SHA-256 of their canonical text, because the text of a lead names a customer.
pub(super) struct CallsInDoubt<T>(Mutex<BoundedCache<[u8; 32], T>>);

fn digest_of(call: &str) -> [u8; 32] {
    Sha256::digest(call).into()
}

impl<T: Clone> CallsInDoubt<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_CALLS)))
    }

    /// Remembers a call; the first entry for it stays.
    pub(super) fn remember(&self, call: &str, known: T) {
        let call = digest_of(call);
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.get(&call).is_none() {
            calls.insert(call, known);
        }
    }

    /// Returns the entry of this call, when it ended in doubt.
    pub(super) fn recall(&self, call: &str) -> Option<T> {
        let call = digest_of(call);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned()
    }

    /// Forgets a call whose outcome is known.
    pub(super) fn forget(&self, call: &str) {
        let call = digest_of(call);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
    }
}
