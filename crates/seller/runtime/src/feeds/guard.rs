//! Rules by which a feed that looks like an accident is held back, whatever its source.

use tradepost_dealer::import::report::KindCount;
use tradepost_dealer::import::{FeedReport, SkipReason};
use tradepost_store::Replacement;

use crate::config::feeds::Guard;

/// Number of skipped rows that an objection lists.
const MAX_LISTED_ROWS: usize = 5;

/// A reason to hold a feed back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedObjection {
    /// Reason: a lowercase fragment.
    pub message: String,
    /// Action for the operator.
    pub hint: &'static str,
    /// Findings, and the first skipped rows.
    pub lines: Vec<String>,
}

impl Guard {
    /// Returns the reason why a feed must not be stored, if there is one.
    #[must_use]
    pub fn objection(&self, planned: &Replacement, report: &FeedReport) -> Option<FeedObjection> {
        let max_drop = self.max_drop;
        let currency_doubt = report.currency_doubt.as_ref().filter(|_| !self.force);
        // The first two hold with `force`, too: an empty file must not empty an inventory.
        let (message, hint) = if report.rows == 0 {
            let hint = "look whether the right file was uploaded, and whether it was complete";
            ("the feed has no rows".to_owned(), hint)
        } else if report.accepted == 0 {
            let is_anothers = report.skipped_for(SkipReason::AnotherDealer) == report.skipped;
            let hint = if is_anothers && report.skipped > 0 {
                "list what the feed calls a rooftop in its feed_names in the configuration, or in the \
                 [names] of a mapping"
            } else {
                "correct the rows as described, or look whether the right file was uploaded"
            };
            ("none of the feed's rows can be offered".to_owned(), hint)
        } else if let Some(doubt) = currency_doubt {
            let hint = "map a column that has US dollars, or offer the units without prices: \
                        --without-prices, or without_prices = true in a mapping";
            (doubt.clone(), hint)
        } else if !self.force && !report.doubts.is_empty() {
            let hint = "look whether the right file was uploaded to its end and see with --explain \
                        which columns were understood; take it as it is with --force";
            ("the feed looks incomplete".to_owned(), hint)
        } else if is_too_much(planned, max_drop) {
            let message = format!(
                "{} of the {} units on offer would vanish, more than {max_drop} percent",
                planned.removed, planned.before
            );
            let hint =
                "check whether the feed is complete, or permit the loss with --max-drop PERCENT";
            (message, hint)
        } else {
            return None;
        };
        Some(FeedObjection { message, hint, lines: lines(report) })
    }
}

/// Lists the facts of a report for a feed that is held back.
fn lines(report: &FeedReport) -> Vec<String> {
    let sold = (report.accepted == 0 && report.sold > 0)
        .then(|| format!("{} marked as sold", count(report.sold)));
    let skips = report.skips.iter().take(MAX_LISTED_ROWS);
    let skips = skips.map(|skip| format!("{} {}: {}", report.place(), skip.line, skip.message));
    report.doubts.iter().cloned().chain(sold).chain(reasons(report)).chain(skips).collect()
}

/// Counts skipped rows by reason, one line for each.
#[must_use]
pub fn reasons(report: &FeedReport) -> Vec<String> {
    let line = |entry: &KindCount<SkipReason>| {
        format!("{} skipped: {}", count(entry.count), entry.kind.summary())
    };
    report.reasons.iter().map(line).collect()
}

fn count(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

/// Returns true when more than `max_drop` percent of the units on offer would be removed.
fn is_too_much(planned: &Replacement, max_drop: u8) -> bool {
    // Multiplied, because a division would round a value just above the limit down to it. When no unit
    // was on offer before, no loss is too large.
    planned.removed.saturating_mul(100) > planned.before.saturating_mul(usize::from(max_drop))
}
