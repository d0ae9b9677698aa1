//! The world of a publisher that nobody can reach and that reaches nobody: what its people decide
//! needs identifiers and nothing else from outside.

use tradepost_publisher::world::{
    Challenge, GovernanceAgent, Lane, Later, Supply, Unavailable, Unreached, Wait, World,
};
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::{Map, Value};

/// Nothing but identifiers.
#[derive(Debug)]
pub(super) struct Offline;

impl World for Offline {
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
    }

    // The limits are those of buyers.
    fn admit(&self, _: &str, _: Lane) -> Result<(), Wait> {
        Ok(())
    }

    fn may_call(&self, _: &str) -> Result<(), &'static str> {
        Ok(())
    }

    fn tidy(&self) {}

    fn check_governance<'a>(
        &'a self,
        _: &'a GovernanceAgent,
        _: Map,
    ) -> Later<'a, Result<Map, Unreached>> {
        Box::pin(std::future::ready(Err(Unreached::Silent)))
    }

    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> Later<'_, Vec<Result<Map, Unreached>>> {
        Box::pin(std::future::ready(questions.iter().map(|_| Err(Unreached::Silent)).collect()))
    }

    fn agent_url(&self) -> String {
        String::new()
    }

    fn is_own_machine(&self, _: &str) -> bool {
        false
    }

    fn challenge(&self, challenges: Vec<Challenge>) -> Later<'_, Vec<bool>> {
        Box::pin(std::future::ready(vec![false; challenges.len()]))
    }

    fn attest(&self, _: &Value, _: &[&str]) -> Option<String> {
        None
    }

    fn inventory(&self) -> Later<'_, Result<Supply, Unavailable>> {
        Box::pin(std::future::ready(Err(Unavailable::Down { retry_after: None })))
    }

    // Nothing is logged: whoever ran the command reads the fault itself.
    fn report(&self, _: &InternalError) -> String {
        self.fresh_id("err")
    }
}
