//! Tests of the steps that bring a dealer or publisher online, run in the background: one at a time for each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tradepost_admin::AdminError;
use tradepost_admin::steps::StepRefusal;
use tradepost_runtime::step_test::StepVerdict;

/// Tests that are running, by dealer or publisher, with the name of the step.
#[derive(Debug, Default)]
pub(super) struct StepRuns {
    running: Mutex<BTreeMap<String, &'static str>>,
}

impl StepRuns {
    /// Returns the step of a seller that is being tested.
    pub(super) fn running(&self, seller_id: &str) -> Option<&'static str> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(seller_id).copied()
    }

    /// Begins a test if the seller has none; it ends when the returned value is dropped.
    pub(super) fn enter(self: &Arc<Self>, seller_id: &str, step: &'static str) -> Option<StepSlot> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains_key(seller_id) {
            return None;
        }
        running.insert(seller_id.to_owned(), step);
        Some(StepSlot { runs: Arc::clone(self), seller_id: seller_id.to_owned(), step })
    }
}

/// A running test.
#[derive(Debug)]
pub(super) struct StepSlot {
    runs: Arc<StepRuns>,
    seller_id: String,
    step: &'static str,
}

impl Drop for StepSlot {
    fn drop(&mut self) {
        // In `drop`, because a panic would otherwise block all later tests of the seller.
        let mut running = self.runs.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.seller_id);
    }
}

impl StepSlot {
    /// Waits for the test; its result is in the store.
    pub(super) async fn run(
        self,
        test: impl Future<Output = Result<StepVerdict, AdminError<StepRefusal>>>,
    ) {
        match test.await {
            Ok(_) => {}
            Err(AdminError::Broken(fault)) => {
                tracing::error!(seller = %self.seller_id, step = %self.step, cause = %fault.chain(), "a step could not be tested");
            }
            Err(AdminError::Forbidden(_) | AdminError::Refused(_)) => {
                tracing::warn!(seller = %self.seller_id, step = %self.step, "the test of a step was refused");
            }
        }
    }
}
