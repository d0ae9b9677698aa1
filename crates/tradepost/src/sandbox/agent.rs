//! An agent of A2A without a profile: every message becomes a task, which ends at once.

use std::sync::Arc;

use tradepost_server::fault::Fault;
use tradepost_server::prelude::*;
use tradepost_store::Store;

/// Its id in the store.
const ID: &str = "sandbox";

/// The agent.
#[derive(Debug)]
pub struct Plain {
    card: PublishedCard,
    auth: Authenticator,
    service: Service,
}

impl Plain {
    /// The agent on a store, as reached under `base_url`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(store: &Arc<Store>, clock: Clock, base_url: &str) -> Result<Self, Fault> {
        let mut card = card::describe("Sandbox", "Makes a task of every message.", base_url);
        card.capabilities.streaming = false;
        let card = PublishedCard::of(&card, clock.now());
        let service = Service::open(Arc::clone(store) as _, clock, ID)?;
        Ok(Self { card, auth: Authenticator::open_to_all(ID), service })
    }
}

impl Agent for Plain {
    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: Incoming<'a>) -> BoxFuture<'a, Outcome> {
        self.service.perform(incoming, |_, _| {
            Ok(Plan::work(async |progress| {
                progress.status(TaskState::Completed, Some("Done.")).await
            }))
        })
    }
}
