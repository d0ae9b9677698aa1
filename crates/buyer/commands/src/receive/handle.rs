//! Passes deliveries on: to standard output, or to a program that may fail. A failed delivery is
//! retried with growing pauses, and then is a dead letter until it is replayed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::Notify;
use tradepost_client::receiver::metrics::ReceiverMetrics;
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;

use super::super::output::{CommandFailure, Output};
use super::inbox::{DurableInbox, StoredDelivery};

/// Pauses after failed attempts, in seconds; after the last one the delivery is dead.
const PAUSES: [i64; 4] = [1, 5, 25, 125];

/// Interval at which the inbox is checked for changes by other processes such as `receive replay`.
const INBOX_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Passes deliveries on in the order of arrival.
pub(super) struct DeliveryHandler {
    pub(super) inbox: Arc<DurableInbox>,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<ReceiverMetrics>,
    pub(super) new_deliveries: Arc<Notify>,
    pub(super) program: Option<PathBuf>,
    pub(super) output: Output,
}

impl DeliveryHandler {
    /// Runs until the inbox or standard output fails.
    pub(super) async fn run(&self) -> CommandFailure {
        loop {
            match self.one().await {
                Ok(true) => {}
                Ok(false) => {
                    let _ =
                        tokio::time::timeout(INBOX_POLL_INTERVAL, self.new_deliveries.notified())
                            .await;
                }
                Err(failure) => return failure,
            }
        }
    }

    /// Handles the next delivery; returns false when there is none.
    async fn one(&self) -> Result<bool, CommandFailure> {
        let inbox = Arc::clone(&self.inbox);
        let now = self.clock.now();
        let Some(stored) = blocking(move || inbox.next(now)).await? else { return Ok(false) };
        let program = self.program.clone();
        let seq = stored.seq;
        let attempts = stored.attempts;
        let shown = self.shown(&stored);
        let result = match program {
            None => Ok(()),
            Some(program) => blocking(move || Ok(call(&program, &stored))).await?,
        };
        let inbox = Arc::clone(&self.inbox);
        match result {
            Ok(()) => {
                // Printed twice is better than never: a delivery that could not be printed is not
                // handled.
                match self.program {
                    None => self.output.hand_over(shown.as_bytes())?,
                    // The program has the delivery, and the line is for people.
                    Some(_) => self.output.raw(shown.as_bytes()),
                }
                self.metrics.handled.add();
                blocking(move || inbox.handled(seq)).await?;
            }
            Err(problem) => {
                self.metrics.handling_failures.add();
                let pause = PAUSES.get(usize::try_from(attempts).unwrap_or(usize::MAX));
                let retry_at = pause.map(|pause| {
                    let pause = SignedDuration::from_secs(*pause);
                    self.clock.now().saturating_add(pause).unwrap_or(jiff::Timestamp::MAX)
                });
                if retry_at.is_none() {
                    self.metrics.dead.add();
                    self.output.talk(format!("delivery {seq} is dead: {problem}"));
                }
                blocking(move || inbox.failed(seq, &problem, retry_at)).await?;
            }
        }
        Ok(true)
    }

    /// Formats a delivery as a line, or as its document on one line.
    fn shown(&self, stored: &StoredDelivery) -> String {
        if self.output.is_json() {
            let line = tradepost_document::json::to_string(&document(stored)).unwrap_or_default();
            return format!("{}\n", tradepost_client::text::escape_json(&line));
        }
        let word = |text: &Option<String>| plain(text.as_deref().unwrap_or("-"), WORD);
        format!(
            "{:.0}  {}  {}  {}  {}  {}\n",
            stored.received_at,
            stored.seq,
            stored.source,
            stored.kind,
            word(&stored.task_id),
            word(&stored.state),
        )
    }
}

/// Runs work that waits for a disk or a program on a thread for blocking work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, InternalError> + Send + 'static,
) -> Result<T, CommandFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    let done =
        done.unwrap_or_else(|_| Err(InternalError::new("handling a delivery", "it panicked")));
    done.map_err(CommandFailure::fault)
}

/// Runs a program to handle a delivery.
fn call(program: &Path, stored: &StoredDelivery) -> Result<(), String> {
    let started = Command::new(program)
        .env("TRADEPOST_DELIVERY", stored.seq.to_string())
        .env("TRADEPOST_DELIVERY_ID", &stored.id)
        .stdin(Stdio::piped())
        // Standard output is ours.
        .stdout(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| format!("the handler cannot be run: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A handler need not read everything.
        let _ = input.write_all(stored.body.as_bytes());
    }
    let status = child.wait().map_err(|error| format!("the handler is lost: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the handler ended with {status}")) }
}

/// Returns a delivery as JSON.
pub(super) fn document(stored: &StoredDelivery) -> impl serde::Serialize {
    json!({
        "number": stored.seq, "id": stored.id, "kind": stored.kind, "source": stored.source,
        "sender": stored.sender, "key": stored.key,
        "received_at": rfc3339(stored.received_at), "task_id": stored.task_id,
        "state": stored.state,
        "fate": stored.fate.name(), "attempts": stored.attempts, "problem": stored.problem,
        "delivery": tradepost_document::json::from_str::<Value>(&stored.body).ok(),
    })
}
