//! What was sent and ended unclear: nobody knows whether it was done. Kept for whoever calls with the same
//! again, so that it is sent as it was, under its key.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// How much is remembered; beyond it, what is oldest is forgotten.
const MAX_UNCLEAR: usize = 10_000;

/// What is known of calls, each by the SHA-256 of a text that only the same call has: a lead's names a
/// customer.
pub(super) struct Unclear<T>(Mutex<VecDeque<([u8; 32], T)>>);

fn name_of(call: &str) -> [u8; 32] {
    Sha256::digest(call).into()
}

impl<T: Clone> Unclear<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Remembers a call; what is known of its first time stays.
    pub(super) fn remember(&self, call: &str, known: T) {
        let call = name_of(call);
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.iter().any(|(name, _)| *name == call) {
            return;
        }
        if calls.len() >= MAX_UNCLEAR {
            calls.pop_front();
        }
        calls.push_back((call, known));
    }

    /// What is known of this call, when it ended unclear.
    pub(super) fn recall(&self, call: &str) -> Option<T> {
        let call = name_of(call);
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().find(|(name, _)| *name == call).map(|(_, known)| known.clone())
    }

    /// Forgets a call that is clear now.
    pub(super) fn forget(&self, call: &str) {
        let call = name_of(call);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(name, _)| *name != call);
    }
}
