//! Accounts: `sync_accounts`, `list_accounts` and `sync_governance`.

use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::error::Error;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::admit::gates;
use crate::refuse::Stop;
use crate::reply::Reply;
use crate::work::Work;

mod governance;
mod list;
mod notifications;
mod proof;
mod sync;

pub(super) use governance::perform as sync_governance;
pub(super) use list::perform as list_accounts;
pub(super) use proof::prepare;
pub(super) use sync::perform as sync_accounts;

/// An account with what the caller may do with it (`core/account-with-authorization.json`).
fn shown(work: &Work<'_>, account: &Account) -> Map {
    let mut shown = account.published();
    shown.insert("authorization".to_owned(), authorization(work, &account.account_id));
    shown
}

/// What the caller may do with an account, read anew each time (`R-11`): what the gates enforce, in
/// the words of `core/account-authorization.json`.
fn authorization(work: &Work<'_>, account_id: &str) -> Value {
    let granted = work.admitted.reach.rights().of(Some(account_id));
    let allowed = granted.and_then(|granted| granted.allowed_tasks.as_ref());
    let tools = work.publisher.tools().into_iter();
    let tasks: Vec<&str> = tools
        .filter(|tool| {
            allowed.is_none_or(|allowed| allowed.contains(tool.name()))
                || gates::is_introspection(*tool)
        })
        .map(Tool::name)
        .collect();
    let mut shown = json!({"allowed_tasks": tasks});
    if let (Some(granted), Some(members)) = (granted, shown.as_object_mut()) {
        let mut fields = granted.field_scopes.clone();
        fields.retain(|task, _| tasks.contains(&task.as_str()));
        if !fields.is_empty() {
            members.insert("field_scopes".to_owned(), json!(fields));
        }
        if let Some(name) = &granted.scope_name {
            members.insert("scope_name".to_owned(), name.as_str().into());
        }
        if granted.read_only {
            members.insert("read_only".to_owned(), true.into());
        }
    }
    shown
}

/// The errors of a row, in the codes that the caller knows (`D-6`).
fn errors(work: &Work<'_>, errors: Vec<Error>) -> Result<Value, Fault> {
    let release = work.release();
    let pinned = errors.into_iter().map(|mut error| {
        error.pin(release);
        tradepost_wire::json::to_value(error)
            .map_err(|error| Fault::new("writing the errors of a row", error))
    });
    pinned.collect()
}

/// Why a row is not done; what is our fault stops the whole request.
fn reasons(stop: Stop) -> Result<Vec<Error>, Stop> {
    match stop {
        Stop::Refused(refusal) => {
            let mut reasons = vec![*refusal.first];
            reasons.extend(refusal.others);
            Ok(reasons)
        }
        Stop::Broken(broken) => Err(broken.into()),
    }
}

/// How often each action or status occurs, in words: `2 created, 1 failed`.
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
