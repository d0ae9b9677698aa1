//! Determination of the skill of a request.
// Covers E-035 to E-042.

use tradepost_aap::Skill;
use tradepost_aap::error::AapCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::ask::DealerAnswer;
use crate::check::{Check, CheckResult, checks, not_applicable_if, pass_if, verdict_of};
use crate::run::{Caller, ProbeRun};

const WHY: &str = "A buyer that named nothing we know has to learn which of its words was wrong.";
const FIX: &str = "check data.type before anything else; answer SCHEMA_VALIDATION_FAILED for what is no request type";
const INVALID: &[AapCode] =
    &[AapCode::SchemaValidationFailed, AapCode::MissingRequiredField, AapCode::UnsupportedSkill];

pub(super) const CHECKS: &[Check] = checks![
    "aap.type.text-only", Version, Must, ["E-035", "R-ENV-06"], "AAP A2A profile",
    "A message without a data part is refused", WHY, FIX => text_only();
    "aap.type.no-object", Version, Must, ["E-037"], "AAP aap-message schema",
    "Data that is no object is refused", WHY, FIX => payload("[1]");
    "aap.type.missing", Version, Must, ["E-038"], "AAP aap-message schema",
    "A payload without a type is refused", WHY, FIX => payload("{}");
    "aap.type.number", Version, Must, ["E-039"], "AAP aap-message schema",
    "A type that is no text is refused", WHY, FIX => payload(r#"{"type": 5}"#);
    "aap.type.malformed", Version, Must, ["E-039"], "AAP aap-message schema",
    "A type that is not written as one is refused", WHY, FIX => payload(r#"{"type": "Inventory Search"}"#);
    "aap.type.response", Version, Must, ["E-040"], "AAP aap-message schema",
    "An answer that is sent as a request is refused", WHY, FIX => payload(r#"{"type": "inventory.search.response", "data": {}}"#);
    "aap.type.unknown-skill", Version, Must, ["E-041", "R-ER-09"], "AAP errors, UNSUPPORTED_SKILL",
    "A skill that AAP does not have is UNSUPPORTED_SKILL", "Later versions add skills; a buyer has to learn that this dealer is older.",
    "answer UNSUPPORTED_SKILL for every request type that is not implemented" => unknown_skill();
    "aap.type.undeclared-skill", Version, Must, ["E-042", "R-ER-09"], "AAP errors, UNSUPPORTED_SKILL",
    "A skill that the card does not list is UNSUPPORTED_SKILL", "The card is a promise in both directions.",
    "answer UNSUPPORTED_SKILL for skills that are switched off" => undeclared();
];

/// Accepts any refusal, because no skill is known yet: one of AAP, or A2A's error about parameters.
fn refused(answer: &DealerAnswer) -> CheckResult {
    if answer.refusal.is_some() {
        return answer.refused(INVALID);
    }
    pass_if(
        matches!(answer.reply.error().and_then(|error| error.code), Some(-32602 | -32005)),
        format!("expected a refusal, and got {}", answer.describe()),
    )
}

async fn text_only(run: &mut ProbeRun) -> CheckResult {
    let parts = json!([{"text": "Do you have a used Honda?"}]);
    refused(&run.send_parts(parts, Caller::First).await?)
}

async fn payload(run: &mut ProbeRun, text: &str) -> CheckResult {
    let payload: Value = tradepost_document::json::from_str(text).unwrap_or_default();
    refused(&run.send_payload(&payload).await?)
}

async fn unknown_skill(run: &mut ProbeRun) -> CheckResult {
    let answer = run.send_payload(&json!({"type": "vehicle.reserve.request"})).await?;
    answer.refused(&[AapCode::UnsupportedSkill])
}

async fn undeclared(run: &mut ProbeRun) -> CheckResult {
    let absent = Skill::ALL.iter().filter(|skill| run.offers(**skill).is_err());
    let absent: Vec<Skill> = absent.copied().collect();
    not_applicable_if(absent.is_empty(), "the card lists every skill")?;
    let mut wrong = Vec::new();
    for skill in absent {
        // Harmless even if it is accepted: the lead contains no person.
        let answer = run.send_payload(&json!({"type": skill.request_type()})).await?;
        if answer.refused(&[AapCode::UnsupportedSkill]).is_err() {
            wrong.push(format!("{skill}: {}", answer.describe()));
        }
    }
    verdict_of(&wrong)
}
