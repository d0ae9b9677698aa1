//! What the tests of set-up steps share, those of a dealer and those of a publisher: the verdict and how it is stored,
//! samples that are sent to destinations, and the agent at its public address.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tradepost_admin::steps::{KeepStepResult, StepRefusal};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_client::HttpTransport;
use tradepost_client::discover::{discover, is_this_machine};
use tradepost_client::transport::TransportLimits;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::step_results::StepOutcome;

/// Limits of a request.
pub const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(30),
    connect: Duration::from_secs(10),
    max_body: 8 * 1024 * 1024,
};

/// Result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepVerdict {
    /// Outcome of the test.
    pub outcome: StepOutcome,
    /// Description, without personal data: a lower-case fragment without a full stop.
    pub says: String,
    /// Action for the operator, unless it passed.
    pub hint: Option<&'static str>,
}

impl StepVerdict {
    /// Creates the verdict of a test that has passed.
    pub fn passed(says: impl Into<String>) -> Self {
        Self { outcome: StepOutcome::Passed, says: says.into(), hint: None }
    }

    /// Creates the verdict of a test that has failed, with what the operator does about it.
    pub fn failed(says: impl Into<String>, hint: &'static str) -> Self {
        Self { outcome: StepOutcome::Failed, says: says.into(), hint: Some(hint) }
    }

    /// Returns it as it is stored for a step of a dealer or a publisher.
    pub fn result_of(&self, id: String, step: &'static str) -> KeepStepResult {
        let Self { outcome, says, hint } = self;
        let says = hint.map_or_else(|| says.clone(), |hint| format!("{says}; {hint}"));
        KeepStepResult { dealer_id: id, step, outcome: *outcome, says }
    }
}

/// Answers of destinations to samples.
#[derive(Debug, Default)]
pub struct SampleAnswers {
    taken: Vec<String>,
    refused: Vec<String>,
}

impl SampleAnswers {
    /// Adds the answer of a destination.
    pub fn add(&mut self, destination: &str, answer: Result<String, String>) {
        match answer {
            Ok(answer) => self.taken.push(format!("{destination} ({answer})")),
            Err(why) => self.refused.push(format!("{destination} did not take it: {why}")),
        }
    }

    /// Returns the verdict: passed when there is a destination and all have taken their sample.
    pub fn into_verdict(self, hint: &'static str) -> StepVerdict {
        if !self.refused.is_empty() {
            return StepVerdict::failed(self.refused.join("; "), hint);
        }
        if self.taken.is_empty() {
            return StepVerdict::failed("no destination is configured", hint);
        }
        StepVerdict::passed(format!("a sample was taken by {}", self.taken.join(", ")))
    }
}

/// Performs an operation on a thread that may block.
///
/// # Errors
/// Fails when the operation does, or the thread ends.
pub async fn perform(
    store: &Arc<Store>,
    actor: &Actor,
    now: Timestamp,
    operation: impl FnOnce(&AdminContext<'_>, &Actor) -> Result<(), AdminError<StepRefusal>>
    + Send
    + 'static,
) -> Result<(), AdminError<StepRefusal>> {
    let store = Arc::clone(store);
    let actor = actor.clone();
    let performed = tokio::task::spawn_blocking(move || {
        operation(&AdminContext { store: &store, dealers: &[], now }, &actor)
    });
    performed.await.map_err(InternalError::on("testing a step"))?
}

/// Fetches the agent card of an address, as agents do. `what` is the word for what is looked for.
pub async fn test_address(base: &str, what: &str) -> StepVerdict {
    match discover(&HttpTransport::new(LIMITS), base, None).await {
        Err(failure) => StepVerdict::failed(
            format!("no {what} at {base}: {failure}"),
            "check that the server runs, that the name leads to it, and that public_url is right",
        ),
        Ok(found) => {
            let host = found.url.host_str().unwrap_or_default();
            let only_here = if is_this_machine(host) {
                ", which only this machine reaches: set public_url"
            } else {
                ""
            };
            StepVerdict::passed(format!("the {what} is at {base}{only_here}"))
        }
    }
}
