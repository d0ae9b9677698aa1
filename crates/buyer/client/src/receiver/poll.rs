//! Polling for missing deliveries: when no delivery of a task comes, `GetTask` (A2A) or `get_task_status`
//! (AdCP) is called until the task has ended, and the answers are stored in the inbox like deliveries.
//!
//! The caller provides the clock, the sleep and the random draw, so that tests run in virtual time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::HeaderValue;
use tradepost_adcp::AdcpTool;
use tradepost_document::backoff::{Backoff, drawn};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};

use super::delivery::{KnownTask, PushDelivery};
use super::metrics::ReceiverMetrics;
use super::{DeliveryNotKept, Inbox, Put, within};
use crate::adcp::AdcpClient;
use crate::binding::{A2aRelease, headers};
use crate::failure::{CallFailure, Defect, KeptResponse};
use crate::refusal;
use crate::transport::HttpTransport;

/// Times of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollPolicy {
    /// Wait for a delivery before the first poll: two minutes by default.
    // W-1
    pub patience: Duration,
    /// Pause after the first poll; it doubles from one poll to the next.
    pub first: Duration,
    /// Longest pause between two polls.
    pub longest: Duration,
    /// Total time.
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

/// End of watching a task.
#[derive(Debug)]
pub enum PollEnd {
    /// The task has ended, and its last status is stored.
    Complete,
    /// The time is up.
    TimeUp,
    /// The seller refuses to answer, and will not answer later.
    Refused(CallFailure),
}

/// Clock, sleep and random draw of a poll.
#[derive(Debug)]
pub struct PollClock<N, S, J> {
    /// Returns the present moment.
    pub now: N,
    /// Waits.
    pub sleep: S,
    /// Returns a random number between 0 and 1.
    pub random: J,
}

/// Watches a task of a seller until its end is stored. `ask` polls for it: [`get_task`] or
/// [`get_task_status`].
///
/// # Errors
/// When the inbox cannot be read or written.
pub async fn watch<N, S, J>(
    sender: &str,
    task_id: &str,
    inbox: &Arc<dyn Inbox>,
    metrics: &ReceiverMetrics,
    policy: PollPolicy,
    mut clock: PollClock<N, S, J>,
    mut ask: impl AsyncFnMut() -> Result<String, CallFailure>,
) -> Result<PollEnd, DeliveryNotKept>
where
    N: Fn() -> Timestamp,
    S: AsyncFnMut(Duration),
    J: FnMut() -> f64,
{
    let begun = (clock.now)();
    let mut seen = 0;
    // `None` as long as deliveries come.
    let mut pause = None;
    loop {
        let known = known_of(inbox, sender, task_id).await?;
        if known.ended {
            return Ok(PollEnd::Complete);
        }
        if known.count > seen {
            seen = known.count;
            pause = None;
        }
        let passed = Duration::try_from(begun.duration_until((clock.now)())).unwrap_or_default();
        let Some(left) = policy.limit.checked_sub(passed).filter(|left| !left.is_zero()) else {
            return Ok(PollEnd::TimeUp);
        };
        let wait = match pause {
            None => policy.patience,
            // Between half and the whole pause, so that buyers that lost the same deliveries do not poll together.
            Some(pause) => drawn(pause / 2, pause, (clock.random)()),
        };
        (clock.sleep)(wait.min(left)).await;
        // Deliveries may have come during the pause.
        let known = known_of(inbox, sender, task_id).await?;
        if known.ended || known.count > seen {
            continue;
        }
        metrics.polls.add();
        let least = match ask().await {
            Ok(task) => {
                // An answer to a poll is no sign that deliveries come again.
                let new = store_answer(&task, inbox, sender, metrics, (clock.now)()).await?;
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
        // Jitter takes off half at most, so that twice the seller's delay is the least.
        let backoff = Backoff { first: policy.first, longest: policy.longest };
        pause = Some(backoff.after(pause).max(least * 2).min(policy.limit));
    }
}

/// Returns what is stored of a task.
async fn known_of(
    inbox: &Arc<dyn Inbox>,
    sender: &str,
    task_id: &str,
) -> Result<KnownTask, DeliveryNotKept> {
    let sender = sender.to_owned();
    let task_id = task_id.to_owned();
    within(inbox, move |inbox| inbox.known(&sender, &task_id)).await
}

/// Stores the answer to a poll. Returns true when it said anything new.
async fn store_answer(
    task: &str,
    inbox: &Arc<dyn Inbox>,
    sender: &str,
    metrics: &ReceiverMetrics,
    now: Timestamp,
) -> Result<bool, DeliveryNotKept> {
    let Ok(delivery) = PushDelivery::from_poll(task.as_bytes(), sender, now) else {
        metrics.poll_failures.add();
        return Ok(false);
    };
    let new = within(inbox, move |inbox| inbox.put(&delivery)).await? == Put::New;
    if new {
        metrics.missed.add();
    }
    Ok(new)
}

/// Reads a task by `GetTask` over JSON-RPC, and returns it in the envelope in which it would be pushed.
///
/// # Errors
/// The failure, by how far the request got.
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
    let document = tradepost_a2a::jsonrpc::document(&response.body);
    // An error object may come with any HTTP status, and says more than the status.
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

/// Reads an AdCP task by `get_task_status`, with its result when there is one.
///
/// # Errors
/// The failure, by how far the request got.
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
