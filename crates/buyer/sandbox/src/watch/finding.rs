//! Catalog of a buyer's mistakes.

use tradepost_document::catalog;
use tradepost_document::words;

words! {
    /// Severity of a finding.
    pub enum FindingLevel {
        /// Violates a rule: it harms someone, or the next seller refuses it.
        Wrong = "wrong",
        /// Permitted but unwise. It does not affect the exit code.
        Unwise = "unwise",
    }
}

catalog! {
    /// Mistake of a buyer. Its name in reports never changes.
    pub enum FindingKind {
        /// Severity.
        level: FindingLevel,
        /// Rule that it breaks.
        rule: &'static str,
        /// Advice for the buyer.
        hint: &'static str,
    }
    /// The same request came again before the wait was over that the seller asked for.
    RetryEarly = "retry.early" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ER-07, RFC 9110 §10.2.3",
        hint: "wait for retry_after, rounded up, and add jitter",
    }
    /// The same request came again at once, although nobody had said that it may.
    RetryWithoutPause = "retry.without_pause" {
        level: FindingLevel::Unwise,
        rule: "AAP R-ER-08",
        hint: "back off before a retry: exponentially and with jitter",
    }
    /// A request came again unchanged that was refused for good.
    RetryOfFinal = "retry.of_final" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ER-05",
        hint: "change the request first; retry unchanged only what is retryable",
    }
    /// An intent was sent more often than its budget permits.
    BudgetAttempts = "budget.attempts" {
        level: FindingLevel::Wrong,
        rule: "budget.attempts of the script",
        hint: "stop after a fixed number of attempts and report the failure",
    }
    /// An intent was still sent when its time was over.
    BudgetElapsed = "budget.elapsed" {
        level: FindingLevel::Wrong,
        rule: "budget.elapsed of the script",
        hint: "stop when the time for an intent is over, waits included",
    }
    /// The seller got more retries than all intents together may cost.
    BudgetRetries = "budget.retries" {
        level: FindingLevel::Wrong,
        rule: "budget.retries of the script",
        hint: "count retries for each seller and stop when they do not help",
    }
    /// An idempotency key was used again for another lead or task.
    KeyReused = "key.reused" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-16, AdCP E-4",
        hint: "use a fresh idempotency key for every new lead or task",
    }
    /// A lead was sent again under another key, or under none: the dealer may have it twice.
    LeadDoubled = "lead.doubled" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-14",
        hint: "retry a lead with the same idempotency_key, also when nothing was answered",
    }
    /// A task that changes something was sent again under another key, or under none: the seller may have
    /// done it twice.
    TaskDoubled = "task.doubled" {
        level: FindingLevel::Wrong,
        rule: "AdCP E-4",
        hint: "retry a task with the same idempotency_key, also when nothing was answered",
    }
    /// A credential stood in the arguments of a task, where it may be logged.
    CredentialSent = "credential.sent" {
        level: FindingLevel::Wrong,
        rule: "AdCP A-9",
        hint: "send credentials in the Authorization header, and replace what has leaked",
    }
    /// A lead had no idempotency key, so it cannot be retried safely.
    KeyMissing = "key.missing" {
        level: FindingLevel::Unwise,
        rule: "AAP R-LD-14",
        hint: "give every lead an idempotency_key before it is sent the first time",
    }
    /// A message to an agent was sent again under another id: the agent may have it twice.
    MessageDoubled = "message.doubled" {
        level: FindingLevel::Unwise,
        rule: "A2A §3.3.1",
        hint: "send the same messageId again when nothing was answered, by which the agent can know the message",
    }
    /// A message's id was used again for another message.
    MessageIdReused = "message_id.reused" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ENV-03",
        hint: "give every message a unique messageId",
    }
    /// A request had no A2A-Version header.
    VersionMissing = "header.version_missing" {
        level: FindingLevel::Wrong,
        rule: "A2A §3.6.1",
        hint: "send A2A-Version: 1.0 with every request",
    }
    /// A request named no version of AAP in A2A-Extensions.
    ExtensionMissing = "header.extension_missing" {
        level: FindingLevel::Wrong,
        rule: "AAP R-CARD-14",
        hint: "name the AAP extension of the card in A2A-Extensions",
    }
    /// A request breaks the schema of its skill or the protocol.
    RequestInvalid = "request.invalid" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ENV, the skill's request schema",
        hint: "check requests against the schema before they are sent",
    }
    /// A lead had no consent, or none for a channel on which the customer can be reached.
    ConsentMissing = "consent.missing" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-02, R-LD-03",
        hint: "ask the user for consent before personal data is sent",
    }
    /// A lead's consent was malformed, expired or not yet granted.
    ConsentInvalid = "consent.invalid" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-05, R-LD-06",
        hint: "build a fresh consent grant with the user",
    }
    /// The same words of the same moment suddenly permitted more channels than before.
    ConsentStretched = "consent.stretched" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-04",
        hint: "go back to the user; a consent is never widened without them",
    }
    /// A lead was about a vehicle of which the seller had said that it is gone.
    VehicleGone = "vehicle.gone" {
        level: FindingLevel::Unwise,
        rule: "AAP R-ER-08",
        hint: "search again and tell the user before a lead is sent",
    }
    /// A redirect was followed with a message in hand.
    RedirectFollowed = "redirect.followed" {
        level: FindingLevel::Wrong,
        rule: "RFC 9110 §15.4",
        hint: "send messages only to the address of the agent card",
    }
    /// A message came before the agent card had been read.
    CardUnread = "card.unread" {
        level: FindingLevel::Unwise,
        rule: "AAP R-CARD-12",
        hint: "read the agent card first, and keep it as long as its caching headers permit",
    }
}
