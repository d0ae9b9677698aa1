//! Decisions of the publisher's staff, and their records: who decided what, when and why.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_document::catalog::Vocabulary as _;

tradepost_document::words! {
    /// Subject of a decision, by the word for people.
    pub enum DecisionSubject {
        /// An advertiser's account.
        Account = "account",
        /// A creative.
        Creative = "creative",
        /// A submitted task: a media buy that waits for approval.
        Task = "task",
        /// A media buy that was booked.
        Buy = "buy",
    }

    /// Step that is decided, by the name of its command.
    pub enum DecisionStep {
        /// Approve what waits for approval.
        Approve = "approve",
        /// Decline it, or stop it from running.
        Decline = "decline",
        /// Pause it.
        Suspend = "suspend",
        /// Resume it after a pause.
        Resume = "resume",
        /// Close it for good.
        Close = "close",
        /// Demand a payment first.
        PaymentDue = "payment-due",
        /// Note that the payment was made.
        PaymentSettled = "payment-settled",
        /// Stop a media buy for a while.
        Pause = "pause",
        /// Cancel a media buy for good.
        Cancel = "cancel",
    }
}

impl DecisionStep {
    /// Returns what was done to a record, for its history.
    #[must_use]
    pub const fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Decline => "declined",
            Self::Suspend => "suspended",
            Self::Resume => "resumed",
            Self::Close => "closed",
            Self::PaymentDue => "payment_demanded",
            Self::PaymentSettled => "payment_settled",
            Self::Pause => "paused",
            Self::Cancel => "canceled",
        }
    }
}

/// The latest decision about a record, as it is stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDecision {
    /// Time of the decision.
    pub at: Timestamp,
    /// Name of the decider.
    pub by: String,
    /// Decided step.
    pub step: DecisionStep,
}

/// Version of a record that a person had in front of them when deciding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenVersion {
    /// Status, for records that change without anybody looking at them.
    Status(String),
    /// Number of the revision.
    Revision(u64),
}

/// Name of the decider when the time that a product sets decides.
pub const SCHEDULE: &str = "schedule";

/// Name of the decider when a caller of the library gave none.
const UNKNOWN: &str = "unknown";

/// Decided step, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedStep {
    /// A step of an account, a creative or a task.
    Step(DecisionStep),
    /// Rights of an agent on an account were set.
    Grant,
    /// Rights of an agent on an account were taken away.
    Revoke,
}

/// A decision as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionEntry {
    /// Time of the decision.
    pub at: Timestamp,
    /// Name of the decider: a member of the staff, an operator of the server, or [`SCHEDULE`].
    pub by: String,
    /// Decided step.
    pub step: DecidedStep,
    /// Kind of the subject.
    pub matter: DecisionSubject,
    /// Id of the subject, as callers know it.
    pub id: String,
    /// Account of the subject; `None` for an account itself.
    pub account: Option<String>,
    /// Status before.
    pub before: String,
    /// Status after.
    pub after: String,
    /// Further result, such as the buy that came of a task.
    pub outcome: Option<String>,
    /// Reason, in the words of the decider.
    pub why: Option<String>,
}

impl DecisionEntry {
    /// Returns the name of the decider, or `unknown` when none was given.
    #[must_use]
    pub fn decider(by: Option<&str>) -> String {
        by.unwrap_or(UNKNOWN).to_owned()
    }

    /// Returns subject, account, change of status, result and reason, in one line for people.
    #[must_use]
    pub fn detail(&self) -> String {
        let mut detail = self.matter.name().to_owned();
        if let Some(account) = &self.account {
            detail.push_str(&format!(" of {account}"));
        }
        detail.push_str(&format!(": {} -> {}", self.before, self.after));
        if let Some(outcome) = &self.outcome {
            detail.push_str(&format!(" ({outcome})"));
        }
        if let Some(why) = &self.why {
            detail.push_str(&format!("; why: {why}"));
        }
        detail
    }
}
