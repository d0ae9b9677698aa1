//! What the scripted seller does instead of answering: a script is a list of rules, and the first
//! rule that fits a request decides. `docs/sandbox.md` explains the file.

use jiff::SignedDuration;
use tradepost_wire::a2a::Operation;
use tradepost_wire::a2a::error::A2aCode as ProtocolCode;
use tradepost_wire::aap::{AapCode, Skill};
use tradepost_wire::adcp::{self, AdcpTool};
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::json::Map;
use tradepost_wire::words;

mod read;

pub use read::read;

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its name, for the report.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// Whom it plays.
    pub seller: Seller,
    /// What the buyer may spend.
    pub budget: RequestBudget,
    /// In the order in which they are tried.
    pub rules: Vec<ScriptRule>,
}

words! {
    /// Whom a script plays.
    pub enum Seller {
        /// A car dealer, who speaks AAP.
        Dealer = "dealer",
        /// An agent of A2A without a profile, which keeps tasks.
        Agent = "agent",
        /// A publisher of advertising, who speaks AdCP over MCP.
        Publisher = "publisher",
    }
}

impl Seller {
    /// Whether this can be asked of it.
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

/// What a well-behaved buyer stays within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBudget {
    /// How often one intent may be sent, the first time included.
    pub attempts: u32,
    /// From the first attempt of an intent to its last one.
    pub elapsed: SignedDuration,
    /// How many retries this seller gets in all.
    pub retries: u32,
    /// How long a buyer waits before a retry when nobody has told it how long.
    pub pause: SignedDuration,
    /// The longest wait that is owed, whatever the seller asks for.
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

/// One rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptRule {
    /// For which requests.
    pub when: RuleCondition,
    /// What happens.
    pub act: RuleAction,
    /// How long the answer is kept back.
    pub latency: SignedDuration,
    /// What a refusal says besides what its code says.
    pub words: RefusalWords,
    /// Whether the dealer has done what was asked all the same.
    pub acted: bool,
}

/// For which requests a rule is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleCondition {
    /// What is asked for; every message when empty.
    pub on: Vec<AskedFor>,
    /// These, counted from 1.
    pub nth: Vec<u64>,
    /// Every so many.
    pub every: Option<u64>,
    /// The first so many.
    pub first: Option<u64>,
    /// What is counted; all requests of its kind unless it says.
    pub per: Option<Per>,
    /// Not before so much time has passed.
    pub after: SignedDuration,
    /// Not when so much time has passed.
    pub until: Option<SignedDuration>,
}

impl RuleCondition {
    /// Whether the rule is for requests of this kind, which it counts.
    #[must_use]
    pub fn concerns(&self, target: Option<AskedFor>) -> bool {
        match target {
            Some(target) if !self.on.is_empty() => self.on.contains(&target),
            // What no skill was found in is still a message; the card is none.
            Some(AskedFor::Card) => false,
            Some(AskedFor::Skill(_) | AskedFor::Operation(_) | AskedFor::Tool(_)) | None => {
                self.on.is_empty()
            }
        }
    }

    /// Whether the rule is for the `count`th of its requests, when so much time has passed.
    #[must_use]
    pub fn fits(&self, count: u64, passed: SignedDuration) -> bool {
        (self.nth.is_empty() || self.nth.contains(&count))
            && self.every.is_none_or(|every| count.is_multiple_of(every))
            && self.first.is_none_or(|first| count <= first)
            && passed >= self.after
            && self.until.is_none_or(|until| passed < until)
    }
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// A skill of a dealer.
    Skill(Skill),
    /// An operation of an agent.
    Operation(Operation),
    /// A tool of a publisher.
    Tool(AdcpTool),
    /// The agent card.
    Card,
}

impl AskedFor {
    /// The name of the card in scripts; skills, operations and tools have their own.
    pub const CARD: &'static str = "card";

    /// The target of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == Self::CARD {
            return Some(Self::Card);
        }
        let operation = || Operation::from_name(name).map(Self::Operation);
        let tool = || AdcpTool::from_name(name).map(Self::Tool);
        Skill::from_name(name).map(Self::Skill).or_else(operation).or_else(tool)
    }

    /// Its name in scripts and reports.
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
    /// What a rule counts.
    pub enum Per {
        /// All requests of its kind.
        Seller = "seller",
        /// The attempts of each intent by themselves.
        Intent = "intent",
    }
}

/// What happens to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RuleAction {
    /// It is answered.
    #[default]
    Answer,
    /// The dealer's profile says no.
    Refuse(AapCode),
    /// The task fails: a publisher's no.
    Fail(adcp::error::AdcpCode),
    /// The protocol says no.
    Protocol(ProtocolCode),
    /// HTTP says no.
    Http(u16, BodyKind),
    /// The connection ends without an answer.
    Drop,
    /// The answer ends in its middle.
    Truncate,
    /// The answer makes no sense.
    Garbage(Garbage),
    /// The answer is true, and its texts are poisoned.
    Inject(Poison),
    /// The answer is true, and then vehicles in it are sold.
    Sell(Sell),
    /// The buyer is sent elsewhere.
    Redirect,
}

/// What a refusal says besides what its code says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RefusalWords {
    /// Members that replace or join those of `details` (a profile's refusals alone).
    pub details: Map,
    /// Instead of the usual sentence.
    pub message: Option<String>,
    /// Instead of what the code says about retrying (AAP's refusals alone).
    pub retryable: Option<bool>,
    /// The `Retry-After` header, as it is sent; of a publisher's refusal the member `retry_after`.
    pub retry_after: Option<String>,
    /// The HTTP status of an answer that has one of its own by its code.
    pub status: Option<u16>,
}

words! {
    /// The body of an answer of HTTP.
    pub enum BodyKind {
        /// None.
        Empty = "empty",
        /// What a proxy shows to people.
        Html = "html",
        /// An error object of no protocol in particular.
        Json = "json",
    }
}

words! {
    /// An answer that makes no sense.
    pub enum Garbage {
        /// A page for people, with status 200.
        Html = "html",
        /// Nothing, with status 200.
        Empty = "empty",
        /// JSON with a comma too many.
        NotJson = "not_json",
        /// JSON that is no JSON-RPC answer.
        NotJsonRpc = "not_json_rpc",
        /// The answer to another request.
        WrongId = "wrong_id",
        /// A result and an error at once.
        TwoResults = "two_results",
        /// A member twice, with different values.
        TwoMembers = "two_members",
        /// The payload of another skill.
        OtherSkill = "other_skill",
        /// Arrays within arrays, 100,000 deep.
        Deep = "deep",
        /// Bytes that are no UTF-8.
        InvalidUtf8 = "invalid_utf8",
        /// 100 MB of it.
        Huge = "huge",
    }
}

words! {
    /// What is put into the seller's texts.
    pub enum Poison {
        /// Escape sequences and other control characters.
        Control = "control",
        /// Characters that turn the direction of writing around.
        Bidi = "bidi",
        /// Characters that nobody sees.
        ZeroWidth = "zero_width",
        /// Sentences that speak to the model.
        Prompt = "prompt",
        /// All of these.
        All = "all",
    }
}

words! {
    /// Which vehicles of a search's answer are sold after it.
    pub enum Sell {
        /// The first one.
        First = "first",
        /// Every one.
        All = "all",
    }
}

impl Script {
    /// The scripts that come with the program.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        let read = |text: &&str| {
            read(text).unwrap_or_else(|_| unreachable!("the built-in scripts are tested"))
        };
        BUILT_IN.iter().map(read).collect()
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
    include_str!("scenarios/refusing.toml"),
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
