//! What a buyer can do wrong: one table, from which the grader, the report and the page about the
//! sandbox follow.

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Against a rule: somebody is harmed, or the next seller refuses.
    Wrong,
    /// Permitted and not clever. It changes no exit code.
    Unwise,
}

impl Level {
    /// Its name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Unwise => "unwise",
        }
    }
}

/// What is known of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in the report; never changes.
    pub id: &'static str,
    /// How bad it is.
    pub level: Level,
    /// Which rule it breaks.
    pub rule: &'static str,
    /// What the buyer does instead.
    pub hint: &'static str,
}

macro_rules! findings {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $id:literal $level:ident $rule:literal $hint:literal )*) => {
        /// What a buyer can do wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Finding { $( $(#[doc = $doc])+ $variant, )* }

        impl Finding {
            /// Every one, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// What is known of it.
            #[must_use]
            pub const fn row(self) -> Row {
                match self {
                    $( Self::$variant => Row {
                        id: $id, level: Level::$level, rule: $rule, hint: $hint,
                    }, )*
                }
            }

            /// What it means.
            #[must_use]
            pub const fn docs(self) -> &'static str {
                match self { $( Self::$variant => concat!($($doc),+), )* }
            }
        }
    };
}

findings! {
    /// The same request came again before the wait was over that the seller asked for.
    RetryEarly = "retry.early" Wrong "AAP R-ER-07, RFC 9110 §10.2.3"
        "wait for retry_after, rounded up, and add jitter"
    /// The same request came again at once, although nobody had said that it may.
    RetryWithoutPause = "retry.without_pause" Unwise "AAP R-ER-08"
        "back off before a retry: exponentially and with jitter"
    /// A request came again unchanged that was refused for good.
    RetryOfFinal = "retry.of_final" Wrong "AAP R-ER-05"
        "change the request first; retry unchanged only what is retryable"
    /// An intent was sent more often than its budget permits.
    BudgetAttempts = "budget.attempts" Wrong "budget.attempts of the script"
        "stop after a fixed number of attempts and report the failure"
    /// An intent was still sent when its time was over.
    BudgetElapsed = "budget.elapsed" Wrong "budget.elapsed of the script"
        "stop when the time for an intent is over, waits included"
    /// The seller got more retries than all intents together may cost.
    BudgetRetries = "budget.retries" Wrong "budget.retries of the script"
        "count retries for each seller and stop when they do not help"
    /// An idempotency key was used again for another lead.
    KeyReused = "key.reused" Wrong "AAP R-LD-16"
        "use a fresh idempotency key for every new lead"
    /// A lead was sent again under another key, or under none: the dealer may have it twice.
    LeadDoubled = "lead.doubled" Wrong "AAP R-LD-14"
        "retry a lead with the same idempotency_key, also when nothing was answered"
    /// A lead had no idempotency key, so it cannot be retried safely.
    KeyMissing = "key.missing" Unwise "AAP R-LD-14"
        "give every lead an idempotency_key before it is sent the first time"
    /// A message to an agent was sent again under another id: the agent may have it twice.
    MessageDoubled = "message.doubled" Unwise "A2A §3.3.1"
        "send the same messageId again when nothing was answered, by which the agent can know the message"
    /// A message's id was used again for another message.
    MessageIdReused = "message_id.reused" Wrong "AAP R-ENV-03"
        "give every message a unique messageId"
    /// A request had no A2A-Version header.
    VersionMissing = "header.version_missing" Wrong "A2A §3.6.1"
        "send A2A-Version: 1.0 with every request"
    /// A request named no version of AAP in A2A-Extensions.
    ExtensionMissing = "header.extension_missing" Wrong "AAP R-CARD-14"
        "name the AAP extension of the card in A2A-Extensions"
    /// A request breaks the schema of its skill or the protocol.
    RequestInvalid = "request.invalid" Wrong "AAP R-ENV, the skill's request schema"
        "check requests against the schema before they are sent"
    /// A lead had no consent, or none for a channel on which the customer can be reached.
    ConsentMissing = "consent.missing" Wrong "AAP R-LD-02, R-LD-03"
        "ask the user for consent before personal data is sent"
    /// A lead's consent was malformed, expired or not yet granted.
    ConsentInvalid = "consent.invalid" Wrong "AAP R-LD-05, R-LD-06"
        "build a fresh consent grant with the user"
    /// The same words of the same moment suddenly permitted more channels than before.
    ConsentStretched = "consent.stretched" Wrong "AAP R-LD-04"
        "go back to the user; a consent is never widened without them"
    /// A lead was about a vehicle of which the seller had said that it is gone.
    VehicleGone = "vehicle.gone" Unwise "AAP R-ER-08"
        "search again and tell the user before a lead is sent"
    /// A redirect was followed with a message in hand.
    RedirectFollowed = "redirect.followed" Wrong "RFC 9110 §15.4"
        "send messages only to the address of the agent card"
    /// A message came before the agent card had been read.
    CardUnread = "card.unread" Unwise "AAP R-CARD-12"
        "read the agent card first, and keep it as long as its caching headers permit"
}
