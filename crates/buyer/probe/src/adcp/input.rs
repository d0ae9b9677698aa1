//! Requests with invalid arguments.
// Covers O-4, O-5 and L-2.

use tradepost_adcp::error::{AdcpCode, path};
use tradepost_document::json::{Value, json};

use super::answer::{TaskAnswer, refused};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_looked_at, pass_if, verdict_of, warn,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items, member, text};

/// Arguments with a member of the wrong type.
const TYPE: &[(&str, &str)] = &[
    ("get_products", r#"{"buying_mode": 7}"#),
    ("get_media_buys", r#"{"media_buy_ids": 7}"#),
    ("get_media_buy_delivery", r#"{"media_buy_ids": 7}"#),
    ("list_creatives", r#"{"fields": 7}"#),
    ("list_accounts", r#"{"status": 7}"#),
    ("get_signals", r#"{"countries": 7}"#),
    ("get_adcp_capabilities", r#"{"protocols": 7}"#),
];

/// Arguments with a word that is not one of those listed.
const WORD: &[(&str, &str)] = &[
    ("get_products", r#"{"buying_mode": "tradepost-probe"}"#),
    ("list_accounts", r#"{"status": "tradepost-probe"}"#),
    ("get_media_buy_delivery", r#"{"time_granularity": "tradepost-probe"}"#),
];

/// Arguments with a number or list outside its bounds.
const BOUND: &[(&str, &str)] = &[
    ("get_media_buys", r#"{"include_history": 100000}"#),
    ("get_media_buy_delivery", r#"{"media_buy_ids": []}"#),
    ("list_creatives", r#"{"fields": []}"#),
    ("get_products", r#"{"buying_mode": "wholesale", "fields": []}"#),
];

/// Arguments with a required member missing.
const REQUIRED: &[(&str, &str)] = &[("get_products", "{}"), ("get_task_status", "{}")];

/// Arguments with two invalid members.
const SEVERAL: &[(&str, &str)] = &[
    ("get_products", r#"{"buying_mode": 7, "fields": 7}"#),
    ("get_media_buys", r#"{"media_buy_ids": 7, "include_snapshot": 7}"#),
    ("get_media_buy_delivery", r#"{"media_buy_ids": 7, "start_date": 7}"#),
    ("list_creatives", r#"{"fields": 7, "include_items": 7}"#),
    ("list_accounts", r#"{"status": 7, "sandbox": 7}"#),
];

const WHY: &str = "A buyer agent fixes its request by what the refusal says, and by nothing else.";
const FIX: &str = "validate the arguments by the published schema before anything else";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.input.type", Seller, Must, ["F-3", "O-5"], "AdCP errors, validation",
    "A member of the wrong kind is refused as INVALID_REQUEST or VALIDATION_ERROR", WHY, FIX => malformed(TYPE);
    "adcp.input.word", Seller, Must, ["F-3"], "AdCP errors, validation",
    "A word that the schema does not list is refused as INVALID_REQUEST or VALIDATION_ERROR", WHY, FIX => malformed(WORD);
    "adcp.input.bound", Seller, Must, ["F-3"], "AdCP errors, validation",
    "What is beyond the schema's bounds is refused as INVALID_REQUEST or VALIDATION_ERROR", WHY, FIX => malformed(BOUND);
    "adcp.input.required", Seller, Must, ["F-3"], "AdCP errors, validation",
    "A request without what is required is refused as INVALID_REQUEST or VALIDATION_ERROR", WHY, FIX => malformed(REQUIRED);
    "adcp.input.field", Seller, Should, ["L-2", "O-4"], "AdCP errors, field",
    "The refusal of a malformed request names the field", WHY,
    "fill in field, by the first of issues" => field();
    "adcp.input.issues", Seller, Should, ["O-5"], "AdCP errors, issues",
    "A refusal with issues lists every problem, not the first alone",
    "Otherwise the buyer needs as many attempts as there are problems.",
    "collect all problems before answering" => issues();
    "adcp.input.unknown-tool", Seller, Must, ["T-6"], "MCP tools, error handling",
    "A tool that does not exist is refused", "An agent takes whatever is no error for a result.",
    "refuse unknown names with -32602, or with a result that is an error" => unknown_tool();
];

/// Codes for arguments that the schema refuses; both are in use.
const MALFORMED: &[AdcpCode] = &[AdcpCode::InvalidRequest, AdcpCode::ValidationError];

async fn send(
    run: &mut ProbeRun,
    table: &[(&'static str, &str)],
) -> Result<(Value, TaskAnswer), CheckVerdict> {
    let (tool, arguments) = run.first_of(table).await?;
    let answer = run.tool(tool, arguments.clone()).await?;
    Ok((arguments, answer))
}

async fn malformed(run: &mut ProbeRun, table: &[(&'static str, &str)]) -> CheckResult {
    let (_, answer) = send(run, table).await?;
    refused(&answer, MALFORMED)
}

async fn field(run: &mut ProbeRun) -> CheckResult {
    let (_, answer) = send(run, TYPE).await?;
    match answer.error() {
        Some(error) if !member(error, "field").is_empty() => Ok(CheckVerdict::Pass),
        Some(_) => fail("the error has no field"),
        None => not_looked_at("there is no error object"),
    }
}

async fn issues(run: &mut ProbeRun) -> CheckResult {
    let (arguments, answer) = send(run, SEVERAL).await?;
    let Some(error) = answer.error() else { return not_looked_at("there is no error object") };
    let listed: Vec<_> =
        items(error, "issues").filter_map(|issue| text(issue, "pointer")).collect();
    if listed.is_empty() {
        return warn("the error has no issues");
    }
    let mut wrong = ShapeProblems::default();
    for name in arguments.as_object().into_iter().flatten().map(|(name, _)| name) {
        let pointer = format!("/{name}");
        let found = listed.iter().any(|place| path(place).starts_with(&path(&pointer)));
        wrong.unless(found, format!("issues do not name {name}"));
    }
    verdict_of(&wrong.0)
}

async fn unknown_tool(run: &mut ProbeRun) -> CheckResult {
    let answer = run.tool("tradepost_probe_no_such_tool", json!({})).await?;
    // An answer without an AdCP error is acceptable here: MCP and A2A have their own errors for unknown tools.
    if answer.error().is_none() {
        run.seller.seen.retain(|seen| seen.tool != "tradepost_probe_no_such_tool");
    }
    pass_if(answer.is_refusal(), "it is answered as if it existed")
}
