//! `tradepost publisher list`: lists accounts, creatives, tasks and grants.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{self, Account, AccountGrant};
use tradepost_publisher::agent::AccountRights;
use tradepost_publisher::creative::{self, Creative};
use tradepost_publisher::store::{Entity, PublisherStore, Query, StoreRead, Stored};
use tradepost_publisher::task::{Decider, SubmittedTask};
use tradepost_server::clock::Clock;

use super::PublisherOptions;
use crate::cli::output::CommandFailure;
use crate::cli::output::table::{Cells, TableColumn};
use crate::cli::{Context, Outcome};

tradepost_document::words! {
    /// Kinds of records that can be listed.
    pub(in crate::cli) enum What {
        /// Accounts of advertisers.
        Accounts = "accounts",
        /// Creatives of all accounts.
        Creatives = "creatives",
        /// Submitted tasks.
        Tasks = "tasks",
        /// Rights of agents on accounts.
        Grants = "grants",
    }
}

impl What {
    /// Returns the possible states; empty for a kind without a state.
    fn states(self) -> Vec<&'static str> {
        match self {
            Self::Accounts => account::AccountStatus::NAMES.to_vec(),
            Self::Creatives => creative::CreativeStatus::NAMES.to_vec(),
            Self::Tasks => TASK_STATES.to_vec(),
            Self::Grants => Vec::new(),
        }
    }

    /// Returns the members that are columns for people, in this order.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Accounts => &["id", "name", "state", "sandbox", "owner", "since"],
            Self::Creatives => &["id", "account", "name", "format", "state", "reason", "since"],
            Self::Tasks => {
                &["id", "account", "type", "state", "budget", "currency", "decided", "since"]
            }
            Self::Grants => &["account", "agent", "tasks", "fields", "read_only", "since"],
        }
    }
}

/// States of a stored task, which never waits for a credential.
const TASK_STATES: &[&str] =
    &["submitted", "working", "input-required", "completed", "failed", "rejected", "canceled"];

/// Runs the command.
pub(super) fn run(
    what: What,
    state: Option<&str>,
    place: &PublisherOptions,
    context: &Context,
) -> Outcome {
    let states = what.states();
    if let Some(state) = state.filter(|state| !states.contains(state)) {
        let message = format!("{} do not have the state {state}", what.name());
        let failure = CommandFailure::usage(message);
        return Err(if states.is_empty() {
            failure.hint("omit --state")
        } else {
            failure.hint(format!("use one of: {}", states.join(", ")))
        });
    }
    let now = Clock::system().now();
    let mut found = Vec::new();
    for (publisher_store, publisher) in place.publishers(context)? {
        let publisher_store: &dyn PublisherStore = &publisher_store;
        let mut rows =
            publisher_store.look(|reader| rows(what, &publisher.profile.id, reader, now))?;
        let word = |row: &Value| row.get("state").and_then(Value::as_str).map(ToOwned::to_owned);
        // The state of a creative depends on the time, so the store cannot filter by it.
        rows.retain(|row| state.is_none() || word(row).as_deref() == state);
        found.append(&mut rows);
    }
    let headings: Vec<&'static str> = [&["publisher"], what.columns()].concat();
    let cells: Vec<_> = headings
        .iter()
        .map(|name| move |row: &Value| row.get(*name).map(cell).unwrap_or_default())
        .collect();
    let columns = headings.iter().copied().map(column).zip(&cells);
    let columns: Vec<Cells<'_, Value>> =
        columns.map(|(column, cell)| (column, cell as _)).collect();
    context.output.list(&found, Value::clone, &format!("no {}", what.name()), &columns);
    Ok(())
}

fn column(name: &'static str) -> TableColumn<'static> {
    match name {
        "budget" => TableColumn::Number(name),
        "read_only" => TableColumn::Text("read only"),
        _ => TableColumn::Text(name),
    }
}

/// Formats a value for people.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::Object(members) => {
            let members_shown = members.iter().map(|(name, value)| match value.as_array() {
                Some(items) => {
                    format!("{name}={}", items.iter().map(cell).collect::<Vec<_>>().join(","))
                }
                None => cell(value),
            });
            members_shown.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Returns each record as a document, without credentials.
fn rows(
    what: What,
    publisher: &str,
    reader: &dyn StoreRead,
    now: Timestamp,
) -> Result<Vec<Value>, InternalError> {
    match what {
        What::Accounts => {
            let row = |kept: Stored<Account>| {
                let account = kept.thing;
                json!({
                    "publisher": publisher, "id": account.account_id, "name": account.name,
                    "state": account.status.name(), "sandbox": account.sandbox,
                    "brand": account.brand, "operator": account.operator,
                    "billing": account.billing, "owner": kept.record.owner,
                    "created_at": kept.record.created_at, "since": kept.record.updated_at,
                })
            };
            rows_of(reader, row)
        }
        What::Creatives => {
            let row = |kept: Stored<Creative>| {
                let creative = kept.thing;
                json!({
                    "publisher": publisher, "id": creative.creative_id, "account": kept.record.account,
                    "name": creative.name(), "format": creative.given.format_id.as_ref()
                        .and_then(|format| format.id.as_ref()),
                    "state": creative.status_at(now).name(),
                    "reason": creative.rejection_reason,
                    "review_ends_at": creative.review_ends_at,
                    "given": creative.given, "owner": kept.record.owner,
                    "created_at": kept.record.created_at, "since": kept.record.updated_at,
                })
            };
            rows_of(reader, row)
        }
        What::Tasks => {
            let row = |kept: Stored<SubmittedTask>| {
                let task = kept.thing;
                let draft = task.draft.as_ref().or(task.asked.as_ref());
                let budget = draft.map(|buy| buy.total_budget);
                let decided = decided(&task);
                let packages = draft.map(|buy| {
                    let packages = buy.packages.iter();
                    let packages = packages
                        .map(|one| json!({"product_id": one.product_id, "budget": one.budget}));
                    packages.collect::<Vec<_>>()
                });
                json!({
                    "publisher": publisher, "id": task.task_id, "account": kept.record.account,
                    "type": task.task_type, "state": task.status, "budget": budget,
                "currency": draft.map(|buy| &buy.currency),
                    "start_time": draft.map(|buy| buy.start_time),
                    "end_time": draft.map(|buy| buy.end_time), "packages": packages,
                    "decided": decided, "media_buy": task.subject, "owner": kept.record.owner,
                    "created_at": kept.record.created_at, "since": kept.record.updated_at,
                })
            };
            rows_of(reader, row)
        }
        What::Grants => {
            let row = |kept: Stored<AccountGrant>| {
                let owner = kept.record.owner.as_str();
                let granted = &kept.thing.authorization;
                json!({
                    "publisher": publisher, "account": kept.thing.account_id,
                    // As the configuration writes it, and as `grant` accepts it.
                    "agent": owner.strip_prefix("agent:").unwrap_or(owner),
                    "tasks": granted.allowed_tasks, "fields": fields(granted),
                    "read_only": granted.read_only, "since": kept.record.updated_at,
                })
            };
            rows_of(reader, row)
        }
    }
}

/// Describes the pending decision of a task, or its decision and who made it.
fn decided(task: &SubmittedTask) -> Option<String> {
    if let Some(decided) = &task.decided {
        let by = match (&decided.by, decided.decider) {
            (Some(name), _) => name,
            (None, Decider::Person) => "a person",
            (None, Decider::Publisher) => "itself",
            (None, Decider::Test) => "a test",
        };
        return Some(format!("{} by {by}", decided.verdict));
    }
    task.draft.as_ref()?;
    match task.due_at {
        Some(due) => Some(format!("by itself at {due}")),
        None => Some("by a person".to_owned()),
    }
}

fn rows_of<T: Entity>(
    reader: &dyn StoreRead,
    row: impl Fn(Stored<T>) -> Value,
) -> Result<Vec<Value>, InternalError> {
    Ok(reader.all::<T>(&Query::default())?.into_iter().map(row).collect())
}

/// Returns the granted rights; `null` for what is not restricted.
pub(super) fn rights(granted: &AccountRights) -> Value {
    json!({
        "tasks": granted.allowed_tasks,
        "fields": fields(granted),
        "read_only": granted.read_only,
    })
}

fn fields(granted: &AccountRights) -> Option<&BTreeMap<String, BTreeSet<String>>> {
    Some(&granted.field_scopes).filter(|scopes| !scopes.is_empty())
}
