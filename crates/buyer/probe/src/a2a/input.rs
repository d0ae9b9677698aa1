//! Invalid input (A2A §3.3.2, §5.7).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use super::ask::PREFIX;
use crate::binding::Binding;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_applicable_if,
    not_looked_at, or_not_looked_at, warn,
};
use crate::reply::ProbedAnswer;
use crate::run::ProbeRun;
use crate::shape::{change, set};

const WHY: &str = "What is not checked is acted upon; a client that erred has to hear of it.";
const FIX: &str =
    "check the parameters before any work, and answer invalid params (-32602, HTTP 400)";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.input.message-missing", Binding, Must, ["E-10", "E-25"], "A2A §3.3.2",
    "SendMessage without a message is refused", WHY, FIX => message_refused("/message", "");
    "a2a.input.message-type", Binding, Must, ["E-10", "E-07"], "A2A §3.3.2",
    "A message that is no object is refused", WHY, FIX => message_refused("/message", "\"hello\"");
    "a2a.input.parts-type", Binding, Must, ["E-10", "E-07"], "A2A §3.3.2",
    "Parts that are no list are refused", WHY, FIX => message_refused("/message/parts", "\"hello\"");
    "a2a.input.message-id", Binding, Should, ["E-25"], "A2A §5.7",
    "A message without messageId is refused", WHY, FIX => message_refused("/message/messageId", "");
    "a2a.input.role-missing", Binding, Should, ["E-25"], "A2A §5.7",
    "A message without role is refused", WHY, FIX => message_refused("/message/role", "");
    "a2a.input.role-unknown", Binding, Should, ["E-25", "CT-05"], "A2A §5.5",
    "A role that A2A does not have is refused", WHY, FIX => message_refused("/message/role", "\"user\"");
    "a2a.input.parts-missing", Binding, Should, ["E-25"], "A2A §5.7",
    "A message without parts is refused", WHY, FIX => message_refused("/message/parts", "");
    "a2a.input.parts-empty", Binding, Should, ["E-25"], "A2A §5.7",
    "A message with no part in its list is refused", WHY, FIX => message_refused("/message/parts", "[]");
    "a2a.input.part-empty", Binding, Should, ["E-25"], "A2A §4.1.6",
    "A part without content is refused", WHY, FIX => message_refused("/message/parts", "[{}]");
    "a2a.input.part-twice", Binding, Should, ["E-25"], "A2A §4.1.6",
    "A part with two contents is refused", WHY, FIX => part_twice();
    "a2a.input.id-missing", Binding, Should, ["E-25"], "A2A §5.7",
    "Reading a task without saying which is refused", WHY, FIX => id_missing();
    "a2a.input.names-the-field", Binding, Should, ["E-11", "E-06"], "A2A §3.3.2",
    "A refusal names the field that is wrong", "A client that knows the field can fix it; one that does not asks its user.",
    "list every wrong field in a google.rpc.BadRequest" => names_the_field();
    "a2a.input.unknown-member", Binding, Should, ["E-25"], "A2A §5.7",
    "A member that A2A does not have is ignored", "Later minor versions add members.",
    "skip what you do not know" => unknown_member();
    "a2a.input.page-size-large", Binding, Must, ["E-26"], "A2A §3.1.4",
    "A page size above 100 is refused", WHY, FIX => list("pageSize", "101");
    "a2a.input.page-size-negative", Binding, Must, ["E-26"], "A2A §3.1.4",
    "A negative page size is refused", WHY, FIX => list("pageSize", "-1");
    "a2a.input.history-negative", Binding, Must, ["E-26"], "A2A §3.2.4",
    "A negative history length is refused", WHY, FIX => list("historyLength", "-1");
    "a2a.input.page-token", Binding, Must, ["E-26"], "A2A §3.1.4",
    "A page token that the agent did not give is refused", WHY, FIX => list("pageToken", "\"%%%probe%%%\"");
    "a2a.input.status-unknown", Binding, Must, ["E-26"], "A2A §3.1.4",
    "A status that A2A does not have is refused", "An empty page says that there are no such tasks, which is another thing.", FIX => list("status", "\"TASK_STATE_PROBED\"");
    "a2a.input.timestamp", Binding, Must, ["E-26"], "A2A §3.1.4",
    "A moment that is none is refused", WHY, FIX => list("statusTimestampAfter", "\"yesterday\"");
    "a2a.input.media-type", Binding, Must, ["E-24"], "A2A §3.1.1",
    "A part of a media type that the agent cannot take is ContentTypeNotSupported", "A file that is silently skipped is a promise broken.",
    "compare mediaType with the input modes of the card, and answer -32005" => media_type();
];

/// Sends a usual message with one member replaced, or removed when the text is empty, and expects INVALID_PARAMS.
async fn message_refused(run: &mut ProbeRun, pointer: &str, text: &str) -> CheckResult {
    let reply = send_invalid_message(run, pointer, text).await?;
    reply.refused(&[A2aCode::InvalidParams])
}

async fn part_twice(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.binding == Binding::Grpc, "in protocol buffers a part has one content")?;
    let parts = r#"[{"text":"a","url":"https://b.example/"}]"#;
    message_refused(run, "/message/parts", parts).await
}

async fn send_invalid_message(
    run: &mut ProbeRun,
    pointer: &str,
    text: &str,
) -> Result<ProbedAnswer, CheckVerdict> {
    run.may_send()?;
    // A refusal proves nothing if valid messages are refused too. A dry run has no answer to go by.
    if !run.rehearses {
        run.sample().await?;
    }
    let mut params = json!({"message": run.message(PREFIX)});
    change(&mut params, pointer, text);
    run.call(Operation::SendMessage, params).await
}

async fn id_missing(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.binding == Binding::HttpJson, "on HTTP+JSON the id is part of the path")?;
    let reply = run.call(Operation::GetTask, json!({})).await?;
    // An error about the unknown task is a refusal too.
    reply.refused(&[A2aCode::InvalidParams, A2aCode::TaskNotFound])
}

async fn names_the_field(run: &mut ProbeRun) -> CheckResult {
    let reply = send_invalid_message(run, "/message/parts", "\"hello\"").await?;
    let value = reply.error().filter(|_| reply.is(A2aCode::InvalidParams));
    let error = or_not_looked_at(
        value,
        format!("there is no such refusal to look at: {}", reply.describe()),
    )?;
    if error.names_field("parts") {
        return Ok(CheckVerdict::Pass);
    }
    let place = match run.binding {
        Binding::JsonRpc => "error.data",
        Binding::HttpJson => "error.details",
        Binding::Grpc => "the status details",
    };
    if error.whole.to_string().contains("parts") {
        return warn(format!("the field is named, and not in a BadRequest of {place}"));
    }
    fail("the refusal does not name message.parts")
}

async fn unknown_member(run: &mut ProbeRun) -> CheckResult {
    let params = json!({"id": run.unknown_id(), "tradepostProbe": true});
    let reply = run.call(Operation::GetTask, params).await?;
    reply.refused(&[A2aCode::TaskNotFound])
}

async fn list(run: &mut ProbeRun, name: &str, value: &str) -> CheckResult {
    run.lists_tasks().await?;
    let value: Value = tradepost_document::json::from_str(value).unwrap_or_default();
    let reply = run.call(Operation::ListTasks, json!({name: value})).await?;
    reply.refused(&[A2aCode::InvalidParams])
}

async fn media_type(run: &mut ProbeRun) -> CheckResult {
    run.may_send()?;
    let modes = run.card_json.get("defaultInputModes").cloned().unwrap_or_default().to_string();
    let holds = modes.contains("*/*") || modes.contains("application/*");
    not_applicable_if(holds, "the card says that the agent takes everything")?;
    let mut message = run.message(PREFIX);
    let part = match message.pointer("/parts/0/data") {
        Some(data) => json!({"data": data, "mediaType": "image/x-tradepost-probe"}),
        None => json!({"raw": "AAAA", "mediaType": "application/x-tradepost-probe"}),
    };
    set(&mut message, "/parts", json!([part]));
    let reply = run.call(Operation::SendMessage, json!({"message": message})).await?;
    reply.refused(&[A2aCode::ContentTypeNotSupported])
}

impl ProbeRun {
    /// Checks that the agent lists tasks, which only agents with tasks do.
    pub(super) async fn lists_tasks(&mut self) -> Result<(), CheckVerdict> {
        let key = format!("lists {}", self.binding);
        if let Some(known) = self.cache.get(&key) {
            return known.clone().map(drop);
        }
        let reply = self.call(Operation::ListTasks, json!({"pageSize": 1})).await?;
        let unlisted = format!("the agent lists no tasks: {}", reply.describe());
        let has_none = reply.is_no_route()
            || [A2aCode::UnsupportedOperation, A2aCode::MethodNotFound]
                .into_iter()
                .any(|code| reply.is(code));
        let lists = match reply.result() {
            Ok(page) => Ok(page.clone()),
            Err(_) if has_none => not_applicable(unlisted),
            Err(_) => not_looked_at(unlisted),
        };
        self.cache.insert(key, lists.clone());
        lists.map(drop)
    }
}
