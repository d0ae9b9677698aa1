//! Minimum rate of request bodies, on every listener.
//!
//! Only the time in which a handler waits for the next piece counts. A body below
//! [`MIN_BYTES_PER_SECOND`] soon counts as stalled: its connection may be ended to make room for
//! others, and is ended anyway a few seconds later.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::HttpBody;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::places::RequestProgress;
use crate::http::intake::MIN_BYTES_PER_SECOND;

/// Time that a body may lag behind [`MIN_BYTES_PER_SECOND`] before its connection may be ended to
/// make room.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// Time that a body may lag behind [`MIN_BYTES_PER_SECOND`] at its beginning before it is ended.
const ENDED_AFTER: Duration = Duration::from_secs(5);

/// Time that a previously fast body may lag before it is ended, because a network may fail for a
/// moment.
const ENDED_AFTER_AT_MOST: Duration = Duration::from_secs(15);

/// The body of a request, which fails with [`ErrorKind::TimedOut`] when it arrives too slowly.
pub(super) struct ArrivingBody {
    body: Incoming,
    progress: Arc<RequestProgress>,
    rate: BodyRate,
    /// Timer that wakes the reader when the body becomes too slow.
    timer: Option<Pin<Box<Sleep>>>,
}

impl ArrivingBody {
    /// Watches a body, and reports its state to `progress`.
    pub(super) fn new(body: Incoming, progress: Arc<RequestProgress>) -> Self {
        Self { body, progress, rate: BodyRate::new(), timer: None }
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        // The body is no longer read, so the rest of the request is the server's own work.
        self.progress.resume();
    }
}

impl HttpBody for ArrivingBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            let bytes = data.map_or(0, Bytes::len);
            if this.rate.arrived(Instant::now(), bytes) == ArrivalState::Steady {
                this.progress.resume();
            }
            this.timer = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        loop {
            let now = Instant::now();
            let state = this.rate.waited(now);
            match state {
                ArrivalState::Steady => {}
                ArrivalState::Stalled => this.progress.stall(),
                ArrivalState::TooSlow => {
                    let why = "the body comes too slowly";
                    let error = Error::new(ErrorKind::TimedOut, why);
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
            let timer = this.timer.insert(Box::pin(sleep_until(now + this.rate.time_left(state))));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// State of an arriving body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrivalState {
    /// Fast enough.
    Steady,
    /// Too slow to keep its place when others need it.
    Stalled,
    /// Too slow to be read.
    TooSlow,
}

/// Measures the rate of a body: waiting uses up time, and arriving bytes earn it.
#[derive(Debug)]
struct BodyRate {
    /// Time since which a reader waits for the next piece.
    waits_since: Option<Instant>,
    until_stalled: Duration,
    until_ended: Duration,
    is_stalled: bool,
}

impl BodyRate {
    const fn new() -> Self {
        Self {
            waits_since: None,
            until_stalled: STALLED_AFTER,
            until_ended: ENDED_AFTER,
            is_stalled: false,
        }
    }

    /// Records arriving bytes.
    fn arrived(&mut self, now: Instant, bytes: usize) -> ArrivalState {
        self.charge_wait(now);
        self.waits_since = None;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let earned = Duration::from_millis(bytes.saturating_mul(1_000) / MIN_BYTES_PER_SECOND);
        self.until_stalled = self.until_stalled.saturating_add(earned).min(STALLED_AFTER);
        self.until_ended = self.until_ended.saturating_add(earned).min(ENDED_AFTER_AT_MOST);
        // A single byte does not make a body steady: it has to catch up.
        self.is_stalled &= self.until_stalled < STALLED_AFTER;
        self.state()
    }

    /// Records that a reader has waited until now.
    fn waited(&mut self, now: Instant) -> ArrivalState {
        self.charge_wait(now);
        self.waits_since = Some(now);
        self.is_stalled |= self.until_stalled.is_zero();
        self.state()
    }

    fn charge_wait(&mut self, now: Instant) {
        let waited = self.waits_since.map(|since| now.saturating_duration_since(since));
        let waited = waited.unwrap_or_default();
        self.until_stalled = self.until_stalled.saturating_sub(waited);
        self.until_ended = self.until_ended.saturating_sub(waited);
    }

    fn state(&self) -> ArrivalState {
        if self.until_ended.is_zero() {
            ArrivalState::TooSlow
        } else if self.is_stalled {
            ArrivalState::Stalled
        } else {
            ArrivalState::Steady
        }
    }

    /// Returns the time after which the state changes when nothing more arrives.
    fn time_left(&self, state: ArrivalState) -> Duration {
        match state {
            ArrivalState::Steady => self.until_stalled.min(self.until_ended),
            ArrivalState::Stalled | ArrivalState::TooSlow => self.until_ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a body of pieces with `bytes` bytes, one after each pause; returns the states.
    fn simulate(bytes: usize, pause: Duration, lasts: Duration) -> Vec<ArrivalState> {
        let began = Instant::now();
        let mut rate = BodyRate::new();
        let mut now = began;
        let mut states = vec![rate.waited(now)];
        while now - began < lasts {
            now += pause;
            states.push(rate.waited(now));
            rate.arrived(now, bytes);
            rate.waited(now);
        }
        states.dedup();
        states
    }

    #[test]
    fn a_body_has_to_come_at_the_least_rate() {
        use ArrivalState::{Stalled, Steady, TooSlow};
        let tenth = Duration::from_millis(100);
        let second = Duration::from_secs(1);
        let minute = Duration::from_secs(60);
        for (bytes, pause, lasts, expected) in [
            (24, tenth, minute, vec![Steady]),
            (10_000, second / 2, minute, vec![Steady]),
            (0, tenth, second * 4, vec![Steady, Stalled]),
            (0, tenth, second * 6, vec![Steady, Stalled, TooSlow]),
            (1, tenth, second * 4, vec![Steady, Stalled]),
            (1, tenth, minute, vec![Steady, Stalled, TooSlow]),
            (20, tenth, minute, vec![Steady, Stalled, TooSlow]),
        ] {
            assert_eq!(simulate(bytes, pause, lasts), expected, "{bytes} bytes each {pause:?}");
        }
    }

    #[test]
    fn a_body_that_was_fast_may_pause_and_go_on() {
        let began = Instant::now();
        let mut rate = BodyRate::new();
        rate.waited(began);
        assert_eq!(rate.arrived(began, 1_000_000), ArrivalState::Steady);
        rate.waited(began);
        let later = began + Duration::from_secs(10);
        assert_eq!(rate.waited(later), ArrivalState::Stalled, "others may have its place");
        assert_eq!(rate.arrived(later, 1_000), ArrivalState::Steady);
        rate.waited(later);
        let much_later = later + Duration::from_secs(30);
        assert_eq!(rate.waited(much_later), ArrivalState::TooSlow);
    }

    #[test]
    fn time_in_which_nobody_waits_does_not_count() {
        let began = Instant::now();
        let mut rate = BodyRate::new();
        rate.waited(began);
        rate.arrived(began, 1);
        assert_eq!(rate.waited(began + Duration::from_secs(60)), ArrivalState::Steady);
    }
}
