//! Checks of task lists (A2A §3.1.4).

use tradepost_a2a::Operation;
use tradepost_document::json::{Value, json};

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable, not_applicable_if,
    not_looked_at_if, or_not_applicable, pass_if, verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, id_of, items, set, text};

const WHY: &str = "Clients page through lists; a page that lies loses tasks.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.list.page", Binding, Must, ["O-06", "E-25"], "A2A §3.1.4",
    "Every page has tasks, nextPageToken, pageSize and totalSize, the last one, too", WHY,
    "send all four; the token is empty at the end" => page();
    "a2a.list.contains", Binding, Must, ["O-06"], "A2A §3.1.4",
    "A task is in the list of its context", WHY,
    "filter by contextId" => contains();
    "a2a.list.default-size", Binding, Must, ["O-06"], "A2A §3.1.4",
    "A page has 50 tasks where no size is asked for", WHY,
    "use 50 as the default of pageSize" => default_size();
    "a2a.list.newest-first", Binding, Must, ["O-06"], "A2A §3.1.4",
    "The latest change comes first", "The first page is often the only one that is read.",
    "sort by the status timestamp, descending" => newest_first();
    "a2a.list.pages", Binding, Must, ["O-06"], "A2A §3.1.4",
    "Following the page tokens gives each task once, and ends", WHY,
    "use a cursor, not an offset; send an empty token with the last page" => pages();
    "a2a.list.total", Binding, Must, ["O-06"], "A2A §3.1.4",
    "totalSize is how many tasks there are to list, whatever the size of the page",
    "Clients show how many there are, and how many pages.",
    "count what the filters let through, before the page is cut" => total();
    "a2a.list.no-artifacts", Binding, Must, ["O-06"], "A2A §3.1.4",
    "Artifacts are left out unless they are asked for", "They can be large.",
    "omit artifacts unless includeArtifacts is true" => no_artifacts();
    "a2a.list.since", Binding, Must, ["O-06"], "A2A §3.1.4",
    "statusTimestampAfter includes the moment itself", "Clients ask from the last moment that they saw.",
    "compare with >=" => since();
];

async fn ask(run: &mut ProbeRun, params: Value) -> Result<Value, CheckVerdict> {
    let reply = run.call(Operation::ListTasks, params).await?;
    Ok(reply.result()?.clone())
}

async fn page(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let first = ask(run, json!({"pageSize": 1})).await?;
    let mut wrong = ShapeProblems::default();
    whole_page(&first, "the page", &mut wrong);
    // A context that does not exist has no tasks, so its first page is the last one.
    let context = run.unique_id("context");
    let params = json!({"contextId": context, "pageSize": 1});
    let reply = run.call(Operation::ListTasks, params).await?;
    // An agent may refuse an unknown context.
    if let Ok(last) = reply.result() {
        whole_page(last, "the last page", &mut wrong);
    }
    verdict_of(&wrong.0)
}

fn whole_page(page: &Value, place: &str, wrong: &mut ShapeProblems) {
    wrong.list(page, "tasks", place);
    wrong.unless(text(page, "nextPageToken").is_some(), format!("{place} has no nextPageToken"));
    for name in ["pageSize", "totalSize"] {
        let is_number = page.get(name).is_some_and(|value| value.as_i64().is_some());
        wrong.unless(is_number, format!("{place} has no {name}"));
    }
}

async fn contains(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let task = run.task().await?;
    let context = or_not_applicable(text(&task, "contextId"), "the task has no context")?;
    let page = ask(run, json!({"contextId": context})).await?;
    let mut wrong = ShapeProblems::default();
    let found = items(&page, "tasks").any(|listed| id_of(listed) == id_of(&task));
    wrong.unless(found, "the task is not in the list of its context");
    let tasks_elsewhere =
        items(&page, "tasks").filter(|listed| text(listed, "contextId") != Some(context));
    wrong.unless(tasks_elsewhere.count() == 0, "the list has tasks of other contexts");
    verdict_of(&wrong.0)
}

async fn default_size(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let page = ask(run, json!({})).await?;
    let count = items(&page, "tasks").count();
    match page.get("pageSize").and_then(Value::as_i64) {
        _ if count > 50 => fail(format!("the page has {count} tasks")),
        // Some agents report the number of tasks on the page here.
        Some(size) if size == 50 || i64::try_from(count).is_ok_and(|count| count == size) => {
            Ok(CheckVerdict::Pass)
        }
        Some(other) => fail(format!("pageSize is {other}")),
        None => not_applicable("the page has no pageSize"),
    }
}

/// Creates at least two tasks in one new context and returns the context.
async fn two_tasks(run: &mut ProbeRun) -> Result<String, CheckVerdict> {
    run.lists_tasks().await?;
    run.ended_task().await?;
    let key = format!("two {}", run.binding);
    if let Some(known) = run.cache.get(&key) {
        return known.clone().map(|value| value.as_str().unwrap_or_default().to_owned());
    }
    let context = run.unique_id("context");
    for _ in 0..3 {
        let mut message = run.message("probe");
        set(&mut message, "/contextId", json!(context));
        let reply = run.call(Operation::SendMessage, json!({"message": message})).await?;
        let kept = reply.result()?.pointer("/task/contextId").and_then(Value::as_str);
        not_looked_at_if(
            kept != Some(&context),
            "the agent does not take contexts of ours, so that no list of known tasks could be made",
        )?;
    }
    run.cache.insert(key, Ok(json!(context)));
    Ok(context)
}

async fn newest_first(run: &mut ProbeRun) -> CheckResult {
    let context = two_tasks(run).await?;
    let page = ask(run, json!({"contextId": context})).await?;
    let moments: Vec<_> = items(&page, "tasks")
        .filter_map(|task| task.pointer("/status/timestamp")?.as_str()?.parse().ok())
        .collect::<Vec<jiff::Timestamp>>();
    not_applicable_if(moments.len() < 2, "the listed tasks have no moments to compare")?;
    // Tasks with equal times may be in any order.
    let sorted = moments.windows(2).all(|pair| pair.first() >= pair.last());
    pass_if(sorted, "an older task comes before a newer one")
}

async fn pages(run: &mut ProbeRun) -> CheckResult {
    let context = two_tasks(run).await?;
    let mut seen: Vec<String> = Vec::new();
    let mut token = String::new();
    // Twice as many pages as there are tasks, so that page tokens in a cycle are detected.
    for _ in 0..6 {
        let mut params = json!({"contextId": context, "pageSize": 1});
        if !token.is_empty() {
            set(&mut params, "/pageToken", json!(token));
        }
        let page = ask(run, params).await?;
        for id in items(&page, "tasks").map(id_of) {
            fail_if(seen.iter().any(|known| known == id), "a task comes twice")?;
            seen.push(id.to_owned());
        }
        token = text(&page, "nextPageToken").unwrap_or_default().to_owned();
        if token.is_empty() {
            let count = seen.len();
            return pass_if(count == 3, format!("of 3 tasks {count} came"));
        }
    }
    fail("the tokens do not end")
}

async fn total(run: &mut ProbeRun) -> CheckResult {
    let context = two_tasks(run).await?;
    let whole = ask(run, json!({"contextId": context, "pageSize": 100})).await?;
    // The number of tasks is only known from a page that contains all of them.
    let holds = text(&whole, "nextPageToken").is_some_and(|token| !token.is_empty());
    not_looked_at_if(holds, "the agent gives fewer tasks on a page than it was asked for")?;
    let count = items(&whole, "tasks").count();
    let cut = ask(run, json!({"contextId": context, "pageSize": 1})).await?;
    let mut wrong = ShapeProblems::default();
    for (page, size) in [(&whole, 100), (&cut, 1)] {
        let total = page.get("totalSize").and_then(Value::as_u64);
        let told = total.map_or("no number".to_owned(), |total| total.to_string());
        let text =
            format!("{count} tasks can be listed, and totalSize is {told} on pages of {size}");
        wrong.unless(total == u64::try_from(count).ok(), text);
    }
    verdict_of(&wrong.0)
}

async fn no_artifacts(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let mut task = run.ended_task().await?;
    if items(&task, "artifacts").count() == 0 {
        task = run.scenario_task("tck-artifact-text", json!({})).await?;
    }
    not_applicable_if(
        items(&task, "artifacts").count() == 0,
        "the agent's tasks have no artifacts",
    )?;
    let context = text(&task, "contextId").unwrap_or_default().to_owned();
    let page = ask(run, json!({"contextId": context})).await?;
    let shown = items(&page, "tasks").any(|task| items(task, "artifacts").count() > 0);
    fail_if(shown, "the list has artifacts that were not asked for")?;
    let page = ask(run, json!({"contextId": context, "includeArtifacts": true})).await?;
    let given = items(&page, "tasks").any(|task| items(task, "artifacts").count() > 0);
    pass_if(given, "includeArtifacts gives none")
}

async fn since(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let task = run.ended_task().await?;
    let moment = task.pointer("/status/timestamp").and_then(Value::as_str);
    let Some(moment) = moment else { return not_applicable("the task has no moment") };
    let context = text(&task, "contextId").unwrap_or_default();
    // Limited to its context, where the first page is enough to find the task.
    let params = json!({"contextId": context, "statusTimestampAfter": moment});
    let page = ask(run, params).await?;
    let found = items(&page, "tasks").any(|listed| id_of(listed) == id_of(&task));
    pass_if(found, "the task of that moment is not listed")
}
