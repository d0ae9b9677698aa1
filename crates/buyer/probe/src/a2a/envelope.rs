//! Checks of the JSON-RPC envelope (A2A §9).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable_if, pass_if, verdict_of, warn,
};
use crate::reply::{AnswerContent, ProbedAnswer};
use crate::run::{HeaderOverride, ProbeRun, RequestOverrides};
use crate::shape::ShapeProblems;

const WHY_CODE: &str = "A client decides by the code what to do next: fix its request, or give up.";
const WHY_ID: &str = "Clients match answers to requests by the id; the official JavaScript client compares with ===.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.jsonrpc.parse-error", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A body that is not JSON is -32700", WHY_CODE,
    "answer -32700 when parsing fails" => body(b"{\"jsonrpc\":", &[A2aCode::ParseError]);
    "a2a.jsonrpc.empty-body", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "An empty body is -32700", WHY_CODE,
    "answer -32700 when there is nothing to parse" => body(b"", &[A2aCode::ParseError, A2aCode::InvalidRequest]);
    "a2a.jsonrpc.not-utf8", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A body that is not UTF-8 is -32700", WHY_CODE,
    "decode strictly before parsing" => body(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\xfe\",\"method\":\"GetTask\"}", &[A2aCode::ParseError]);
    "a2a.jsonrpc.scalar", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A body that is no object is -32600", WHY_CODE,
    "check that the body is an object" => body(b"5", &[A2aCode::InvalidRequest]);
    "a2a.jsonrpc.method-missing", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A request without a method is -32600", WHY_CODE,
    "check method before dispatching" => body(br#"{"jsonrpc":"2.0","id":"p-1"}"#, &[A2aCode::InvalidRequest]);
    "a2a.jsonrpc.method-type", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A method that is no text is -32600", WHY_CODE,
    "check the type of method" => body(br#"{"jsonrpc":"2.0","id":"p-1","method":5}"#, &[A2aCode::InvalidRequest]);
    "a2a.jsonrpc.version", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A request of another JSON-RPC version is -32600", WHY_CODE,
    "check that jsonrpc is \"2.0\"" => body(br#"{"jsonrpc":"1.0","id":"p-1","method":"GetTask","params":{"id":"x"}}"#, &[A2aCode::InvalidRequest]);
    "a2a.jsonrpc.batch", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "A batch is refused with -32600, or answered as one", "A2A has no batches; JSON-RPC 2.0 has.",
    "answer -32600, or a list of answers" => batch();
    "a2a.jsonrpc.method-unknown", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "An unknown method is -32601", WHY_CODE,
    "answer -32601" => body(br#"{"jsonrpc":"2.0","id":"p-1","method":"TradepostProbe","params":{}}"#, &[A2aCode::MethodNotFound]);
    "a2a.jsonrpc.method-of-0.3", JsonRpc, Should, ["E-07", "V-03"], "A2A §9.5",
    "A method of A2A 0.3 is unknown to an interface of 1.0", "A client that mixes versions has to hear of it.",
    "answer -32601; offer 0.3 as an interface of its own" => old_method();
    "a2a.jsonrpc.params-type", JsonRpc, Must, ["E-07"], "A2A §9.5",
    "Parameters that are no object are -32602", WHY_CODE,
    "answer -32602" => body(br#"{"jsonrpc":"2.0","id":"p-1","method":"SendMessage","params":"x"}"#, &[A2aCode::InvalidParams, A2aCode::InvalidRequest]);
    "a2a.jsonrpc.id-text", JsonRpc, Must, ["E-08"], "A2A §9.3",
    "An id that is text comes back unchanged", WHY_ID,
    "echo the id as it came" => echo("\"probe-\\u00e9-1\"");
    "a2a.jsonrpc.id-number", JsonRpc, Must, ["E-08"], "A2A §9.3",
    "An id that is a number comes back as a number", WHY_ID,
    "echo the id with its type" => echo("4711");
    "a2a.jsonrpc.id-null", JsonRpc, Must, ["E-08"], "JSON-RPC 2.0 §5",
    "An answer to what could not be read has the id null", WHY_ID,
    "send id: null" => null_id();
    "a2a.jsonrpc.envelope", JsonRpc, Must, ["E-01", "CT-01"], "JSON-RPC 2.0 §5",
    "An answer has jsonrpc, id and either result or error", "Clients refuse other envelopes.",
    "send exactly these members" => envelope();
    "a2a.jsonrpc.answer-type", JsonRpc, Must, ["CT-01"], "A2A §9.1",
    "Answers are application/json", "Clients choose the parser by it.",
    "send Content-Type: application/json" => answer_type();
    "a2a.jsonrpc.request-type", JsonRpc, Should, ["CT-01", "E-24"], "A2A §9.1",
    "A body that is not declared as JSON is refused", "Browsers send text/plain across sites without asking; that must not start work.",
    "refuse other media types with an error of JSON-RPC" => request_type();
    "a2a.jsonrpc.nesting", JsonRpc, Should, ["E-27", "E-10"], "A2A §13.4",
    "Very deep nesting is refused with an error", "Parsers recurse; the stack is finite.",
    "bound the depth before parsing" => nesting();
    "a2a.jsonrpc.size", JsonRpc, Should, ["E-27"], "A2A §13.4",
    "A body of 11 MB is refused with an error of JSON-RPC", "Without a limit one caller fills the memory.",
    "limit the body and answer HTTP 413 with a JSON-RPC error" => size();
    "a2a.jsonrpc.tenant", JsonRpc, Must, ["S-04"], "A2A §4.1",
    "A request may name the tenant of the card", "Clients send the tenant that a card declares.",
    "accept tenant in the parameters of every operation" => tenant();
];

async fn body(run: &mut ProbeRun, bytes: &[u8], codes: &[A2aCode]) -> CheckResult {
    let reply = run.post(RequestOverrides::default(), bytes.to_vec()).await?;
    reply.refused(codes)
}

async fn batch(run: &mut ProbeRun) -> CheckResult {
    let one = r#"[{"jsonrpc":"2.0","id":"p-1","method":"GetTask","params":{"id":"x"}}]"#;
    let reply = run.post(RequestOverrides::default(), one.as_bytes().to_vec()).await?;
    if reply.response.json().is_some_and(|body| body.is_array()) {
        return Ok(CheckVerdict::Pass);
    }
    reply.refused(&[A2aCode::InvalidRequest])
}

async fn old_method(run: &mut ProbeRun) -> CheckResult {
    let mut interfaces = run.card.iter().flat_map(|card| card.interfaces.iter());
    if interfaces.any(|interface| interface.protocol_version.starts_with("0.")) {
        return Err(CheckVerdict::NotApplicable("the card offers an older version too".to_owned()));
    }
    let id = run.unknown_id();
    let body = json!({"jsonrpc": "2.0", "id": "p-1", "method": "tasks/get", "params": {"id": id}});
    let reply = run.post(RequestOverrides::default(), body.to_string().into_bytes()).await?;
    reply.refused(&[A2aCode::MethodNotFound])
}

/// Causes an error with an unknown method.
async fn some_error(run: &mut ProbeRun, id: &str) -> Result<ProbedAnswer, CheckVerdict> {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"TradepostProbe","params":{{}}}}"#);
    run.post(RequestOverrides::default(), text.into_bytes()).await
}

async fn echo(run: &mut ProbeRun, id: &str) -> CheckResult {
    let reply = some_error(run, id).await?;
    let sent: Value = tradepost_document::json::from_str(id).unwrap_or_default();
    let body = reply.response.json().unwrap_or_default();
    match body.get("id") {
        Some(back) if *back == sent => Ok(CheckVerdict::Pass),
        Some(back) => fail(format!("{sent} came back as {back}")),
        None => fail(format!("{sent} did not come back: {}", reply.describe())),
    }
}

async fn null_id(run: &mut ProbeRun) -> CheckResult {
    let reply = run.post(RequestOverrides::default(), b"{\"jsonrpc\":".to_vec()).await?;
    let body = reply.response.json().unwrap_or_default();
    match body.get("id") {
        Some(Value::Null) => Ok(CheckVerdict::Pass),
        Some(other) => fail(format!("the id is {other}")),
        None => fail("there is no id"),
    }
}

async fn envelope(run: &mut ProbeRun) -> CheckResult {
    let reply = some_error(run, "\"p-1\"").await?;
    let body = reply.response.json().unwrap_or_default();
    let mut wrong = ShapeProblems::default();
    let holds = body.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    wrong.unless(holds, "jsonrpc is not \"2.0\"");
    let holds = body.get("result").is_some() != body.get("error").is_some();
    wrong.unless(holds, "there is not exactly one of result and error");
    if let Some(error) = body.get("error") {
        let holds = error.get("code").is_some_and(|code| code.as_i64().is_some());
        wrong.unless(holds, "error.code is no integer");
        wrong
            .unless(error.get("message").is_some_and(Value::is_string), "error.message is no text");
        wrong.closed(error, &["code", "message", "data"], "the error");
    }
    verdict_of(&wrong.0)
}

async fn answer_type(run: &mut ProbeRun) -> CheckResult {
    let reply = some_error(run, "\"p-1\"").await?;
    let kind = reply.response.media_type();
    pass_if(kind == "application/json", format!("the media type is {kind:?}"))
}

async fn request_type(run: &mut ProbeRun) -> CheckResult {
    let id = run.unknown_id();
    let body = json!({"jsonrpc": "2.0", "id": "p-1", "method": "GetTask", "params": {"id": id}});
    let overrides = RequestOverrides {
        content_type: HeaderOverride::Text("text/plain"),
        ..RequestOverrides::default()
    };
    let reply = run.post(overrides, body.to_string().into_bytes()).await?;
    match &reply.content {
        // The error about an unknown task shows that the body was read.
        AnswerContent::Error(_) if !reply.is(A2aCode::TaskNotFound) => Ok(CheckVerdict::Pass),
        AnswerContent::Error(_) | AnswerContent::Result(_) | AnswerContent::Stream(_) => {
            fail("the body was accepted")
        }
        AnswerContent::Other => {
            fail(format!("expected an error of JSON-RPC, and got {}", reply.describe()))
        }
    }
}

async fn nesting(run: &mut ProbeRun) -> CheckResult {
    const DEPTH: usize = 20_000;
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":"p-1","method":"GetTask","params":{{"id":{deep}}}}}"#);
    let reply = run.post(RequestOverrides::default(), text.into_bytes()).await?;
    pass_if(
        matches!(&reply.content, AnswerContent::Error(_)),
        format!("expected an error of JSON-RPC, and got {}", reply.describe()),
    )
}

async fn size(run: &mut ProbeRun) -> CheckResult {
    const BYTES: usize = 11 * 1024 * 1024;
    // The method is unknown, so nothing is executed if there is no limit.
    let head = r#"{"jsonrpc":"2.0","id":"p-1","method":"TradepostProbe","params":{"text":""#;
    let text = format!("{head}{}\"}}}}", "x".repeat(BYTES));
    let reply = match run.post(RequestOverrides::default(), text.into_bytes()).await {
        Ok(reply) => reply,
        // An agent that closes the connection has a limit; the network may have lost its reason.
        Err(CheckVerdict::Fail(why)) => return warn(why),
        Err(other) => return Err(other),
    };
    match &reply.content {
        AnswerContent::Error(_) if !reply.is(A2aCode::MethodNotFound) => Ok(CheckVerdict::Pass),
        AnswerContent::Error(_) | AnswerContent::Result(_) | AnswerContent::Stream(_) => {
            fail("the body was accepted")
        }
        AnswerContent::Other => {
            fail(format!("expected an error of JSON-RPC, and got {}", reply.describe()))
        }
    }
}

async fn tenant(run: &mut ProbeRun) -> CheckResult {
    let holds = run.endpoint()?.declared.tenant.is_none();
    not_applicable_if(holds, "the card declares no tenant")?;
    // Every request on this binding includes the tenant.
    run.call_unknown(Operation::GetTask).await?.refused(&[A2aCode::TaskNotFound])
}
