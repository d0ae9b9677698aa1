//! Scripts of the seller: a list of rules, of which the first that fits a request decides what happens instead of an
//! answer. `docs/sandbox.md` explains the file format.

use jiff::SignedDuration;
use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode as ProtocolCode;
use tradepost_aap::{AapCode, Skill};
use tradepost_adcp::{self as adcp, AdcpTool};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Map;
use tradepost_document::words;

mod read;

pub use read::read;

/// Script of a sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Name, for the report.
    pub name: String,
    /// Purpose, in a sentence.
    pub description: String,
    /// Seller that it plays.
    pub seller: SellerKind,
    /// Limits for the buyer.
    pub budget: RequestBudget,
    /// Rules, in the order in which they are tried.
    pub rules: Vec<ScriptRule>,
}

words! {
    /// Seller that a script plays.
    pub enum SellerKind {
        /// Car dealer that speaks AAP.
        Dealer = "dealer",
        /// A2A agent without a profile, which keeps tasks.
        Agent = "agent",
        /// Publisher of advertising that speaks AdCP over MCP.
        Publisher = "publisher",
    }
}

impl SellerKind {
    /// Returns true when the seller offers this target.
    #[must_use]
    pub fn has(self, target: AskedFor) -> bool {
        match target {
            AskedFor::Skill(_) => self == Self::Dealer,
            AskedFor::Operation(_) => self == Self::Agent,
            AskedFor::Tool(_) => self == Self::Publisher,
            AskedFor::Card => self != Self::Publisher,
        }
    }
}

/// Limits that a well-behaved buyer observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBudget {
    /// Maximum number of attempts for one intent, the first included.
    pub attempts: u32,
    /// Maximum time from the first attempt of an intent to its last.
    pub elapsed: SignedDuration,
    /// Maximum number of retries at this seller over all intents.
    pub retries: u32,
    /// Minimum pause before a retry when no wait was requested.
    pub pause: SignedDuration,
    /// Maximum wait that is required, even when the seller requests a longer one.
    pub patience: SignedDuration,
}

impl Default for RequestBudget {
    fn default() -> Self {
        Self {
            attempts: 4,
            elapsed: SignedDuration::from_mins(5),
            retries: 20,
            pause: SignedDuration::from_millis(100),
            patience: SignedDuration::from_hours(24),
        }
    }
}

/// Rule of a script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptRule {
    /// Requests that the rule is for.
    pub when: RuleCondition,
    /// Action that it takes.
    pub act: RuleAction,
    /// Delay of the answer.
    pub latency: SignedDuration,
    /// Additions to what the code of a refusal says.
    pub words: RefusalWords,
    /// True when the seller executes the request, even when the answer is a refusal or is missing.
    pub acted: bool,
}

/// Condition for the requests of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleCondition {
    /// Targets; every message when empty.
    pub on: Vec<AskedFor>,
    /// Positions of requests, counted from 1.
    pub nth: Vec<u64>,
    /// Interval in requests: with 3, every third one.
    pub every: Option<u64>,
    /// Number of requests at the start: with 2, the first two.
    pub first: Option<u64>,
    /// Scope of the count; all requests of the rule's kind by default.
    pub per: Option<Per>,
    /// Time since the start at which the rule begins to apply.
    pub after: SignedDuration,
    /// Time since the start at which the rule ceases to apply.
    pub until: Option<SignedDuration>,
}

impl RuleCondition {
    /// Returns true when the rule is for requests of this kind, which it then counts.
    #[must_use]
    pub fn concerns(&self, target: Option<AskedFor>) -> bool {
        match target {
            Some(target) if !self.on.is_empty() => self.on.contains(&target),
            // A request without a recognised target still is a message; a card request is none.
            Some(AskedFor::Card) => false,
            Some(AskedFor::Skill(_) | AskedFor::Operation(_) | AskedFor::Tool(_)) | None => {
                self.on.is_empty()
            }
        }
    }

    /// Returns true when the rule is for its `count`th request after this time.
    #[must_use]
    pub fn fits(&self, count: u64, passed: SignedDuration) -> bool {
        (self.nth.is_empty() || self.nth.contains(&count))
            && self.every.is_none_or(|every| count.is_multiple_of(every))
            && self.first.is_none_or(|first| count <= first)
            && passed >= self.after
            && self.until.is_none_or(|until| passed < until)
    }
}

/// Target of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// Skill of a dealer.
    Skill(Skill),
    /// Operation of an agent.
    Operation(Operation),
    /// Tool of a publisher.
    Tool(AdcpTool),
    /// Agent card.
    Card,
}

impl AskedFor {
    /// Name of the card in scripts; skills, operations and tools have their own.
    pub const CARD: &'static str = "card";

    /// Returns the target of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == Self::CARD {
            return Some(Self::Card);
        }
        let operation = || Operation::from_name(name).map(Self::Operation);
        let tool = || AdcpTool::from_name(name).map(Self::Tool);
        Skill::from_name(name).map(Self::Skill).or_else(operation).or_else(tool)
    }

    /// Returns the name in scripts and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Skill(skill) => skill.name(),
            Self::Operation(operation) => operation.name(),
            Self::Tool(tool) => tool.name(),
            Self::Card => Self::CARD,
        }
    }
}

words! {
    /// Scope of a rule's count.
    pub enum Per {
        /// All requests of the rule's kind.
        Seller = "seller",
        /// Attempts of each intent separately.
        Intent = "intent",
    }
}

/// Action of a rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RuleAction {
    /// The request is answered.
    #[default]
    Answer,
    /// The dealer's profile refuses.
    Refuse(AapCode),
    /// The task fails, which is a publisher's refusal.
    Fail(adcp::error::AdcpCode),
    /// The protocol refuses.
    Protocol(ProtocolCode),
    /// HTTP refuses.
    Http(u16, BodyKind),
    /// The connection ends without an answer.
    Drop,
    /// The answer ends in the middle.
    Truncate,
    /// The answer makes no sense.
    Garbage(Garbage),
    /// The answer is true, with hostile texts.
    Inject(Poison),
    /// The answer is true, and vehicles in it are sold afterwards.
    Sell(Sell),
    /// The buyer is redirected.
    Redirect,
}

/// Additions to what the code of a refusal says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RefusalWords {
    /// Members that are merged into `details` (only for refusals of a profile).
    pub details: Map,
    /// Message in place of the usual sentence.
    pub message: Option<String>,
    /// Value in place of the code's own (only for refusals of AAP).
    pub retryable: Option<bool>,
    /// The `Retry-After` header, as it is sent; in a publisher's refusal the member `retry_after`.
    pub retry_after: Option<String>,
    /// HTTP status in place of the code's own.
    pub status: Option<u16>,
}

words! {
    /// Body of an HTTP error.
    pub enum BodyKind {
        /// No body.
        Empty = "empty",
        /// HTML page like that of a proxy.
        Html = "html",
        /// Error object that belongs to no protocol.
        Json = "json",
    }
}

words! {
    /// Answer that makes no sense.
    pub enum Garbage {
        /// HTML page with status 200.
        Html = "html",
        /// Empty body with status 200.
        Empty = "empty",
        /// JSON with an extra comma.
        NotJson = "not_json",
        /// JSON that is not a JSON-RPC answer.
        NotJsonRpc = "not_json_rpc",
        /// Answer to another request.
        WrongId = "wrong_id",
        /// Result and error at once.
        TwoResults = "two_results",
        /// Duplicate member with different values.
        TwoMembers = "two_members",
        /// Payload of another skill.
        OtherSkill = "other_skill",
        /// Arrays nested 100,000 deep.
        Deep = "deep",
        /// Bytes that are not UTF-8.
        InvalidUtf8 = "invalid_utf8",
        /// Body of 100 MB.
        Huge = "huge",
    }
}

words! {
    /// Text that is put into the seller's texts.
    pub enum Poison {
        /// Escape sequences and other control characters.
        Control = "control",
        /// Characters that reverse the direction of text.
        Bidi = "bidi",
        /// Invisible characters.
        ZeroWidth = "zero_width",
        /// Sentences that address the model.
        Prompt = "prompt",
        /// All of the above.
        All = "all",
    }
}

words! {
    /// Vehicles of a search result that are sold after it.
    pub enum Sell {
        /// The first vehicle.
        First = "first",
        /// Every vehicle.
        All = "all",
    }
}

impl Script {
    /// Returns the scripts that the program has: the files, and one that follows from the catalogs of codes and skills.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        let read = |text: &&str| {
            read(text).unwrap_or_else(|_| unreachable!("the built-in scripts are tested"))
        };
        let mut scripts: Vec<Self> = BUILT_IN.iter().map(read).collect();
        scripts.push(Self::refusing());
        scripts
    }

    /// Returns the script that refuses with one AAP code after the other, so that every skill can meet every code. It
    /// follows from the catalogs of codes and skills and is no file.
    fn refusing() -> Self {
        let codes = AapCode::ALL.len() as u64;
        let rounds = Skill::ALL.len() as u64;
        let rule = |(first, code): (u64, &AapCode)| ScriptRule {
            when: RuleCondition {
                nth: (0..rounds).map(|round| first + round * codes).collect(),
                ..RuleCondition::default()
            },
            act: RuleAction::Refuse(*code),
            ..ScriptRule::default()
        };
        Self {
            name: "refusing".to_owned(),
            description:
                "refuses everything, with one AAP code after the other whatever the skill is"
                    .to_owned(),
            seller: SellerKind::Dealer,
            budget: RequestBudget::default(),
            rules: (1..).zip(AapCode::ALL).map(rule).collect(),
        }
    }
}

const BUILT_IN: &[&str] = &[
    include_str!("scenarios/calm.toml"),
    include_str!("scenarios/flaky.toml"),
    include_str!("scenarios/throttling.toml"),
    include_str!("scenarios/abusive.toml"),
    include_str!("scenarios/hostile.toml"),
    include_str!("scenarios/garbled.toml"),
    include_str!("scenarios/sold.toml"),
    include_str!("scenarios/lost-leads.toml"),
    include_str!("scenarios/protocol.toml"),
    include_str!("scenarios/locked.toml"),
    include_str!("scenarios/slow.toml"),
    include_str!("scenarios/cardless.toml"),
    include_str!("scenarios/lost-messages.toml"),
    include_str!("scenarios/lost-buys.toml"),
    include_str!("scenarios/refused-buys.toml"),
    include_str!("scenarios/poisoned-offers.toml"),
];

#[cfg(test)]
mod tests;
