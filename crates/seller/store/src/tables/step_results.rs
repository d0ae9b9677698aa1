//! Last results of the tests of the steps that bring a dealer online.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::{Database, StoreTransaction};
use crate::sql::params;
use crate::step_results::{StepOutcome, StepResult};

impl StoreTransaction<'_> {
    /// Stores a result in place of the former one of the step.
    ///
    /// # Errors
    /// When the database fails.
    pub fn keep_step_result(&self, result: &StepResult) -> Result<(), InternalError> {
        let StepResult { dealer_id, step, at, by, outcome, says } = result;
        self.0.execute(
            "keeping the result of a test",
            "INSERT INTO step_results (dealer_id, step, at, wanted_by, outcome, says)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (dealer_id, step) DO UPDATE SET at = excluded.at,
                 wanted_by = excluded.wanted_by, outcome = excluded.outcome, says = excluded.says",
            params![dealer_id, step, *at, by, outcome.name(), says],
        )
    }
}

impl Database {
    /// Returns the last results of a dealer's steps.
    pub(crate) fn step_results(&self, dealer_id: &str) -> Result<Vec<StepResult>, InternalError> {
        self.0.all(
            "reading the results of tests",
            "SELECT step, at, wanted_by, outcome, says FROM step_results
             WHERE dealer_id = $1 ORDER BY step",
            params![dealer_id],
            |row| {
                let outcome: String = row.get("outcome")?;
                let outcome =
                    StepOutcome::from_name(&outcome).ok_or("an outcome that nobody knows")?;
                Ok(StepResult {
                    dealer_id: dealer_id.to_owned(),
                    step: row.get("step")?,
                    at: row.get("at")?,
                    by: row.get("wanted_by")?,
                    outcome,
                    says: row.get("says")?,
                })
            },
        )
    }
}
