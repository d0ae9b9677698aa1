//! Authentication and authorisation (A2A §7, §13.1), and the isolation of callers.

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::binding::Binding;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable, not_applicable_if,
    pass_if, skip, verdict_of,
};
use crate::reply::ProbedAnswer;
use crate::run::{Caller, ProbeRun, RequestOverrides};
use crate::shape::{ShapeProblems, id_of, items, text};

const WHY_AUTH: &str = "A card that asks for credentials promises that nobody gets in without.";
const WHY_OWN: &str =
    "A task holds what a buyer said; whoever learns that it exists knows too much.";
const FIX_OWN: &str = "look tasks up by id and owner together, and answer as if there were none";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.auth.missing", Binding, Must, ["A-01"], "A2A §7.4",
    "Without a credential the agent answers 401, where its card requires one", WHY_AUTH,
    "authenticate every request before anything else" => unauthenticated(Caller::Anonymous);
    "a2a.auth.invalid", Binding, Must, ["A-01"], "A2A §7.4",
    "A credential that is none is answered with 401, where the card requires one", WHY_AUTH,
    "refuse credentials that cannot be verified" => unauthenticated(Caller::Token("tradepost-probe-not-a-token"));
    "a2a.auth.declared", Binding, Must, ["A-01"], "A2A §7.4, §4.4.1",
    "An agent whose card declares no way to authenticate asks nobody for a credential",
    "A client reads in the card what to send; here it is refused, and cannot know why.",
    "declare securitySchemes and securityRequirements on the card, or let callers in" => declared();
    "a2a.auth.challenge", Binding, Should, ["A-02"], "RFC 9110 §15.5.2",
    "A 401 says in WWW-Authenticate what is asked for", "A client learns from it which scheme to use.",
    "send WWW-Authenticate with the scheme of the card" => challenge();
    "a2a.access.get", Binding, Must, ["A-04", "A-07", "E-12"], "A2A §13.1",
    "Somebody else's task cannot be read, and looks like none", WHY_OWN, FIX_OWN => other_callers_task(Operation::GetTask);
    "a2a.access.cancel", Binding, Must, ["A-04", "A-07"], "A2A §13.1",
    "Somebody else's task cannot be canceled, and looks like none", WHY_OWN, FIX_OWN => other_callers_task(Operation::CancelTask);
    "a2a.access.send", Binding, Must, ["A-04", "A-07"], "A2A §13.1",
    "Nothing can be said to somebody else's task, and it looks like none", WHY_OWN, FIX_OWN => other_callers_task(Operation::SendMessage);
    "a2a.access.subscribe", Binding, Must, ["A-04", "A-07"], "A2A §13.1",
    "Somebody else's task cannot be followed, and looks like none", WHY_OWN, FIX_OWN => other_callers_task(Operation::SubscribeToTask);
    "a2a.access.list", Binding, Must, ["A-06"], "A2A §13.1",
    "Somebody else's tasks are in no list", WHY_OWN, "list by owner; count by owner too" => list();
    "a2a.access.identical", Binding, Should, ["E-13"], "A2A §3.3.2",
    "Somebody else's task and no task give the same answer, apart from ids and time", WHY_OWN, FIX_OWN => identical();
];

/// Returns true when the card requires a credential.
fn requires_credential(run: &ProbeRun) -> bool {
    let card = &run.card_json;
    let count = |name| {
        items(card, name)
            .filter(|requirement| {
                requirement.as_object().is_some_and(|schemes| !schemes.is_empty())
            })
            .count()
    };
    count("securityRequirements") + count("security") > 0
}

async fn ask_as(run: &mut ProbeRun, caller: Caller<'_>) -> Result<ProbedAnswer, CheckVerdict> {
    let id = run.unknown_id();
    let overrides = RequestOverrides { caller, expects_401: true, ..RequestOverrides::default() };
    run.ask(overrides, Operation::GetTask, json!({"id": id})).await
}

/// Returns the answer to a caller without a credential, requested once for each binding.
pub(super) async fn ask_anonymously(run: &mut ProbeRun) -> Result<ProbedAnswer, CheckVerdict> {
    let binding = run.binding;
    let known = run.anonymous_answers.iter().find(|(of, ..)| *of == binding).cloned();
    if let Some((_, reply, exchange)) = known {
        exchange.into_iter().for_each(|exchange| run.cite(exchange));
        return Ok(reply);
    }
    let reply = ask_as(run, Caller::Anonymous).await?;
    run.anonymous_answers.push((binding, reply.clone(), run.last().cloned()));
    Ok(reply)
}

async fn unauthenticated(run: &mut ProbeRun, caller: Caller<'_>) -> CheckResult {
    not_applicable_if(!requires_credential(run), "the card requires no credential")?;
    let reply = match caller {
        Caller::Anonymous => ask_anonymously(run).await?,
        Caller::First | Caller::Second | Caller::Token(_) => ask_as(run, caller).await?,
    };
    if reply.response.wants_credential() {
        return Ok(CheckVerdict::Pass);
    }
    let expected = match run.binding {
        Binding::JsonRpc | Binding::HttpJson => "HTTP 401",
        Binding::Grpc => "UNAUTHENTICATED",
    };
    fail(format!("expected {expected}, and got {}", reply.describe()))
}

async fn declared(run: &mut ProbeRun) -> CheckResult {
    let schemes = run.card_json.get("securitySchemes").and_then(Value::as_object);
    let holds = schemes.is_some_and(|schemes| !schemes.is_empty()) || requires_credential(run);
    not_applicable_if(holds, "the card declares how to authenticate")?;
    let reply = ask_anonymously(run).await?;
    if reply.response.wants_credential() {
        let found = reply.describe();
        return fail(format!(
            "a caller without a credential gets {found}, and the card declares no scheme"
        ));
    }
    Ok(CheckVerdict::Pass)
}

async fn challenge(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(!requires_credential(run), "the card requires no credential")?;
    let reply = ask_anonymously(run).await?;
    not_applicable_if(!reply.response.wants_credential(), "the agent asks for no credential")?;
    pass_if(reply.response.metadata("www-authenticate").is_some(), "there is no WWW-Authenticate")
}

/// Returns a caller other than the one that created the task.
fn other_caller(run: &ProbeRun) -> Result<Caller<'static>, CheckVerdict> {
    match (&run.options.token, &run.options.token_b) {
        (_, Some(_)) => Ok(Caller::Second),
        // Without a credential the caller counts as another one, if the agent permits such calls.
        (Some(_), None) if !requires_credential(run) => Ok(Caller::Anonymous),
        (Some(_), None) => skip("needs two callers; give the other's token with --token-b"),
        (None, None) if requires_credential(run) => {
            skip("needs two callers; give their tokens with --token and --token-b")
        }
        (None, None) => {
            not_applicable("the card requires no credential, so that callers are not told apart")
        }
    }
}

async fn ask_for(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    operation: Operation,
    id: &str,
) -> Result<ProbedAnswer, CheckVerdict> {
    let params = run.about(operation, id);
    run.ask(RequestOverrides { caller, ..RequestOverrides::default() }, operation, params).await
}

async fn other_callers_task(run: &mut ProbeRun, operation: Operation) -> CheckResult {
    let caller = other_caller(run)?;
    let holds = operation == Operation::SubscribeToTask && !run.can("streaming");
    not_applicable_if(holds, "the card declares no streaming")?;
    let task = run.task().await?;
    let reply = ask_for(run, caller, operation, id_of(&task)).await?;
    reply.refused(&[A2aCode::TaskNotFound])
}

async fn list(run: &mut ProbeRun) -> CheckResult {
    let caller = other_caller(run)?;
    run.lists_tasks().await?;
    let task = run.task().await?;
    let context = text(&task, "contextId").unwrap_or_default();
    let mut wrong = ShapeProblems::default();
    for params in [json!({"contextId": context}), json!({"pageSize": 100})] {
        let filtered = params.get("contextId").is_some();
        let reply = run
            .ask(
                RequestOverrides { caller, ..RequestOverrides::default() },
                Operation::ListTasks,
                params,
            )
            .await?;
        // A caller that may not list tasks at all learns nothing either.
        let Ok(page) = reply.result() else { continue };
        let shown = items(page, "tasks").any(|listed| id_of(listed) == id_of(&task));
        wrong.unless(!shown, "the task is listed");
        let total = page.get("totalSize").and_then(Value::as_i64).unwrap_or_default();
        // Without the filter the total includes any number of the other caller's own tasks.
        wrong.unless(!filtered || total == 0, "totalSize counts the task");
    }
    verdict_of(&wrong.0)
}

async fn identical(run: &mut ProbeRun) -> CheckResult {
    let caller = other_caller(run)?;
    let task = run.task().await?;
    let none = run.unknown_id();
    let theirs = ask_for(run, caller, Operation::GetTask, id_of(&task)).await?;
    let nothing = ask_for(run, caller, Operation::GetTask, &none).await?;
    let holds = theirs.response.status != nothing.response.status;
    fail_if(
        holds,
        format!("HTTP {} and HTTP {}", theirs.response.status, nothing.response.status),
    )?;
    let same = |reply: &ProbedAnswer, id: &str| {
        let error = reply.error().map(|error| error.whole.clone());
        plain(&error.or_else(|| reply.response.json()).unwrap_or_default(), id).to_string()
    };
    let holds = same(&theirs, id_of(&task)) == same(&nothing, &none);
    pass_if(holds, "the two answers differ in more than ids and time")
}

/// Removes from an error what may differ: the requested id, the id of the error and the time.
fn plain(error: &Value, id: &str) -> Value {
    match error {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("(time)"),
        Value::String(text) => json!(text.replace(id, "(id)")),
        Value::Array(values) => values.iter().map(|value| plain(value, id)).collect(),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "errorId" | "error_id" | "requestId"))
            .map(|(name, value)| (name.clone(), plain(value, id)))
            .collect::<tradepost_document::json::Map>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => error.clone(),
    }
}
