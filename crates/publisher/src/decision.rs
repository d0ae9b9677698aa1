//! What the publisher's people can decide, and a decision as it is recorded: who decided what, when and why.

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;

tradepost_wire::words! {
    /// What is decided about, by the word for people.
    pub enum Matter {
        /// An advertiser's account.
        Account = "account",
        /// A creative.
        Creative = "creative",
        /// A submitted task: a media buy that waits for approval.
        Task = "task",
    }

    /// What is decided, by the name of its command.
    pub enum Step {
        /// What waits for approval has it.
        Approve = "approve",
        /// It does not come about, or may not run any more.
        Decline = "decline",
        /// It is paused.
        Suspend = "suspend",
        /// It goes on after that.
        Resume = "resume",
        /// It is over.
        Close = "close",
        /// Something has to be paid first.
        PaymentDue = "payment-due",
        /// It has been paid.
        PaymentSettled = "payment-settled",
    }
}

/// Who decides what a product lets the time decide.
pub const SCHEDULE: &str = "schedule";

/// Who decides where nobody said who: a caller of the library.
const UNKNOWN: &str = "unknown";

/// A thing that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedStep {
    /// A step of something's way.
    Step(Step),
    /// What an agent may do with an account.
    Grant,
    /// That an agent may do nothing special with an account any more.
    Revoke,
}

/// A decision as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionEntry {
    /// When.
    pub at: Timestamp,
    /// Who: a member of the staff, an operator of the server, or [`SCHEDULE`].
    pub by: String,
    /// What was decided.
    pub step: DecidedStep,
    /// About what.
    pub matter: Matter,
    /// Its id, as callers know it.
    pub id: String,
    /// The account on which it lies; `None` for an account itself.
    pub account: Option<String>,
    /// How it stood.
    pub before: String,
    /// How it stands.
    pub after: String,
    /// What more is to be said of it, such as the buy that came of a task.
    pub outcome: Option<String>,
    /// Why, in the words of whoever decided.
    pub why: Option<String>,
}

impl DecisionEntry {
    /// Who decides, by the name that was given.
    #[must_use]
    pub fn decider(by: Option<&str>) -> String {
        by.unwrap_or(UNKNOWN).to_owned()
    }

    /// Everything but who, when and which thing, in one line for people.
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
