//! Checks of streams (A2A §3.1.2, §3.1.6, §11.7).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use super::ask::PREFIX;
use crate::binding::Binding;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable_if, not_looked_at,
    pass_if, verdict_of,
};
use crate::reply::{AnswerContent, ProbedAnswer};
use crate::run::{ProbeRun, Streamed};
use crate::shape::{self, ShapeProblems};

const WHY: &str = "A client follows a task by its stream, and believes what it says.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.stream.type", Binding, Must, ["CT-01", "CT-03"], "A2A §9.4.2",
    "A stream is text/event-stream", "Clients read it as events only then.",
    "send Content-Type: text/event-stream" => media_type();
    "a2a.stream.frames", Binding, Must, ["CT-03"], "A2A §9.4.2, §11.7",
    "Each event is a whole JSON-RPC answer with the request's id, or on HTTP+JSON the event itself", WHY,
    "wrap each event in the envelope of its binding" => frames();
    "a2a.stream.events", Binding, Must, ["E-25"], "A2A §4.2",
    "Each event is exactly one of task, message, statusUpdate and artifactUpdate, and whole", WHY,
    "send one member, with taskId and contextId in updates" => events();
    "a2a.stream.begins", Binding, Must, ["O-02", "O-01"], "A2A §3.1.2",
    "A stream begins with the task, or is one message and nothing else", WHY,
    "send the task before its updates" => begins();
    "a2a.stream.ends", Binding, Must, ["O-02"], "A2A §3.1.2",
    "A stream is closed when its task ends or waits", "A client that waits for more waits for ever.",
    "close the stream after the last event" => ends();
    "a2a.stream.subscribe-unknown", Binding, Must, ["E-21"], "A2A §3.1.6",
    "Subscribing to a task that nobody has is TaskNotFound, before any event", WHY,
    "look the task up before the stream begins" => subscribe_unknown();
];

/// Returns the agent's answer to a streaming message; requested once for each binding and prefix.
pub(super) async fn stream(
    run: &mut ProbeRun,
    prefix: &'static str,
) -> Result<ProbedAnswer, CheckVerdict> {
    not_applicable_if(!run.can("streaming"), "the card declares no streaming")?;
    // Ensures that the agent accepts our message at all.
    run.sample().await?;
    let binding = run.binding;
    let is_known = |stream: &&Streamed| stream.binding == binding && stream.prefix == prefix;
    if let Some(known) = run.streams.iter().find(is_known).cloned() {
        known.exchange.into_iter().for_each(|exchange| run.cite(exchange));
        return Ok(known.reply);
    }
    let params = match prefix {
        PREFIX => json!({"message": run.message(prefix)}),
        // The kit's successor reads the text instead of the id.
        _ => run.scenario_params(prefix, json!({})),
    };
    let reply = run.call(Operation::SendStreamingMessage, params).await?;
    let exchange = run.last().cloned();
    run.streams.push(Streamed { binding, prefix, reply: reply.clone(), exchange });
    Ok(reply)
}

/// Returns the events of such a stream without the envelope, and true when the agent closed it.
pub(super) async fn results(
    run: &mut ProbeRun,
    prefix: &'static str,
) -> Result<(Vec<Value>, bool), CheckVerdict> {
    let reply = stream(run, prefix).await?;
    let AnswerContent::Stream(events) = &reply.content else {
        return not_looked_at(format!("there is no stream to look at: {}", reply.describe()));
    };
    let unwrap = |event: &Value| match run.binding {
        Binding::JsonRpc => event.get("result").cloned().unwrap_or_default(),
        Binding::HttpJson | Binding::Grpc => event.clone(),
    };
    Ok((events.iter().map(unwrap).collect(), reply.response.ended))
}

async fn media_type(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.binding == Binding::Grpc, "streams of gRPC are no text/event-stream")?;
    let reply = stream(run, PREFIX).await?;
    pass_if(matches!(reply.content, AnswerContent::Stream(_)), reply.describe())
}

async fn frames(run: &mut ProbeRun) -> CheckResult {
    let reply = stream(run, PREFIX).await?;
    let AnswerContent::Stream(events) = &reply.content else {
        return not_looked_at(format!("there is no stream to look at: {}", reply.describe()));
    };
    let mut wrong = ShapeProblems::default();
    wrong.unless(!events.is_empty(), "there are no events");
    let sent = run.last().map(|exchange| exchange.request.body.clone()).unwrap_or_default();
    let sent: Value = tradepost_document::json::from_str(&sent).unwrap_or_default();
    for (index, event) in events.iter().enumerate() {
        match run.binding {
            Binding::JsonRpc => {
                let holds = event.get("jsonrpc").is_some() && event.get("result").is_some();
                wrong.unless(holds, format!("event {index} is no JSON-RPC answer"));
                let holds = event.get("id") == sent.get("id");
                wrong.unless(holds, format!("event {index} has another id than the request"));
            }
            Binding::HttpJson | Binding::Grpc => wrong.unless(
                event.is_object() && event.get("jsonrpc").is_none(),
                format!("event {index} is no event of A2A"),
            ),
        }
    }
    verdict_of(&wrong.0)
}

async fn events(run: &mut ProbeRun) -> CheckResult {
    let (events, _) = results(run, PREFIX).await?;
    let mut wrong = ShapeProblems::default();
    for event in &events {
        shape::event(event, &mut wrong);
    }
    verdict_of(&wrong.0)
}

async fn begins(run: &mut ProbeRun) -> CheckResult {
    let (events, _) = results(run, PREFIX).await?;
    match events.split_first() {
        Some((first, _)) if first.get("task").is_some() => Ok(CheckVerdict::Pass),
        Some((first, rest)) if first.get("message").is_some() => {
            pass_if(rest.is_empty(), "there is more after the message")
        }
        Some(_) => fail("it begins with an update"),
        None => fail("there are no events"),
    }
}

async fn ends(run: &mut ProbeRun) -> CheckResult {
    let (events, ended) = results(run, PREFIX).await?;
    fail_if(!ended, "the stream was not closed while we waited")?;
    let Some(last) = events.last() else { return fail("there are no events") };
    if last.get("message").is_some() {
        return Ok(CheckVerdict::Pass);
    }
    let states = ["/task/status/state", "/statusUpdate/status/state"];
    let mut answer =
        events.iter().rev().flat_map(|event| states.iter().map(|at| event.pointer(at)));
    let state = answer.find_map(|state| state?.as_str()).unwrap_or_default();
    let waits = matches!(state, "TASK_STATE_INPUT_REQUIRED" | "TASK_STATE_AUTH_REQUIRED");
    pass_if(shape::is_terminal(state) || waits, format!("it was closed in the state {state:?}"))
}

async fn subscribe_unknown(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(!run.can("streaming"), "the card declares no streaming")?;
    run.call_unknown(Operation::SubscribeToTask).await?.refused(&[A2aCode::TaskNotFound])
}
