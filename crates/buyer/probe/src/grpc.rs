//! Reads gRPC calls for the prober (A2A §10): their messages as JSON, and their end.

use tradepost_a2a::Operation;
use tradepost_a2a::protobuf::{self, FieldDescriptor, FieldLabel, FieldType, schema};
use tradepost_client::grpc::messages;
pub(super) use tradepost_client::grpc::{GrpcEnd, address, framed, method};
use tradepost_document::json::{Value, json};

use super::exchange::HttpResponse;

/// Returns the number of messages.
pub(super) fn count(body: &[u8]) -> usize {
    messages(body).map_or(0, |messages| messages.len())
}

/// Returns the end of a call, if the answer has one.
pub(super) fn end(response: &HttpResponse) -> Option<GrpcEnd> {
    GrpcEnd::from_metadata(|name| response.metadata(name))
}

/// Returns the messages of an answer as JSON; null for one that cannot be read.
pub(super) fn documents(operation: Operation, body: &[u8]) -> Option<Vec<Value>> {
    let message = schema::answer(operation);
    let read = |bytes: &&[u8]| {
        let mut value = protobuf::read(message, bytes).unwrap_or_default();
        if operation == Operation::ListTasks {
            fill(message.fields, &mut value);
        }
        value
    };
    Some(messages(body).ok()?.iter().map(read).collect())
}

/// Adds the defaults that protocol buffers omit. A page has all of its members, also those that are zero or empty
/// (A2A §3.1.4); elsewhere an omitted member stays absent.
fn fill(fields: &[FieldDescriptor], value: &mut Value) {
    let Some(members) = value.as_object_mut() else { return };
    for field in fields {
        let default = match (field.rule, field.kind) {
            (FieldLabel::Repeated, _) => json!([]),
            (FieldLabel::Implicit, FieldType::Text) => json!(""),
            (FieldLabel::Implicit, FieldType::Int32) => json!(0),
            (
                FieldLabel::Implicit
                | FieldLabel::Explicit
                | FieldLabel::Oneof(_)
                | FieldLabel::Map,
                _,
            ) => continue,
        };
        members.entry(field.name).or_insert(default);
    }
}

/// Renders an answer for the report: its messages and its end as JSON.
pub(super) fn readable(operation: Option<Operation>, response: &HttpResponse) -> String {
    let documents = operation.and_then(|operation| documents(operation, &response.body));
    let mut lines: Vec<String> =
        documents.into_iter().flatten().map(|document| document.to_string()).collect();
    lines.extend(end(response).map(|end| end.as_error().to_string()));
    if lines.is_empty() {
        return String::from_utf8_lossy(&response.body).into_owned();
    }
    lines.join("\n")
}
