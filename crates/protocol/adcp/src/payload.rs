//! Extraction of AdCP's data from a seller's answer: from the result of an MCP tool, a task or
//! event of A2A 1.0 or 0.3, or a webhook (AdCP 3.1, "MCP response extraction", "A2A response
//! extraction", "Payload extraction").

use std::borrow::Cow;
use std::fmt;

use tradepost_document::json::{Map, Value};

use super::AdcpTaskStatus;
use tradepost_document::catalog::Vocabulary as _;

/// Maximum length of a text that is parsed as JSON, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// Members in which A2A 1.0 wraps an answer or an event.
const ENVELOPES: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];

/// Error for data in a framework's wrapper (`{"response": {…}}`), which is the seller's mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedPayload;

impl fmt::Display for WrappedPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data part wraps the payload in an object named response")
    }
}

impl std::error::Error for WrappedPayload {}

/// Returns the data of a successful MCP tool result; `None` for a failure, or without data.
#[must_use]
pub fn of_tool(result: &Value) -> Option<Cow<'_, Value>> {
    let failed = result
        .get("isError")
        .is_some_and(|failed| !matches!(failed, Value::Null | Value::Bool(false)));
    if failed {
        return None;
    }
    // An error without `isError` is no data.
    let is_data = |object: &Map| object.len() != 1 || !object.contains_key("adcp_error");
    if let Some(structured @ Value::Object(members)) = result.get("structuredContent") {
        return is_data(members).then_some(Cow::Borrowed(structured));
    }
    let content = result.get("content").and_then(Value::as_array);
    let texts = content.into_iter().flatten().filter(|item| item.get("type").is_some_and(is_text));
    let texts = texts.filter_map(|item| item.get("text")?.as_str());
    let read = |text: &str| tradepost_document::json::from_str::<Value>(text).ok();
    let mut read = texts.filter(|text| text.len() <= MAX_TEXT).filter_map(read);
    read.find(|value| value.as_object().is_some_and(is_data)).map(Cow::Owned)
}

fn is_text(kind: &Value) -> bool {
    kind == "text"
}

/// Returns the data of a task or event of A2A, with or without the envelope of 1.0; `None` without
/// data, or in an unknown state.
///
/// # Errors
/// When the data is wrapped.
pub fn of_task(answer: &Value) -> Result<Option<&Value>, WrappedPayload> {
    let Some(task) = unwrapped(answer) else { return Ok(None) };
    let state = task.pointer("/status/state").and_then(Value::as_str);
    let message_data = || {
        let parts = task.pointer("/status/message/parts").and_then(Value::as_array);
        parts.into_iter().flatten().find_map(data)
    };
    match state.and_then(standing) {
        Some(
            AdcpTaskStatus::Completed
            | AdcpTaskStatus::Failed
            | AdcpTaskStatus::Canceled
            | AdcpTaskStatus::Rejected,
        ) => {
            // The last part replaces those before it.
            let parts = task.pointer("/artifacts/0/parts").and_then(Value::as_array);
            match parts.into_iter().flatten().rev().find_map(data) {
                Some(data) if is_wrapped(data) => Err(WrappedPayload),
                Some(data) => Ok(Some(data)),
                None => Ok(message_data()),
            }
        }
        Some(
            AdcpTaskStatus::Submitted
            | AdcpTaskStatus::Working
            | AdcpTaskStatus::InputRequired
            | AdcpTaskStatus::AuthRequired,
        ) => Ok(message_data()),
        Some(AdcpTaskStatus::Unknown) | None => Ok(None),
    }
}

/// Returns the data of a webhook in either format.
///
/// # Errors
/// When the data is wrapped.
pub fn of_webhook(payload: &Value) -> Result<Option<&Value>, WrappedPayload> {
    match payload.get("status") {
        Some(Value::String(_)) => Ok(payload.get("result").filter(|result| !result.is_null())),
        Some(_) | None => of_task(payload),
    }
}

/// Returns the status for a state of A2A, in the spelling of 1.0 or 0.3.
#[must_use]
pub fn standing(state: &str) -> Option<AdcpTaskStatus> {
    let name = state.strip_prefix("TASK_STATE_").unwrap_or(state);
    AdcpTaskStatus::from_name(&name.to_ascii_lowercase().replace('_', "-"))
}

/// Returns the content of the envelope, or the value itself; `None` for nested envelopes.
fn unwrapped(answer: &Value) -> Option<&Value> {
    let mut members = answer.as_object()?.iter();
    let Some((name, inner @ Value::Object(within))) = members.next() else {
        return Some(answer);
    };
    let is_alone = members.next().is_none();
    if !is_alone || !ENVELOPES.contains(&name.as_str()) {
        return Some(answer);
    }
    let nested = ENVELOPES.iter().any(|name| within.contains_key(*name));
    (!nested).then_some(inner)
}

fn data(part: &Value) -> Option<&Value> {
    part.get("data").filter(|data| data.is_object())
}

fn is_wrapped(data: &Value) -> bool {
    let members = data.as_object().filter(|members| members.len() == 1);
    members.and_then(|members| members.get("response")).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn tool_results_have_data_in_one_place_and_errors_none() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_TEXT));
        for (result, expected) in [
            (json!({"structuredContent": {"a": 1}}), Some(json!({"a": 1}))),
            (json!({"structuredContent": {"a": 1}, "isError": true}), None),
            (json!({"structuredContent": {"a": 1}, "isError": "yes"}), None),
            (json!({"structuredContent": {"a": 1}, "isError": false}), Some(json!({"a": 1}))),
            (json!({"structuredContent": {"adcp_error": {}}}), None),
            (
                json!({"structuredContent": {"adcp_error": {}, "a": 1}}),
                Some(json!({"adcp_error": {}, "a": 1})),
            ),
            (json!({"structuredContent": [1]}), None),
            (text(r#"{"a":1}"#), Some(json!({"a": 1}))),
            (text(r#"{"adcp_error":{}}"#), None),
            (text("[1]"), None),
            (text("words"), None),
            (text(&long), None),
            (json!({"content": [{"type": "image", "text": "{\"a\":1}"}]}), None),
            (json!(null), None),
        ] {
            assert_eq!(of_tool(&result).as_deref(), expected.as_ref(), "{result}");
        }
    }

    #[test]
    fn tasks_of_either_version_have_data_where_their_state_says() {
        let task = |state: &str| {
            json!({"status": {"state": state, "message": {"parts": [
                    {"text": "x"}, {"data": {"said": 1}}, {"data": {"said": 2}}]}},
                "artifacts": [{"parts": [{"data": {"a": 1}}, {"data": {"a": 2}}, {"data": 3}]},
                    {"parts": [{"data": {"b": 1}}]}]})
        };
        let found = json!({"a": 2});
        let said = json!({"said": 1});
        for (answer, expected) in [
            (task("completed"), Some(&found)),
            (task("TASK_STATE_REJECTED"), Some(&found)),
            (task("working"), Some(&said)),
            (task("TASK_STATE_INPUT_REQUIRED"), Some(&said)),
            (task("TASK_STATE_PAUSED"), None),
            (task(" completed"), None),
            (task("unknown"), None),
            (json!({"task": task("completed")}), Some(&found)),
            (json!({"statusUpdate": task("working")}), Some(&said)),
            (json!({"task": {"task": task("completed")}}), None),
            (json!({"task": {"message": {}, "status": {"state": "completed"}}}), None),
            (json!({"message": {"parts": [{"data": {"a": 1}}]}}), None),
            (json!([task("completed")]), None),
        ] {
            assert_eq!(of_task(&answer), Ok(expected), "{answer}");
        }
        let wrapped = json!({"status": {"state": "failed"}, "artifacts": [{"parts": [
            {"data": {"response": {}}}]}]});
        assert_eq!(of_task(&wrapped), Err(WrappedPayload));
        let beside = json!({"status": {"state": "failed"}, "artifacts": [{"parts": [
            {"data": {"response": {}, "errors": []}}]}]});
        assert!(of_task(&beside).unwrap().is_some());
        let empty = json!({"status": {"state": "completed", "message": {"parts": [
            {"data": {"said": 1}}]}}, "artifacts": []});
        assert_eq!(of_task(&empty), Ok(Some(&said)));
    }

    #[test]
    fn a_webhook_is_told_by_its_status() {
        let mcp = json!({"task_id": "t", "status": "completed", "result": {"a": 1}});
        assert_eq!(of_webhook(&mcp), Ok(Some(&json!({"a": 1}))));
        assert_eq!(of_webhook(&json!({"status": "completed", "result": null})), Ok(None));
        let a2a = json!({"id": "t", "status": {"state": "working", "message": {"parts": [
            {"kind": "data", "data": {"a": 1}}]}}});
        assert_eq!(of_webhook(&a2a), Ok(Some(&json!({"a": 1}))));
    }
}
