//! Submitted tasks: `get_task_status` and `list_tasks`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::error::Code;

use super::{Reply, Work, page};
use crate::refuse::{self, Stop};
use crate::shelf::{Kept, Query};
use crate::task::Task;
use crate::task::end::record_id;

/// The protocol that every task so far belongs to.
const PROTOCOL: &str = "media-buy";

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    if work.ask.tool == Tool::GetTaskStatus { status(work) } else { list(work) }
}

/// `get_task_status`. What is not there and what is another's is one answer (`N-2`, `U-3`): the name of
/// the member says what kind of thing it is, so that it is left out.
fn status(work: &Work<'_>) -> Result<Reply, Stop> {
    let arguments = &work.ask.arguments;
    let id = arguments.get("task_id").and_then(Value::as_str).unwrap_or_default();
    let Some(kept) = find(work, id)? else {
        return Err(refuse::not_found(Code::ReferenceNotFound, None).into());
    };
    let task = &kept.thing;
    let wants = |name: &str| arguments.get(name).and_then(Value::as_bool).unwrap_or_default();
    let mut body = row(&kept);
    body.insert("protocol".to_owned(), PROTOCOL.into());
    if let Some(error) = task.errors.first() {
        let mut shown = Map::new();
        for name in ["code", "message", "details"] {
            if let Some(value) = error.get(name) {
                shown.insert(name.to_owned(), value.clone());
            }
        }
        body.insert("error".to_owned(), Value::Object(shown));
    }
    if wants("include_result")
        && let Some(result) = &task.result
    {
        body.insert("result".to_owned(), result.clone().into());
    }
    if wants("include_history") {
        body.insert("history".to_owned(), task.history.clone().into());
    }
    Ok(Reply::completed("how the task stands", Value::Object(body)))
}

/// The caller's task with this id: an own one first, and then any that it reaches.
fn find(work: &Work<'_>, id: &str) -> Result<Option<Kept<Task>>, Stop> {
    let reach = &work.admitted.reach;
    if let Some(own) = reach.find::<Task>(work.shelf, &record_id(&reach.tenant, id))? {
        return Ok(Some(own));
    }
    let all = reach.all::<Task>(work.shelf, &Query::default())?;
    Ok(all.into_iter().find(|kept| kept.thing.task_id == id))
}

/// A task, as both tools show it.
fn row(kept: &Kept<Task>) -> Map<String, Value> {
    let task = &kept.thing;
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| {
        row.insert(name.to_owned(), value);
    };
    put("task_id", task.task_id.clone().into());
    put("task_type", task.task_type.clone().into());
    put("status", task.status.clone().into());
    put("created_at", kept.record.created_at.to_string().into());
    put("updated_at", kept.record.updated_at.to_string().into());
    if let Some(at) = task.completed_at {
        put("completed_at", at.to_string().into());
    }
    put("has_webhook", task.push.is_some().into());
    row
}

/// `list_tasks`.
fn list(work: &Work<'_>) -> Result<Reply, Stop> {
    let arguments = &work.ask.arguments;
    let none = Map::new();
    let filters = arguments.get("filters").and_then(Value::as_object).unwrap_or(&none);
    let mut tasks = work.admitted.reach.all::<Task>(work.shelf, &Query::default())?;
    if let Some(account) = &work.admitted.account {
        tasks.retain(|kept| kept.record.account.as_deref() == Some(&account.record.id));
    }
    tasks.retain(|kept| fits(kept, filters));
    let (field, direction) = sort(arguments, &mut tasks);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for kept in &tasks {
        *counts.entry(kept.thing.status.clone()).or_default() += 1;
    }
    let total = tasks.len();
    let page = page::of(tasks, arguments, "tasks")?;
    let rows: Vec<Value> = page
        .items
        .iter()
        .map(|kept| {
            let mut row = row(kept);
            row.insert("domain".to_owned(), PROTOCOL.into());
            Value::Object(row)
        })
        .collect();
    let body = json!({
        "query_summary": {
            "total_matching": total,
            "returned": rows.len(),
            "domain_breakdown": {PROTOCOL: total},
            "status_breakdown": counts,
            "filters_applied": filters.keys().collect::<Vec<_>>(),
            "sort_applied": {"field": field, "direction": direction},
        },
        "tasks": rows,
        "pagination": page.pagination,
    });
    Ok(Reply::completed("tasks", body))
}

/// Whether a task is among those that are asked for.
fn fits(kept: &Kept<Task>, filters: &Map<String, Value>) -> bool {
    let task = &kept.thing;
    let words = |one: &str, many: &str| -> Option<Vec<&str>> {
        let single = filters.get(one).and_then(Value::as_str);
        let several = filters.get(many).and_then(Value::as_array);
        (single.is_some() || several.is_some()).then(|| {
            let several = several.into_iter().flatten().filter_map(Value::as_str);
            single.into_iter().chain(several).collect()
        })
    };
    let among = |one: &str, many: &str, word: &str| {
        words(one, many).is_none_or(|words| words.contains(&word))
    };
    let moment = |name: &str| -> Option<Timestamp> {
        filters.get(name).and_then(Value::as_str)?.parse().ok()
    };
    let ids = filters.get("task_ids").and_then(Value::as_array);
    let about = filters.get("context_contains").and_then(Value::as_str);
    let hook = filters.get("has_webhook").and_then(Value::as_bool);
    let (created, updated) = (kept.record.created_at, kept.record.updated_at);
    among("status", "statuses", &task.status)
        && among("task_type", "task_types", &task.task_type)
        && among("protocol", "protocols", PROTOCOL)
        && moment("created_after").is_none_or(|after| created > after)
        && moment("created_before").is_none_or(|before| created < before)
        && moment("updated_after").is_none_or(|after| updated > after)
        && moment("updated_before").is_none_or(|before| updated < before)
        && ids.is_none_or(|ids| ids.iter().any(|id| id.as_str() == Some(&task.task_id)))
        && hook.is_none_or(|hook| hook == task.push.is_some())
        && about.is_none_or(|about| {
            let context = task.context.as_ref().map(ToString::to_string).unwrap_or_default();
            let subject = task.subject.as_deref().unwrap_or_default();
            context.contains(about) || subject.contains(about)
        })
}

/// Puts tasks in the order that is asked for: the newest first when none is.
fn sort<'a>(arguments: &'a Map<String, Value>, tasks: &mut [Kept<Task>]) -> (&'a str, &'a str) {
    let asked = arguments.get("sort");
    let word = |name: &str| asked.and_then(|asked| asked.get(name)).and_then(Value::as_str);
    let field = word("field").unwrap_or("created_at");
    let direction = word("direction").unwrap_or("desc");
    tasks.sort_by(|one, other| {
        let key = |kept: &Kept<Task>| match field {
            "updated_at" => kept.record.updated_at.to_string(),
            "status" => kept.thing.status.clone(),
            "task_type" => kept.thing.task_type.clone(),
            _ => kept.record.created_at.to_string(),
        };
        key(one).cmp(&key(other)).then(one.record.place.cmp(&other.record.place))
    });
    if direction == "desc" {
        tasks.reverse();
    }
    (field, direction)
}
