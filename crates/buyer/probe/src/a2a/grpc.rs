//! Checks specific to the gRPC binding (A2A §10). The checks of the other bindings run on it too, as far as protocol
//! buffers can express their requests.

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::access::ask_anonymously;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_applicable_if,
    not_looked_at, not_looked_at_if, or_fail, pass_if, verdict_of,
};
use crate::grpc::{GrpcEnd, end, framed};
use crate::reply::ProbedAnswer;
use crate::run::{GrpcCall, ProbeRun, RequestOverrides};
use crate::shape::{ShapeProblems, items, text};

const WHY_STATUS: &str = "A client of gRPC knows by the status alone whether a call went well.";
const WHY_DETAILS: &str =
    "The status of gRPC is coarse; which error of A2A it is stands in the details alone.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.grpc.status", Grpc, Must, ["E-01", "E-03"], "A2A §10.6",
    "A call ends with HTTP 200, the media type of gRPC, and a status that gRPC has", WHY_STATUS,
    "answer every call with application/grpc and grpc-status, errors too" => status();
    "a2a.grpc.details", Grpc, Must, ["E-04", "E-02"], "A2A §10.6",
    "The details are a google.rpc.Status that repeats code and message, and each has its type", WHY_DETAILS,
    "pack google.rpc.Status into grpc-status-details-bin with the code and message of the call" => details();
    "a2a.grpc.error-info", Grpc, Must, ["E-04"], "A2A §10.6",
    "An error of A2A carries an ErrorInfo with its reason and domain", WHY_DETAILS,
    "add google.rpc.ErrorInfo with reason TASK_NOT_FOUND and the like, and the domain a2a-protocol.org" => error_info();
    "a2a.grpc.bad-request", Grpc, Should, ["E-11"], "A2A §3.3.2, §10.6",
    "A refusal of wrong parameters names the field in a BadRequest",
    "A client that knows the field can fix it; one that does not asks its user.",
    "list every wrong field in a google.rpc.BadRequest" => bad_request();
    "a2a.grpc.unknown-method", Grpc, Must, ["E-07"], "A2A §10.6",
    "A method that A2A does not have is UNIMPLEMENTED", "It tells an older agent from a broken one.",
    "answer UNIMPLEMENTED for methods that are not there" => unknown_method();
    "a2a.grpc.garbled", Grpc, Must, ["E-07", "E-10"], "A2A §10.6",
    "Bytes that are no message are refused as the caller's mistake, and the agent goes on",
    "Bad input must not take an agent down, nor look like its own fault.",
    "answer INVALID_ARGUMENT when a message cannot be read" => garbled();
    "a2a.grpc.challenge-info", Grpc, Should, ["A-02", "E-04"], "A2A §3.3.2, §10.6",
    "A caller without a credential is told why in the details, too", WHY_DETAILS,
    "add an ErrorInfo to UNAUTHENTICATED" => challenge_info();
    "a2a.grpc.faults", Grpc, Should, ["E-14"], "A2A §3.3.2",
    "No call ended as UNKNOWN", "It is what frameworks say of an exception that nobody caught: neither permanent nor passing.",
    "answer INTERNAL for faults and UNAVAILABLE for what passes" => faults();
];

async fn unknown_task(run: &mut ProbeRun) -> Result<(ProbedAnswer, GrpcEnd), CheckVerdict> {
    let reply = run.call_unknown(Operation::GetTask).await?;
    match end(&reply.response) {
        Some(end) => Ok((reply, end)),
        None => not_looked_at(format!("the call has no status: HTTP {}", reply.response.status)),
    }
}

/// Returns the answer and the end of a failed call.
async fn an_error(run: &mut ProbeRun) -> Result<(ProbedAnswer, GrpcEnd), CheckVerdict> {
    let (reply, end) = unknown_task(run).await?;
    not_looked_at_if(end.status() == Some(RpcStatus::Ok), "there is no error to look at")?;
    Ok((reply, end))
}

async fn status(run: &mut ProbeRun) -> CheckResult {
    let reply = run.call_unknown(Operation::GetTask).await?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(
        reply.response.status == 200,
        format!("the answer is HTTP {}", reply.response.status),
    );
    let kind = reply.response.media_type();
    let holds = matches!(kind.as_str(), "application/grpc" | "application/grpc+proto");
    wrong.unless(holds, format!("the media type is {kind:?}"));
    match end(&reply.response) {
        Some(end) => wrong.unless(
            end.status().is_some(),
            format!("grpc-status is {}, which gRPC does not have", end.number),
        ),
        None => wrong.add("there is no grpc-status"),
    }
    verdict_of(&wrong.0)
}

async fn details(run: &mut ProbeRun) -> CheckResult {
    let (_, end) = an_error(run).await?;
    let status = match end.details {
        None => return not_applicable("the status has no details"),
        Some(Err(_)) => return fail("grpc-status-details-bin is no google.rpc.Status"),
        Some(Ok(status)) => status,
    };
    let mut wrong = ShapeProblems::default();
    let code = status.get("code").and_then(Value::as_i64).unwrap_or_default();
    wrong.unless(code == end.number, format!("its code is {code}, and grpc-status {}", end.number));
    let message = text(&status, "message").unwrap_or_default();
    wrong.unless(message == end.message, "its message is not grpc-message");
    for (index, detail) in items(&status, "details").enumerate() {
        wrong.text(detail, "@type", &format!("detail {index}"));
    }
    verdict_of(&wrong.0)
}

async fn error_info(run: &mut ProbeRun) -> CheckResult {
    let (reply, _) = an_error(run).await?;
    or_fail(reply.error(), "there is no google.rpc.ErrorInfo")?.check_error_info()
}

async fn bad_request(run: &mut ProbeRun) -> CheckResult {
    run.may_send()?;
    let message_id = run.unique_id("probe");
    let params = json!({"message": {"messageId": message_id, "role": "ROLE_USER"}});
    let reply = run.call(Operation::SendMessage, params).await?;
    let Some(error) = reply.error().filter(|_| reply.is(A2aCode::InvalidParams)) else {
        let found = reply.describe();
        return not_looked_at(format!(
            "a message without parts is not refused as invalid: {found}"
        ));
    };
    pass_if(error.names_field("parts"), "no google.rpc.BadRequest names message.parts")
}

async fn unknown_method(run: &mut ProbeRun) -> CheckResult {
    let call = GrpcCall { operation: None, shown: String::new() };
    let reply = run.call_grpc(RequestOverrides::default(), "ProbeTask", &framed(b""), call).await?;
    pass_if(
        matches!(end(&reply.response).and_then(|end| end.status()), Some(RpcStatus::Unimplemented)),
        format!("expected UNIMPLEMENTED, and got {}", reply.describe()),
    )
}

async fn garbled(run: &mut ProbeRun) -> CheckResult {
    // A field with a wire type that does not exist.
    let shown = "(bytes that are no protocol buffers)".to_owned();
    let call = GrpcCall { operation: Some(Operation::GetTask), shown };
    let body = framed(b"\x0f\xff\xff\xff");
    let reply =
        run.call_grpc(RequestOverrides::default(), Operation::GetTask.name(), &body, call).await?;
    let verdict = match end(&reply.response).and_then(|end| end.status()) {
        Some(RpcStatus::InvalidArgument) => CheckVerdict::Pass,
        // The official libraries answer this by themselves.
        Some(RpcStatus::Internal) => {
            CheckVerdict::Warn("INTERNAL, as if the agent had failed".to_owned())
        }
        Some(_) | None => {
            return fail(format!("expected INVALID_ARGUMENT, and got {}", reply.describe()));
        }
    };
    let (reply, end) = unknown_task(run).await?;
    if matches!(
        end.status(),
        None | Some(RpcStatus::Unavailable | RpcStatus::Internal | RpcStatus::Unknown)
    ) {
        return fail(format!("the next call gives {}", reply.describe()));
    }
    Ok(verdict)
}

async fn challenge_info(run: &mut ProbeRun) -> CheckResult {
    let reply = ask_anonymously(run).await?;
    not_applicable_if(!reply.response.wants_credential(), "the agent asks for no credential")?;
    let holds = reply.error().and_then(|error| error.detail("ErrorInfo")).is_some();
    pass_if(holds, "there is no google.rpc.ErrorInfo")
}

async fn faults(run: &mut ProbeRun) -> CheckResult {
    let ends = std::mem::take(&mut run.unknown_ends);
    let count = ends.len();
    for exchange in ends {
        run.cite(exchange);
    }
    pass_if(count == 0, format!("{count} calls ended as UNKNOWN"))
}
