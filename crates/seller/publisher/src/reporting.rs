//! Reports of delivery that a buyer gets by webhook (`reporting_webhook`): what it has asked for, and what it
//! was told so far. What is due follows from the media buy and its delivery, and is queued with the other
//! notifications (module `send`).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::error::AdcpRelease;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;
use tradepost_document::kept_whole;
use tradepost_document::typed_struct;

use crate::store::{EntityRecord, FoundBy, New, StoreTx, kept};

mod product;
pub(crate) mod send;

tradepost_document::words! {
    /// Rhythm of reports (`reporting_frequency`). Delivery is known by day, so that there is none by hour.
    pub enum ReportCadence {
        /// A report for each day of UTC.
        Daily = "daily",
        /// A report for each month of UTC.
        Monthly = "monthly",
    }
}

typed_struct! {
    /// Webhook for reports (`core/reporting-webhook.json`).
    pub struct ReportingWebhook {
        /// Address.
        url: String,
        /// Token that is sent back to the receiver.
        token: Option<Value>,
        /// Authentication that the receiver wants.
        authentication: Option<Value>,
        /// Rhythm.
        reporting_frequency: String,
        /// Metrics that it wants; all when `None`.
        requested_metrics: Option<Vec<String>>;
        /// As it was given.
        whole given
    }
}

kept_whole!(ReportingWebhook.given);

kept! {
    /// Reports that a buyer wants of a media buy.
    pub struct BuyReporting {
        /// Where they go.
        webhook: ReportingWebhook,
        /// Delay of the reports of its products in minutes.
        delay_minutes: u64,
        /// Release in which they are written.
        release: AdcpRelease,
        /// Time from which they were asked for.
        since: Timestamp,
    }

    /// Reports of a media buy that were sent; its record has the id of the buy.
    #[derive(Default)]
    pub struct ReportSubscription: ReportSubscription by found_by {
        /// The media buy.
        media_buy_id: String,
        /// Number of the last report.
        #[serde(default)]
        sequence: u64,
        /// Rhythm of the windows below.
        cadence?: Option<ReportCadence>,
        /// Start of the first window that was not reported; `None` before the first one.
        next_window?: Option<Timestamp>,
        /// What was reported of each window, as a digest, by its start.
        told?: BTreeMap<String, String>,
        /// True once the last report was sent.
        #[serde(default)]
        ended: bool,
        /// Time at which it is looked at again; after the last report only when delivery is stored.
        due_at?: Option<Timestamp>,
    }
}

impl BuyReporting {
    /// Returns the rhythm.
    fn cadence(&self) -> Option<ReportCadence> {
        ReportCadence::from_name(&self.webhook.reporting_frequency)
    }

    /// Returns the time at which the report of a period that ends at a moment is due.
    fn due_after(&self, end: Timestamp) -> Timestamp {
        let minutes = i64::try_from(self.delay_minutes).unwrap_or(i64::MAX / 60);
        end.checked_add(SignedDuration::from_mins(minutes)).unwrap_or(Timestamp::MAX)
    }
}

/// Returns the index terms of reports: the time at which they are looked at again.
fn found_by(reports: &ReportSubscription, _: Timestamp) -> FoundBy {
    FoundBy { changes_at: reports.due_at, ..FoundBy::default() }
}

/// Has the reports of a media buy looked at that was stored, and whose buyer wants some.
pub(crate) fn follow_buy(
    media_buy_id: &str,
    record: &EntityRecord,
    tx: &dyn StoreTx,
) -> Result<(), InternalError> {
    if tx.find::<ReportSubscription>(&record.id)?.is_some() {
        return follow_delivery(record, tx);
    }
    let now = record.updated_at;
    let reports = ReportSubscription {
        media_buy_id: media_buy_id.to_owned(),
        due_at: Some(now),
        ..ReportSubscription::default()
    };
    let EntityRecord { id, owner, account, .. } = record;
    tx.add(New { id, owner, account: account.as_deref(), state: "", now }, &reports)
}

/// Has the reports of a media buy looked at whose delivery was stored: what was reported may be corrected, also after
/// the last report.
pub(crate) fn follow_delivery(
    record: &EntityRecord,
    tx: &dyn StoreTx,
) -> Result<(), InternalError> {
    let Some(mut reports) = tx.find::<ReportSubscription>(&record.id)? else { return Ok(()) };
    let now = record.updated_at;
    reports.thing.due_at = Some(now);
    tx.change(&mut reports, now)
}
