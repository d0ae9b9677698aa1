//! Governance checks: the account's governance agent is asked before money is committed
//! (`check_governance`), and nothing is done without its approval: a denial is refused with
//! `GOVERNANCE_DENIED`, an agent that does not answer with `GOVERNANCE_UNAVAILABLE` (AdCP 3.1
//! `error-handling`; `K-1`, `Y-7`).

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::typed::{self, LenientList};

use super::BuyContext;
use crate::account::Account;
use crate::buy::MediaBuy;
use crate::catalogue::Product;
use crate::forms::buys::Targeting;
use crate::money;
use crate::publisher::Publisher;
use crate::refusals::{self, AdcpRefusal, ToolError, at};
use crate::reply::object;
use crate::services::{CallError, NamedGovernanceAgent};
use crate::store::Stored;
use crate::tool_context::ToolContext;

/// Question to a governance agent.
pub(super) struct GovernanceQuestion {
    agent: NamedGovernanceAgent,
    request: Map,
}

/// Returns the question about the resulting media buy when its account has a governance agent. `token` is
/// the request's.
///
/// # Errors
/// When the request lacks what the agent needs: `INVALID_REQUEST` for a plan, which requests of 3.2 need
/// not name, and `PERMISSION_DENIED` for the token of the plan.
pub(super) fn question(
    context: &BuyContext<'_>,
    account: Option<&Stored<Account>>,
    buy: &MediaBuy,
    token: Option<&str>,
    phase: AskedPhase,
    products: &[Product],
) -> Result<Option<GovernanceQuestion>, ToolError> {
    let Some(agent) = account.and_then(|account| account.thing.governance.as_ref()) else {
        return Ok(None);
    };
    let mut problems = Vec::new();
    // A change may omit the token; the one that approved the media buy is used then.
    let token = token.or(buy.governance_context.as_deref());
    if !token.is_some_and(is_token) {
        let message = "the account's governance agent has to be asked with its token; send the \
                       governance_context of its approval";
        problems.push(at(AdcpCode::PermissionDenied, "governance_context", message));
    }
    // Since 3.2 the token alone identifies the plan, and a seller must not require more. A buy created
    // that way is changed that way, whatever release its buyer uses then.
    let is_by_token = context.release >= AdcpRelease::V3_2
        || (phase == AskedPhase::Modification && buy.governance_context.is_some());
    if buy.plan_id.is_none() && !is_by_token {
        let message = "the account has a governance agent; name the plan that the buy belongs to";
        problems.push(refusals::invalid("plan_id", message));
    }
    AdcpRefusal::of_all(problems)?;
    let summary = "the buyer changes budget, flight, targeting or packages";
    let request = object([
        ("plan_id", buy.plan_id.as_deref().map(Into::into)),
        ("caller", Some(format!("https://{}", context.profile().domain).into())),
        ("purchase_type", Some("media_buy".into())),
        ("governance_context", Some(token.into())),
        ("phase", Some(phase.name().into())),
        ("planned_delivery", Some(planned(buy, products))),
        ("modification_summary", (phase == AskedPhase::Modification).then(|| summary.into())),
    ]);
    let agent =
        NamedGovernanceAgent { url: agent.url.clone(), credential: agent.credential.clone() };
    Ok(Some(GovernanceQuestion { agent, request }))
}

/// Returns true when a text has the published length and characters of a token.
fn is_token(text: &str) -> bool {
    (1..=4096).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// Returns the planned delivery (`core/planned-delivery.json`).
fn planned(buy: &MediaBuy, products: &[Product]) -> Value {
    let channels: BTreeSet<_> = products.iter().flat_map(Product::channels).collect();
    let live = buy.packages.iter().filter(|package| package.is_live());
    let overlays = live.filter_map(|package| package.shown.targeting_overlay.clone());
    let aimed = overlays.filter_map(|overlay| typed::read::<Targeting>(overlay)?.geo_countries);
    let countries: BTreeSet<String> = aimed.flatten().collect();
    object!({
        // A new media buy has no id yet.
        "media_buy_id"?: Some(&buy.media_buy_id).filter(|id| !id.is_empty()),
        "start_time": buy.start_time,
        "end_time": buy.end_time,
        "total_budget": buy.total_budget,
        "currency": buy.currency,
        "channels"?: (!channels.is_empty()).then_some(channels),
        "geo"?: (!countries.is_empty()).then(|| json!({"countries": countries})),
    })
}

/// Asks the governance agent; returns `None` without a question.
///
/// # Errors
/// The caller's error for the agent's refusal.
pub(super) async fn answer(
    publisher: &Publisher,
    question: Option<GovernanceQuestion>,
) -> Result<Option<Map>, ToolError> {
    let Some(GovernanceQuestion { agent, request }) = question else {
        return Ok(None);
    };
    match publisher.services.check_governance(&agent, request).await {
        Ok(decision) => Ok(Some(decision)),
        Err(CallError::NoAnswer) => Err(unavailable().into()),
        Err(CallError::Refused(code)) => Err(match code.as_str() {
            "PLAN_NOT_FOUND" => refusals::not_found(AdcpCode::PlanNotFound, Some("plan_id")),
            "CAMPAIGN_SUSPENDED" => {
                let message = "the plan waits for a person to look at it; try again later";
                refusals::error(AdcpCode::CampaignSuspended, message)
            }
            "PERMISSION_DENIED" => {
                let message = "the governance agent does not accept the token of the request";
                at(AdcpCode::PermissionDenied, "governance_context", message)
            }
            // Any other error is no decision, and nothing is done without one (AdCP 3.1
            // `error-handling`, `Y-7`).
            _ => unavailable(),
        }
        .into()),
    }
}

fn unavailable() -> AdcpError {
    let message = "the account's governance agent gave no decision; nothing has been done";
    refusals::error(AdcpCode::GovernanceUnavailable, message)
}

/// Returns the new token of the media buy when the agent has approved it. `sent` is the token of the
/// request; `request` is the whole request, whose members the agent's conditions name.
///
/// # Errors
/// `GOVERNANCE_DENIED`; `GOVERNANCE_UNAVAILABLE` when there is no valid decision.
pub(super) fn decided(
    work: &ToolContext<'_>,
    account: &Account,
    buy: &MediaBuy,
    sent: Option<&str>,
    request: &Map,
) -> Result<Option<String>, ToolError> {
    if account.governance.is_none() {
        return Ok(None);
    }
    // Missing when the account got its agent after the check.
    let decision = work.prepared.governance.clone().and_then(typed::read::<GovernanceAnswer>);
    let decision = decision.ok_or_else(unavailable)?;
    // A decision about another plan does not apply to this one.
    let is_of_another =
        matches!((&decision.plan_id, &buy.plan_id), (Some(of), Some(own)) if of != own);
    let expires = decision.expires_at.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    if is_of_another || expires.is_some_and(|at| at <= work.call.now) {
        return Err(unavailable().into());
    }
    match decision
        .verdict
        .as_deref()
        .or(decision.status.as_deref())
        .and_then(GovernanceVerdict::from_name)
    {
        Some(GovernanceVerdict::Approved) => {}
        Some(GovernanceVerdict::Conditions) => conditions(&decision, request)?,
        Some(GovernanceVerdict::Denied) => return Err(denied(&decision).into()),
        None => return Err(unavailable().into()),
    }
    let token = decision.governance_context.or_else(|| buy.governance_context.clone());
    Ok(token.or_else(|| sent.map(ToOwned::to_owned)))
}

/// Returns the denial with the findings' categories only; their text is between the buyer and its
/// agent.
fn denied(decision: &GovernanceAnswer) -> AdcpError {
    let message =
        "the account's governance agent denied this; details.findings says on what grounds";
    let error = refusals::error(AdcpCode::GovernanceDenied, message);
    let finding = |finding: &Value| {
        let words = finding.as_object();
        let words = words.map(|members| typed::kept(members, &["category_id", "severity"]));
        let short = |(name, word): (String, Value)| {
            // Another party's text is shortened, because `details` has to stay below some 500 bytes
            // (AdCP 3.1 `transport-errors`, `Z-4`).
            let word = word.as_str()?.chars().take(64).collect::<String>();
            Some((name, Value::from(word)))
        };
        Value::Object(words.into_iter().flatten().filter_map(short).collect())
    };
    let findings: Vec<_> = decision.findings.iter().flatten().take(8).map(finding).collect();
    error.with("findings", findings)
}

/// Accepts a conditional approval when the request already meets the conditions.
fn conditions(decision: &GovernanceAnswer, request: &Map) -> Result<(), AdcpRefusal> {
    let unmet = decision.conditions.iter().filter(|condition| !condition.is_met(request));
    let unmet: Vec<_> = unmet.filter_map(|condition| condition.field.clone()).take(8).collect();
    if unmet.is_empty() {
        return Ok(());
    }
    let message = "the account's governance agent agrees on conditions that the request does not meet; \
                   details.conditions names the fields";
    Err(refusals::error(AdcpCode::GovernanceDenied, message).with("conditions", unmet).into())
}

impl GovernanceCondition {
    /// Returns true when a request meets the condition; its field is a path in the request
    /// (`packages[0].budget`).
    fn is_met(&self, request: &Map) -> bool {
        // A condition without a value cannot be checked against the request.
        let Some(wanted) = &self.required_value else { return false };
        let Some(field) = self.field.as_ref().and_then(Value::as_str) else { return false };
        let found = field.replace('[', ".").replace(']', "");
        let pointer: String = found.split('.').flat_map(|part| ["/", part]).collect();
        let request = Value::Object(request.clone());
        let found = request.pointer(&pointer);
        found.is_some_and(|found| found == wanted || money::same(found, wanted))
    }
}

tradepost_document::words! {
    /// Phase that the agent is asked about (`governance-phase`).
    pub(super) enum AskedPhase {
        /// Purchase.
        Purchase = "purchase",
        /// Change of a media buy.
        Modification = "modification",
    }
}

tradepost_document::words! {
    /// Decision of the agent.
    enum GovernanceVerdict {
        /// Approved.
        Approved = "approved",
        /// Approved on conditions.
        Conditions = "conditions",
        /// Denied.
        Denied = "denied",
    }
}

tradepost_document::typed_struct! {
    /// Answer of a governance agent (`governance/check-governance-response.json`). It comes from
    /// another party: members that do not fit the schema are treated as absent.
    struct GovernanceAnswer {
        plan_id: Option<String>,
        expires_at: Option<String>,
        verdict: Option<String>,
        /// Older name of `verdict`.
        status: Option<String>,
        governance_context: Option<String>,
        findings: Option<Vec<Value>>,
        conditions: LenientList<GovernanceCondition>,
    }

    struct GovernanceCondition {
        field: Option<Value>,
        required_value: Option<Value>,
    }
}
