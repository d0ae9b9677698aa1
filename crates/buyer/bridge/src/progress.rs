//! Sends progress notifications while a call waits for a person, dealer or seller: many clients give up a call from
//! which they hear nothing.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tradepost_document::json::{Map, Value, json};

/// Method of the progress notification.
const PROGRESS: &str = "notifications/progress";

/// Interval between notifications.
const PERIOD: Duration = Duration::from_secs(10);

/// Sends progress notifications for one call.
pub(super) struct ProgressNotifier {
    token: Value,
    out: mpsc::Sender<String>,
}

/// Returns the progress token of a call, when its client wants notifications.
pub(super) fn progress_token(params: &Map) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    Some(token).filter(|token| token.is_string() || token.is_number())
}

impl ProgressNotifier {
    /// Creates the notifier of a call with these parameters; `None` when its client wants no notifications or cannot
    /// receive them.
    pub(super) fn new(params: &Map, out: Option<&mpsc::Sender<String>>) -> Option<Self> {
        let token = progress_token(params)?.clone();
        Some(Self { token, out: out?.clone() })
    }

    /// Does the work and meanwhile sends a notification every ten seconds, with the text that `awaited` returns.
    pub(super) async fn during<T>(
        &self,
        awaited: impl Fn() -> &'static str,
        work: impl Future<Output = T>,
    ) -> T {
        let begun = Instant::now();
        let mut ticks = interval_at(begun + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = ticks.tick() => {
                    let notice = self.notice(begun.elapsed().as_secs(), awaited());
                    // Dropped when the channel is full: a client that does not read needs no second notification.
                    let _ = self.out.try_send(notice);
                }
            }
        }
    }

    fn notice(&self, seconds: u64, awaited: &str) -> String {
        let message = format!("{awaited} ({seconds} s)");
        let params = json!({"progressToken": self.token, "progress": seconds, "message": message});
        json!({"jsonrpc": "2.0", "method": PROGRESS, "params": params}).to_string()
    }
}
