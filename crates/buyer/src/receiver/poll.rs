//! Asking for what never came: when the deliveries of a task stay away, `GetTask` (A2A) or
//! `get_task_status` (AdCP) is asked until the task has come to its end, and what it says goes into the inbox like a delivery.
//!
//! The time, waiting and chance are handed in, so that tests run in no time at all.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::HeaderValue;
use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::backoff::{Backoff, drawn};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use super::delivery::{KnownTask, PushDelivery};
use super::metrics::ReceiverMetrics;
use super::{DeliveryNotKept, Inbox, Put, within};
use crate::adcp::AdcpClient;
use crate::binding::{A2aRelease, headers};
use crate::failure::{CallFailure, Defect, KeptResponse};
use crate::refusal;
use crate::transport::HttpTransport;

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollPolicy {
    /// For a delivery, before anybody is asked: two minutes.
    // W-1
    pub patience: Duration,
    /// After the first question; it doubles from one question to the next.
    pub first: Duration,
    /// Between two questions at most.
    pub longest: Duration,
    /// In all.
    pub limit: Duration,
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(120),
            first: Duration::from_secs(5),
            longest: Duration::from_secs(30),
            limit: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// How watching a task ended.
#[derive(Debug)]
pub enum PollEnd {
    /// The task has come to its end, and that is kept.
    Complete,
    /// The time was up.
    TimeUp,
    /// The seller says that asking again is of no use.
    Refused(CallFailure),
}

/// The edge: the time, waiting, chance.
#[derive(Debug)]
pub struct PollClock<N, S, J> {
    /// The present moment.
    pub now: N,
    /// Waits.
    pub sleep: S,
    /// A number from 0 to 1.
    pub chance: J,
}

/// Watches over a task of a seller until its end is kept. `ask` asks for it: [`get_task`] or
/// [`get_task_status`].
///
/// # Errors
/// What is known cannot be found out or kept.
pub async fn watch<N, S, J>(
    (sender, task_id): (&str, &str),
    inbox: &Arc<dyn Inbox>,
    metrics: &ReceiverMetrics,
    policy: PollPolicy,
    mut edge: PollClock<N, S, J>,
    mut ask: impl AsyncFnMut() -> Result<String, CallFailure>,
) -> Result<PollEnd, DeliveryNotKept>
where
    N: Fn() -> Timestamp,
    S: AsyncFnMut(Duration),
    J: FnMut() -> f64,
{
    let begun = (edge.now)();
    let mut seen = 0;
    // None as long as deliveries come.
    let mut pause = None;
    loop {
        let known = known_of(inbox, sender, task_id).await?;
        if known.ended {
            return Ok(PollEnd::Complete);
        }
        if known.count > seen {
            (seen, pause) = (known.count, None);
        }
        let passed = Duration::try_from(begun.duration_until((edge.now)())).unwrap_or_default();
        let Some(left) = policy.limit.checked_sub(passed).filter(|left| !left.is_zero()) else {
            return Ok(PollEnd::TimeUp);
        };
        let wait = match pause {
            None => policy.patience,
            // From half to the whole, so that buyers that lost the same deliveries come apart.
            Some(pause) => drawn(pause / 2, pause, (edge.chance)()),
        };
        (edge.sleep)(wait.min(left)).await;
        // Deliveries may have come while they were waited for.
        let known = known_of(inbox, sender, task_id).await?;
        if known.ended || known.count > seen {
            continue;
        }
        metrics.polls.add();
        let least = match ask().await {
            Ok(task) => {
                // What was found by asking is no sign that deliveries come again.
                let new = keep(&task, (inbox, sender), metrics, (edge.now)()).await?;
                seen += usize::from(new);
                Duration::ZERO
            }
            Err(failure) => {
                metrics.poll_failures.add();
                match failure {
                    CallFailure::Refused(refused) if !refused.is_retryable() => {
                        return Ok(PollEnd::Refused(CallFailure::Refused(refused)));
                    }
                    CallFailure::Refused(refused) => refused.retry_after.unwrap_or_default(),
                    CallFailure::Unsent(_)
                    | CallFailure::Unanswered(_)
                    | CallFailure::Garbled(_) => Duration::ZERO,
                }
            }
        };
        // Jitter halves at most, and what the seller asks for is the least.
        let backoff = Backoff { first: policy.first, longest: policy.longest };
        pause = Some(backoff.after(pause).max(least * 2).min(policy.limit));
    }
}

/// What is kept of a task.
async fn known_of(
    inbox: &Arc<dyn Inbox>,
    sender: &str,
    task_id: &str,
) -> Result<KnownTask, DeliveryNotKept> {
    let (sender, task_id) = (sender.to_owned(), task_id.to_owned());
    within(inbox, move |inbox| inbox.known(&sender, &task_id)).await
}

/// Keeps a task like a delivery; whether it said anything new.
async fn keep(
    task: &str,
    (inbox, sender): (&Arc<dyn Inbox>, &str),
    metrics: &ReceiverMetrics,
    now: Timestamp,
) -> Result<bool, DeliveryNotKept> {
    let Ok(delivery) = PushDelivery::asked(task.as_bytes(), sender, now) else {
        metrics.poll_failures.add();
        return Ok(false);
    };
    let new = within(inbox, move |inbox| inbox.put(&delivery)).await? == Put::New;
    if new {
        metrics.missed.add();
    }
    Ok(new)
}

/// Asks for a task over JSON-RPC: the task in the envelope in which it would have been pushed.
///
/// # Errors
/// What went wrong, by how far the question got.
pub async fn get_task(
    transport: &HttpTransport,
    endpoint: &Url,
    token: Option<&HeaderValue>,
    task_id: &str,
) -> Result<String, CallFailure> {
    let headers = headers(A2aRelease::V1_0, None, token);
    let question =
        json!({"jsonrpc": "2.0", "id": "task", "method": "GetTask", "params": {"id": task_id}});
    let response = transport.post(endpoint, headers, question.to_string().into_bytes()).await?;
    let garbled = |defect| CallFailure::garbled(defect, response.kept());
    let document = tradepost_wire::jsonrpc::document(&response.body);
    // An error comes with any HTTP status, and says more than that.
    if let Ok(document) = &document {
        let error = document.get("error").filter(|_| document.get("jsonrpc").is_some());
        let read = |error| refusal::read(error, response.retry_after, response.kept());
        if let Some(refused) = error.and_then(read) {
            return Err(CallFailure::Refused(Box::new(refused)));
        }
    }
    if !response.is_success() {
        return Err(response.refused());
    }
    let document = document.map_err(|_| garbled(Defect::NotJson))?;
    if document.get("id").and_then(Value::as_str) != Some("task") {
        return Err(garbled(Defect::WrongId));
    }
    let task = document.get("result").filter(|task| task.get("id").is_some_and(|id| id == task_id));
    let task =
        task.ok_or_else(|| garbled(Defect::NotJsonRpc("it has no result that is the task")))?;
    Ok(json!({"task": task}).to_string())
}

/// Asks for a task of AdCP, with its result when there is one.
///
/// # Errors
/// What went wrong, by how far the question got.
pub async fn get_task_status(client: &AdcpClient, task_id: &str) -> Result<String, CallFailure> {
    let mut arguments = Map::new();
    arguments.insert("task_id".to_owned(), task_id.into());
    arguments.insert("include_result".to_owned(), true.into());
    let answered = client.call(AdcpTool::GetTaskStatus.name(), arguments).await?;
    let named = answered.payload.get("task_id").and_then(Value::as_str);
    if named != Some(task_id) {
        let defect = Defect::NotAdcp("the answer is about another task");
        return Err(CallFailure::garbled(defect, KeptResponse::default()));
    }
    Ok(answered.payload.to_string())
}

#[cfg(test)]
mod tests;
