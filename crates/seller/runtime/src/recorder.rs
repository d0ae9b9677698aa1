//! What recorders share that write apart from the requests: when they write, and when they delete
//! what is old.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tradepost_server::fault::InternalError;

/// Interval between two writes.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between two deletions.
const DELETE_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// Days that records are kept.
pub const DAYS: i64 = 30;

/// Returns the moment before which records are old.
#[must_use]
pub fn oldest_kept(now: Timestamp) -> Timestamp {
    now.saturating_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(Timestamp::MIN)
}

/// Time of the last deletion.
#[derive(Debug, Default)]
pub struct DeletionTimer(Option<Timestamp>);

impl DeletionTimer {
    /// Returns true when a deletion is due, and counts it as done: one that fails is retried after the
    /// interval, not each second.
    pub fn is_due(&mut self, now: Timestamp) -> bool {
        let is_due = self.0.is_none_or(|at| now.duration_since(at) >= DELETE_INTERVAL);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

/// Writes every second until `stopped` resolves, and then once more. A failure is logged with
/// `failure` as its message.
pub async fn write_regularly<W: Future<Output = Result<(), InternalError>>>(
    stopped: impl Future<Output = ()>,
    failure: &'static str,
    write: impl Fn() -> W,
) {
    tokio::pin!(stopped);
    loop {
        let is_over = tokio::select! {
            () = tokio::time::sleep(WRITE_INTERVAL) => false,
            () = &mut stopped => true,
        };
        if let Err(fault) = write().await {
            tracing::warn!(cause = %fault.chain(), "{failure}");
        }
        if is_over {
            return;
        }
    }
}
