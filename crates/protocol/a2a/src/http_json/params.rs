//! Conversion of path, query and body to the parameters of an operation.
//!
//! A value of the query that should be a number or boolean is converted; one that cannot be
//! converted stays a string, so that the parameter parser reports it. A repeated parameter becomes
//! an array, which no operation of A2A 1.0 accepts. Unknown parameters are ignored, as are members
//! of a body.
// Parameters are camelCase and percent-encoded (A2A 1.0 §11.5, CT-07).

use tradepost_document::json::{Map, Number, Value};

use super::route::MatchedRoute;
use crate::Operation;
use crate::error::A2aRefusal;
use crate::jsonrpc;

/// Type of a query parameter.
#[derive(Debug, Clone, Copy)]
enum ParamKind {
    Text,
    Integer,
    Boolean,
}

/// A query parameter, in both spellings.
#[derive(Debug, Clone, Copy)]
struct QueryParam {
    camel: &'static str,
    snake: &'static str,
    kind: ParamKind,
}

/// Returns the parameters of an operation, and the member of the body that contradicts the path.
///
/// # Errors
/// When the body is not JSON.
pub fn read(
    operation: Operation,
    target: &MatchedRoute,
    query: Option<&str>,
    body: Option<&[u8]>,
) -> Result<(Value, Option<&'static str>), A2aRefusal> {
    let mut params = match body {
        Some(bytes) => jsonrpc::document(bytes).map_err(|reject| reject.refusal())?,
        None => Value::Object(read_query(known(operation), query.unwrap_or_default())),
    };
    let mut conflict = None;
    // The parameter parser refuses a value that is not an object.
    if let Value::Object(members) = &mut params {
        for (name, value) in &target.members {
            let sent = [members.shift_remove(*name), members.shift_remove(snake(name))];
            // ProtoJSON's default value means absent.
            let mut sent = sent.into_iter().flatten().filter(|v| !v.is_null() && *v != "");
            if sent.any(|sent| sent != value.as_str()) {
                conflict = conflict.or(Some(*name));
            }
            members.insert((*name).to_owned(), value.as_str().into());
        }
    }
    Ok((params, conflict))
}

/// Returns the snake_case spelling of a path parameter.
fn snake(name: &str) -> &str {
    if name == "taskId" { "task_id" } else { name }
}

/// Returns the possible query parameters of an operation, in both spellings.
fn known(operation: Operation) -> &'static [QueryParam] {
    const TENANT: QueryParam =
        QueryParam { camel: "tenant", snake: "tenant", kind: ParamKind::Text };
    const PAGE_SIZE: QueryParam =
        QueryParam { camel: "pageSize", snake: "page_size", kind: ParamKind::Integer };
    const PAGE_TOKEN: QueryParam =
        QueryParam { camel: "pageToken", snake: "page_token", kind: ParamKind::Text };
    const HISTORY: QueryParam =
        QueryParam { camel: "historyLength", snake: "history_length", kind: ParamKind::Integer };
    match operation {
        Operation::GetTask => &[TENANT, HISTORY],
        Operation::ListTasks => &[
            TENANT,
            QueryParam { camel: "contextId", snake: "context_id", kind: ParamKind::Text },
            QueryParam { camel: "status", snake: "status", kind: ParamKind::Text },
            PAGE_SIZE,
            PAGE_TOKEN,
            HISTORY,
            QueryParam {
                camel: "statusTimestampAfter",
                snake: "status_timestamp_after",
                kind: ParamKind::Text,
            },
            QueryParam {
                camel: "includeArtifacts",
                snake: "include_artifacts",
                kind: ParamKind::Boolean,
            },
        ],
        Operation::ListTaskPushNotificationConfigs => &[TENANT, PAGE_SIZE, PAGE_TOKEN],
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => &[TENANT],
    }
}

fn read_query(known: &[QueryParam], query: &str) -> Map {
    let mut members = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let found = known.iter().find(|param| name == param.camel || name == param.snake);
        let Some(param) = found else { continue };
        let value = value(param.kind, text.into_owned());
        match members.get_mut(param.camel) {
            None => {
                members.insert(param.camel.to_owned(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    members
}

fn value(kind: ParamKind, text: String) -> Value {
    match (kind, text.as_str()) {
        (ParamKind::Boolean, "true") => Value::Bool(true),
        (ParamKind::Boolean, "false") => Value::Bool(false),
        (ParamKind::Integer, digits) if digits.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
            digits.parse::<Number>().map_or(Value::String(text), Value::Number)
        }
        (ParamKind::Text | ParamKind::Integer | ParamKind::Boolean, _) => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_becomes_what_a_body_would_say() {
        let read =
            |query| Value::Object(read_query(known(Operation::ListTasks), query)).to_string();
        assert_eq!(
            read("pageSize=10&contextId=a%20b&includeArtifacts=true&A2A-Version=1.0&x=1"),
            r#"{"pageSize":10,"contextId":"a b","includeArtifacts":true}"#
        );
        assert_eq!(read("history_length=-1"), r#"{"historyLength":-1}"#);
        assert_eq!(
            read("pageSize=ten&includeArtifacts=TRUE&historyLength=007&pageToken"),
            r#"{"pageSize":"ten","includeArtifacts":"TRUE","historyLength":"007","pageToken":""}"#
        );
        assert_eq!(read("pageSize=1&pageSize=2&page_size=3"), r#"{"pageSize":[1,2,3]}"#);
    }
}
