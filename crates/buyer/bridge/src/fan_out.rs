//! Calls several dealers or sellers concurrently, so that a slow one does not delay the others. Each has a share of
//! the time of the whole call, and those that were too slow last time are called last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;
use tradepost_client::retry::LEAST;
use tradepost_dealer_tools::time::{CONCURRENT_CALLS, share_of};

use super::failures::BridgeError;

/// Flag that is set when the last call to a dealer or seller was too slow.
#[derive(Debug, Default)]
pub(super) struct SlowMark(AtomicBool);

impl SlowMark {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, is_slow: bool) {
        self.0.store(is_slow, Ordering::Relaxed);
    }
}

/// Dealer or seller that can be called together with others.
pub(super) trait Askable {
    /// Returns the mark of a dealer or seller that was too slow last time.
    fn slow_mark(&self) -> &SlowMark;

    /// Returns the error of a call that was not answered completely within this time.
    fn too_slow(&self, time: Duration) -> BridgeError;

    /// Returns the error of a call whose turn did not come in time.
    fn not_asked(&self) -> BridgeError;
}

/// Calls all of `asked` within `time`; `ask` receives the deadline of each call. The outcomes are in the order of
/// `asked`.
pub(super) async fn ask_all<W, T, F>(
    asked: Vec<Arc<W>>,
    time: Duration,
    ask: impl Fn(Arc<W>, Instant) -> F,
) -> Vec<(Arc<W>, Result<T, BridgeError>)>
where
    W: Askable,
    F: Future<Output = Result<T, BridgeError>>,
{
    let end = Instant::now() + time;
    let share = share_of(time, asked.len());
    let ask = &ask;
    let mut in_turn: Vec<(usize, Arc<W>)> = asked.into_iter().enumerate().collect();
    // The sort is stable, so the order stays apart from slow ones.
    in_turn.sort_by_key(|(_, one)| one.slow_mark().is_set());
    let calls = in_turn.into_iter().map(|(place, one)| async move {
        let begun = Instant::now();
        if end.saturating_duration_since(begun) < LEAST.min(share) {
            let outcome = Err(one.not_asked());
            return (place, one, outcome);
        }
        let until = end.min(begun + share);
        let answer = tokio::time::timeout_at(until, ask(Arc::clone(&one), until)).await;
        let outcome = answer.unwrap_or_else(|_| Err(one.too_slow(until - begun)));
        one.slow_mark().set(outcome.as_ref().is_err_and(BridgeError::is_silence));
        (place, one, outcome)
    });
    let calls = futures_util::stream::iter(calls).buffer_unordered(CONCURRENT_CALLS);
    let mut outcomes: Vec<_> = calls.collect().await;
    outcomes.sort_by_key(|(place, _, _)| *place);
    outcomes.into_iter().map(|(_, one, outcome)| (one, outcome)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::failures::BridgeErrorCode;
    use super::*;

    /// Dealer that answers after this many seconds of virtual time.
    struct TimedDealer {
        seconds: u64,
        slow: SlowMark,
    }

    impl Askable for TimedDealer {
        fn slow_mark(&self) -> &SlowMark {
            &self.slow
        }

        fn too_slow(&self, _: Duration) -> BridgeError {
            BridgeError::new(BridgeErrorCode::DealerSilent, "slow")
        }

        fn not_asked(&self) -> BridgeError {
            BridgeError::new(BridgeErrorCode::DealerNotAsked, "not asked")
        }
    }

    fn dealers(seconds: impl IntoIterator<Item = u64>) -> Vec<Arc<TimedDealer>> {
        let dealer = |seconds| Arc::new(TimedDealer { seconds, slow: SlowMark::default() });
        seconds.into_iter().map(dealer).collect()
    }

    /// Returns the result of each call: `ok`, or the code of its error.
    async fn outcomes(asked: &[Arc<TimedDealer>]) -> Vec<String> {
        let ask = |one: Arc<TimedDealer>, _| async move {
            tokio::time::sleep(Duration::from_secs(one.seconds)).await;
            Ok(())
        };
        let outcomes = ask_all(asked.to_vec(), Duration::from_secs(20), ask).await;
        let name = |outcome: Result<(), BridgeError>| match outcome {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.document()["code"].as_str().unwrap().to_owned(),
        };
        outcomes.into_iter().map(|(_, outcome)| name(outcome)).collect()
    }

    fn count(outcomes: &[String], wanted: &str) -> usize {
        outcomes.iter().filter(|outcome| *outcome == wanted).count()
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_dealer_of_41_hides_no_other() {
        let asked = dealers(std::iter::once(600).chain([1; 40]));
        let begun = Instant::now();
        let outcomes = outcomes(&asked).await;
        assert_eq!(outcomes[0], "DEALER_SILENT");
        assert_eq!(count(&outcomes, "ok"), 40);
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "in virtual time, it waits for one share"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_dealer_whose_turn_did_not_come_was_not_asked() {
        let outcomes = outcomes(&dealers([600; 100])).await;
        assert_eq!(count(&outcomes, "DEALER_SILENT"), 4 * CONCURRENT_CALLS);
        assert_eq!(count(&outcomes, "DEALER_NOT_ASKED"), 100 - 4 * CONCURRENT_CALLS);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_dealers_are_asked_last_until_they_answer_again() {
        let mut asked = dealers([600; 80]);
        assert_eq!(count(&outcomes(&asked).await, "ok"), 0);
        asked.extend(dealers([1; 20]));
        let second = outcomes(&asked).await;
        assert!(second.iter().skip(80).all(|outcome| outcome == "ok"), "{second:?}");
        let healthy = dealers([1]);
        healthy[0].slow.set(true);
        assert_eq!(outcomes(&healthy).await, ["ok"]);
        assert!(!healthy[0].slow.is_set());
    }
}
