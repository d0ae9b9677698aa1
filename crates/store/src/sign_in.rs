//! How many attempts to sign in may fail, and what the second step of signing in keeps.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::AuditAction;

/// Failed attempts that are allowed at once, and that come back evenly over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptBudget {
    /// How many may fail at once; at least 1.
    pub attempts: u32,
    /// The time in which all of them come back.
    pub window: SignedDuration,
}

impl AttemptBudget {
    /// The time in which one attempt comes back.
    #[must_use]
    pub fn step(self) -> SignedDuration {
        let attempts = i32::try_from(self.attempts.max(1)).unwrap_or(i32::MAX);
        self.window.checked_div(attempts).unwrap_or(self.window)
    }

    /// When the budget is full again after the first attempt of all.
    pub(crate) fn after_one(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.step()).unwrap_or(Timestamp::MAX)
    }

    /// When a budget that was to be full again at `full_at` is, after one more attempt.
    #[must_use]
    pub fn charged(self, full_at: Timestamp, now: Timestamp) -> Timestamp {
        if full_at <= now || full_at > self.latest(now) {
            return self.after_one(now);
        }
        full_at.saturating_add(self.step()).unwrap_or(Timestamp::MAX)
    }

    /// The last moment at which a budget that was charged under this clock can be full again.
    /// Processes that charge at once may go beyond the window by a few steps.
    pub(crate) fn latest(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.window.saturating_mul(2)).unwrap_or(Timestamp::MAX)
    }

    /// The time until the next attempt, of a budget that is full again at `full_at`; zero when it may
    /// be made now.
    #[must_use]
    pub fn wait(self, full_at: Timestamp, now: Timestamp) -> SignedDuration {
        if full_at > self.latest(now) {
            return SignedDuration::ZERO;
        }
        let lacking = full_at.duration_since(now) + self.step() - self.window;
        lacking.max(SignedDuration::ZERO)
    }
}

/// Failures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessCount {
    /// The kind.
    pub action: AuditAction,
    /// How many there were.
    pub happened: u64,
}

/// The second factor of a member: a secret that the server and an app on a phone have.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondFactor {
    /// The secret in base32.
    pub secret: String,
    /// When a code has confirmed that the app has it; it does not count before.
    pub confirmed_at: Option<Timestamp>,
    /// Recovery codes that were not used.
    pub codes_left: u64,
}

impl std::fmt::Debug for SecondFactor {
    /// Without the secret.
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
