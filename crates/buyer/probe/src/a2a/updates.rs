//! Events of a stream about a task: their task, their order, and their combined result (A2A §3.1.2, §3.5.2, §4.2).

use jiff::Timestamp;
use tradepost_a2a::Operation;
use tradepost_document::json::{Value, json};

use super::ask::PREFIX;
use super::stream::results;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable, not_applicable_if, not_looked_at,
    not_looked_at_if, verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, id_of, items, member, text};

const WHY: &str = "A client follows a task by its stream, and believes what it says.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.stream.same-task", Binding, Must, ["O-02"], "A2A §3.1.2, §4.2",
    "Every event of a stream is about the task with which it began", "A client puts it to the task that it asked for, and shows somebody the work of somebody else.",
    "send the events of one task alone, each with its taskId and contextId" => same_task();
    "a2a.stream.final-last", Binding, Must, ["O-02"], "A2A §3.1.2, §3.5.2",
    "The state in which a task ends comes once, and nothing comes after it", "A client stops reading there, and never sees what comes later.",
    "send the artifacts first, then the final state once, and close the stream" => final_last();
    "a2a.stream.order", Binding, Must, ["O-03"], "A2A §3.5.2",
    "Events come in the order in which they happened", WHY,
    "send events from one queue for each task, in the order in which they are made" => order();
    "a2a.stream.adds-up", Binding, Must, ["O-08", "O-03"], "A2A §3.1.3, §3.5.2",
    "What the events add up to is the task that can be read afterwards", "A client that lost the stream reads the task, and has to find the same.",
    "keep each update in the task before it is sent" => adds_up();
    "a2a.kit.stream-order", Binding, Must, ["O-03"], "A2A §3.5.2",
    "A stream of WORKING, an artifact and COMPLETED comes in that order", WHY,
    "send events from one queue for each task, in the order in which they are made" => kit_order();
];

/// Message of the official kit whose artifact comes in two parts.
const CHUNKED: &str = "tck-stream-artifact-chunked";

/// Message of the official kit about order.
const ORDERED: &str = "tck-stream-ordering-001";

/// Returns the events of streams about a task; for an agent that follows the official kit's scenarios also those of
/// one with an artifact in parts.
async fn streams(run: &mut ProbeRun) -> Result<Vec<Vec<Value>>, CheckVerdict> {
    let mut streams = vec![results(run, PREFIX).await?.0];
    if run.knows_the_kit() {
        streams.push(results(run, CHUNKED).await?.0);
    }
    streams.retain(|events| events.iter().any(|event| event.get("message").is_none()));
    not_applicable_if(streams.is_empty(), "the stream is a message, and about no task")?;
    Ok(streams)
}

/// Returns the status or artifact update of an event.
fn update(event: &Value) -> Option<&Value> {
    event.get("statusUpdate").or_else(|| event.get("artifactUpdate"))
}

/// Returns the state that an event reports.
fn state_of(event: &Value) -> Option<&str> {
    let told = event.get("task").or_else(|| event.get("statusUpdate"))?;
    told.pointer("/status/state")?.as_str()
}

/// Checks each stream separately.
async fn each(run: &mut ProbeRun, look: fn(&[Value], &mut ShapeProblems)) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    for events in streams(run).await? {
        look(&events, &mut wrong);
    }
    verdict_of(&wrong.0)
}

async fn same_task(run: &mut ProbeRun) -> CheckResult {
    each(run, |events, wrong| {
        let first = events.iter().find_map(|event| event.get("task"));
        let Some(first) = first.or_else(|| events.iter().find_map(update)) else { return };
        let task = text(first, "id").or_else(|| text(first, "taskId")).unwrap_or_default();
        let context = member(first, "contextId");
        for (index, event) in events.iter().enumerate() {
            let told = match event.get("task") {
                Some(task) => Some((id_of(task), member(task, "contextId"))),
                None => update(event)
                    .map(|update| (member(update, "taskId"), member(update, "contextId"))),
            };
            let Some((told_task, told_context)) = told else { continue };
            wrong.unless(told_task == task, format!("event {index} is about another task"));
            let holds = told_context == context;
            wrong.unless(holds, format!("event {index} is about another context"));
        }
    })
    .await
}

async fn final_last(run: &mut ProbeRun) -> CheckResult {
    each(run, |events, wrong| {
        let is_final = |event: &Value| state_of(event).is_some_and(shape::is_terminal);
        let Some(first) = events.iter().position(is_final) else { return };
        for event in events.iter().skip(first + 1) {
            let what = match (state_of(event), event.get("artifactUpdate")) {
                (Some(state), _) if shape::is_terminal(state) => "a final state again".to_owned(),
                (Some(state), _) => format!("the state {state:?}"),
                (None, Some(_)) => "an artifact".to_owned(),
                (None, None) => "another event".to_owned(),
            };
            wrong.add(format!("after the final state comes {what}"));
        }
    })
    .await
}

async fn order(run: &mut ProbeRun) -> CheckResult {
    each(run, |events, wrong| {
        let mut latest: Option<Timestamp> = None;
        let mut has_begun = false;
        // Artifacts that have begun, with true for those that are complete.
        let mut artifacts: Vec<(&str, bool)> = Vec::new();
        for event in events {
            let told = event.get("task").or_else(|| event.get("statusUpdate"));
            let moment =
                told.and_then(|told| told.pointer("/status/timestamp")?.as_str()?.parse().ok());
            if let Some(moment) = moment {
                wrong.unless(
                    latest.is_none_or(|latest| latest <= moment),
                    "a later event tells an earlier moment",
                );
                latest = Some(moment);
            }
            if let Some(state) = state_of(event) {
                let goes_back = has_begun && state == "TASK_STATE_SUBMITTED";
                wrong.unless(!goes_back, "a task that was worked on is submitted again");
                has_begun |= state != "TASK_STATE_SUBMITTED";
            }
            for artifact in items(event.get("task").unwrap_or(&Value::Null), "artifacts") {
                artifacts.push((member(artifact, "artifactId"), false));
            }
            let Some(update) = event.get("artifactUpdate") else { continue };
            let id = update.pointer("/artifact/artifactId").and_then(Value::as_str);
            let id = id.unwrap_or_default();
            let flag = |name: &str| update.get(name).and_then(Value::as_bool).unwrap_or_default();
            match artifacts.iter_mut().find(|(known, _)| *known == id) {
                Some((_, complete)) => {
                    let late = *complete && flag("append");
                    wrong.unless(!late, "more is appended to an artifact after its last chunk");
                    *complete = flag("lastChunk");
                }
                None => {
                    wrong.unless(!flag("append"), "the first event of an artifact appends to it");
                    artifacts.push((id, flag("lastChunk")));
                }
            }
        }
    })
    .await
}

async fn adds_up(run: &mut ProbeRun) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    for events in streams(run).await? {
        let state = events.iter().rev().find_map(state_of).unwrap_or_default().to_owned();
        not_looked_at_if(!shape::is_terminal(&state), "the task did not end while we watched it")?;
        let Some(id) = task_of(&events) else {
            return not_looked_at("no event of the stream names its task");
        };
        let reply = run.call(Operation::GetTask, json!({"id": id})).await?;
        let Ok(task) = reply.result() else {
            return not_looked_at(format!("the task cannot be read: {}", reply.describe()));
        };
        let read = shape::state(task);
        wrong.unless(read == state, format!("the stream ends in {state:?}, the task is {read:?}"));
        shape::same_artifacts(&assembled(&events), task, "the stream", &mut wrong);
    }
    verdict_of(&wrong.0)
}

/// Returns the id of the task that a stream is about.
fn task_of(events: &[Value]) -> Option<String> {
    let named = |event: &Value| match event.get("task") {
        Some(task) => text(task, "id").map(str::to_owned),
        None => update(event).and_then(|update| text(update, "taskId")).map(str::to_owned),
    };
    events.iter().find_map(named)
}

/// Returns a task with the artifacts that a client has assembled at the end of the stream.
fn assembled(events: &[Value]) -> Value {
    let mut artifacts: Vec<Value> = Vec::new();
    for event in events {
        if let Some(task) = event.get("task") {
            artifacts = items(task, "artifacts").cloned().collect();
        }
        let Some(update) = event.get("artifactUpdate") else { continue };
        let Some(artifact) = update.get("artifact") else { continue };
        let appends = update.get("append").and_then(Value::as_bool).unwrap_or_default();
        let id = text(artifact, "artifactId");
        match artifacts.iter_mut().find(|known| text(known, "artifactId") == id) {
            Some(known) if appends => {
                let more = items(artifact, "parts").cloned();
                if let Some(parts) = known.get_mut("parts").and_then(Value::as_array_mut) {
                    parts.extend(more);
                }
            }
            Some(known) => *known = artifact.clone(),
            None => artifacts.push(artifact.clone()),
        }
    }
    json!({"artifacts": artifacts})
}

async fn kit_order(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(
        !run.knows_the_kit(),
        "needs an agent that does as the official kit's messages ask",
    )?;
    let (events, _) = results(run, ORDERED).await?;
    let step = |event: &Value| match (event.get("artifactUpdate"), state_of(event)) {
        (Some(_), _) => Some("an artifact"),
        (None, Some("TASK_STATE_WORKING")) => Some("WORKING"),
        (None, Some("TASK_STATE_COMPLETED")) => Some("COMPLETED"),
        (None, Some(_) | None) => None,
    };
    let mut steps: Vec<&str> = events.iter().filter_map(step).collect();
    // An artifact may come in several events.
    steps.dedup();
    let expected = ["WORKING", "an artifact", "COMPLETED"];
    if expected.iter().any(|wanted| !steps.contains(wanted)) {
        return not_applicable("the agent does not do what the kit's message about order asks for");
    }
    let mut wrong = ShapeProblems::default();
    wrong.unless(steps == expected, format!("the order is {}", steps.join(", ")));
    verdict_of(&wrong.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str, append: bool) -> Value {
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
            "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
    }

    #[test]
    fn chunks_are_put_together_as_clients_do() {
        let read = json!({"artifacts": [{"artifactId": "a", "parts": [{"text": "one two"}]}]});
        for (events, same) in [
            (vec![chunk("one ", false), chunk("two", true)], true),
            (vec![chunk("two", true), chunk("one ", false)], false),
            (vec![chunk("x", false), chunk("one two", false)], true),
            (vec![], false),
        ] {
            let mut wrong = ShapeProblems::default();
            shape::same_artifacts(&assembled(&events), &read, "the stream", &mut wrong);
            assert_eq!(wrong.0.is_empty(), same, "{events:?}: {:?}", wrong.0);
        }
    }
}
