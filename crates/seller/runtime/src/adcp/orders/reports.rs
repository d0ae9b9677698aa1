//! Delivery that the ad server reports: asked for on a schedule, and stored by package and day. A later report
//! of a day replaces the earlier one, so that a correction is never counted twice.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_ad_server::AdServerError;
use tradepost_publisher::ad_server::RemoteDelivery;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::remote_order::delivery::store_rows;
use tradepost_publisher::store::{StoreRead, StoreTx};
use tradepost_server::fault::InternalError;

use super::{RemoteOrders, pause};

/// Number of days before the last report that are asked for again, because ad servers correct them.
const CORRECTED_DAYS: i64 = 8;

/// Time after which a report that the ad server has queued is asked for, where it names none.
const QUEUED_REPORT: Duration = Duration::from_secs(30);

impl RemoteOrders {
    /// Asks for the delivery of an order, if it is due, and stores it.
    pub(super) async fn report(&self, id: &str) -> Result<(), InternalError> {
        let now = self.deps.clock.now();
        let read = |reader: &dyn StoreRead| reader.find::<RemoteOrder>(id);
        let Some(kept) = self.deps.publisher_store.look(read)? else { return Ok(()) };
        let remote = kept.thing;
        if remote.report_due_at.is_none_or(|due| due > now) {
            return Ok(());
        }
        let Some(order) = remote.order.as_ref().filter(|order| order.approved) else {
            self.store(id, |order, _| order.report_due_at = None).await?;
            return Ok(());
        };
        let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
        let first = day(order.sent.start_time);
        let corrected = remote.reported_at.map(day);
        let corrected = corrected.and_then(|last| last.checked_sub(CORRECTED_DAYS.days()).ok());
        let from = corrected.map_or(first, |corrected| corrected.max(first));
        let called = self.ad_server.delivery(&order.id, from, day(now));
        let reported = tokio::time::timeout(self.timeout, called).await;
        match reported {
            Ok(Ok(rows)) => self.store_delivery(id, rows).await,
            // A report that was queued there takes its time.
            Ok(Err(AdServerError::NotYet { retry_after })) => {
                self.report_later(id, retry_after.unwrap_or(QUEUED_REPORT)).await
            }
            Ok(Err(_)) | Err(_) => {
                let publisher = &self.publisher;
                tracing::warn!(%publisher, media_buy = id, "the ad server has not reported");
                self.report_later(id, pause(self.pauses)(8)).await
            }
        }
    }

    /// Asks for the delivery again after a while, at the latest with the next regular report.
    async fn report_later(&self, id: &str, wait: Duration) -> Result<(), InternalError> {
        let every = self.report_every;
        let wait = SignedDuration::try_from(wait).unwrap_or(every).min(every);
        self.store(id, move |order, now| order.report_due_at = order.report_after(now, wait))
            .await?;
        Ok(())
    }

    /// Stores the rows of a report with the time of the next one.
    async fn store_delivery(
        &self,
        id: &str,
        rows: Vec<RemoteDelivery>,
    ) -> Result<(), InternalError> {
        let id = id.to_owned();
        let now = self.deps.clock.now();
        let every = self.report_every;
        let zone = self.zone.clone();
        let job = move |tx: &dyn StoreTx| {
            let Some(mut kept) = tx.find::<RemoteOrder>(&id)? else { return Ok(()) };
            kept.thing.reported_at = Some(now);
            kept.thing.report_due_at = kept.thing.report_after(now, every);
            tx.change(&mut kept, now)?;
            store_rows(tx, &kept, &rows, &zone, now)
        };
        let done = self.deps.publisher_store.act::<_, InternalError>(job).await;
        done.map_err(InternalError::on("storing delivery"))
    }
}
