//! Call with or without `--retry`: one request, or as many as needed. Whether they may have acted
//! is reported for all of them together, also when the user stops the call with Ctrl-C.

use std::time::Duration;

use tokio::sync::watch;
use tradepost_client::client::random_ids;
use tradepost_client::record::FailureRecord;
use tradepost_client::retry::{GaveUp, Recoverer, RetryClock, RetryLimits, Sizes, SystemClock};
use tradepost_document::json::object;

use super::listening::stop_signal;
use super::output::{CommandFailure, INTERRUPTED, Output, in_doubt};

/// Member of a request by which the other side recognises it.
pub(super) const KEY: &str = "idempotency_key";

/// Callback for each failure.
pub(super) type Log = Box<dyn Fn(&FailureRecord) + Send + Sync>;

/// Creates the retry loop of a command, which Ctrl-C stops.
///
/// # Errors
/// Fails when signals cannot be received on this machine.
pub(super) fn recoverer(
    overall: Option<Duration>,
    output: Output,
    log: Option<Log>,
) -> Result<Recoverer<PrintingClock>, CommandFailure> {
    let limits = match overall {
        Some(elapsed) => RetryLimits { elapsed, ..RetryLimits::default() },
        // Without --retry the first failure ends it, however long the answer took.
        None => RetryLimits { attempts: 1, elapsed: Duration::MAX },
    };
    let stop = stop_signal()?;
    let (asked, stopped) = watch::channel(false);
    tokio::spawn(async move {
        stop.await;
        asked.send_replace(true);
    });
    let system_clock = SystemClock::new(random_ids());
    let clock = PrintingClock { system_clock, stopped, output, log };
    Ok(Recoverer::new(clock, limits, Sizes::default()))
}

/// Returns the failure, with the remaining advice as its hint.
pub(super) fn gave_up(retries: bool, gave_up: GaveUp) -> CommandFailure {
    let GaveUp { failure, advice, spent, outage: _, key, doubt, stopped } = gave_up;
    let mut out = CommandFailure::from(failure);
    let advised = (retries || stopped).then(|| advice.to_string());
    let doubted = doubt.in_doubt().then(|| doubt.to_string());
    let left: Vec<_> = advised.into_iter().chain(doubted).collect();
    if !left.is_empty() {
        out = out.hint(left.join("; "));
    }
    // A call that the user stopped did not fail by itself.
    if stopped {
        out.exit = INTERRUPTED;
    }
    if spent.attempts > 1 {
        let waited = spent.waited.as_secs_f64();
        out.lines
            .push(format!("sent {} times, with pauses of {waited:.1} s in total", spent.attempts));
    }
    out.with_facts(in_doubt(doubt.in_doubt())).with_facts(object!({
        "advice": advice.name(),
        "attempts": spent.attempts, "idempotency_key"?: key,
    }))
}

/// Clock and timer of the retry loop, which also print pauses before a retry.
pub(super) struct PrintingClock {
    system_clock: SystemClock,
    stopped: watch::Receiver<bool>,
    output: Output,
    log: Option<Log>,
}

impl RetryClock for PrintingClock {
    fn now(&self) -> Duration {
        self.system_clock.now()
    }

    async fn sleep(&self, time: Duration) {
        self.system_clock.sleep(time).await;
    }

    fn failed(&self, record: &FailureRecord) {
        if let Some(log) = &self.log {
            log(record);
        }
    }

    fn waiting(&self, time: Duration) {
        self.output.talk(format!("retrying in {:.1} s", time.as_secs_f64()));
    }

    async fn within<F>(&self, time: Duration, work: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        self.system_clock.within(time, work).await
    }

    async fn stopped(&self) {
        // The sender of the signal exists as long as the call lasts.
        let _ = self.stopped.clone().wait_for(|stopped| *stopped).await;
    }

    fn draw(&self) -> f64 {
        self.system_clock.draw()
    }
}
