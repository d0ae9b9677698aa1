//! Services of a publisher without a network: decisions of its staff, and what is looked up for them, need
//! only identifiers.

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::services::{
    BoxFuture, CallError, LimitWait, NamedGovernanceAgent, OrderAnswer, OrderQuestion, RateClass,
    Services, SubscriberChallenge, Supply, Unavailable,
};

/// Services with only identifiers.
#[derive(Debug)]
pub struct OfflineServices;

impl Services for OfflineServices {
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
    }

    // Rate limits are for buyers.
    fn admit(&self, _: &str, _: RateClass) -> Result<(), LimitWait> {
        Ok(())
    }

    fn may_call(&self, _: &str) -> Result<(), &'static str> {
        Ok(())
    }

    fn tidy(&self) {}

    fn check_governance<'a>(
        &'a self,
        _: &'a NamedGovernanceAgent,
        _: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>> {
        Box::pin(std::future::ready(Err(CallError::NoAnswer)))
    }

    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>> {
        Box::pin(std::future::ready(questions.iter().map(|_| Err(CallError::NoAnswer)).collect()))
    }

    fn agent_url(&self) -> String {
        String::new()
    }

    fn is_own_machine(&self, _: &str) -> bool {
        false
    }

    fn challenge(&self, challenges: Vec<SubscriberChallenge>) -> BoxFuture<'_, Vec<bool>> {
        Box::pin(std::future::ready(vec![false; challenges.len()]))
    }

    fn attest(&self, _: &Value, _: &[&str]) -> Option<String> {
        None
    }

    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>> {
        Box::pin(std::future::ready(Err(Unavailable::Down { retry_after: None })))
    }

    fn check_order<'a>(
        &'a self,
        _: &'a OrderQuestion,
    ) -> BoxFuture<'a, Result<OrderAnswer, Unavailable>> {
        Box::pin(std::future::ready(Err(Unavailable::Down { retry_after: None })))
    }

    // Nothing is logged: the user of the command reads the error itself.
    fn report(&self, _: &InternalError) -> String {
        self.fresh_id("err")
    }
}
