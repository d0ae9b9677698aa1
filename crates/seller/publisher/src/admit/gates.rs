//! Gates, each a function of what it checks: the standing of the buyer agent, the rights of the caller,
//! the status of the account. Their callers, and their order, are in [`admit`](super).

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_adcp::{AccountNeed, AdcpTool};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, json, object};
use tradepost_document::typed::Typed as _;

use crate::account::{Account, AccountStatus};
use crate::agent::{AccountRights, AgentStanding, BuyerAgent};
use crate::forms::products::BrandRef;
use crate::refusals::{self, ToolError};
use crate::reply::object;

/// Maximum number of refused fields that are named one by one.
const MAX_FIELDS: usize = 50;

/// Maximum number of permitted fields that are named in `details`, which have to stay below some 500
/// bytes (AdCP 3.1 `transport-errors`, `Z-4`).
const MAX_PERMITTED: usize = 12;

/// Refuses a buyer agent that the publisher has suspended or blocked, and an unmapped credential unless
/// `strangers` may do business (AdCP 3.1 `error-handling`; `G-1` to `G-7`). An agent that is not active
/// and an unmapped credential cost the same work: none.
pub(crate) fn standing(agent: Option<&BuyerAgent>, strangers: bool) -> Result<(), ToolError> {
    let (code, state) = match agent.map(|agent| agent.standing) {
        Some(AgentStanding::Active) => return Ok(()),
        Some(AgentStanding::Suspended) => (AdcpCode::AgentSuspended, "is suspended"),
        Some(AgentStanding::Blocked) => (AdcpCode::AgentBlocked, "has been ended"),
        None if strangers => return Ok(()),
        // The answer must not tell an unmapped credential whether any other is mapped (AdCP 3.1
        // `error-handling`, `G-2`).
        None => {
            let text = "the seller does not permit this; a person has to settle it with the seller";
            return Err(for_a_person(refusals::error(AdcpCode::PermissionDenied, text)).into());
        }
    };
    let message = format!(
        "this buyer agent's relationship with the seller {state}; a person has to settle it with \
         the seller"
    );
    Err(refusals::error(code, &message).into())
}

/// Refuses a live account to an agent that may work with sandbox accounts only (AdCP 3.1
/// `error-handling`, `G-1`).
pub(crate) fn sandbox_only(agent: Option<&BuyerAgent>, sandbox: bool) -> Result<(), ToolError> {
    if sandbox || !agent.is_some_and(|agent| agent.sandbox_only) {
        return Ok(());
    }
    let message = "this buyer agent is provisioned for sandbox accounts alone";
    let error = for_a_person(refusals::error(AdcpCode::PermissionDenied, message));
    Err(error.with("scope", "agent").with("reason", "sandbox_only").into())
}

/// Sets the suggestion to ask a person: another token does not help here (AdCP 3.1
/// `error-handling`, `G-8`).
fn for_a_person(error: AdcpError) -> AdcpError {
    AdcpError { suggestion: Some(AdcpCode::AgentSuspended.hint().to_owned()), ..error }
}

/// Returns true if a tool is for finding out what else one may do. It is permitted to every caller, because
/// refusals name `list_accounts` as the task that tells a caller its permissions (AdCP 3.1
/// `error-handling`, `R-2`).
#[must_use]
pub(crate) fn is_introspection(tool: AdcpTool) -> bool {
    matches!(tool, AdcpTool::GetAdcpCapabilities | AdcpTool::ListAccounts)
}

/// Checks that the caller may call a tool for an account: a tool that it was not granted is refused with
/// `SCOPE_INSUFFICIENT`, a change with read-only rights with `READ_ONLY_SCOPE` (AdCP 3.1 `error-handling`;
/// `R-2`, `R-4`, `R-11`). `account` is the id of the account that the request is for, when it names one.
pub(crate) fn scope(
    tool: AdcpTool,
    granted: Option<&AccountRights>,
    account: Option<&str>,
) -> Result<(), ToolError> {
    let Some(granted) = granted.filter(|_| !is_introspection(tool)) else {
        return Ok(());
    };
    task(tool.name(), Some(granted), account)?;
    if granted.read_only && changes(tool) {
        let message = "the caller may read this account and change nothing";
        return Err(refusals::error(AdcpCode::ReadOnlyScope, message).into());
    }
    Ok(())
}

/// Checks that a task, even one that this seller does not have, is among those that the caller was granted.
/// No list permits every task, an empty one none.
pub(crate) fn task(
    name: &str,
    granted: Option<&AccountRights>,
    account: Option<&str>,
) -> Result<(), ToolError> {
    let tasks = granted.and_then(|granted| granted.allowed_tasks.as_ref());
    if tasks.is_none_or(|tasks| tasks.contains(name)) {
        return Ok(());
    }
    let message = "the caller may not call this task for this account; authorization in \
                   list_accounts says what it may call";
    let account = account.map(|id| json!({"account_id": id}));
    let hint = object!({"task": "list_accounts", "account"?: account});
    let error = refusals::error(AdcpCode::ScopeInsufficient, message);
    Err(error.with("introspection_hint", hint).into())
}

/// Returns an error for each member of the request that the caller may not set, with its exact path (AdCP
/// 3.1 `error-handling`; `R-1`, `R-6`). The members of a task that changes nothing are never restricted.
pub(crate) fn fields(
    tool: AdcpTool,
    granted: Option<&AccountRights>,
    arguments: &Map,
) -> Vec<AdcpError> {
    let granted = granted.filter(|_| changes(tool));
    let Some(permitted) = granted.and_then(|granted| granted.field_scopes.get(tool.name())) else {
        return Vec::new();
    };
    let permitted: Vec<&str> = permitted.iter().map(String::as_str).collect();
    let error = |field: String| {
        let message = "the caller may not set this field for this account; leave it out";
        let error =
            refusals::at(AdcpCode::FieldNotPermitted, &field, message).with("task", tool.name());
        // A part of the list would be read as all of it.
        let whole = permitted.len() <= MAX_PERMITTED;
        if whole { error.with("permitted_fields", json!(permitted)) } else { error }
    };
    refused_fields(arguments, &permitted).into_iter().take(MAX_FIELDS).map(error).collect()
}

/// Returns true if a tool changes anything that needs permission. A search for products may store proposals,
/// and counts as reading all the same.
fn changes(tool: AdcpTool) -> bool {
    tool.mutates() && tool != AdcpTool::GetProducts
}

/// Members that every caller may send, whatever its permissions (AdCP 3.1 `accounts/overview`,
/// `R-11`); ids are exempt, too.
const FRAMING: &[&str] = &[
    "account",
    "adcp_major_version",
    "adcp_version",
    "buyer_ref",
    "context",
    "cursor",
    "dry_run",
    "ext",
    "format_option_ref",
    "governance_context",
    "idempotency_key",
    "max_results",
    "pagination",
    "po_number",
    "push_notification_config",
    "revision",
];

fn is_framing(name: &str) -> bool {
    FRAMING.contains(&name) || name.ends_with("_id") || name.ends_with("_ids")
}

/// Returns the members that are not permitted, in path notation. A permitted member may be named with its
/// parent (`packages.budget`). In a list of objects, the members of each object are named, because they are
/// what has to be left out.
fn refused_fields(arguments: &Map, permitted: &[&str]) -> Vec<String> {
    let mut refused = Vec::new();
    for (name, value) in arguments {
        if is_framing(name) || permitted.contains(&name.as_str()) {
            continue;
        }
        let prefix = format!("{name}.");
        let nested: Vec<&str> = permitted.iter().filter_map(|p| p.strip_prefix(&prefix)).collect();
        let before = refused.len();
        let mut look = |at: String, item: &Map| {
            for member in item.keys() {
                if !is_framing(member) && !nested.contains(&member.as_str()) {
                    refused.push(format!("{at}.{member}"));
                }
            }
        };
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(item) = item.as_object() {
                look(format!("{name}[{index}]"), item);
            }
        }
        // An object of which no member is permitted is refused by its own name, below.
        if let Some(item) = value.as_object().filter(|_| !nested.is_empty()) {
            look(name.clone(), item);
        }
        // Nothing in it was named, as in a list of ids only, so the member itself has to go.
        if refused.len() == before && nested.is_empty() {
            refused.push(name.clone());
        }
    }
    refused
}

/// Returns the purpose for which a request needs its account.
pub(crate) fn need(tool: AdcpTool, arguments: &Map) -> AccountNeed {
    // More packages are more spend.
    let buys = tool == AdcpTool::UpdateMediaBuy && arguments.contains_key("new_packages");
    if buys { AccountNeed::Spend } else { tool.need() }
}

/// Checks that an account in its status can be used for a purpose. `field` is the member that named it, for
/// an account that counts as absent.
pub(crate) fn status(wanted: AccountNeed, account: &Account, field: &str) -> Result<(), ToolError> {
    let (permitted, error) = match account.status {
        AccountStatus::Active => return Ok(()),
        AccountStatus::PendingApproval => (AccountNeed::Know, setup_required(account)),
        AccountStatus::PaymentRequired => {
            let message = "the account has an outstanding balance; the buyer has to settle it";
            (AccountNeed::Manage, refusals::error(AdcpCode::AccountPaymentRequired, message))
        }
        AccountStatus::Suspended => {
            let message = "the account is suspended; a person has to settle it with the seller";
            (AccountNeed::Look, refusals::error(AdcpCode::AccountSuspended, message))
        }
        // To its buyer, an ended account is like one that never existed (AdCP 3.1 `error-handling`,
        // `U-1`).
        AccountStatus::Rejected | AccountStatus::Closed => {
            (AccountNeed::Know, refusals::not_found(AdcpCode::AccountNotFound, Some(field)))
        }
    };
    if wanted <= permitted { Ok(()) } else { Err(error.into()) }
}

/// Checks that a request is about the brand of its account. A brand id that is missing on either side means
/// any brand of the house.
pub(crate) fn brand(account: &Account, arguments: &Map) -> Result<(), ToolError> {
    let named = arguments.get("brand").and_then(BrandRef::read);
    let Some(named) = named else { return Ok(()) };
    let Some(own) = &account.brand else { return Ok(()) };
    let differ = |one: &Option<String>, other: &Option<String>| matches!((one, other), (Some(one), Some(other)) if one != other);
    let field = if differ(&named.domain, &own.domain) {
        "brand.domain"
    } else if differ(&named.brand_id, &own.brand_id) {
        "brand.brand_id"
    } else {
        return Ok(());
    };
    let message =
        "the account is another brand's; name the account's own brand, or the account of this one";
    Err(refusals::invalid(field, message).into())
}

fn setup_required(account: &Account) -> AdcpError {
    let message = "the account has to be set up before it can be used; see details";
    let error = refusals::error(AdcpCode::AccountSetupRequired, message);
    let part = |name: &str| account.setup.as_ref()?.get(name).cloned();
    let steps = part("message").map(|step| json!([step]));
    let details = object([("setup_url", part("url")), ("setup_steps", steps)]);
    AdcpError { details, ..error }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use tradepost_document::json::Value;

    use super::*;

    fn refused(arguments: Value, permitted: &[&str]) -> Vec<String> {
        refused_fields(arguments.as_object().unwrap(), permitted)
    }

    #[test]
    fn fields_are_refused_by_the_path_to_leave_out() {
        let arguments = json!({
            "media_buy_id": "mb", "revision": 2, "idempotency_key": "k", "ext": {},
            "reporting_webhook": {"url": "https://b.example"}, "paused": true,
            "packages": [
                {"package_id": "p1", "budget": 5, "paused": false},
                {"package_id": "p2"},
            ],
            "invoice_recipient": {"legal_name": "B"}, "keywords": ["a"],
        });
        let check = |permitted: &[&str], expected: Expect| {
            expected.assert_eq(&refused(arguments.clone(), permitted).join(" "));
        };
        check(
            &["reporting_webhook"],
            expect!["paused packages[0].budget packages[0].paused invoice_recipient keywords"],
        );
        check(
            &["reporting_webhook", "paused", "packages.budget", "invoice_recipient.legal_name"],
            expect!["packages[0].paused keywords"],
        );
        check(
            &["reporting_webhook", "paused", "packages", "invoice_recipient", "keywords"],
            expect![""],
        );
        // Of a list that sets nothing but ids, the list itself has to go.
        expect!["packages"]
            .assert_eq(&refused(json!({"packages": [{"package_id": "p"}]}), &[]).join(" "));
    }

    /// Each tool with an account in each status: the refusal, if there is one.
    #[test]
    fn the_status_of_an_account_decides_what_can_be_done() {
        let statuses = [
            AccountStatus::Active,
            AccountStatus::PendingApproval,
            AccountStatus::PaymentRequired,
            AccountStatus::Suspended,
            AccountStatus::Rejected,
            AccountStatus::Closed,
        ];
        let mut rows: Vec<(String, Vec<String>)> = Vec::new();
        let more = json!({"new_packages": []}).as_object().unwrap().clone();
        let tools = AdcpTool::ALL.iter().map(|tool| (tool.name().to_owned(), *tool, Map::new()));
        let tools = tools.chain([("+ new_packages".to_owned(), AdcpTool::UpdateMediaBuy, more)]);
        for (name, tool, arguments) in tools {
            let cell = |status| {
                let mut account =
                    Account::new("a", json!({}), "o.example", crate::agent::Billing::Operator);
                account.status = status;
                match super::status(need(tool, &arguments), &account, "account") {
                    Ok(()) => "-".to_owned(),
                    Err(ToolError::Refused(refusal)) => {
                        let code = refusal.first.code.name().to_owned();
                        code.trim_start_matches("ACCOUNT_").to_owned()
                    }
                    Err(ToolError::Broken(_)) => unreachable!("nothing is read"),
                }
            };
            let cells = statuses.map(cell).join(" ");
            match rows.iter_mut().find(|(known, _)| *known == cells) {
                Some((_, names)) => names.push(name),
                None => rows.push((cells, vec![name])),
            }
        }
        let lines = rows.iter().map(|(cells, names)| format!("{cells}: {}\n", names.join(" ")));
        expect![[r#"
            - - - - - -: get_adcp_capabilities list_creative_formats sync_accounts list_accounts comply_test_controller
            - SETUP_REQUIRED - SUSPENDED NOT_FOUND NOT_FOUND: get_products update_media_buy sync_creatives sync_audiences sync_event_sources log_event sync_governance sync_plans report_plan_outcome get_signals si_get_offering si_initiate_session si_send_message si_terminate_session create_property_list update_property_list delete_property_list
            - SETUP_REQUIRED PAYMENT_REQUIRED SUSPENDED NOT_FOUND NOT_FOUND: create_media_buy activate_signal + new_packages
            - SETUP_REQUIRED - - NOT_FOUND NOT_FOUND: get_media_buys get_media_buy_delivery list_creatives check_governance get_plan_audit_logs get_property_list list_property_lists validate_property_delivery get_task_status list_tasks
        "#]].assert_eq(&lines.collect::<String>());
    }
}
