//! Delivers a publisher's notifications (AdCP 3.1 `error-handling`; `W-4`, `W-5`) from a queue in
//! its store, to addresses that the egress guard permits. A notification stays due until its
//! receiver has accepted it or it is given up, and the result of an attempt is stored after it; so
//! a process that is killed in between sends it once more, with the same bytes and the same
//! `idempotency_key`, by which the receiver recognises it.
//!
//! Each attempt has a new signature (RFC 9421), which is valid for five minutes and whose nonce
//! counts once. A receiver that has asked for a bearer token or an HMAC instead gets that and no
//! signature.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tradepost_client::receiver::authentic::{ADCP_SIGNATURE, ADCP_TIMESTAMP};
use tradepost_document::json::Value;
use tradepost_keys::hmac::SharedKey;
use tradepost_publisher::store::{PublisherStore, Query, Stored};
use tradepost_publisher::task::{AttemptOutcome, NotificationAttempt, QueuedNotification};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::outbox::backoff::{RetryDecision, RetrySchedule};
use tradepost_server::outbox::pump::{self, ActiveDelivery, DeliveryQueue};
use tradepost_server::outbox::sender::{AttemptError, FailureReason, HttpSender, ReceiverReply};
use tradepost_server::outbox::{ClockAndRandom, OutboxLimits};
use tradepost_store::{BlockedPushes, Store};

use super::keys::WebhookKey;

/// Maximum number of attempts, over most of a day.
const ATTEMPTS: u32 = 24;

/// Page size when due notifications are searched for some that may be sent.
const PAGE_SIZE: usize = 256;

const JSON: &str = "application/json";

/// Sender of one publisher's notifications.
#[derive(Debug)]
pub struct Notices {
    publisher: String,
    key: Arc<WebhookKey>,
    deps: NotificationDeps,
    /// Retry schedule of failed attempts.
    pub schedule: RetrySchedule,
    stopping: AtomicBool,
}

/// Dependencies of [`Notices`].
#[derive(Debug)]
pub struct NotificationDeps {
    /// Store of the publisher.
    pub publisher_store: Arc<dyn PublisherStore>,
    /// Notified when something was queued.
    pub notify: Arc<tokio::sync::Notify>,
    /// HTTP sender.
    pub sender: HttpSender,
    /// Clock.
    pub clock: Clock,
    /// Timers and random numbers.
    pub edge: ClockAndRandom,
    /// Store that other processes may share; it decides which of them delivers.
    pub shared: Option<Arc<Store>>,
}

impl Notices {
    /// Creates the sender of a publisher, with `key` for signatures.
    #[must_use]
    pub fn new(publisher: &str, key: Arc<WebhookKey>, deps: NotificationDeps) -> Self {
        let schedule = RetrySchedule { attempts: ATTEMPTS, ..RetrySchedule::default() };
        let publisher = publisher.to_owned();
        let stopping = AtomicBool::new(false);
        Self { publisher, key, deps, schedule, stopping }
    }

    /// Delivers until `stop` resolves, then waits up to `grace` for attempts in progress.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: std::time::Duration) {
        pump::run(self, stop, grace).await;
    }

    /// Checks the queue again: another process may have added to it.
    pub fn wake(&self) {
        self.deps.notify.notify_one();
    }

    /// Passes due notifications to `take`, page by page, until it has enough.
    fn each_due(
        &self,
        mut take: impl FnMut(Stored<QueuedNotification>) -> bool,
    ) -> Result<(), InternalError> {
        let mut query = Query { limit: PAGE_SIZE, ..Query::with_state(QueuedNotification::DUE) };
        loop {
            let page =
                self.deps.publisher_store.look(|reader| reader.all::<QueuedNotification>(&query));
            let page = page.map_err(InternalError::on("reading due notifications"))?;
            query.continue_behind(page.iter().map(|notice| &notice.record));
            let full = page.len() == PAGE_SIZE;
            for notice in page {
                if !take(notice) {
                    return Ok(());
                }
            }
            if !full {
                return Ok(());
            }
        }
    }

    async fn attempt(
        &self,
        notice: &QueuedNotification,
        now: Timestamp,
    ) -> Result<ReceiverReply, AttemptError> {
        let headers = |url: &Url| self.headers(notice, url, now);
        self.deps.sender.ask(&notice.url, headers, notice.body.clone()).await
    }

    /// Returns the headers that authenticate us: the credential that the receiver asked for, or
    /// else our signature, never both.
    fn headers(&self, notice: &QueuedNotification, url: &Url, now: Timestamp) -> Option<HeaderMap> {
        let Some(asked) = notice.authentication.as_ref().filter(|asked| !asked.is_null()) else {
            return self.key.headers(url.as_str(), &notice.body, now);
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let credentials = asked.get("credentials").and_then(Value::as_str)?;
        let schemes = asked.get("schemes").and_then(Value::as_array)?;
        let is = |name: &str| {
            let known = |scheme: &str| scheme.eq_ignore_ascii_case(name);
            schemes.first().and_then(Value::as_str).is_some_and(known)
        };
        if is("HMAC-SHA256") {
            let seconds = now.as_second().to_string();
            let digits = SharedKey::new(credentials).sign(&seconds, notice.body.as_bytes());
            put(&mut headers, ADCP_TIMESTAMP, &seconds)?;
            put(&mut headers, ADCP_SIGNATURE, &format!("sha256={digits}"))?;
        } else if is("Bearer") {
            let mut value = HeaderValue::from_str(&format!("Bearer {credentials}")).ok()?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        } else {
            // An unknown scheme is not guessed at, and the receiver would reject us without it.
            return None;
        }
        Some(headers)
    }

    /// Stores the result of an attempt.
    async fn note(
        &self,
        notice: &Stored<QueuedNotification>,
        fired_at: Timestamp,
        sent: Result<ReceiverReply, AttemptError>,
    ) -> Result<(), InternalError> {
        let id = notice.record.id.clone();
        let now = self.deps.clock.now();
        let attempt = recorded(fired_at, now, &sent);
        let sent = sent.map(|_| ());
        let failures = notice.thing.attempts.saturating_add(1);
        let (state, due_at) = match sent {
            Ok(()) => (QueuedNotification::DONE, now),
            Err(failed) => match self.advise(failures, failed) {
                RetryDecision::Again(pause) => {
                    // At least a millisecond in the future, so that it is waited for.
                    let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
                    let pause = pause.max(SignedDuration::from_millis(1));
                    (QueuedNotification::DUE, now.checked_add(pause).unwrap_or(Timestamp::MAX))
                }
                RetryDecision::GiveUp => (QueuedNotification::DEAD, now),
            },
        };
        self.log_attempt(notice, state, sent.err());
        let job = move |tx: &dyn tradepost_publisher::store::StoreTx| {
            let found = tx.find::<QueuedNotification>(&id)?;
            // Another task may have settled it while the attempt was in progress.
            if let Some(mut kept) =
                found.filter(|kept| kept.record.state == QueuedNotification::DUE)
            {
                kept.thing.attempts = failures;
                kept.thing.due_at = due_at;
                if kept.thing.about.is_some()
                    && kept.thing.log.len() < QueuedNotification::MOST_ATTEMPTS
                {
                    kept.thing.log.push(attempt.clone());
                }
                state.clone_into(&mut kept.record.state);
                tx.change(&mut kept, now)?;
            }
            Ok(())
        };
        self.deps
            .publisher_store
            .act::<(), InternalError>(job)
            .await
            .map_err(InternalError::on("noting a delivery"))
    }

    fn advise(&self, failures: u32, failed: AttemptError) -> RetryDecision {
        // 409: the receiver has another notification with this key, and keeps that one.
        let is_taken = failed.why == FailureReason::Status(409);
        if is_taken || failed.why.is_final() && failed.why != FailureReason::Gone {
            return RetryDecision::GiveUp;
        }
        // 410 ends a webhook of A2A; AdCP has no such rule, and the receiver may come back.
        self.schedule.advise(failures, failed.retry_after, (self.deps.edge.random)())
    }

    /// Logs the result of an attempt, without the path of the receiver's address.
    fn log_attempt(
        &self,
        notice: &Stored<QueuedNotification>,
        state: &str,
        failed: Option<AttemptError>,
    ) {
        let publisher = &self.publisher;
        let place = notice.record.place;
        let host = host(&notice.thing.url);
        let Some(AttemptError { why, .. }) = failed else {
            tracing::debug!(%publisher, notice = place, "delivered");
            return;
        };
        if state == QueuedNotification::DEAD {
            tracing::warn!(%publisher, notice = place, %host, %why, "a notification was given up");
        } else {
            tracing::info!(%publisher, notice = place, %host, %why, "a notification was not taken");
        }
    }
}

impl DeliveryQueue for Notices {
    type Turn = Stored<QueuedNotification>;

    fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    fn edge(&self) -> &ClockAndRandom {
        &self.deps.edge
    }

    fn limits(&self) -> OutboxLimits {
        OutboxLimits::default()
    }

    fn due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        room: usize,
    ) -> Result<Vec<Stored<QueuedNotification>>, InternalError> {
        let mut due = Vec::new();
        // Checked every time: the lock is lost with its database session, and then another process
        // delivers.
        let is_courier = self.deps.shared.as_ref().map_or(Ok(true), |store| store.is_courier())?;
        if !is_courier || self.stopping.load(Ordering::SeqCst) {
            return Ok(due);
        }
        self.each_due(|notice| {
            let who = Self::who(&notice);
            let waits = busy.keys.contains(&who.key)
                || busy.hosts.contains(&who.host)
                || busy.owners.contains(&who.owner);
            if !waits && notice.thing.due_at <= now {
                due.push(notice);
            }
            due.len() < room
        })?;
        Ok(due)
    }

    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, InternalError> {
        let mut next: Option<Timestamp> = None;
        self.each_due(|notice| {
            let at = notice.thing.due_at;
            if at > now && next.is_none_or(|next| at < next) {
                next = Some(at);
            }
            true
        })?;
        Ok(next)
    }

    fn who(notice: &Stored<QueuedNotification>) -> ActiveDelivery {
        let key = i64::try_from(notice.record.place).unwrap_or(i64::MAX);
        ActiveDelivery { key, host: host(&notice.thing.url), owner: notice.record.owner.clone() }
    }

    async fn work(
        self: Arc<Self>,
        notice: Stored<QueuedNotification>,
    ) -> Result<(), InternalError> {
        let now = self.deps.clock.now();
        let sent = self.attempt(&notice.thing, now).await;
        self.note(&notice, now, sent).await
    }

    async fn woken(&self) {
        self.deps.notify.notified().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Returns the record of an attempt, as the buyer may look it up.
fn recorded(
    fired_at: Timestamp,
    now: Timestamp,
    sent: &Result<ReceiverReply, AttemptError>,
) -> NotificationAttempt {
    let (outcome, http_status) = match sent {
        Ok(taken) => (AttemptOutcome::Success, Some(taken.status)),
        Err(failed) => match failed.why {
            FailureReason::Status(status) => (AttemptOutcome::Failed, Some(status)),
            FailureReason::Gone => (AttemptOutcome::Failed, Some(410)),
            FailureReason::Unverified => (AttemptOutcome::Failed, Some(401)),
            FailureReason::TimedOut => (AttemptOutcome::Timeout, None),
            FailureReason::Unreachable
            | FailureReason::Forbidden
            | FailureReason::NotPermitted
            | FailureReason::Broken => (AttemptOutcome::ConnectionError, None),
        },
    };
    NotificationAttempt { fired_at, completed_at: now, outcome, http_status }
}

fn host(url: &str) -> String {
    let url = Url::parse(url).ok();
    url.and_then(|url| url.host_str().map(str::to_ascii_lowercase)).unwrap_or_default()
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) -> Option<()> {
    headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
    Some(())
}
