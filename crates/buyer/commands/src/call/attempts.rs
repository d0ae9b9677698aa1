//! Call of a skill, with retries. A lead gets its idempotency key before it is sent.

use std::time::Duration;

use tradepost_aap::Skill;
use tradepost_client::SkillAnswer;
use tradepost_client::client::{SkillClient, uncorrected};
use tradepost_document::json::Value;
use uuid::Uuid;

use super::super::attempts::{KEY, gave_up, recoverer};
use super::super::output::{CommandFailure, Output};

/// Gives a lead an idempotency key if it has none: without one, it could not be retried safely.
pub(super) fn give_key(skill: Skill, payload: &mut Value) {
    if skill == Skill::LeadSubmit
        && let Some(members) = payload.as_object_mut()
    {
        members.entry(KEY).or_insert_with(|| Uuid::new_v4().to_string().into());
    }
}

/// Calls a skill, with retries if there is a time limit for them.
pub(super) async fn call(
    client: &SkillClient,
    skill: Skill,
    payload: Value,
    overall: Option<Duration>,
    output: Output,
) -> Result<SkillAnswer, CommandFailure> {
    let recoverer = recoverer(overall, output, None)?;
    let called = client.call_with_recovery(skill, payload, &recoverer, uncorrected).await;
    called.map(|recovered| recovered.answer).map_err(|failed| gave_up(overall.is_some(), *failed))
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn a_lead_gets_a_key_and_keeps_its_own() {
        let mut lead = json!({});
        give_key(Skill::LeadSubmit, &mut lead);
        assert_eq!(lead[KEY].as_str().map(str::len), Some(36));
        let mut lead = json!({KEY: "mine"});
        give_key(Skill::LeadSubmit, &mut lead);
        assert_eq!(lead, json!({KEY: "mine"}));
        let mut search = json!({});
        give_key(Skill::InventorySearch, &mut search);
        assert_eq!(search, json!({}));
    }
}
