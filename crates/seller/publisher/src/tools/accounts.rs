//! Accounts: `sync_accounts`, `list_accounts` and `sync_governance`.

use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

use crate::account::Account;
use crate::admit::gates;
use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::tool_context::{ToolContext, WriteContext};

mod governance;
mod list;
mod notifications;
mod proof;
mod sync;

pub(super) use governance::perform as sync_governance;
pub(super) use list::perform as list_accounts;
pub(super) use proof::prepare;
pub(super) use sync::perform as sync_accounts;

/// Returns an account with the caller's permissions (`core/account-with-authorization.json`).
fn shown(work: &ToolContext<'_>, account: &Account) -> Map {
    let mut shown = account.published();
    shown.insert("authorization".to_owned(), authorization(work, &account.account_id));
    shown
}

/// Returns the caller's permissions on an account (`core/account-authorization.json`). They are
/// read on every call, because a change has to show within five minutes (AdCP 3.1
/// `accounts/overview`, `R-11`), and are those that the gates enforce.
fn authorization(work: &ToolContext<'_>, account_id: &str) -> Value {
    let granted = work.admitted.reach.rights().on_account(Some(account_id));
    let allowed = granted.and_then(|granted| granted.allowed_tasks.as_ref());
    let may = |tool: &AdcpTool| {
        allowed.is_none_or(|allowed| allowed.contains(tool.name()))
            || gates::is_introspection(*tool)
    };
    let tasks: Vec<&str> =
        work.publisher.tools().into_iter().filter(may).map(AdcpTool::name).collect();
    let mut fields = granted.map(|granted| granted.field_scopes.clone()).unwrap_or_default();
    fields.retain(|task, _| tasks.contains(&task.as_str()));
    object!({
        "allowed_tasks": tasks,
        "field_scopes"?: (!fields.is_empty()).then_some(fields),
        "scope_name"?: granted.and_then(|granted| granted.scope_name.as_ref()),
        "read_only"?: granted.filter(|granted| granted.read_only).map(|_| true),
    })
}

/// Returns the errors of a failed row, in codes that the caller's release of AdCP has
/// (`error-handling`, `D-6`). An internal error fails the whole request.
fn errors(work: &ToolContext<'_>, stop: ToolError) -> Result<Value, ToolError> {
    let mut errors: Vec<_> = stop.reasons()?.collect();
    errors.iter_mut().for_each(|error| error.pin(work.release()));
    Ok(json!(errors))
}

/// Returns the count of each action or status as text: `2 created, 1 failed`.
fn tally(rows: &[Value], member: &str) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in rows.iter().filter_map(|row| row.get(member)?.as_str()) {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let words: Vec<_> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    if words.is_empty() { "no accounts".to_owned() } else { words.join(", ") }
}
