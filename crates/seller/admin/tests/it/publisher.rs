//! A publisher without buyers, for decisions that find nothing to decide.

use std::future::ready;
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::{Onboarding, PublisherProfile, Signing};
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::services::{
    BoxFuture, CallError, LimitWait, NamedGovernanceAgent, OrderAnswer, OrderQuestion, RateClass,
    Services, SubscriberChallenge, Supply, Unavailable,
};
use tradepost_publisher::store::memory::MemoryPublisherStore;

/// Id of the publisher.
pub(crate) const GAZETTE: &str = "gazette";

/// Creates the publisher.
pub(crate) fn gazette() -> Publisher {
    let profile = PublisherProfile {
        id: GAZETTE.to_owned(),
        name: "The Gazette".to_owned(),
        domain: "gazette.example".to_owned(),
        sandbox: false,
        billing: Vec::new(),
        payment_terms: Vec::new(),
        agents: Vec::new(),
        onboarding: Onboarding::default(),
        replay_ttl: SignedDuration::from_hours(24),
        catalogue: Catalogue::default(),
        spend_limits: Vec::new(),
        four_eyes: Vec::new(),
        internals: false,
        signing: Signing::default(),
        endpoints: Vec::new(),
        ad_server: None,
    };
    Publisher::new(
        Arc::new(profile),
        Arc::new(MemoryPublisherStore::default()),
        Arc::new(NoServices),
    )
}

/// Services of a publisher without callers.
#[derive(Debug)]
struct NoServices;

impl Services for NoServices {
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}_1")
    }

    fn admit(&self, _: &str, _: RateClass) -> Result<(), LimitWait> {
        Ok(())
    }

    fn may_call(&self, _: &str) -> Result<(), &'static str> {
        Err("nothing is called here")
    }

    fn tidy(&self) {}

    fn check_governance<'a>(
        &'a self,
        _: &'a NamedGovernanceAgent,
        _: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>> {
        Box::pin(ready(Err(CallError::NoAnswer)))
    }

    fn creative_features(
        &self,
        _: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>> {
        Box::pin(ready(Vec::new()))
    }

    fn agent_url(&self) -> String {
        String::new()
    }

    fn is_own_machine(&self, _: &str) -> bool {
        false
    }

    fn challenge(&self, challenges: Vec<SubscriberChallenge>) -> BoxFuture<'_, Vec<bool>> {
        Box::pin(ready(vec![false; challenges.len()]))
    }

    fn attest(&self, _: &Value, _: &[&str]) -> Option<String> {
        None
    }

    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>> {
        Box::pin(ready(Err(Unavailable::Down { retry_after: None })))
    }

    fn check_order<'a>(
        &'a self,
        _: &'a OrderQuestion,
    ) -> BoxFuture<'a, Result<OrderAnswer, Unavailable>> {
        Box::pin(ready(Err(Unavailable::Down { retry_after: None })))
    }

    fn report(&self, _: &InternalError) -> String {
        "err_1".to_owned()
    }
}
