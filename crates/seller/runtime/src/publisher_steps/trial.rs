//! Tests of a publisher's steps, each of which asks somebody else: a destination of messages, the agent at its
//! public address, the publisher's domain, and the ad server.

use std::sync::Arc;

use tradepost_admin::steps::{StepRefusal, begin_publisher_step_test, keep_publisher_step_result};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::services::Unavailable;
use tradepost_publisher::staff_event::StaffEvent;
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::PublisherStep;
use crate::adagents::fetch::{FetchedFile, fetch};
use crate::adagents::{self, ExpectedAgent};
use crate::adcp::seller::PublisherAgent;
use crate::config::delivery::DeliveryConfig;
use crate::delivery::channel::{self, OutgoingMessage};
use crate::delivery::staff::StaffMessage;
use crate::step_test::{self, SampleAnswers, StepVerdict};

/// Tests the steps of a publisher.
#[derive(Debug, Clone)]
pub struct PublisherStepTester {
    /// The store of the server.
    pub store: Arc<Store>,
    /// The clock.
    pub clock: Clock,
    /// The publisher.
    pub agent: Arc<PublisherAgent>,
    /// The person who tests.
    pub actor: Actor,
}

impl PublisherStepTester {
    /// Tests a step and stores the result. A step without a test is only judged.
    ///
    /// # Errors
    /// Fails when the actor lacks the permission, or the store fails.
    pub async fn test(&self, step: PublisherStep) -> Result<StepVerdict, AdminError<StepRefusal>> {
        let id = self.agent.profile.id.clone();
        let begun = id.clone();
        self.perform(move |context, actor| begin_publisher_step_test(context, actor, &begun))
            .await?;
        let verdict = match step {
            PublisherStep::Messages => self.test_destinations().await,
            PublisherStep::Endpoint => self.test_endpoint().await,
            PublisherStep::Adagents => self.test_adagents().await,
            PublisherStep::AdServer => self.test_ad_server().await,
            PublisherStep::Catalogue | PublisherStep::Approvers | PublisherStep::Agents => {
                return Ok(StepVerdict::passed("has no test"));
            }
        };
        let input = verdict.result_of(id, step.name());
        self.perform(move |context, actor| keep_publisher_step_result(context, actor, input))
            .await?;
        Ok(verdict)
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

    /// Sends a sample message, which is marked as a test, to each destination.
    async fn test_destinations(&self) -> StepVerdict {
        let hint = "correct the destination, or its settings in [[publishers.deliveries]]";
        let mut answers = SampleAnswers::default();
        for delivery in &self.agent.set_up.destinations {
            answers.add(&delivery.destination.name, self.send_sample(delivery).await);
        }
        answers.into_verdict(hint)
    }

    async fn send_sample(&self, delivery: &DeliveryConfig) -> Result<String, String> {
        let carrier = channel::open(delivery, &self.clock)?;
        let id = format!("test_{}", uuid::Uuid::now_v7().simple());
        let event = StaffEvent::sample();
        let message = StaffMessage {
            publisher: &self.agent.profile.id,
            event: &event,
            at: self.clock.now(),
            id: &id,
            attempt: 1,
            is_resent: false,
        };
        let written = message.write(&delivery.destination.form);
        let sent = carrier.carry(OutgoingMessage { id, attempt: 1, written }).await;
        sent.map_err(|failed| failed.answer)
    }

    /// Fetches the agent card where buyers do.
    async fn test_endpoint(&self) -> StepVerdict {
        step_test::test_address(&self.agent.set_up.base_url, "agent").await
    }

    /// Reads the file in which the publisher's domain names those who sell its inventory.
    async fn test_adagents(&self) -> StepVerdict {
        let profile = &self.agent.profile;
        let url = adagents::fetch::address(&profile.domain);
        let FetchedFile { url, file } = match fetch(&self.agent.set_up.web, &url).await {
            Ok(fetched) => fetched,
            Err(unread) => return StepVerdict::failed(unread.message, unread.hint),
        };
        let base = self.agent.set_up.base_url.clone();
        let catalogue = &self.agent.publisher().profile.catalogue;
        let sold = adagents::sold(catalogue).remove(&profile.domain).unwrap_or_default();
        let expected = ExpectedAgent { url: base.clone(), domain: profile.domain.clone(), sold };
        let problems = adagents::problems(&file, Some(&expected), self.clock.now());
        let Some(first) = problems.first() else {
            return StepVerdict::passed(format!("{url} names {base}"));
        };
        let more = match problems.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let hint = "`tradepost publisher adagents check` lists every problem";
        StepVerdict::failed(format!("{url} {}: {}{more}", first.pointer, first.message), hint)
    }

    /// Asks every ad server that is configured: the one that media buys are carried into, and the one that says
    /// what is sold out.
    async fn test_ad_server(&self) -> StepVerdict {
        let set_up = &self.agent.set_up;
        let mut answered = Vec::new();
        let mut failed = Vec::new();
        let mut note = |setting: &str, answer: Result<String, String>| match answer {
            Ok(says) => answered.push(format!("{setting}: {says}")),
            Err(why) => failed.push(format!("{setting}: {why}")),
        };
        if let Some(ad_server) = &set_up.ad_server {
            let checked = ad_server.check().await;
            note("ad_server", checked.map_err(|error| error.to_string()));
        }
        if set_up.has_upstream {
            note("upstream", self.ask_what_is_sold_out().await);
        }
        if failed.is_empty() {
            return StepVerdict::passed(answered.join("; "));
        }
        let hint = "check address and credential in publishers.ad_server or publishers.upstream, and that the \
                    ad server runs";
        StepVerdict::failed(failed.join("; "), hint)
    }

    async fn ask_what_is_sold_out(&self) -> Result<String, String> {
        match self.agent.publisher().services.inventory().await {
            Ok(supply) if supply.stale.is_some() => {
                Err(format!("it does not answer; the last answer is {} s old", supply.age_seconds))
            }
            Ok(supply) => {
                let count = supply.sold_out.len();
                Ok(format!("it answers; products that are sold out there: {count}"))
            }
            Err(Unavailable::Down { .. }) => Err("it does not answer".to_owned()),
            Err(Unavailable::Misconfigured { setting }) => {
                Err(format!("it refuses the request; see {setting}"))
            }
        }
    }
}
