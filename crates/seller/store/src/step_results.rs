//! Last results of the tests of the steps that bring a dealer online.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::words;

use super::Store;

words! {
    /// Outcome of a test of a step.
    pub enum StepOutcome {
        /// The step works.
        Passed = "passed",
        /// It does not.
        Failed = "failed",
    }
}

/// Result of a test of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepResult {
    /// Dealer whose step was tested.
    pub dealer_id: String,
    /// Name of the step.
    pub step: String,
    /// Time at which the test ended.
    pub at: Timestamp,
    /// Name of the person who requested it.
    pub by: String,
    /// Outcome of the test.
    pub outcome: StepOutcome,
    /// Description of the outcome, without personal data.
    pub says: String,
}

impl Store {
    /// Returns the last results of a dealer's steps.
    ///
    /// # Errors
    /// When the database fails.
    pub fn step_results(&self, dealer_id: &str) -> Result<Vec<StepResult>, InternalError> {
        self.read(|db| db.step_results(dealer_id))
    }
}
