//! What was sent and ended unclear: nobody knows whether it was done. Kept for whoever calls with the same
//! again, so that it is sent as it was, under its key.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How much is remembered; beyond it, what is oldest is forgotten.
const MAX_UNCLEAR: usize = 200;

/// What is known of calls, each by a text that only the same call has.
pub(super) struct Unclear<T>(Mutex<VecDeque<(String, T)>>);

impl<T: Clone> Unclear<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Remembers a call; what is known of its first time stays.
    pub(super) fn remember(&self, call: String, known: T) {
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
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().find(|(name, _)| name == call).map(|(_, known)| known.clone())
    }

    /// Forgets a call that is clear now.
    pub(super) fn forget(&self, call: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(name, _)| name != call);
    }
}
