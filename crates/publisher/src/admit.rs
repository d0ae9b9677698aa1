//! Whether a request may be done at all: the caller's standing, the account that it is for, and
//! what the caller may do with that account. Asked once for reading and again inside the transaction
//! that changes something.

use serde_json::{Map, Value, json};
use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::error::Code;

use crate::account::{Account, Status};
use crate::ask::Ask;
use crate::profile::{Authorization, Standing};
use crate::refuse::{self, Refusal, Stop};
use crate::resolve::Reach;
use crate::shelf::{Kept, Query, Shelf};

/// A request that may be done.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The account that it is for, when it names one.
    pub account: Option<Kept<Account>>,
    /// What the caller can reach.
    pub reach: Reach,
}

/// Decides.
pub(crate) fn admit(ask: &Ask, shelf: &dyn Shelf) -> Result<Admitted, Stop> {
    standing(ask)?;
    let tenant = ask.caller.tenant();
    let account = match ask.arguments.get("account").and_then(Value::as_object) {
        Some(reference) => Some(resolve(ask, &tenant, reference, shelf)?),
        None => None,
    };
    if let Some(account) = &account {
        sandbox_only(ask, &account.thing)?;
        let granted = account.thing.grants.get(&tenant);
        permitted(ask, &account.thing, granted)?;
        usable(ask.tool, &account.thing)?;
    }
    let reach = Reach { tenant, accounts: Vec::new() };
    Ok(Admitted { account, reach })
}

/// The relationship with the agent (`G-1` to `G-7`). What a seller can do is no secret.
fn standing(ask: &Ask) -> Result<(), Stop> {
    let standing = ask.caller.agent.as_ref().map_or(Standing::Active, |agent| agent.standing);
    let error = match standing {
        Standing::Active => return Ok(()),
        Standing::Suspended => {
            let message = "this buyer agent's relationship with the seller is suspended; a person \
                           has to settle it with the seller";
            refuse::error(Code::AgentSuspended, message)
        }
        Standing::Blocked => {
            let message = "this buyer agent's relationship with the seller has been ended; a person \
                           has to settle it with the seller";
            refuse::error(Code::AgentBlocked, message)
        }
    };
    if ask.tool == Tool::GetAdcpCapabilities { Ok(()) } else { Err(error.into()) }
}

/// The account that a reference means: by its id, or by brand, operator and whether it is for tests.
fn resolve(
    ask: &Ask,
    tenant: &str,
    reference: &Map<String, Value>,
    shelf: &dyn Shelf,
) -> Result<Kept<Account>, Stop> {
    let _ = ask;
    let absent = || refuse::not_found(Code::AccountNotFound, Some("account"));
    if let Some(id) = reference.get("account_id").and_then(Value::as_str) {
        let reach = Reach { tenant: tenant.to_owned(), accounts: Vec::new() };
        return reach.require(shelf, id, Code::AccountNotFound, Some("account"));
    }
    let brand = reference.get("brand");
    let part = |brand: Option<&Value>, name: &str| brand.and_then(|brand| brand.get(name)).cloned();
    let operator = reference.get("operator").and_then(Value::as_str);
    let sandbox = reference.get("sandbox").and_then(Value::as_bool).unwrap_or(false);
    let query = Query { owner: Some(tenant.to_owned()), ..Query::default() };
    let fits = |account: &Kept<Account>| {
        let known = Some(&account.thing.brand);
        part(known, "domain") == part(brand, "domain")
            && (part(brand, "brand_id").is_none()
                || part(known, "brand_id") == part(brand, "brand_id"))
            && Some(account.thing.operator.as_str()) == operator
            && account.thing.sandbox == sandbox
    };
    let mut found: Vec<_> = shelf.all(&query)?.into_iter().filter(fits).collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(absent().into()),
        (Some(account), true) => Ok(account),
        (Some(_), false) => {
            let message = "several accounts fit; name one by account.account_id";
            Err(refuse::at(Code::AccountAmbiguous, "account", message).into())
        }
    }
}

/// An agent that may work with sandbox accounts alone (`G-1`).
fn sandbox_only(ask: &Ask, account: &Account) -> Result<(), Stop> {
    let only = ask.caller.agent.as_ref().is_some_and(|agent| agent.sandbox_only);
    if !only || account.sandbox {
        return Ok(());
    }
    let message = "this buyer agent is provisioned for sandbox accounts alone";
    let error = refuse::error(Code::PermissionDenied, message);
    let error = refuse::with(error, "scope", "agent");
    Err(refuse::with(error, "reason", "sandbox_only").into())
}

/// What the caller may do with the account (`R-1` to `R-6`).
fn permitted(ask: &Ask, account: &Account, granted: Option<&Authorization>) -> Result<(), Stop> {
    let Some(granted) = granted else {
        return Ok(());
    };
    let task = ask.tool.to_string();
    if granted.allowed_tasks.as_ref().is_some_and(|tasks| !tasks.contains(&task)) {
        let message = "the caller may not call this task for this account";
        let error = refuse::error(Code::ScopeInsufficient, message);
        let hint = json!({"task": "list_accounts", "account": {"account_id": account.account_id}});
        return Err(refuse::with(error, "introspection_hint", hint).into());
    }
    if granted.read_only && ask.tool.mutates() {
        let message = "the caller may read this account and change nothing";
        return Err(refuse::error(Code::ReadOnlyScope, message).into());
    }
    let Some(fields) = granted.field_scopes.get(&task) else {
        return Ok(());
    };
    let refused = not_permitted(&Value::Object(ask.arguments.clone()), fields);
    let error = |field: String| {
        let message = "the caller may not set this field for this account; leave it out";
        let error = refuse::at(Code::FieldNotPermitted, &field, message);
        let error = refuse::with(error, "task", task.clone());
        refuse::with(error, "permitted_fields", json!(fields))
    };
    Ok(Refusal::of_all(refused.into_iter().map(error).collect())?)
}

/// What every request has, whoever sends it: never a matter of permission (`R-11`).
const FRAMING: [&str; 10] = [
    "account",
    "adcp_major_version",
    "adcp_version",
    "context",
    "context_id",
    "ext",
    "governance_context",
    "idempotency_key",
    "media_buy_id",
    "revision",
];

/// The members, in path notation, that are not among the permitted ones. A permitted member may be
/// named with its parents (`packages.budget`); ids of list items go along with what is permitted.
fn not_permitted(arguments: &Value, permitted: &std::collections::BTreeSet<String>) -> Vec<String> {
    let mut refused = Vec::new();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        if FRAMING.contains(&name.as_str()) || permitted.contains(name) {
            continue;
        }
        let prefix = format!("{name}.");
        let nested: Vec<_> = permitted.iter().filter_map(|p| p.strip_prefix(&prefix)).collect();
        match value.as_array() {
            Some(items) if !nested.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    for (member, _) in item.as_object().into_iter().flatten() {
                        if !member.ends_with("_id") && !nested.contains(&member.as_str()) {
                            refused.push(format!("{name}[{index}].{member}"));
                        }
                    }
                }
            }
            Some(_) | None => refused.push(name.clone()),
        }
    }
    refused
}

/// Whether an account that stands like this can be used for a tool.
fn usable(tool: Tool, account: &Account) -> Result<(), Stop> {
    // Whoever owes something may still look.
    if !tool.mutates() || tool == Tool::ComplyTestController {
        return Ok(());
    }
    let error = match account.status {
        Status::Active => return Ok(()),
        Status::PendingApproval => {
            let message = "the account has to be set up before it can be used; see details";
            let mut error = refuse::error(Code::AccountSetupRequired, message);
            let setup = account.setup.as_ref();
            if let Some(url) = setup.and_then(|setup| setup.get("url")) {
                error = refuse::with(error, "setup_url", url.clone());
            }
            if let Some(step) = setup.and_then(|setup| setup.get("message")) {
                error = refuse::with(error, "setup_steps", json!([step]));
            }
            error
        }
        Status::PaymentRequired => {
            let message = "the account has an outstanding balance; the buyer has to settle it";
            refuse::error(Code::AccountPaymentRequired, message)
        }
        Status::Suspended | Status::Rejected | Status::Closed => {
            let message = "the account is not in use; a person has to settle it with the seller";
            refuse::error(Code::AccountSuspended, message)
        }
    };
    Err(error.into())
}
