//! Requests for objects that do not exist.
// Covers N-1 to N-3 and U-2 to U-4.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::answer::TaskAnswer;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable, not_applicable_if, not_looked_at,
    not_looked_at_if, pass_if, verdict_of,
};
use crate::run::{Caller, ProbeRun};
use crate::shape::{ShapeProblems, items, member, text};

/// Request for an object by its id.
#[derive(Debug)]
pub(super) struct IdLookup {
    pub(super) tool: &'static str,
    /// Arguments; `$ID` stands for the id.
    arguments: &'static str,
    /// Name of the id parameter, when it is a list.
    list: Option<&'static str>,
    /// Code of the error about an absent object.
    code: AdcpCode,
    /// Words that name the requested object.
    words: &'static [&'static str],
    source: Option<Source>,
}

/// Source of ids: the tool, the list in its answer, and the id member of each item.
type Source = (&'static str, &'static str, &'static str);

const MEDIA_BUYS: Option<Source> = Some(("get_media_buys", "media_buys", "media_buy_id"));
const CREATIVES: Option<Source> = Some(("list_creatives", "creatives", "creative_id"));
const ACCOUNTS: Option<Source> = Some(("list_accounts", "accounts", "account_id"));
const TASKS: Option<Source> = Some(("list_tasks", "tasks", "task_id"));
const LISTS: Option<Source> = Some(("list_property_lists", "lists", "list_id"));
const STANDARDS: Option<Source> = Some(("list_content_standards", "standards", "standards_id"));

/// Lookups that only read.
pub(super) const LOOKUPS: &[IdLookup] = &[
    IdLookup {
        tool: "get_media_buy_delivery",
        arguments: r#"{"media_buy_ids": ["$ID"]}"#,
        list: Some("media_buy_ids"),
        code: AdcpCode::MediaBuyNotFound,
        words: &[],
        source: MEDIA_BUYS,
    },
    IdLookup {
        tool: "get_media_buys",
        arguments: r#"{"media_buy_ids": ["$ID"]}"#,
        list: Some("media_buy_ids"),
        code: AdcpCode::MediaBuyNotFound,
        words: &[],
        source: MEDIA_BUYS,
    },
    IdLookup {
        tool: "get_creative_delivery",
        arguments: r#"{"creative_ids": ["$ID"]}"#,
        list: Some("creative_ids"),
        code: AdcpCode::CreativeNotFound,
        words: &[],
        source: CREATIVES,
    },
    IdLookup {
        tool: "list_creatives",
        arguments: r#"{"account": {"account_id": "$ID"}}"#,
        list: None,
        code: AdcpCode::AccountNotFound,
        words: &[],
        source: ACCOUNTS,
    },
    IdLookup {
        tool: "get_products",
        arguments: r#"{"buying_mode": "wholesale", "account": {"account_id": "$ID"}}"#,
        list: None,
        code: AdcpCode::AccountNotFound,
        words: &[],
        source: ACCOUNTS,
    },
    IdLookup {
        tool: "get_plan_audit_logs",
        arguments: r#"{"plan_ids": ["$ID"]}"#,
        list: Some("plan_ids"),
        code: AdcpCode::PlanNotFound,
        words: &[],
        source: None,
    },
    IdLookup {
        tool: "get_task_status",
        arguments: r#"{"task_id": "$ID"}"#,
        list: None,
        code: AdcpCode::ReferenceNotFound,
        words: &["task"],
        source: TASKS,
    },
    IdLookup {
        tool: "tasks_get",
        arguments: r#"{"task_id": "$ID"}"#,
        list: None,
        code: AdcpCode::ReferenceNotFound,
        words: &["task"],
        source: TASKS,
    },
    IdLookup {
        tool: "get_property_list",
        arguments: r#"{"list_id": "$ID"}"#,
        list: None,
        code: AdcpCode::ReferenceNotFound,
        words: &["property", "list"],
        source: LISTS,
    },
    IdLookup {
        tool: "get_content_standards",
        arguments: r#"{"standards_id": "$ID"}"#,
        list: None,
        code: AdcpCode::ReferenceNotFound,
        words: &["content", "standard"],
        source: STANDARDS,
    },
];

const WHY: &str = "A buyer drops or replaces what does not exist, once it knows what that is.";
const WHY_TYPE: &str = "Whoever tries ids learns from it what each of them is.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.not-found.code", Seller, Should, ["N-1"], "AdCP errors, not-found precedence",
    "An id of a kind that has a code of its own is refused with that code when it is unknown", WHY,
    "refuse unknown ids; an empty result says that there is nothing to tell about a known one" => dedicated();
    "adcp.not-found.reference", Seller, Must, ["N-2", "N-3"], "AdCP errors, not-found precedence",
    "An id of a kind that has no code of its own is refused with REFERENCE_NOT_FOUND", WHY,
    "use REFERENCE_NOT_FOUND for tasks, property lists and content standards" => reference();
    "adcp.not-found.minted", Seller, Must, ["N-2"], "AdCP errors, not-found precedence",
    "No code that ends in _NOT_FOUND is of the seller's own making", WHY_TYPE,
    "use REFERENCE_NOT_FOUND" => minted();
    "adcp.not-found.echo", Seller, Must, ["U-2"], "AdCP errors, uniform response",
    "The message does not repeat the id", "Buyers show messages to models and people.",
    "leave ids out of messages; details may list those that the caller sent" => echo();
    "adcp.not-found.generic", Seller, Must, ["U-2"], "AdCP errors, uniform response",
    "REFERENCE_NOT_FOUND does not say what was looked for", WHY_TYPE,
    "say that the reference was not found" => generic();
    "adcp.not-found.field", Seller, Must, ["U-3"], "AdCP errors, uniform response",
    "REFERENCE_NOT_FOUND names no field that says what was looked for", WHY_TYPE,
    "leave field out" => field();
    "adcp.not-found.list", Seller, Must, ["U-4"], "AdCP errors, uniform response",
    "Where ids came as a list, field names the list and not one of its elements",
    "An element's place tells which of the ids exist.",
    "set field to the parameter" => list();
];

impl IdLookup {
    /// Returns the arguments for an id.
    pub(super) fn arguments(&self, id: &str) -> Value {
        let quoted = json!(id).to_string();
        let bare = quoted.trim_matches('"');
        tradepost_document::json::from_str(&self.arguments.replace("$ID", bare)).unwrap_or_default()
    }

    /// Returns an id that is in the first caller's list and not in the second's; `None` when there is none.
    pub(super) async fn foreign_id(
        &self,
        run: &mut ProbeRun,
    ) -> Result<Option<String>, CheckVerdict> {
        let Some((tool, list, name)) = self.source else { return Ok(None) };
        if !run.tools().await?.iter().any(|offered| offered == tool) {
            return Ok(None);
        }
        let own = run.tool(tool, json!({})).await?.payload;
        let other = run.tool_as(Caller::Second, tool, json!({})).await?.payload;
        let has_more = other.pointer("/pagination/has_more").and_then(Value::as_bool);
        // The second caller's list may continue on a page that was not read.
        if has_more == Some(true) {
            return Ok(None);
        }
        let others: Vec<_> = items(&other, list).filter_map(|item| text(item, name)).collect();
        let mut ids = items(&own, list).filter_map(|item| text(item, name));
        Ok(ids.find(|id| !others.contains(id)).map(str::to_owned))
    }
}

/// Calls each lookup that the seller offers with an id that does not exist, and returns the answers.
async fn asked(
    run: &mut ProbeRun,
) -> Result<Vec<(&'static IdLookup, String, TaskAnswer)>, CheckVerdict> {
    let offered = run.tools().await?;
    let mut all = Vec::new();
    for lookup in LOOKUPS.iter().filter(|lookup| offered.iter().any(|name| name == lookup.tool)) {
        let id = run.unknown_id();
        let answer = run.tool(lookup.tool, lookup.arguments(&id)).await?;
        all.push((lookup, id, answer));
    }
    not_applicable_if(all.is_empty(), "the seller offers no tool that looks something up")?;
    Ok(all)
}

/// Checks each error of a lookup.
async fn each(
    run: &mut ProbeRun,
    look: impl Fn(&IdLookup, &str, &Value, &mut ShapeProblems),
) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    let mut count = 0;
    for (lookup, id, answer) in asked(run).await? {
        if let Some(error) = answer.error() {
            count += 1;
            look(lookup, &id, error, &mut wrong);
        }
    }
    if count == 0 { not_looked_at("nothing was refused") } else { verdict_of(&wrong.0) }
}

fn is_reference(error: &Value) -> bool {
    member(error, "code") == AdcpCode::ReferenceNotFound.name()
}

async fn coded(run: &mut ProbeRun, wanted: fn(AdcpCode) -> bool) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    let mut count = 0;
    for (lookup, _, answer) in asked(run).await?.iter().filter(|(lookup, ..)| wanted(lookup.code)) {
        count += 1;
        wrong.unless(
            answer.code() == Some(lookup.code.name()),
            format!("{} gives {}, not {}", lookup.tool, answer.describe(), lookup.code),
        );
    }
    if count == 0 { not_applicable("the seller offers no such tool") } else { verdict_of(&wrong.0) }
}

async fn dedicated(run: &mut ProbeRun) -> CheckResult {
    coded(run, |code| code != AdcpCode::ReferenceNotFound).await
}

async fn reference(run: &mut ProbeRun) -> CheckResult {
    coded(run, |code| code == AdcpCode::ReferenceNotFound).await
}

async fn minted(run: &mut ProbeRun) -> CheckResult {
    each(run, |lookup, _, error, wrong| {
        let code = member(error, "code");
        let own = code.ends_with("_NOT_FOUND")
            && AdcpCode::from_name(code).is_none()
            && !code.starts_with("X_");
        wrong.unless(!own, format!("{} gives {code}", lookup.tool));
    })
    .await
}

async fn echo(run: &mut ProbeRun) -> CheckResult {
    each(run, |lookup, id, error, wrong| {
        for name in ["message", "suggestion", "field"] {
            let repeats = member(error, name).contains(id);
            wrong.unless(!repeats, format!("the {name} of {} has the id", lookup.tool));
        }
    })
    .await
}

async fn generic(run: &mut ProbeRun) -> CheckResult {
    each(run, |lookup, _, error, wrong| {
        let message = member(error, "message").to_ascii_lowercase();
        let word = lookup.words.iter().find(|word| message.contains(**word));
        if is_reference(error)
            && let Some(word) = word
        {
            wrong.add(format!("the message of {} says {word:?}", lookup.tool));
        }
    })
    .await
}

async fn field(run: &mut ProbeRun) -> CheckResult {
    const NEUTRAL: &[&str] = &["", "id", "ids", "reference", "reference_id", "reference_ids"];
    each(run, |lookup, _, error, wrong| {
        let field = member(error, "field");
        let fine = !is_reference(error) || NEUTRAL.contains(&field);
        wrong.unless(fine, format!("the field of {} is {field}", lookup.tool));
    })
    .await
}

async fn list(run: &mut ProbeRun) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    let mut count = 0;
    for (lookup, _, answer) in asked(run).await? {
        let Some(list) = lookup.list else { continue };
        let Some(error) = answer.error() else { continue };
        count += 1;
        let field = member(error, "field");
        let fine = field.is_empty() || field == list || is_reference(error);
        wrong.unless(fine, format!("the field of {} is {field}, not {list}", lookup.tool));
    }
    not_looked_at_if(count == 0, "no list of ids was refused")?;
    pass_if(wrong.0.is_empty(), wrong.0.join("; "))
}
