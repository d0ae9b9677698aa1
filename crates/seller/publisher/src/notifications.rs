//! Notifications to buyers of changes that they did not make: of a creative's status to the subscribers of
//! its account (`notification_configs`), and of an account's status to the caller that waited for it
//! (`push_notification_config` of `sync_accounts`). Each is queued in the transaction that makes the change.

use jiff::Timestamp;
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};
use tradepost_document::typed::Typed as _;

use crate::account::{self, Account};
use crate::creative::{Creative, CreativeStatus};
use crate::reply::object;
use crate::store::{EntityRecord, IndexField, New, Query, StoreRead, Stored};
use crate::task::finish::TaskFinisher;
use crate::task::{NotificationAttempt, NotificationSubject, Push, QueuedNotification};

/// Event of a changed creative status.
pub(crate) const STATUS_CHANGED: &str = "creative.status_changed";

/// Events that subscribers of accounts can have here. Creatives are not purged here, so that the second is
/// never sent.
pub(crate) const EVENTS: [&str; 2] = [STATUS_CHANGED, "creative.purged"];

/// Maximum number of delivery records that are shown with a creative (`webhook_activity_limit`).
const MOST_RECORDS: u64 = 200;

/// Default number of them.
const USUAL_RECORDS: u64 = 50;

tradepost_document::words! {
    /// Reason of a changed creative status (`enums/creative-event-reason-code.json`).
    pub enum CreativeChangeReason {
        /// Approved in review.
        ReviewPassed = "review_passed",
        /// Rejected in review.
        ReviewFailure = "review_failure",
        /// Failed in processing.
        ProcessingFailure = "processing_failure",
        /// Under review again by the seller.
        SellerRereview = "seller_rereview",
        /// Against a policy now.
        PolicyRevocation = "policy_revocation",
        /// Changed content behind its links.
        ContentDrift = "content_drift",
        /// Permission withdrawn by the owner of the post that it shows.
        IdentityAuthorizationRevoked = "identity_authorization_revoked",
        /// Permission expired for the post that it shows.
        IdentityAuthorizationExpired = "identity_authorization_expired",
        /// Source no longer public.
        SourcePrivate = "source_private",
        /// Source deleted.
        SourceDeleted = "source_deleted",
        /// Takedown requested.
        TakedownRequest = "takedown_request",
        /// Requested by the advertiser.
        AdvertiserRequest = "advertiser_request",
        /// Archived by the seller.
        SellerArchive = "seller_archive",
        /// Account closed.
        AccountClosed = "account_closed",
        /// Account suspended.
        AccountSuspended = "account_suspended",
        /// Retention period ended.
        RetentionExpired = "retention_expired",
        /// Erasure demanded by law.
        LegalErasure = "legal_erasure",
    }
}

impl CreativeChangeReason {
    /// Returns the reasons for which a person may decline a creative in this status, the usual one first.
    #[must_use]
    pub const fn of_decline(from: CreativeStatus) -> &'static [Self] {
        match from {
            CreativeStatus::PendingReview => &[Self::ReviewFailure],
            CreativeStatus::Processing => &[Self::ProcessingFailure],
            CreativeStatus::Approved => &[
                Self::PolicyRevocation,
                Self::ContentDrift,
                Self::TakedownRequest,
                Self::AdvertiserRequest,
            ],
            CreativeStatus::Suspended => &[
                Self::PolicyRevocation,
                Self::IdentityAuthorizationRevoked,
                Self::TakedownRequest,
                Self::AdvertiserRequest,
            ],
            CreativeStatus::Rejected | CreativeStatus::Archived => &[],
        }
    }

    /// Returns the default reason of a change.
    const fn usual(from: CreativeStatus, to: CreativeStatus) -> Self {
        match (from, to) {
            (_, CreativeStatus::Approved) => Self::ReviewPassed,
            (CreativeStatus::PendingReview, CreativeStatus::Rejected) => Self::ReviewFailure,
            (CreativeStatus::Processing, CreativeStatus::Rejected) => Self::ProcessingFailure,
            (_, CreativeStatus::PendingReview | CreativeStatus::Processing) => Self::SellerRereview,
            (_, CreativeStatus::Archived) => Self::SellerArchive,
            (_, CreativeStatus::Suspended | CreativeStatus::Rejected) => Self::PolicyRevocation,
        }
    }
}

/// Change of a creative's status that its buyer has not made.
#[derive(Debug, Clone)]
pub(crate) struct CreativeChange {
    /// Status before.
    pub from: CreativeStatus,
    /// Reason; the default one when `None`.
    pub reason: Option<CreativeChangeReason>,
    /// Reason in words.
    pub detail: Option<String>,
    /// True when it was not decided: its time had come.
    pub by_itself: bool,
}

impl TaskFinisher<'_> {
    /// Announces the current status of a creative (`creative/creative-status-changed-webhook.json`).
    pub(crate) fn announce_creative(
        &self,
        stored: &Stored<Creative>,
        turn: &CreativeChange,
    ) -> Result<(), InternalError> {
        let from = turn.from;
        let to = stored.thing.status;
        // Only a buyer brings back what is rejected or archived, and learns of that in the answer.
        if matches!(from, CreativeStatus::Rejected | CreativeStatus::Archived)
            || !from.may_become(to)
        {
            return Ok(());
        }
        let Some(account) = Account::find_for(&stored.record, self.tx)? else {
            return Ok(());
        };
        // One id for the change and a key for each delivery: the id shows a buyer that two of its subscribers
        // heard the same, the key shows a receiver what was sent twice (AdCP 3.1 `error-handling`, `W-4`).
        let change = self.publisher.services.fresh_id("creative-change");
        let reason = turn.reason.unwrap_or(CreativeChangeReason::usual(from, to));
        for subscriber in account.thing.subscribers(STATUS_CHANGED) {
            let key = self.publisher.services.fresh_id("webhook-delivery");
            let body = Value::Object(object([
                ("idempotency_key", Some(json!(key))),
                ("notification_id", Some(json!(change))),
                ("notification_type", Some(STATUS_CHANGED.into())),
                ("fired_at", Some(json!(self.now))),
                ("subscriber_id", Some(json!(subscriber.subscriber_id))),
                ("account_id", Some(json!(account.thing.account_id))),
                ("creative_id", Some(json!(stored.thing.creative_id))),
                ("transition", Some(json!({"from": from, "to": to, "observed_at": self.now}))),
                ("reason_code", Some(json!(reason))),
                ("reason_detail", turn.detail.as_ref().map(|detail| json!(detail))),
                ("initiator", Some(if turn.by_itself { "system" } else { "seller" }.into())),
            ]));
            let about = NotificationSubject {
                thing: stored.record.id.clone(),
                event: STATUS_CHANGED.to_owned(),
                subscriber_id: subscriber.subscriber_id.clone(),
                key,
            };
            let notice = QueuedNotification {
                about: Some(about),
                ..QueuedNotification::new(
                    &subscriber.url,
                    subscriber.authentication(),
                    body,
                    self.now,
                )
            };
            self.queue(&stored.record, &notice)?;
        }
        Ok(())
    }

    /// Announces, once, that the wait for an account has ended (`sync_accounts`, `push_notification_config`).
    pub(crate) fn announce_account(
        &self,
        stored: &mut Stored<Account>,
    ) -> Result<(), InternalError> {
        if stored.thing.status == account::AccountStatus::PendingApproval {
            return Ok(());
        }
        let push = stored.thing.push.take().as_ref().and_then(Push::read);
        let Some(push) = push else { return Ok(()) };
        let Some(url) = push.url.clone() else { return Ok(()) };
        let id = stored.thing.account_id.clone();
        let mut row = stored.thing.published();
        row.insert("action".to_owned(), "updated".into());
        let body = Value::Object(object([
            ("idempotency_key", Some(self.publisher.services.fresh_id("webhook-delivery").into())),
            ("operation_id", Some(json!(push.operation_id.as_ref().unwrap_or(&id)))),
            ("task_id", Some(json!(id))),
            ("task_type", Some(AdcpTool::SyncAccounts.name().into())),
            ("status", Some("completed".into())),
            ("timestamp", Some(json!(self.now))),
            ("message", Some("how the account stands has changed".into())),
            ("token", push.token.clone()),
            ("result", Some(json!({"status": "completed", "accounts": [row]}))),
        ]));
        let notice = QueuedNotification::new(&url, push.authentication.as_ref(), body, self.now);
        self.queue(&stored.record, &notice)
    }

    /// Queues a notification about a record.
    pub(crate) fn queue(
        &self,
        about: &EntityRecord,
        notice: &QueuedNotification,
    ) -> Result<(), InternalError> {
        let id = self.publisher.services.fresh_id("notice");
        let account = about.account.as_deref();
        let new = New {
            id: &id,
            owner: &about.owner,
            account,
            state: QueuedNotification::DUE,
            now: self.now,
        };
        self.tx.add(new, notice)
    }
}

/// Returns the latest attempts to notify about a creative, the newest first, as its buyer may see them
/// (`core/webhook-activity-record.json`).
pub(crate) fn activity(
    reader: &dyn StoreRead,
    creative: &Stored<Creative>,
    limit: Option<u64>,
) -> Result<Vec<Value>, InternalError> {
    let record = &creative.record;
    let query = Query { account: record.account.clone(), ..Query::with_owner(&record.owner) };
    let query = query.led_to_by(IndexField::About, &record.id);
    let mut records = Vec::new();
    for stored in reader.all::<QueuedNotification>(&query)? {
        let notice = &stored.thing;
        let Some(about) = notice.about.as_ref().filter(|about| about.thing == record.id) else {
            continue;
        };
        // Without query and fragment, in which buyers may have put secrets.
        let shown_url = notice.url.split(['?', '#']).next();
        let mut note = |attempt: usize, fired_at: Timestamp, done: Option<&NotificationAttempt>| {
            let shown = object!({
                "idempotency_key": about.key,
                "subscriber_id": about.subscriber_id,
                "fired_at": fired_at,
                "notification_type": about.event,
                "attempt": attempt,
                "url": shown_url,
                "payload_size_bytes": notice.body.len(),
                "status": done.map_or("pending", |done| done.outcome.name()),
                "completed_at"?: done.map(|done| done.completed_at),
                "http_status_code": done.and_then(|done| done.http_status),
            });
            records.push((fired_at, stored.record.place, shown));
        };
        for (index, attempt) in notice.log.iter().enumerate() {
            note(index + 1, attempt.fired_at, Some(attempt));
        }
        if notice.log.is_empty() {
            note(1, stored.record.created_at, None);
        }
    }
    records.sort_by_key(|(at, place, _)| (*at, *place));
    let most = limit.unwrap_or(USUAL_RECORDS).min(MOST_RECORDS);
    let newest = records.into_iter().rev().map(|(_, _, shown)| shown);
    Ok(newest.take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
}
