//! The HTTP+JSON binding (A2A §11): all errors have one shape, whichever layer creates them.

use reqwest::Method;
use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable_if, or_fail, pass_if,
    verdict_of, warn,
};
use crate::reply::ProbedAnswer;
use crate::rest::join;
use crate::run::{HeaderOverride, OutgoingRequest, ProbeRun, RequestOverrides};
use crate::shape::ShapeProblems;

const WHY: &str = "A framework's own error page is nothing that a client of A2A can read.";
const FIX: &str =
    "answer {\"error\": {code, status, message, details}} from every layer, the router included";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.rest.unknown-route", Rest, Must, ["E-09"], "A2A §11.6",
    "An unknown path is refused in the shape of google.rpc.Status", WHY, FIX => unknown_route();
    "a2a.rest.wrong-method", Rest, Must, ["E-09"], "A2A §11.6",
    "A method that a path does not have is refused in the shape of google.rpc.Status", WHY, FIX => wrong_method();
    "a2a.rest.parse-error", Rest, Must, ["E-09", "E-07"], "A2A §11.6",
    "A body that is not JSON is refused in the shape of google.rpc.Status", WHY, FIX => parse_error();
    "a2a.rest.request-type", Rest, Must, ["E-09"], "A2A §11.6",
    "If a body of another media type is refused, then in the shape of google.rpc.Status", WHY, FIX => request_type();
    "a2a.rest.size", Rest, Should, ["E-27", "E-09"], "A2A §13.4",
    "A body of 11 MB is refused in the shape of google.rpc.Status", "Without a limit one caller fills the memory.", FIX => size();
    "a2a.rest.a2a-json", Rest, Should, ["CT-02"], "A2A §11.1",
    "A body declared as application/a2a+json is taken", "It is the binding's own media type since 1.0.1.",
    "accept application/a2a+json and application/json" => a2a_json();
    "a2a.rest.answer-type", Rest, Should, ["CT-02"], "A2A §11.1",
    "Answers are application/a2a+json or application/json", "Clients choose the parser by it.",
    "send Content-Type: application/a2a+json" => answer_type();
    "a2a.rest.tenant", Rest, Must, ["S-04"], "A2A §11.3",
    "Every path exists below the tenant of the card", "Clients put the tenant that a card declares in front of the path.",
    "serve /{tenant}/tasks and the others, or take the tenant off the card" => tenant();
    "a2a.rest.query", Rest, Must, ["CT-07"], "A2A §11.5",
    "Parameters of GET are camelCase in the query", "That is how clients send them.",
    "read pageSize, contextId and the others from the query" => query();
];

/// Checks that the answer is an error of this binding, with one of `statuses` unless that is empty.
fn shaped(reply: &ProbedAnswer, statuses: &[u16]) -> CheckResult {
    let error = or_fail(
        reply.error(),
        format!("expected an error in the shape of §11.6, and got {}", reply.describe()),
    )?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(
        error.code == Some(reply.response.status.into()),
        format!("error.code is {:?} and the HTTP status {}", error.code, reply.response.status),
    );
    wrong.unless(error.status.is_some(), "error.status is missing");
    wrong.unless(error.message.is_some(), "error.message is missing");
    wrong.unless(error.details.as_ref().is_none_or(Value::is_array), "error.details is no list");
    let holds = statuses.contains(&reply.response.status);
    wrong.unless(
        holds,
        format!("the status is {} and not one of {statuses:?}", reply.response.status),
    );
    verdict_of(&wrong.0)
}

async fn raw(
    run: &mut ProbeRun,
    method: Method,
    path: &[&str],
    overrides: RequestOverrides<'_>,
    body: &[u8],
) -> Result<ProbedAnswer, CheckVerdict> {
    let endpoint = run.endpoint()?.clone();
    let url = join(&endpoint.url, endpoint.declared.tenant.as_deref(), path);
    let headers = run.headers(&overrides, !body.is_empty());
    let response = run
        .send(OutgoingRequest { method, url, headers, body: body.to_vec(), call: None }, overrides)
        .await?;
    Ok(ProbedAnswer::rest(response))
}

async fn unknown_route(run: &mut ProbeRun) -> CheckResult {
    let path = ["tradepost", "probe", "unknown"];
    shaped(&raw(run, Method::GET, &path, RequestOverrides::default(), b"").await?, &[404])
}

async fn wrong_method(run: &mut ProbeRun) -> CheckResult {
    let reply =
        raw(run, Method::PUT, &["message:send"], RequestOverrides::default(), b"{}").await?;
    shaped(&reply, &[404, 405, 501])
}

async fn parse_error(run: &mut ProbeRun) -> CheckResult {
    let reply =
        raw(run, Method::POST, &["message:send"], RequestOverrides::default(), b"{\"message\":")
            .await?;
    shaped(&reply, &[400])
}

async fn request_type(run: &mut ProbeRun) -> CheckResult {
    let overrides = RequestOverrides {
        content_type: HeaderOverride::Text("text/plain"),
        ..RequestOverrides::default()
    };
    let reply = raw(run, Method::POST, &["message:send"], overrides, b"{}").await?;
    shaped(&reply, &[400, 415, 422])
}

async fn size(run: &mut ProbeRun) -> CheckResult {
    const BYTES: usize = 11 * 1024 * 1024;
    // Without a message nothing is executed if there is no limit.
    let text = format!(r#"{{"metadata":{{"text":"{}"}}}}"#, "x".repeat(BYTES));
    let path = ["message:send"];
    let reply =
        match raw(run, Method::POST, &path, RequestOverrides::default(), text.as_bytes()).await {
            Ok(reply) => reply,
            Err(CheckVerdict::Fail(why)) => return warn(why),
            Err(other) => return Err(other),
        };
    let holds =
        reply.is(A2aCode::InvalidParams) && reply.response.status == 400 && names_message(&reply);
    fail_if(holds, "the body was read to its end")?;
    shaped(&reply, &[400, 413, 429])
}

/// Returns true when the refusal is about the missing message and not about the size.
fn names_message(reply: &ProbedAnswer) -> bool {
    let text = reply.error().map(|error| error.whole.to_string()).unwrap_or_default();
    !text.contains("large") && !text.contains("size") && !text.contains("limit")
}

async fn a2a_json(run: &mut ProbeRun) -> CheckResult {
    run.may_send()?;
    let id = run.unknown_id();
    let params = run.about(Operation::SendMessage, &id);
    let overrides = RequestOverrides {
        content_type: HeaderOverride::Text("application/a2a+json"),
        ..RequestOverrides::default()
    };
    let reply = run.ask(overrides, Operation::SendMessage, params).await?;
    reply.refused(&[A2aCode::TaskNotFound])
}

async fn answer_type(run: &mut ProbeRun) -> CheckResult {
    let reply = run.call_unknown(Operation::GetTask).await?;
    let kind = reply.response.media_type();
    let known = ["application/a2a+json", "application/json"].contains(&kind.as_str());
    pass_if(known, format!("the media type is {kind:?}"))
}

async fn tenant(run: &mut ProbeRun) -> CheckResult {
    let holds = run.endpoint()?.declared.tenant.is_none();
    not_applicable_if(holds, "the card declares no tenant")?;
    // Requests on this binding include the tenant in their path.
    run.call_unknown(Operation::GetTask).await?.refused(&[A2aCode::TaskNotFound])
}

async fn query(run: &mut ProbeRun) -> CheckResult {
    run.lists_tasks().await?;
    let reply = run.call(Operation::ListTasks, json!({"pageSize": 1})).await?;
    let page = reply.result()?;
    match page.get("pageSize").and_then(Value::as_i64) {
        None | Some(1) => Ok(CheckVerdict::Pass),
        Some(other) => fail(format!("pageSize=1 was read as {other}")),
    }
}
