//! Shape of errors (A2A §3.3.2, §5.4).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, or_not_applicable,
    or_not_looked_at, pass_if, verdict_of,
};
use crate::reply::ErrorView;
use crate::run::ProbeRun;
use crate::shape::ShapeProblems;

const WHY: &str = "A client that cannot tell errors apart can only give up.";
const WHY_INFO: &str = "The reason is the one name that is the same on every binding.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.error.get-unknown", Binding, Must, ["E-12", "E-03"], "A2A §3.1.3",
    "Reading a task that nobody has is TaskNotFound", WHY,
    "answer -32001, or HTTP 404, for every task that the caller cannot see" => unknown(Operation::GetTask);
    "a2a.error.cancel-unknown", Binding, Must, ["E-22", "E-03"], "A2A §3.1.5",
    "Canceling a task that nobody has is TaskNotFound", WHY,
    "answer -32001, or HTTP 404" => unknown(Operation::CancelTask);
    "a2a.error.send-unknown", Binding, Must, ["E-18"], "A2A §3.4.2",
    "A message to a task that nobody has is TaskNotFound, and no new task", "Otherwise a client talks to another task than it thinks.",
    "look the task up before work starts" => send_unknown();
    "a2a.error.message", Binding, Must, ["E-01"], "A2A §3.3.2",
    "Every error has a code and a message for people", WHY,
    "fill in both" => code_and_message();
    "a2a.error.typed-details", Binding, Must, ["E-02"], "A2A §3.3.2",
    "Details are a list, and each of them has its @type", "Clients find the detail that they understand by its type.",
    "send an array of google.rpc details in ProtoJSON's Any form" => typed_details();
    "a2a.error.info", JsonRpc, Should, ["E-06"], "A2A §9.5",
    "An error of A2A carries an ErrorInfo", WHY_INFO,
    "add google.rpc.ErrorInfo with reason and domain to error.data" => error_info();
    "a2a.error.info-rest", Rest, Must, ["E-05"], "A2A §11.6",
    "An error of A2A carries an ErrorInfo", WHY_INFO,
    "add google.rpc.ErrorInfo with reason and domain to error.details" => error_info();
    "a2a.error.metadata", Binding, Should, ["E-05"], "google.rpc.ErrorInfo",
    "The metadata of an ErrorInfo are texts", "Clients read a map of text to text; the official ones fail on others.",
    "write numbers and lists as text" => metadata();
    "a2a.error.status-name", Rest, Must, ["E-03", "E-09"], "A2A §11.6",
    "The body of an error repeats the HTTP status and has the matching status name", "A client behind a proxy sees only the body.",
    "set error.code to the HTTP status and error.status to the name of the table in §5.4" => status_name();
    "a2a.error.no-internals", End, Must, ["E-28"], "A2A §3.3.2",
    "No answer shows how the agent is built", "Stack traces, paths and queries are a map for attackers.",
    "send a general sentence and an id, and log the cause under that id" => no_internals();
    "a2a.alive", End, Must, ["E-10"], "A2A §3.3.2",
    "The agent still answers at the end", "Bad input must not take an agent down.",
    "treat every request as hostile until it is parsed" => alive();
];

async fn unknown(run: &mut ProbeRun, operation: Operation) -> CheckResult {
    run.call_unknown(operation).await?.refused(&[A2aCode::TaskNotFound])
}

async fn send_unknown(run: &mut ProbeRun) -> CheckResult {
    run.may_send()?;
    unknown(run, Operation::SendMessage).await
}

/// Returns any error of A2A; other checks are about its code.
async fn an_error(run: &mut ProbeRun) -> Result<ErrorView, CheckVerdict> {
    let reply = run.call_unknown(Operation::GetTask).await?;
    or_not_looked_at(
        reply.error().cloned(),
        format!("there is no error to look at: {}", reply.describe()),
    )
}

async fn code_and_message(run: &mut ProbeRun) -> CheckResult {
    let error = an_error(run).await?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(error.code.is_some(), "error.code is no integer");
    let has_text = error.message.as_deref().is_some_and(|text| !text.trim().is_empty());
    wrong.unless(has_text, "error.message is missing or empty");
    verdict_of(&wrong.0)
}

async fn typed_details(run: &mut ProbeRun) -> CheckResult {
    let error = an_error(run).await?;
    let details = match &error.details {
        None | Some(Value::Null) => return not_applicable("the error has no details"),
        Some(Value::Array(details)) => details,
        Some(_) => return fail("the details are no list"),
    };
    let typed = |detail: &Value| detail.get("@type").is_some_and(Value::is_string);
    let wrong = details.iter().enumerate().filter(|(_, detail)| !typed(detail));
    let wrong: Vec<_> = wrong.map(|(index, _)| format!("detail {index} has no @type")).collect();
    verdict_of(&wrong)
}

async fn error_info(run: &mut ProbeRun) -> CheckResult {
    an_error(run).await?.check_error_info()
}

async fn metadata(run: &mut ProbeRun) -> CheckResult {
    let error = an_error(run).await?;
    let metadata = error.detail("ErrorInfo").and_then(|info| info.get("metadata"));
    let members =
        or_not_applicable(metadata.and_then(Value::as_object), "the error has no metadata")?;
    let wrong = members.iter().filter(|(_, value)| !value.is_string());
    let wrong: Vec<_> = wrong.map(|(name, _)| format!("{name} is no text")).collect();
    verdict_of(&wrong)
}

async fn status_name(run: &mut ProbeRun) -> CheckResult {
    let reply = run.call_unknown(Operation::GetTask).await?;
    let error = or_not_looked_at(
        reply.error(),
        format!("there is no error to look at: {}", reply.describe()),
    )?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(
        error.code == Some(reply.response.status.into()),
        format!("error.code is {:?} and the HTTP status {}", error.code, reply.response.status),
    );
    let known = A2aCode::ALL.iter().any(|code| Some(code.grpc()) == error.status.as_deref());
    wrong.unless(known, format!("error.status is {:?}", error.status));
    verdict_of(&wrong.0)
}

async fn no_internals(run: &mut ProbeRun) -> CheckResult {
    let leaks = std::mem::take(&mut run.leaks);
    let mut wrong: Vec<String> = Vec::new();
    for (what, exchange) in leaks {
        let text = format!("an answer shows {what}");
        if !wrong.contains(&text) {
            wrong.push(text);
        }
        run.cite(exchange);
    }
    verdict_of(&wrong)
}

async fn alive(run: &mut ProbeRun) -> CheckResult {
    let first = run.endpoints.first().map(|endpoint| endpoint.binding);
    let Some(binding) = first else { return not_applicable("there is no interface to ask") };
    run.binding = binding;
    let reply = run.call_unknown(Operation::GetTask).await?;
    let answers = reply.error().is_some() && reply.response.status < 500;
    pass_if(answers, reply.describe())
}
