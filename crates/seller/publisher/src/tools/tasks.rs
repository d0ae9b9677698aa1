//! Submitted tasks: `get_task_status` and `list_tasks`.

use std::collections::BTreeMap;

use tradepost_adcp::AdcpTaskStatus;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed;

use super::page::{self, ListPage, PageSize};
use crate::forms::Direction;
use crate::forms::tasks::{GetTaskStatus, ListTasksForm, TaskFilters, TaskSort, TaskSortField};
use crate::refusals::{self, ToolError};
use crate::reply::{ToolReply, object};
use crate::store::{Query, Stored, Tally};
use crate::task::finish::record_id;
use crate::task::{SubmittedTask, protocol_of};
use crate::tool_context::ToolContext;

/// Handles `get_task_status`. A missing task and another tenant's get the same answer (AdCP 3.1
/// `error-handling`; `N-2`, `U-3`); the member's name is omitted because it would reveal the kind of
/// record.
pub(super) fn status(work: &ToolContext<'_>, form: &GetTaskStatus) -> Result<ToolReply, ToolError> {
    let account = work.admitted.account_id();
    let found = find(work, &form.task_id)?;
    let found =
        found.filter(|stored| account.is_none() || stored.record.account.as_deref() == account);
    let Some(stored) = found else {
        return Err(refusals::not_found(AdcpCode::ReferenceNotFound, None).into());
    };
    let task = &stored.thing;
    let error = task.errors.first().and_then(Value::as_object);
    let error = error.map(|error| typed::kept(error, &["code", "message", "details"]));
    let mut body = row(&stored);
    body.extend(object([
        ("protocol", Some(task.protocol().into())),
        ("error", error.map(Value::Object)),
        ("result", task.result.clone().filter(|_| form.include_result).map(Value::Object)),
        ("history", form.include_history.then(|| task.history.clone().into())),
    ]));
    Ok(ToolReply::completed("how the task stands", Value::Object(body)))
}

/// Finds a task by id: first the caller's own, then any that it can access.
fn find(work: &ToolContext<'_>, id: &str) -> Result<Option<Stored<SubmittedTask>>, ToolError> {
    if let Some(own) = work.find(&record_id(&work.admitted.reach.tenant, id))? {
        return Ok(Some(own));
    }
    Ok(work.admitted.reach.chosen(work.reader, None, id)?)
}

/// Returns a task as both tools show it.
fn row(stored: &Stored<SubmittedTask>) -> Map {
    let task = &stored.thing;
    object([
        ("task_id", Some(json!(task.task_id))),
        ("task_type", Some(json!(task.task_type))),
        ("status", Some(json!(task.status))),
        ("created_at", Some(json!(stored.record.created_at))),
        ("updated_at", Some(json!(stored.record.updated_at))),
        ("completed_at", task.completed_at.map(|at| json!(at))),
        ("has_webhook", Some(task.push.is_some().into())),
    ])
}

/// Handles `list_tasks`.
pub(super) fn list(work: &ToolContext<'_>, form: &ListTasksForm) -> Result<ToolReply, ToolError> {
    let filters = form.filters.as_ref();
    let Listed { page, tallies, field, direction } = match by_status(form) {
        Some(query) => listed_by_status(work, form, &query)?,
        None => {
            let mut tasks: Vec<Stored<SubmittedTask>> = work.all_of_account()?;
            tasks.retain(|stored| filters.is_none_or(|filters| fits(stored, filters)));
            let (field, direction) = sort(form.sort.as_ref(), &mut tasks);
            let tallies = tasks.iter().map(tally).collect();
            let scope = page::scope(&work.call.arguments, work.admitted.account_id());
            let page = page::requested(tasks, form.pagination.as_ref(), &scope)?;
            Listed { page, tallies, field, direction }
        }
    };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut domains: BTreeMap<&str, u64> = BTreeMap::new();
    for Tally { state, class, things } in &tallies {
        *domains.entry(protocol_of(class)).or_default() += things;
        *counts.entry(state).or_default() += things;
    }
    let total: u64 = counts.values().sum();
    let shown = |stored: &Stored<SubmittedTask>| {
        let mut row = row(stored);
        row.insert("domain".to_owned(), stored.thing.protocol().into());
        row
    };
    let rows: Vec<_> = page.items.iter().map(shown).collect();
    let applied: Vec<_> = filters.iter().flat_map(|filters| filters.sent.keys()).collect();
    let body = json!({
        "query_summary": {
            "total_matching": total,
            "returned": rows.len(),
            "domain_breakdown": domains,
            "status_breakdown": counts,
            "filters_applied": applied,
            "sort_applied": {"field": field, "direction": direction},
        },
        "tasks": rows,
        "pagination": page.pagination,
    });
    Ok(ToolReply::completed("tasks", body))
}

/// Page of tasks with the totals of the whole list.
struct Listed {
    page: ListPage<Stored<SubmittedTask>>,
    tallies: Vec<Tally>,
    field: TaskSortField,
    direction: Direction,
}

/// Reads a page that the store can select by itself.
fn listed_by_status(
    work: &ToolContext<'_>,
    form: &ListTasksForm,
    query: &Query,
) -> Result<Listed, ToolError> {
    let size = PageSize { usual: page::MOST, most: page::MOST };
    let account = work.admitted.account_id();
    let found =
        page::read_stored::<SubmittedTask>(work, account, query, form.pagination.as_ref(), size)?;
    Ok(Listed {
        page: found.page,
        tallies: found.tallies,
        field: TaskSortField::CreatedAt,
        direction: Direction::from_order(query.order),
    })
}

/// Returns a query when the store can page by itself: filtered by status at most, in order of creation.
/// `None` when each task has to be examined.
fn by_status(form: &ListTasksForm) -> Option<Query> {
    let sort = form.sort.as_ref();
    if sort.and_then(|sort| sort.field).unwrap_or(TaskSortField::CreatedAt)
        != TaskSortField::CreatedAt
    {
        return None;
    }
    let order = sort.and_then(|sort| sort.direction).unwrap_or(Direction::Desc).order();
    let mut states: Vec<String> =
        AdcpTaskStatus::NAMES.iter().map(|name| (*name).to_owned()).collect();
    if let Some(filters) = &form.filters {
        if !filters.sent.keys().all(|name| name == "status" || name == "statuses") {
            return None;
        }
        let named = filters.status.iter().chain(filters.statuses.iter().flatten());
        if !filters.sent.is_empty() {
            states = named.cloned().collect();
            states.sort_unstable();
            states.dedup();
        }
    }
    // An empty list of statuses matches nothing, but an empty query would match everything.
    if states.is_empty() {
        return None;
    }
    Some(Query { states, order, ..Query::default() })
}

/// Returns the tally of a task.
fn tally(stored: &Stored<SubmittedTask>) -> Tally {
    let task = &stored.thing;
    Tally { state: task.status.name().to_owned(), class: task.task_type.clone(), things: 1 }
}

/// Returns true when a task matches the filters.
fn fits(stored: &Stored<SubmittedTask>, filters: &TaskFilters) -> bool {
    let task = &stored.thing;
    let among = |one: &Option<String>, many: &Option<Vec<String>>, word: &str| {
        let mut words = one.iter().chain(many.iter().flatten());
        (one.is_none() && many.is_none()) || words.any(|known| known == word)
    };
    let created = stored.record.created_at;
    let updated = stored.record.updated_at;
    among(&filters.status, &filters.statuses, task.status.name())
        && among(&filters.task_type, &filters.task_types, &task.task_type)
        && among(&filters.protocol, &filters.protocols, task.protocol())
        && filters.created_after.is_none_or(|after| created > after)
        && filters.created_before.is_none_or(|before| created < before)
        && filters.updated_after.is_none_or(|after| updated > after)
        && filters.updated_before.is_none_or(|before| updated < before)
        && filters.task_ids.as_ref().is_none_or(|ids| ids.contains(&task.task_id))
        && filters.has_webhook.is_none_or(|hook| hook == task.push.is_some())
        && filters.context_contains.as_ref().is_none_or(|about| {
            let context = task.context.as_ref().map(ToString::to_string).unwrap_or_default();
            let subject = task.subject.as_deref().unwrap_or_default();
            context.contains(about) || subject.contains(about)
        })
}

/// Sorts tasks as requested, newest first by default.
fn sort(
    asked: Option<&TaskSort>,
    tasks: &mut [Stored<SubmittedTask>],
) -> (TaskSortField, Direction) {
    let field = asked.and_then(|asked| asked.field).unwrap_or(TaskSortField::CreatedAt);
    let direction = asked.and_then(|asked| asked.direction).unwrap_or(Direction::Desc);
    let order = |one: &Stored<SubmittedTask>, other: &Stored<SubmittedTask>| match field {
        TaskSortField::UpdatedAt => one.record.updated_at.cmp(&other.record.updated_at),
        TaskSortField::Status => one.thing.status.name().cmp(other.thing.status.name()),
        TaskSortField::TaskType => one.thing.task_type.cmp(&other.thing.task_type),
        TaskSortField::CreatedAt => one.record.created_at.cmp(&other.record.created_at),
        TaskSortField::Protocol => one.thing.protocol().cmp(other.thing.protocol()),
    };
    tasks.sort_by(|one, other| order(one, other).then(one.record.place.cmp(&other.record.place)));
    if direction == Direction::Desc {
        tasks.reverse();
    }
    (field, direction)
}
