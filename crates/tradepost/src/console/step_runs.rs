//! Tests of the steps that bring a dealer online, run in the background: one at a time for each dealer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tradepost_admin::AdminError;

use crate::first_steps::FirstStep;
use crate::first_steps::trial::{StepTester, TestContact};

/// Tests that are running, by dealer.
#[derive(Debug, Default)]
pub(super) struct StepRuns {
    running: Mutex<BTreeMap<String, FirstStep>>,
}

impl StepRuns {
    /// Returns the step of a dealer that is being tested.
    pub(super) fn running(&self, dealer_id: &str) -> Option<FirstStep> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(dealer_id).copied()
    }

    /// Begins a test if the dealer has none; it ends when the returned value is dropped.
    pub(super) fn enter(self: &Arc<Self>, dealer_id: &str, step: FirstStep) -> Option<StepSlot> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains_key(dealer_id) {
            return None;
        }
        running.insert(dealer_id.to_owned(), step);
        Some(StepSlot { runs: Arc::clone(self), dealer_id: dealer_id.to_owned(), step })
    }
}

/// A running test.
#[derive(Debug)]
pub(super) struct StepSlot {
    runs: Arc<StepRuns>,
    dealer_id: String,
    step: FirstStep,
}

impl Drop for StepSlot {
    fn drop(&mut self) {
        // In `drop`, because a panic would otherwise block all later tests of the dealer.
        let mut running = self.runs.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.dealer_id);
    }
}

impl StepSlot {
    /// Tests the step; the result is in the store.
    pub(super) async fn run(self, tester: StepTester, contact: TestContact) {
        match tester.test(self.step, &contact).await {
            Ok(_) => {}
            Err(AdminError::Broken(fault)) => {
                tracing::error!(dealer = %self.dealer_id, step = %self.step, cause = %fault.chain(), "a step could not be tested");
            }
            Err(AdminError::Forbidden(_) | AdminError::Refused(_)) => {
                tracing::warn!(dealer = %self.dealer_id, step = %self.step, "the test of a step was refused");
            }
        }
    }
}
