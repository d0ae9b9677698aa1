//! Tests of steps, each of which asks somebody else: a destination, the agent card at its public address, and a lead
//! that goes from there to the destinations and is erased at the end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tradepost_aap::Skill;
use tradepost_admin::steps::{
    BeginStepTest, CloseTestLead, StepRefusal, begin_step_test, close_test_lead, keep_step_result,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_client::client::SkillClient;
use tradepost_client::failure::CallFailure;
use tradepost_client::{BearerToken, HttpTransport};
use tradepost_dealer::delivery::{DeliveryRecord, DeliveryState, sample};
use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::step_results::StepOutcome;

use super::FirstStep;
use crate::config::DealerConfig;
use crate::delivery::channel;
use crate::step_test::{self, LIMITS, SampleAnswers, StepVerdict};

/// Interval at which the store is asked for deliveries.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Time in which a running server delivers a lead, when the destination answers.
pub const DELIVERED_WITHIN: Duration = Duration::from_secs(60);

/// Contact and credential of a test lead.
#[derive(Debug, Clone)]
pub struct TestContact {
    /// E-mail address of the operator.
    pub email: String,
    /// Credential, when the dealer requires one.
    pub token: Option<String>,
}

/// Tests the steps of a dealer.
#[derive(Debug, Clone)]
pub struct StepTester {
    /// The store of the server.
    pub store: Arc<Store>,
    /// The clock.
    pub clock: Clock,
    /// The dealer.
    pub dealer: Arc<DealerConfig>,
    /// Address of its agent.
    pub base_url: String,
    /// The person who tests.
    pub actor: Actor,
    /// Maximum time for the deliveries of a test lead.
    pub timeout: Duration,
}

impl StepTester {
    /// Tests a step and stores the result. `contact` is for the test lead. A step without a test is only judged.
    ///
    /// # Errors
    /// Fails when the actor lacks the permission, or the store fails.
    pub async fn test(
        &self,
        step: FirstStep,
        contact: &TestContact,
    ) -> Result<StepVerdict, AdminError<StepRefusal>> {
        let begun = BeginStepTest { dealer_id: self.dealer.terms.id.clone() };
        self.perform(move |context, actor| begin_step_test(context, actor, &begun)).await?;
        let verdict = match step {
            FirstStep::Delivery => self.test_destinations().await,
            FirstStep::Card => self.test_card().await,
            FirstStep::TestLead => self.test_lead(contact).await?,
            FirstStep::Identity | FirstStep::Hours | FirstStep::Feed => {
                return Ok(StepVerdict::passed("has no test"));
            }
        };
        self.keep(step, &verdict).await?;
        // Whoever took the test lead takes every lead.
        if step == FirstStep::TestLead && verdict.outcome == StepOutcome::Passed {
            self.keep(FirstStep::Delivery, &verdict).await?;
        }
        Ok(verdict)
    }

    /// Stores the result of a test.
    async fn keep(
        &self,
        step: FirstStep,
        verdict: &StepVerdict,
    ) -> Result<(), AdminError<StepRefusal>> {
        let dealer_id = self.dealer.terms.id.clone();
        let input = verdict.result_of(dealer_id, step.name());
        self.perform(move |context, actor| keep_step_result(context, actor, input)).await
    }

    /// Performs an operation on a thread that may block.
    async fn perform(
        &self,
        operation: impl FnOnce(&AdminContext<'_>, &Actor) -> Result<(), AdminError<StepRefusal>>
        + Send
        + 'static,
    ) -> Result<(), AdminError<StepRefusal>> {
        step_test::perform(&self.store, &self.actor, self.clock.now(), operation).await
    }

    /// Sends a sample lead to each destination.
    async fn test_destinations(&self) -> StepVerdict {
        let hint = "correct the destination, or its settings in [[dealers.deliveries]]";
        let mut answers = SampleAnswers::default();
        for delivery in &self.dealer.deliveries {
            let answer = channel::send_sample(&self.dealer.terms, delivery, &self.clock).await;
            answers.add(&delivery.destination.name, answer);
        }
        answers.into_verdict(hint)
    }

    /// Fetches the agent card where agents do.
    async fn test_card(&self) -> StepVerdict {
        step_test::test_address(&self.base_url, "card").await
    }

    /// Sends a lead to the agent, waits until the destinations have it, and erases it.
    async fn test_lead(
        &self,
        contact: &TestContact,
    ) -> Result<StepVerdict, AdminError<StepRefusal>> {
        let receipt = match self.submit(contact).await {
            Ok(receipt) => receipt,
            Err(failure) => {
                let hint = match self.dealer.auth.required {
                    true => {
                        "the dealer requires a credential: run `tradepost doctor --test-lead` \
                             with an API key in TRADEPOST_TOKEN"
                    }
                    false => "check that the server runs, and that its public address leads to it",
                };
                return Ok(StepVerdict::failed(format!("the lead was not taken: {failure}"), hint));
            }
        };
        let text = |pointer: &str| receipt.pointer(pointer).and_then(Value::as_str);
        let lead_id = text("/data/lead_id").unwrap_or_default().to_owned();
        let wanted = lead_id.clone();
        let history = self.read(move |store| store.lead_history(&wanted)).await?;
        let Some(history) = history else {
            let hint = "another server, or another data folder, is behind the public address: name \
                        the one of the server with --data or --config";
            return Ok(StepVerdict::failed("the lead is not in this store", hint));
        };
        let verdict = self.verdict_of(&history.lead).await;
        // Also after a failure: the lead is nobody's.
        let close = CloseTestLead { lead_id: lead_id.clone() };
        let closed = self.perform(move |context, actor| close_test_lead(context, actor, close));
        match closed.await {
            Ok(()) => Ok(verdict?),
            Err(AdminError::Refused(_)) => Ok(StepVerdict::failed(
                format!("the dealer took it for a repetition of the lead {lead_id}"),
                "look at this lead in the console, and test again with another e-mail address",
            )),
            Err(error) => Err(error),
        }
    }

    /// Submits the lead. Returns the answer.
    async fn submit(&self, contact: &TestContact) -> Result<Value, CallFailure> {
        let mut builder = SkillClient::builder().transport(HttpTransport::new(LIMITS));
        if let Some(token) = &contact.token {
            builder = builder.token(BearerToken::new(token.clone()));
        }
        let client = builder.connect(&self.base_url).await?;
        let payload = sample::self_test(&contact.email, &client.new_key(), self.clock.now());
        let answer = client.call(Skill::LeadSubmit, payload).await?;
        Ok(answer.payload)
    }

    /// Waits for the deliveries of the lead, and judges them.
    async fn verdict_of(&self, lead: &LeadRecord) -> Result<StepVerdict, InternalError> {
        if lead.state == LeadState::Held {
            return Ok(StepVerdict::failed(
                "the lead was held back by the rules for agents or for velocity",
                "allow the agent \"tradepost self-test\" in [dealers.leads.agents], or test again \
                 when there are fewer leads",
            ));
        }
        let destinations = self.dealer.deliveries.iter().map(|delivery| &delivery.destination);
        let wanted = destinations.filter(|destination| destination.wants(lead));
        let wanted: Vec<&str> = wanted.map(|destination| destination.name.as_str()).collect();
        if wanted.is_empty() {
            return Ok(StepVerdict::failed(
                "the lead was taken, and no destination is configured for it",
                "add a destination in [[dealers.deliveries]]: until then leads are only in the console",
            ));
        }
        let records = self.wait(&lead.lead_id, &wanted).await?;
        Ok(judge(&wanted, &records))
    }

    /// Waits until each destination has taken the lead or given up.
    async fn wait(
        &self,
        lead_id: &str,
        wanted: &[&str],
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        let end = Instant::now() + self.timeout;
        loop {
            let dealer_id = self.dealer.terms.id.clone();
            let lead_id = lead_id.to_owned();
            let records = self
                .read(move |store| store.deliveries(Some(&dealer_id), Some(&lead_id), None))
                .await?;
            let is_over = wanted.iter().all(|name| {
                let record = records.iter().find(|record| record.destination == *name);
                record.is_some_and(|record| match record.state {
                    DeliveryState::Due | DeliveryState::Sending => false,
                    DeliveryState::Delivered | DeliveryState::Dead | DeliveryState::Ended => true,
                })
            });
            if is_over || Instant::now() >= end {
                return Ok(records);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Reads the store on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Store) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || job(&store));
        read.await.map_err(InternalError::on("reading a test lead"))?
    }
}

/// Judges the deliveries of a lead to the destinations that want it.
fn judge(wanted: &[&str], records: &[DeliveryRecord]) -> StepVerdict {
    let mut taken = Vec::new();
    let mut missing = Vec::new();
    for name in wanted {
        let record = records.iter().find(|record| record.destination == *name);
        let answer = record.and_then(|record| record.answer.as_deref());
        match record.map(|record| record.state) {
            Some(DeliveryState::Delivered) => {
                taken.push(format!("{name} ({})", answer.unwrap_or("accepted")));
            }
            Some(_) => {
                let answer = answer.unwrap_or("no answer yet");
                missing.push(format!("{name} did not take it: {answer}"));
            }
            None => missing.push(format!("it was not sent to {name}")),
        }
    }
    if missing.is_empty() {
        return StepVerdict::passed(format!("taken by {}, and erased", taken.join(", ")));
    }
    StepVerdict::failed(
        missing.join("; "),
        "check that the server runs with this configuration, and correct the destination: \
         `tradepost leads test-delivery NAME` shows its answer at once",
    )
}
