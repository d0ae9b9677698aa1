//! Budgets of failed sign-in attempts, and the stored part of the second factor.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::AuditAction;

/// Budget of failed attempts, which become available again evenly over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptBudget {
    /// Number of attempts that may fail at once; at least 1.
    pub attempts: u32,
    /// Time after which all of them are available again.
    pub window: SignedDuration,
}

impl AttemptBudget {
    /// Returns the time after which one attempt is available again.
    #[must_use]
    pub fn step(self) -> SignedDuration {
        let attempts = i32::try_from(self.attempts.max(1)).unwrap_or(i32::MAX);
        self.window.checked_div(attempts).unwrap_or(self.window)
    }

    /// Returns the time at which the budget is full again after the first failed attempt.
    pub(crate) fn after_one(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.step()).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time at which a budget is full again after one more attempt, when it was to be full at `full_at`.
    #[must_use]
    pub fn charged(self, full_at: Timestamp, now: Timestamp) -> Timestamp {
        if full_at <= now || full_at > self.latest(now) {
            return self.after_one(now);
        }
        full_at.saturating_add(self.step()).unwrap_or(Timestamp::MAX)
    }

    /// Returns the latest time at which a budget that was charged under this clock can be full again. Processes that
    /// charge at once may exceed the window by a few steps.
    pub(crate) fn latest(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.window.saturating_mul(2)).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time until the next attempt, for a budget that is full again at `full_at`; zero when it may be made
    /// now.
    #[must_use]
    pub fn wait(self, full_at: Timestamp, now: Timestamp) -> SignedDuration {
        if full_at > self.latest(now) {
            return SignedDuration::ZERO;
        }
        let lacking = full_at.duration_since(now) + self.step() - self.window;
        lacking.max(SignedDuration::ZERO)
    }
}

/// Number of failures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessCount {
    /// Kind of failure.
    pub action: AuditAction,
    /// Number of failures.
    pub happened: u64,
}

/// The second factor of a member: a secret that the server and an app on a phone have.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondFactor {
    /// The secret in base32.
    pub secret: String,
    /// Time at which a code has confirmed that the app has the secret; the factor is not used before.
    pub confirmed_at: Option<Timestamp>,
    /// Number of unused recovery codes.
    pub codes_left: u64,
}

impl std::fmt::Debug for SecondFactor {
    /// Leaves the secret out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SecondFactor");
        shown.field("confirmed_at", &self.confirmed_at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: AttemptBudget =
        AttemptBudget { attempts: 3, window: SignedDuration::from_secs(60) };

    #[test]
    fn a_budget_waits_only_when_every_attempt_is_used() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        for (full_in, wait) in [(-5, 0), (20, 0), (40, 0), (60, 20), (70, 30), (121, 0)] {
            let full_at = now + SignedDuration::from_secs(full_in);
            assert_eq!(BUDGET.wait(full_at, now), SignedDuration::from_secs(wait), "{full_in}");
        }
    }
}
