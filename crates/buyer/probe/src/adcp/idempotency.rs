//! Idempotency keys. Checked only when writes are allowed, because a seller that ignores the key executes the
//! request.
// Covers E-4.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::json::{Value, json};

use super::answer::{TaskAnswer, refused};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail_if, not_applicable_if, not_looked_at, skip,
    verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::ShapeProblems;

const WHY: &str =
    "A buyer that got no answer sends again; the key alone keeps it from buying twice.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.idempotency.missing", Seller, Must, ["E-4"], "AdCP security, idempotency",
    "A request that changes something is refused without a key", WHY,
    "require idempotency_key before anything else is looked at" => keyed(None);
    "adcp.idempotency.format", Seller, Must, ["E-4"], "AdCP security, idempotency",
    "A key of the wrong form is refused", WHY,
    "accept 16 to 255 of letters, digits and _.:- only" => keyed(Some("short"));
    "adcp.idempotency.replay", Seller, Must, ["E-4"], "AdCP security, idempotency",
    "The same request with the same key is answered as the first time, and marked as replayed", WHY,
    "keep the answer of the first and send it again with replayed" => replay();
    "adcp.idempotency.conflict", Seller, Must, ["E-4"], "AdCP security, idempotency",
    "Another request with the same key is refused with IDEMPOTENCY_CONFLICT", WHY,
    "keep a hash of the request with its key, and compare" => conflict();
];

fn may_write(run: &ProbeRun) -> Result<(), CheckVerdict> {
    if run.options.allow_writes {
        return Ok(());
    }
    skip("writing was not allowed; --allow-writes allows it")
}

/// Sends a request that changes nothing even if the key is ignored: its media buy does not exist.
async fn keyed(run: &mut ProbeRun, key: Option<&str>) -> CheckResult {
    may_write(run)?;
    let (tool, mut arguments) = run
        .first_of(&[(
            "update_media_buy",
            r#"{"account": {"account_id": "tradepost-probe"}, "paused": true}"#,
        )])
        .await?;
    let id = run.unknown_id();
    if let Some(members) = arguments.as_object_mut() {
        members.insert("media_buy_id".to_owned(), id.into());
        members.extend(key.map(|key| ("idempotency_key".to_owned(), key.into())));
    }
    let answer = run.tool(tool, arguments).await?;
    refused(&answer, &[AdcpCode::InvalidRequest, AdcpCode::ValidationError])
}

/// Returns a request for a sandbox account of a brand that does not exist.
fn account(key: &str, operator: &str) -> Value {
    json!({
        "idempotency_key": key,
        "accounts": [{
            "brand": {"domain": "tradepost-probe.example"}, "operator": operator,
            "billing": "operator", "sandbox": true,
        }],
    })
}

/// Sends the first request, and returns the key and the answer.
async fn first(run: &mut ProbeRun) -> Result<(String, TaskAnswer), CheckVerdict> {
    may_write(run)?;
    let (tool, _) = run.first_of(&[("sync_accounts", "{}")]).await?;
    let declared =
        run.capabilities().await?.payload.pointer("/adcp/idempotency/supported").cloned();
    not_applicable_if(
        declared != Some(Value::Bool(true)),
        "the seller does not declare idempotency",
    )?;
    let key = run.unique_id("tradepost-probe");
    let answer = run.tool(tool, account(&key, "tradepost-probe.example")).await?;
    if answer.is_success() {
        return Ok((key, answer));
    }
    not_looked_at(format!("sync_accounts gives {}", answer.describe()))
}

async fn replay(run: &mut ProbeRun) -> CheckResult {
    let (key, once) = first(run).await?;
    let again = run.tool("sync_accounts", account(&key, "tradepost-probe.example")).await?;
    fail_if(again.is_refusal(), format!("the second request gives {}", again.describe()))?;
    let mut wrong = ShapeProblems::default();
    let marked = again.payload.get("replayed").and_then(Value::as_bool) == Some(true);
    wrong.unless(marked, "the second answer is not marked as replayed");
    let same = once.payload.get("accounts") == again.payload.get("accounts");
    wrong.unless(same, "the second answer has other accounts");
    verdict_of(&wrong.0)
}

async fn conflict(run: &mut ProbeRun) -> CheckResult {
    let (key, _) = first(run).await?;
    let answer = run.tool("sync_accounts", account(&key, "other.tradepost-probe.example")).await?;
    refused(&answer, &[AdcpCode::IdempotencyConflict])
}
