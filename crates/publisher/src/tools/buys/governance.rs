//! The governance agent of an account is asked before money is committed (`check_governance`); without
//! its consent nothing is done (`K-1`, `Y-7`).

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};

use super::text;
use crate::account::Account;
use crate::ask::Ask;
use crate::buy::MediaBuy;
use crate::catalogue::Product;
use crate::money;
use crate::profile::Profile;
use crate::publisher::Publisher;
use crate::refuse::{self, Refusal, Stop, at, with};
use crate::tools::Work;
use crate::world::{GovernanceAgent, Unreached};

/// Whom to ask what.
pub(super) struct Question {
    agent: GovernanceAgent,
    request: Map<String, Value>,
}

/// The question about a buy as it is to be, where its account has a governance agent. `phase` is a word
/// of `governance-phase`.
///
/// # Errors
/// When the request lacks what the agent needs: `INVALID_REQUEST` for a plan, `PERMISSION_DENIED` for
/// the token of the plan.
pub(super) fn question(
    profile: &Profile,
    account: &Account,
    buy: &MediaBuy,
    ask: &Ask,
    phase: &str,
    products: &[Product],
) -> Result<Option<Question>, Stop> {
    let Some(agent) = &account.governance else {
        return Ok(None);
    };
    let mut problems = Vec::new();
    let token = text(&ask.arguments, "governance_context").or(buy.governance_context.as_deref());
    if !token.is_some_and(is_token) {
        let message = "the account's governance agent has to be asked with its token; send the \
                       governance_context of its approval";
        problems.push(at(Code::PermissionDenied, "governance_context", message));
    }
    if buy.plan_id.is_none() {
        let message = "the account has a governance agent; name the plan that the buy belongs to";
        problems.push(refuse::invalid("plan_id", message));
    }
    Refusal::of_all(problems)?;
    let mut request = Map::new();
    let mut put = |name: &str, value: Value| {
        request.insert(name.to_owned(), value);
    };
    put("plan_id", buy.plan_id.clone().into());
    put("caller", format!("https://{}", profile.domain).into());
    put("purchase_type", "media_buy".into());
    put("governance_context", token.into());
    put("phase", phase.into());
    put("planned_delivery", planned(buy, products));
    if phase == "modification" {
        put(
            "modification_summary",
            "the buyer changes budget, flight, targeting or packages".into(),
        );
    }
    let agent = GovernanceAgent { url: agent.url.clone(), credential: agent.credential.clone() };
    Ok(Some(Question { agent, request }))
}

/// Whether a text can be a token at all (published length and letters).
fn is_token(text: &str) -> bool {
    (1..=4096).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// What would be delivered (`core/planned-delivery.json`).
fn planned(buy: &MediaBuy, products: &[Product]) -> Value {
    let mut channels: Vec<&str> = products.iter().flat_map(Product::channels).collect();
    channels.sort_unstable();
    channels.dedup();
    let overlay = |package: &crate::buy::Package, name: &str| {
        let overlay = package.shown.get("targeting_overlay");
        overlay.and_then(|overlay| overlay.get(name)).and_then(Value::as_array).cloned()
    };
    let live = || buy.packages.iter().filter(|package| package.is_live());
    let mut countries: Vec<Value> =
        live().filter_map(|package| overlay(package, "geo_countries")).flatten().collect();
    countries.sort_by_key(ToString::to_string);
    countries.dedup();
    let mut planned = json!({
        "start_time": buy.start_time,
        "end_time": buy.end_time,
        "total_budget": money::number(buy.total_budget),
        "currency": buy.currency,
    });
    if let Some(members) = planned.as_object_mut() {
        if !channels.is_empty() {
            members.insert("channels".to_owned(), channels.into());
        }
        if !countries.is_empty() {
            members.insert("geo".to_owned(), json!({"countries": countries}));
        }
    }
    planned
}

/// Asks.
///
/// # Errors
/// What the agent's refusal means to the caller.
pub(super) async fn ask(
    publisher: &Publisher,
    question: Question,
) -> Result<Map<String, Value>, Stop> {
    let Question { agent, request } = question;
    match publisher.world.check_governance(&agent, request).await {
        Ok(decision) => Ok(decision),
        Err(Unreached::Silent) => Err(unavailable().into()),
        Err(Unreached::Refused(code)) => Err(match code.as_str() {
            "PLAN_NOT_FOUND" => refuse::not_found(Code::PlanNotFound, Some("plan_id")),
            "CAMPAIGN_SUSPENDED" => {
                let message = "the plan waits for a person to look at it; try again later";
                refuse::error(Code::CampaignSuspended, message)
            }
            "PERMISSION_DENIED" => {
                let message = "the governance agent does not accept the token of the request";
                at(Code::PermissionDenied, "governance_context", message)
            }
            _ => unavailable(),
        }
        .into()),
    }
}

fn unavailable() -> Error {
    let message = "the account's governance agent gave no decision; nothing has been done";
    refuse::error(Code::GovernanceUnavailable, message)
}

/// The token with which the buy goes on, when the agent agreed.
///
/// # Errors
/// `GOVERNANCE_DENIED`, and `GOVERNANCE_UNAVAILABLE` for what is no decision.
pub(super) fn decided(
    work: &Work<'_>,
    account: &Account,
    buy: &MediaBuy,
) -> Result<Option<String>, Stop> {
    if account.governance.is_none() {
        return Ok(None);
    }
    let Some(decision) = &work.prepared.governance else {
        // The account got its agent a moment ago.
        return Err(unavailable().into());
    };
    let plan = text(decision, "plan_id");
    if plan.is_some() && plan != buy.plan_id.as_deref() {
        return Err(unavailable().into());
    }
    let expires = text(decision, "expires_at").and_then(|at| at.parse::<Timestamp>().ok());
    if expires.is_some_and(|at| at <= work.ask.now) {
        return Err(unavailable().into());
    }
    match text(decision, "verdict").or_else(|| text(decision, "status")) {
        Some("approved") => {}
        Some("conditions") => conditions(decision, &work.ask.arguments)?,
        Some("denied") => return Err(denied(decision).into()),
        Some(_) | None => return Err(unavailable().into()),
    }
    let token = text(decision, "governance_context").or(buy.governance_context.as_deref());
    let sent = text(&work.ask.arguments, "governance_context");
    Ok(token.or(sent).map(ToOwned::to_owned))
}

/// The categories of the findings; their words are between the buyer and its agent.
fn denied(decision: &Map<String, Value>) -> Error {
    let message =
        "the account's governance agent denied this; details.findings says on what grounds";
    let error = refuse::error(Code::GovernanceDenied, message);
    let findings = decision.get("findings").and_then(Value::as_array);
    let finding = |finding: &Value| {
        let mut shown = Map::new();
        for name in ["category_id", "severity"] {
            if let Some(word) = finding.get(name).and_then(Value::as_str) {
                shown.insert(name.to_owned(), word.chars().take(64).collect::<String>().into());
            }
        }
        Value::Object(shown)
    };
    let findings: Vec<_> = findings.into_iter().flatten().take(8).map(finding).collect();
    with(error, "findings", findings)
}

/// An approval on conditions holds when the request already meets them.
fn conditions(
    decision: &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Result<(), Refusal> {
    let conditions = decision.get("conditions").and_then(Value::as_array);
    let unmet: Vec<Value> = conditions
        .into_iter()
        .flatten()
        .filter(|condition| !is_met(condition, arguments))
        .filter_map(|condition| condition.get("field").cloned())
        .take(8)
        .collect();
    if unmet.is_empty() {
        return Ok(());
    }
    let message = "the account's governance agent agrees on conditions that the request does not meet; \
                   details.conditions names the fields";
    Err(with(refuse::error(Code::GovernanceDenied, message), "conditions", unmet).into())
}

fn is_met(condition: &Value, arguments: &Map<String, Value>) -> bool {
    let Some(wanted) = condition.get("required_value") else {
        return false;
    };
    let Some(field) = condition.get("field").and_then(Value::as_str) else {
        return false;
    };
    let pointer: String = field.replace('[', ".").replace(']', "").split('.').fold(
        String::new(),
        |mut pointer, part| {
            pointer.push('/');
            pointer.push_str(part);
            pointer
        },
    );
    let found = Value::Object(arguments.clone());
    let found = found.pointer(&pointer);
    found.is_some_and(|found| {
        found == wanted || (found.is_number() && found.as_f64() == wanted.as_f64())
    })
}
