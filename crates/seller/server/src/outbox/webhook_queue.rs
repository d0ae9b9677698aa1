//! Deliveries to one webhook: the entries after its position in the log, one after another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::SignedDuration;

use super::backoff::RetryDecision;
use super::sender::{AttemptError, Notification};
use super::{Outbox, pump};
use crate::fault::InternalError;
use crate::tasks::log::{self, EntryKind, LogEntry, LogWriter, PushPosition};

/// Maximum number of entries before other webhooks get their turn.
const MAX_ENTRIES_PER_TURN: usize = 64;

/// Number of entries read at once, which bounds the memory per webhook.
const BATCH: usize = 8;

/// A series of deliveries to one webhook.
pub(super) struct WebhookSequence<'a> {
    outbox: &'a Arc<Outbox>,
    key: i64,
    /// Entries after the position that have been read.
    read: VecDeque<LogEntry>,
}

/// The next delivery.
struct NextDelivery {
    place: PushPosition,
    /// Number of the entry; for the initial task the last entry that it includes.
    seq: i64,
    /// The `StreamResponse`, unless streams do not contain the entry.
    json: Option<String>,
}

impl<'a> WebhookSequence<'a> {
    pub(super) fn new(outbox: &'a Arc<Outbox>, key: i64) -> Self {
        Self { outbox, key, read: VecDeque::new() }
    }

    /// Delivers until there are no more entries, the receiver fails, or the turn is over. The
    /// webhook is read before each delivery, because nothing may be sent once it is deleted (A2A
    /// 1.0 §3.1.10).
    pub(super) async fn work(mut self) -> Result<(), InternalError> {
        for _ in 0..MAX_ENTRIES_PER_TURN {
            if self.outbox.stopping.load(Ordering::SeqCst) {
                return Ok(());
            }
            let Some(next) = self.next().await? else { break };
            let place = next.place;
            let seq = next.seq;
            if let Some(json) = next.json {
                let sent = self.outbox.sender.send(notification(&place, seq, json)).await;
                if let Err(failed) = sent {
                    return self.failed(&place, failed).await;
                }
                self.outbox.counts.delivered.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(webhook = self.key, task_id = %place.task_id, seq, "delivered");
            }
            // Entries that are not sent move the position too.
            let key = self.key;
            self.note(move |tx| tx.push_delivered(key, seq)).await?;
        }
        // With more entries the webhook is due again at once, after those that have waited longer.
        let key = self.key;
        let now = self.outbox.tasks.clock().now();
        self.note(move |tx| tx.push_rested(key, now)).await
    }

    /// Returns the next delivery; `None` when there is none, or the webhook was deleted.
    async fn next(&mut self) -> Result<Option<NextDelivery>, InternalError> {
        let key = self.key;
        let mut read = std::mem::take(&mut self.read);
        let looked = pump::read(self.outbox, move |outbox| {
            let log = outbox.tasks.kept();
            let Some(place) = log.push_place(key)? else { return Ok((None, read)) };
            let Some(sent) = place.sent_seq else {
                let json = Some(outbox.tasks.first_event_of(&place, &outbox.agent_id)?);
                let seq = place.from_seq;
                return Ok((Some(NextDelivery { place, seq, json }), read));
            };
            // Entries do not change, so they are read in batches; the webhook may change, and is
            // read for each.
            if read.is_empty() {
                let until = place.last_seq;
                read = log.task_entries(&place.task_id, sent, until, true, BATCH)?.into();
            }
            let next = read.pop_front().map(|entry| {
                let json = match entry.kind {
                    EntryKind::Message => None,
                    EntryKind::Status | EntryKind::Artifact => Some(entry.body),
                };
                NextDelivery { place, seq: entry.seq, json }
            });
            Ok((next, read))
        });
        let (next, read) = looked.await?;
        self.read = read;
        Ok(next)
    }

    /// Records a failed attempt, and schedules a retry or gives up.
    async fn failed(
        &self,
        place: &PushPosition,
        failed: AttemptError,
    ) -> Result<(), InternalError> {
        let outbox = self.outbox;
        let failures = place.failures.saturating_add(1);
        let now = outbox.tasks.clock().now();
        let advice = if failed.why.is_final() {
            RetryDecision::GiveUp
        } else {
            outbox.settings.schedule.advise(failures, failed.retry_after, (outbox.edge.random)())
        };
        let next = match advice {
            RetryDecision::Again(pause) => {
                // In the future, so that the retry waits.
                let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
                let pause = pause.max(SignedDuration::from_millis(1));
                Ok(now.checked_add(pause).unwrap_or(jiff::Timestamp::MAX))
            }
            RetryDecision::GiveUp => Err(now),
        };
        let key = self.key;
        let why = failed.why.to_string();
        self.note(move |tx| tx.push_failed(key, &why, next)).await?;
        outbox.counts.failed.fetch_add(1, Ordering::Relaxed);
        let task_id = &place.task_id;
        let host = &place.target.host;
        let why = failed.why;
        if next.is_ok() {
            tracing::info!(webhook = key, %task_id, %host, failures, %why, "a delivery failed");
        } else {
            let given_up = outbox.counts.given_up.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(
                webhook = key, %task_id, %host, failures, %why, given_up,
                "a webhook was given up; tradepost push retry takes it on again"
            );
        }
        Ok(())
    }

    async fn note(
        &self,
        job: impl FnMut(&dyn LogWriter) -> Result<(), InternalError> + Send + 'static,
    ) -> Result<(), InternalError> {
        log::write(self.outbox.tasks.kept(), job).await
    }
}

/// Creates the notification of an entry.
fn notification(place: &PushPosition, seq: i64, body: String) -> Notification {
    let target = &place.target;
    let authorization = target.scheme.as_ref().map(|scheme| match &target.credentials {
        Some(credentials) => format!("{scheme} {credentials}"),
        None => scheme.clone(),
    });
    Notification {
        url: target.url.clone(),
        authorization,
        token: target.token.clone(),
        id: format!("{}-{seq}", place.task_id),
        body,
    }
}
