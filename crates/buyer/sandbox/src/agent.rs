//! A2A agent without a profile: every message becomes a task that completes at once.

use std::sync::Arc;

use axum::Router;
use tradepost_server::fault::InternalError;
use tradepost_server::http::HttpSettings;
use tradepost_server::memory::MemoryStore;
use tradepost_server::prelude::*;

/// Id of the agent.
const ID: &str = "sandbox";

/// Agent without a profile.
#[derive(Debug)]
struct ProfilelessAgent {
    card: PublishedCard,
    auth: Authenticator,
    service: TaskService,
}

/// Returns the router of the agent, which keeps its tasks in memory; its base address is `base_url`.
pub(crate) fn router(clock: Clock, base_url: &str) -> Result<Router, InternalError> {
    let mut card = card::describe("Sandbox", "Makes a task of every message.", base_url);
    card.capabilities.streaming = false;
    let card = PublishedCard::from_card(&card, clock.now());
    let memory = Arc::new(MemoryStore::default());
    let service = TaskService::open(Arc::clone(&memory) as _, clock.clone(), ID)?;
    let agent = ProfilelessAgent { card, auth: Authenticator::open_to_all(ID), service };
    Ok(http::router(Arc::new(AgentRegistry::new(
        HttpSettings::default(),
        clock,
        memory,
        vec![Arc::new(agent)],
    ))))
}

impl Agent for ProfilelessAgent {
    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.service)
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        self.service.perform(incoming, |_, _| {
            Ok(MessagePlan::work(async |progress| {
                progress.status(TaskState::Completed, Some("Done.")).await
            }))
        })
    }
}
