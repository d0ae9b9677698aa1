//! Queues the reports that are due: one for each window, one more when the figures of a window have changed,
//! and the last one when nothing more will be reported. What is queued and what is remembered of it are stored
//! together, so that each report is queued once.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_adcp::AdcpTool;
use tradepost_adcp::release::translate;
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json, object};

use super::{BuyReporting, ReportCadence, ReportSubscription};
use crate::account::Account;
use crate::buy::MediaBuy;
use crate::buy::days::{BuyFinality, Finality};
use crate::buy::report::{self, ALL_TIME, BuyDelivery, DeliveryReport, Period};
use crate::publisher::Publisher;
use crate::remote_order::RemoteOrder;
use crate::store::{Changes, Query, StoreRead, StoreTx, Stored};
use crate::task::QueuedNotification;
use crate::task::finish::TaskFinisher;

/// Type of task that a report belongs to (`enums/task-type.json`).
const TASK_TYPE: &str = "media_buy_delivery";

/// Metrics that are in every report.
pub(crate) const ALWAYS: [&str; 2] = ["impressions", "spend"];

/// Time after the end for which the last report waits for delivery that is not known yet.
const MAX_WAIT_FOR_DELIVERY: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Maximum number of reports of one media buy that are queued in one transaction.
const MAX_REPORTS_PER_TRANSACTION: usize = 50;

/// Maximum number of media buys whose reports are looked at in one round.
const ONE_ROUND: usize = 500;

/// Time after which it is looked again whether an ad server has reported the last of a media buy.
const LAST_REPORT: SignedDuration = SignedDuration::from_hours(1);

/// What was reported of a window whose delivery was not known yet.
const UNKNOWN: &str = "unknown";

tradepost_document::words! {
    /// Kind of a report (`notification_type`).
    enum ReportKind {
        /// A window, at its time.
        Scheduled = "scheduled",
        /// A window whose delivery is not known yet.
        Delayed = "delayed",
        /// A window again, with other figures than before.
        Adjusted = "adjusted",
        /// The whole media buy, once.
        Final = "final",
    }
}

impl ReportCadence {
    /// Returns the window that a moment is in.
    fn window_at(self, moment: Timestamp) -> Option<Period> {
        let day = moment.to_zoned(TimeZone::UTC).date();
        let first = match self {
            Self::Daily => day,
            Self::Monthly => day.first_of_month(),
        };
        let last = match self {
            Self::Daily => day,
            Self::Monthly => day.last_of_month(),
        };
        let start = first.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let end = last.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(Period { start, end })
    }
}

/// Returns the record ids of media buys whose reports are to be looked at, some at a time: many are due at midnight, and
/// other work has to wait for them.
pub(crate) fn due(reader: &dyn StoreRead, now: Timestamp) -> Result<Vec<String>, InternalError> {
    let query = Query { changes: Some(Changes::By(now)), limit: ONE_ROUND, ..Query::default() };
    let found = reader.all::<ReportSubscription>(&query)?;
    Ok(found.into_iter().map(|reports| reports.record.id).collect())
}

/// Queues reports in a transaction.
pub(crate) struct ReportSender<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Transaction of the store.
    pub tx: &'a dyn StoreTx,
    /// Current time.
    pub now: Timestamp,
}

/// What reports of one media buy are made of.
struct ReportSource<'a> {
    buy: &'a Stored<MediaBuy>,
    reporting: &'a BuyReporting,
    cadence: ReportCadence,
    delivery: BuyDelivery,
    /// True if figures of it were ever declared final.
    has_final: bool,
    order: Option<RemoteOrder>,
    is_sandbox: bool,
    /// End of the flight, or the time of the cancellation.
    end: Timestamp,
    /// Time zone of the publisher's days.
    zone: TimeZone,
}

/// A report to be queued.
struct DueReport {
    kind: ReportKind,
    period: Period,
    figures: ReportFigures,
}

/// Figures of a period.
struct ReportFigures {
    totals: Map,
    packages: Vec<Value>,
    /// Members that say whether the whole row is final.
    finality: Map,
}

/// Reports of delivery by the start of their window.
struct DeliveredWindows<'a> {
    windows: BTreeMap<Timestamp, Vec<&'a DeliveryReport>>,
}

impl<'a> DeliveredWindows<'a> {
    fn reports_in(&self, window: Period) -> &[&'a DeliveryReport] {
        self.windows.get(&window.start).map_or(&[], Vec::as_slice)
    }
}

/// Returns the digest of what was delivered in a window. Terms, which a buyer may change, are not a part of it: figures
/// of the past stay the same when a package is paused or costs something else.
fn digest(reports: &[&DeliveryReport]) -> String {
    // A day that becomes final without another figure is nothing to be told again.
    let text = |report: &&DeliveryReport| canonical::to_string(&json!(report.figures_alone()));
    let mut reports: Vec<_> = reports.iter().map(text).collect();
    // A report that replaces another may stand elsewhere.
    reports.sort_unstable();
    let digest = Sha256::digest(reports.join("\n"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl ReportSource<'_> {
    /// Returns which figures of a period are final; `None` when the publisher does not say it.
    fn finality(&self, reports: &[&DeliveryReport], period: Period) -> Option<BuyFinality> {
        let buy = &self.buy.thing;
        self.has_final.then(|| BuyFinality::from_reports(buy, reports, period, &self.zone))
    }

    /// Returns the figures of a period, those that the buyer wants.
    fn figures(&self, reports: &[&DeliveryReport], period: Period) -> ReportFigures {
        let buy = &self.buy.thing;
        let wanted = self.reporting.webhook.requested_metrics.as_ref();
        let chosen = |metrics: Map| match wanted {
            // Impressions and spend are always reported.
            Some(wanted) => {
                let mut metrics = metrics;
                metrics.retain(|name, _| ALWAYS.contains(&name.as_str()) || wanted.contains(name));
                metrics
            }
            None => metrics,
        };
        let shares = report::shares(buy, reports);
        let finality = self.finality(reports, period);
        let mut packages = Vec::new();
        for (place, (package, share)) in buy.packages.iter().zip(&shares).enumerate() {
            let mut row = report::priced(buy, package);
            row.extend(chosen(report::metrics(share)));
            let is_final = finality.as_ref().and_then(|finality| finality.packages.get(place));
            row.extend(is_final.map(|finality| finality.members()).unwrap_or_default());
            packages.push(Value::Object(row));
        }
        let whole = finality.as_ref().and_then(BuyFinality::whole);
        ReportFigures {
            totals: chosen(report::metrics(reports.iter().copied())),
            packages,
            finality: whole.map(Finality::members).unwrap_or_default(),
        }
    }

    /// Returns what was delivered in each window.
    fn delivered(&self) -> DeliveredWindows<'_> {
        let mut windows: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for report in &self.delivery.reports {
            if let Some(window) = self.cadence.window_at(report.at) {
                windows.entry(window.start).or_default().push(report);
            }
        }
        DeliveredWindows { windows }
    }

    /// Returns true if the delivery of a window is known: there is some, or the ad server was asked after it.
    fn is_known(&self, window: Period, delivered: &[&DeliveryReport]) -> bool {
        let asked_at = self.order.as_ref().and_then(|order| order.reported_at);
        !delivered.is_empty() || asked_at.is_some_and(|asked_at| asked_at >= window.end)
    }

    /// Returns the time at which the ad server is asked for its next report.
    fn report_due_at(&self) -> Option<Timestamp> {
        self.order.as_ref().and_then(|order| order.report_due_at)
    }

    /// Returns the first window that was not reported yet; `None` when there is none.
    fn next_window(&self, reports: &ReportSubscription) -> Option<Period> {
        let first = self.buy.thing.start_time.max(self.reporting.since);
        let next = self.cadence.window_at(reports.next_window.unwrap_or(first))?;
        (next.start < self.end).then_some(next)
    }

    /// Returns the time of the next report; `None` after the last one.
    fn next_at(&self, reports: &ReportSubscription) -> Option<Timestamp> {
        if reports.ended {
            return None;
        }
        Some(match self.next_window(reports) {
            Some(window) => self.reporting.due_after(window.end),
            None => self.reporting.due_after(self.end),
        })
    }

    /// Returns true if delivery may still be reported: the media buy is not long over, and an ad server goes on
    /// reporting or a window is unknown.
    fn is_awaited(&self, reports: &ReportSubscription, now: Timestamp) -> bool {
        let is_unknown = reports.told.values().any(|told| told == UNKNOWN);
        let ends = self.end.checked_add(MAX_WAIT_FOR_DELIVERY).unwrap_or(Timestamp::MAX);
        // The order of a canceled media buy is asked about until the end that it had.
        let is_reported = self.report_due_at().is_some();
        now < ends && (is_reported || is_unknown || self.is_pushed_and_open())
    }

    /// Returns true if people or programs of the publisher report the delivery, and have not declared all of it
    /// final.
    fn is_pushed_and_open(&self) -> bool {
        let is_pushed = self.delivery.reports.iter().any(|report| report.pushed_at.is_some());
        let all: Vec<_> = self.delivery.reports.iter().collect();
        is_pushed && !self.finality(&all, ALL_TIME).is_some_and(|finality| finality.is_final())
    }
}

impl ReportSender<'_> {
    /// Queues what is due for a media buy.
    pub(crate) fn queue_reports(&self, id: &str) -> Result<(), InternalError> {
        let Some(mut reports) = self.tx.find::<ReportSubscription>(id)? else { return Ok(()) };
        // Another process may have done it since it was listed.
        if reports.thing.due_at.is_none_or(|due| due > self.now) {
            return Ok(());
        }
        let buy = self.tx.find::<MediaBuy>(id)?;
        let wanted = buy.as_ref().and_then(|buy| buy.thing.reporting.as_ref());
        let (Some(buy), Some(reporting)) = (&buy, wanted) else {
            return self.end(reports);
        };
        let Some(cadence) = reporting.cadence() else { return self.end(reports) };
        if reports.thing.cadence != Some(cadence) {
            // In another rhythm the windows are others.
            reports.thing.cadence = Some(cadence);
            reports.thing.next_window = None;
            reports.thing.told.clear();
        }
        let canceled_at = buy.thing.cancellation.as_ref().map(|canceled| canceled.canceled_at);
        let account = Account::find_for(&buy.record, self.tx)?;
        let delivery = self.tx.find::<BuyDelivery>(id)?;
        let delivery = delivery.map(|stored| stored.thing).unwrap_or_default();
        let source = ReportSource {
            buy,
            reporting,
            cadence,
            has_final: delivery.has_final(),
            delivery,
            order: self.tx.find::<RemoteOrder>(id)?.map(|stored| stored.thing),
            is_sandbox: account.is_some_and(|account| account.thing.sandbox),
            end: canceled_at.unwrap_or(buy.thing.end_time),
            zone: self.publisher.profile.catalogue.inventory.time_zone.clone(),
        };
        let delivered = source.delivered();
        let mut room = MAX_REPORTS_PER_TRANSACTION;
        self.correct(&source, &delivered, &mut reports.thing, &mut room)?;
        // After the last report there are corrections alone.
        if !reports.thing.ended {
            self.report_windows(&source, &delivered, &mut reports.thing, &mut room)?;
        }
        reports.thing.due_at = if room == 0 {
            // The rest comes with the next look.
            Some(self.now)
        } else if reports.thing.ended {
            None
        } else {
            self.finish(&source, &mut reports.thing)?
        };
        self.tx.change(&mut reports, self.now)
    }

    /// Ends reports that nobody wants any more.
    fn end(&self, mut reports: Stored<ReportSubscription>) -> Result<(), InternalError> {
        reports.thing.due_at = None;
        self.tx.change(&mut reports, self.now)
    }

    /// Reports windows again whose figures have changed since they were reported.
    fn correct(
        &self,
        source: &ReportSource<'_>,
        delivered: &DeliveredWindows<'_>,
        reports: &mut ReportSubscription,
        room: &mut usize,
    ) -> Result<(), InternalError> {
        for (start, told) in reports.told.clone() {
            let Some(window) = start.parse().ok().and_then(|at| source.cadence.window_at(at))
            else {
                continue;
            };
            let of_window = delivered.reports_in(window);
            let digest = digest(of_window);
            if digest == told || !source.is_known(window, of_window) {
                continue;
            }
            if *room == 0 {
                return Ok(());
            }
            *room -= 1;
            reports.told.insert(start, digest);
            let kind = ReportKind::Adjusted;
            let figures = source.figures(of_window, window);
            self.queue(source, reports, DueReport { kind, period: window, figures })?;
        }
        Ok(())
    }

    /// Reports the windows that are over.
    fn report_windows(
        &self,
        source: &ReportSource<'_>,
        delivered: &DeliveredWindows<'_>,
        reports: &mut ReportSubscription,
        room: &mut usize,
    ) -> Result<(), InternalError> {
        while let Some(window) = source.next_window(reports) {
            if source.reporting.due_after(window.end) > self.now || *room == 0 {
                break;
            }
            *room -= 1;
            let of_window = delivered.reports_in(window);
            let is_known = source.is_known(window, of_window);
            let digest = if is_known { digest(of_window) } else { UNKNOWN.to_owned() };
            let figures = source.figures(of_window, window);
            reports.told.insert(window.start.to_string(), digest);
            reports.next_window = Some(window.end);
            let kind = if is_known { ReportKind::Scheduled } else { ReportKind::Delayed };
            self.queue(source, reports, DueReport { kind, period: window, figures })?;
        }
        Ok(())
    }

    /// Sends the last report when its time has come. Returns the time of the next look.
    fn finish(
        &self,
        source: &ReportSource<'_>,
        reports: &mut ReportSubscription,
    ) -> Result<Option<Timestamp>, InternalError> {
        let buy = &source.buy.thing;
        let next = source.next_at(reports);
        let is_over = source.next_window(reports).is_none()
            && buy.status_at(self.now).is_terminal()
            && next.is_some_and(|next| next <= self.now);
        if !is_over {
            // A media buy that goes on has its next window in the future.
            return Ok(next.map(|next| next.max(self.now + SignedDuration::from_secs(1))));
        }
        if source.is_awaited(reports, self.now) {
            return Ok(self.now.checked_add(LAST_REPORT).ok());
        }
        reports.ended = true;
        let end = source.end.max(buy.start_time);
        let period = Period { start: buy.start_time, end };
        let all: Vec<_> = source.delivery.reports.iter().collect();
        let figures = source.figures(&all, ALL_TIME);
        self.queue(source, reports, DueReport { kind: ReportKind::Final, period, figures })?;
        Ok(None)
    }

    /// Queues a report (`media-buy/media-buy-delivery-webhook-result.json` in
    /// `core/mcp-webhook-payload.json`).
    fn queue(
        &self,
        source: &ReportSource<'_>,
        reports: &mut ReportSubscription,
        due: DueReport,
    ) -> Result<(), InternalError> {
        reports.sequence += 1;
        let buy = &source.buy.thing;
        let DueReport { kind, period, figures } = due;
        let is_delayed = kind == ReportKind::Delayed;
        let status = if is_delayed { "reporting_delayed" } else { buy.status_at(self.now).name() };
        let mut row = object!({
            "media_buy_id": &buy.media_buy_id,
            "status": status,
            "expected_availability"?: source.report_due_at().filter(|at| is_delayed && *at > self.now),
            "is_adjusted"?: (kind == ReportKind::Adjusted).then_some(true),
            "totals": figures.totals,
            "by_package": figures.packages,
        });
        if let Some(row) = row.as_object_mut() {
            row.extend(figures.finality);
        }
        let result = object!({
            "notification_type": kind,
            "partial_data"?: is_delayed.then_some(true),
            "unavailable_count"?: is_delayed.then_some(1),
            "sequence_number": reports.sequence,
            // What is awaited without a time has none.
            "next_expected_at"?: source.next_at(reports).filter(|next| *next > self.now),
            "reporting_period": {"start": period.start, "end": period.end},
            "currency": &buy.currency,
            "media_buy_deliveries": [row],
            "sandbox"?: source.is_sandbox.then_some(true),
        });
        let mut result = result.as_object().cloned().unwrap_or_default();
        translate(AdcpTool::GetMediaBuyDelivery, source.reporting.release, &mut result);
        let webhook = &source.reporting.webhook;
        let body = object!({
            "idempotency_key": self.publisher.services.fresh_id("webhook-delivery"),
            // The registration of reports names no operation, and there may have been no task.
            "operation_id": &buy.media_buy_id,
            "task_id": buy.task_id.as_ref().unwrap_or(&buy.media_buy_id),
            "task_type": TASK_TYPE,
            "protocol": AdcpTool::GetMediaBuyDelivery.protocol(),
            "status": "completed",
            "timestamp": self.now,
            "message": "what was delivered, as far as it has been reported",
            "token"?: webhook.token.as_ref(),
            "context"?: buy.shown.get("context"),
            "result": result,
        });
        let authentication = webhook.authentication.as_ref();
        let notice = QueuedNotification::new(&webhook.url, authentication, body, self.now);
        let finisher = TaskFinisher { publisher: self.publisher, tx: self.tx, now: self.now };
        finisher.queue(&source.buy.record, &notice)
    }
}
