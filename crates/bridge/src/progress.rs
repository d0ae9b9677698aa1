//! Tells a client that a call is still being worked on, while a person or a seller is awaited: many clients give a
//! call up that they hear nothing of.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tradepost_wire::json::{Map, Value, json};

/// The notification that something goes on.
const PROGRESS: &str = "notifications/progress";

/// How often a client is told.
const PERIOD: Duration = Duration::from_secs(10);

/// Tells the client of one call that it goes on.
pub(super) struct ProgressNotifier {
    token: Value,
    out: mpsc::Sender<String>,
}

/// The token by which a client knows progress again, where it wants to be told of it.
pub(super) fn progress_token(params: &Map) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    Some(token).filter(|token| token.is_string() || token.is_number())
}

impl ProgressNotifier {
    /// For a call with these parameters; `None` when its client does not want to be told, or cannot be.
    pub(super) fn new(params: &Map, out: Option<&mpsc::Sender<String>>) -> Option<Self> {
        let token = progress_token(params)?.clone();
        Some(Self { token, out: out?.clone() })
    }

    /// Tells the client every ten seconds what is awaited, until the work is done.
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
                    // A client that reads nothing at the moment needs no second notice.
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
