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
    /// The buyer repeated a request before the retry-after of the seller had passed.
    RetryEarly = "retry.early" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ER-07, RFC 9110 §10.2.3",
        hint: "wait for retry_after, rounded up, and add jitter",
    }
    /// The buyer repeated a request at once, although the seller had not permitted a retry.
    RetryWithoutPause = "retry.without_pause" {
        level: FindingLevel::Unwise,
        rule: "AAP R-ER-08",
        hint: "back off before a retry: exponentially and with jitter",
    }
    /// The buyer repeated a request unchanged that the seller had refused for good.
    RetryOfFinal = "retry.of_final" {
        level: FindingLevel::Wrong,
        rule: "AAP R-ER-05",
        hint: "change the request first; retry unchanged only what is retryable",
    }
    /// The buyer sent an intent more often than the script's budget permits.
    BudgetAttempts = "budget.attempts" {
        level: FindingLevel::Wrong,
        rule: "budget.attempts of the script",
        hint: "stop after a fixed number of attempts and report the failure",
    }
    /// The buyer sent an intent after the script's time for it had passed.
    BudgetElapsed = "budget.elapsed" {
        level: FindingLevel::Wrong,
        rule: "budget.elapsed of the script",
        hint: "stop when the time for an intent is over, waits included",
    }
    /// The buyer sent the seller more retries than the script's budget for all intents permits.
    BudgetRetries = "budget.retries" {
        level: FindingLevel::Wrong,
        rule: "budget.retries of the script",
        hint: "count retries for each seller and stop when they do not help",
    }
    /// The buyer used an idempotency key again for another lead or task.
    KeyReused = "key.reused" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-16, AdCP E-4",
        hint: "use a fresh idempotency key for every new lead or task",
    }
    /// The buyer sent a lead again under another key or without one: the dealer may have it twice.
    LeadDoubled = "lead.doubled" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-14",
        hint: "retry a lead with the same idempotency_key, also when nothing was answered",
    }
    /// The buyer sent a task that changes data again under another key or without one: the seller may have
    /// done it twice.
    TaskDoubled = "task.doubled" {
        level: FindingLevel::Wrong,
        rule: "AdCP E-4",
        hint: "retry a task with the same idempotency_key, also when nothing was answered",
    }
    /// The arguments of a task contained a credential, which may be logged.
    CredentialSent = "credential.sent" {
        level: FindingLevel::Wrong,
        rule: "AdCP A-9",
        hint: "send credentials in the Authorization header, and replace the leaked credential",
    }
    /// A lead had no idempotency key, so it cannot be retried safely.
    KeyMissing = "key.missing" {
        level: FindingLevel::Unwise,
        rule: "AAP R-LD-14",
        hint: "give every lead an idempotency_key before it is sent the first time",
    }
    /// The buyer sent a message to an agent again under another id: the agent may have it twice.
    MessageDoubled = "message.doubled" {
        level: FindingLevel::Unwise,
        rule: "A2A §3.3.1",
        hint: "send the same messageId again when nothing was answered, so that the agent recognises the message",
    }
    /// The buyer used a message's id again for another message.
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
        hint: "create a new consent grant with the user",
    }
    /// A consent with the same text and time permitted more channels than before.
    ConsentStretched = "consent.stretched" {
        level: FindingLevel::Wrong,
        rule: "AAP R-LD-04",
        hint: "ask the user again; a consent is never widened without them",
    }
    /// A lead was about a vehicle that the seller had reported as no longer on offer.
    VehicleGone = "vehicle.gone" {
        level: FindingLevel::Unwise,
        rule: "AAP R-ER-08",
        hint: "search again and tell the user before a lead is sent",
    }
    /// The buyer followed a redirect with a message.
    RedirectFollowed = "redirect.followed" {
        level: FindingLevel::Wrong,
        rule: "RFC 9110 §15.4",
        hint: "send messages only to the address of the agent card",
    }
    /// The buyer sent a message before it had read the agent card.
    CardUnread = "card.unread" {
        level: FindingLevel::Unwise,
        rule: "AAP R-CARD-12",
        hint: "read the agent card first, and cache it as long as its caching headers permit",
    }
}
