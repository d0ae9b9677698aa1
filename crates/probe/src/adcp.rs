//! The checks of AdCP 3.1, by subject: above all what the official
//! harness never asserts.
//!
//! A seller is asked over MCP, at the address that was given, and over A2A, where the agent card
//! names AdCP. Whatever is asked only reads, unless writing was allowed.
// requirements adcp.md §1

use tradepost_wire::a2a::Operation;
use tradepost_wire::adcp::error::Code;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use super::check::{Check, Judged, Verdict, fail, not_here};
use super::exchange::Exchange;
use super::run::{Ask, Binding, Field, Run, Who};
use super::shape::text;

mod answer;
mod auth;
mod capability;
mod detail;
mod error;
mod idempotency;
mod input;
mod issue;
mod lookup;
pub(super) mod mcp;
mod statistics;
mod uniform;

use answer::Answer;

/// All of them, in the order in which they are run.
pub(super) const TABLES: &[&[Check]] = &[
    mcp::CHECKS,
    capability::CHECKS,
    input::CHECKS,
    auth::CHECKS,
    lookup::CHECKS,
    uniform::CHECKS,
    idempotency::CHECKS,
    error::CHECKS,
    issue::CHECKS,
    detail::CHECKS,
];

/// The release that every request names unless it says otherwise.
const PIN: &str = "3.1";

/// How an extension of the card shows that an agent speaks AdCP.
const EXTENSION: &str = "adcontextprotocol.org/extensions/adcp/";

/// By which way a seller is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Way {
    #[default]
    Mcp,
    A2a,
}

impl Way {
    /// As the report writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mcp => "MCP",
            Self::A2a => "AdCP over A2A",
        }
    }
}

/// What is known of a seller.
#[derive(Debug, Default)]
pub(crate) struct Seller {
    /// Where it speaks MCP.
    pub(crate) mcp: Option<reqwest::Url>,
    /// The URI of the card's extension, where the card names AdCP.
    pub(crate) extension: Option<String>,
    /// By which way it is being asked.
    pub(crate) way: Way,
    sessions: Vec<(String, mcp::Session)>,
    seen: Vec<Seen>,
    pairs: Vec<(Way, uniform::Paired)>,
    /// Answers that hold one of our credentials.
    pub(crate) echoes: Vec<Exchange>,
    /// An MCP server at the address that has none of AdCP's tools.
    pub(crate) stranger: Option<reqwest::Url>,
}

/// A refusal that was seen.
#[derive(Debug, Clone)]
struct Seen {
    answer: Answer,
    /// `get_products`; empty where no tool was called.
    tool: String,
    exchange: Exchange,
}

impl Seller {
    /// The ways in which it can be asked.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let mcp = self.mcp.is_some().then_some(Way::Mcp);
        let a2a = self.extension.is_some().then_some(Way::A2a);
        mcp.into_iter().chain(a2a).collect()
    }

    /// What was measured.
    pub(crate) fn measured(&self) -> Vec<super::report::Measured> {
        self.pairs.iter().map(|(way, paired)| paired.measured(way.name())).collect()
    }

    /// Of the codes of the contract that the official harness never asserts, those that this run
    /// did not see either.
    pub(crate) fn unseen(&self) -> Vec<&'static str> {
        let seen = |code: &Code| self.seen.iter().any(|it| it.answer.code() == Some(code.name()));
        UNASSERTED.iter().filter(|code| !seen(code)).map(|code| code.name()).collect()
    }
}

/// The codes of the contract that no storyboard of the official harness asserts (3.1.18).
const UNASSERTED: &[Code] = &[
    Code::AuthRequired,
    Code::AuthMissing,
    Code::AuthInvalid,
    Code::RateLimited,
    Code::ServiceUnavailable,
    Code::ConfigurationError,
    Code::PolicyViolation,
    Code::CreativeRejected,
    Code::AudienceTooSmall,
    Code::AccountNotFound,
    Code::AccountSetupRequired,
    Code::AccountAmbiguous,
    Code::AccountPaymentRequired,
    Code::AccountSuspended,
    Code::ComplianceUnsatisfied,
    Code::BudgetExhausted,
    Code::CreativeNotFound,
    Code::SignalNotFound,
    Code::SessionNotFound,
    Code::PlanNotFound,
    Code::RequoteRequired,
    Code::ScopeInsufficient,
    Code::ReadOnlyScope,
    Code::FieldNotPermitted,
    Code::PaymentTermsNotSupported,
    Code::BrandRequired,
    Code::AgentSuspended,
    Code::AgentBlocked,
];

/// Notes whether the card names AdCP.
pub(super) fn read_card(run: &mut Run) {
    let extensions = run.card.iter().flat_map(|card| card.extensions.iter());
    let mut named = extensions.filter(|it| it.uri.contains(EXTENSION)).map(|it| it.uri.clone());
    run.seller.extension = named.next();
}

/// Makes the interface of the card the one that is probed, where the seller is asked over A2A.
pub(super) fn choose(run: &mut Run, way: Way) {
    run.seller.way = way;
    let mut over_json = run.endpoints.iter().filter(|it| it.binding != Binding::Grpc);
    if let Some(endpoint) = over_json.next() {
        run.binding = endpoint.binding;
    }
}

impl Run {
    /// Calls a tool as the first caller.
    async fn tool(&mut self, tool: &str, arguments: Value) -> Result<Answer, Verdict> {
        self.tool_as(Who::First, tool, arguments).await
    }

    /// Calls a tool as somebody. Names the release and a context where `arguments` do not.
    async fn tool_as(
        &mut self,
        who: Who<'_>,
        tool: &str,
        mut arguments: Value,
    ) -> Result<Answer, Verdict> {
        if let Some(members) = arguments.as_object_mut() {
            members.entry("adcp_version").or_insert_with(|| PIN.into());
            members.entry("context").or_insert_with(|| self.context());
        }
        let answer = match self.seller.way {
            Way::Mcp => mcp::call(self, who, tool, arguments).await?,
            Way::A2a => self.skill_of_a2a(who, tool, arguments).await?,
        };
        if answer.is_refusal()
            && let Some(exchange) = self.last().cloned()
        {
            self.seller.seen.push(Seen { answer: answer.clone(), tool: tool.to_owned(), exchange });
        }
        Ok(answer)
    }

    /// The context that requests carry: the same in the whole run, so that answers can be compared.
    fn context(&self) -> Value {
        json!({"tradepost_probe": self.options.run_id})
    }

    async fn skill_of_a2a(
        &mut self,
        who: Who<'_>,
        skill: &str,
        input: Value,
    ) -> Result<Answer, Verdict> {
        let mut uris = self.required_extensions();
        let ours = self.seller.extension.clone().unwrap_or_default();
        if !uris.contains(&ours) {
            uris.push(ours);
        }
        let uris = uris.join(", ");
        let ask = Ask {
            extensions: Field::Text(&uris),
            who,
            expects_401: who != Who::First,
            ..Ask::default()
        };
        let id = self.fresh_of_one_length("m");
        let parts = json!([{"data": {"skill": skill, "input": input}}]);
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": parts});
        let reply = self.ask(ask, Operation::SendMessage, json!({"message": message})).await?;
        Ok(Answer::of_a2a(reply))
    }

    /// The names of the tools that the seller offers.
    async fn tools(&mut self) -> Result<Vec<String>, Verdict> {
        match self.seller.way {
            Way::Mcp => mcp::tools(self).await,
            Way::A2a => {
                let skills = self.card.iter().flat_map(|card| card.skills.iter());
                Ok(skills.map(|skill| skill.id.clone()).collect())
            }
        }
    }

    /// The first of these tools that the seller offers, and what is sent to it.
    async fn first_of(
        &mut self,
        wanted: &[(&'static str, &str)],
    ) -> Result<(&'static str, Value), Verdict> {
        let offered = self.tools().await?;
        let found = wanted.iter().find(|(tool, _)| offered.iter().any(|name| name == tool));
        match found {
            Some((tool, arguments)) => {
                Ok((tool, tradepost_wire::json::from_str(arguments).unwrap_or_default()))
            }
            None => {
                let names: Vec<_> = wanted.iter().map(|(tool, _)| *tool).collect();
                not_here(format!("the seller offers none of {}", names.join(", ")))
            }
        }
    }

    /// What `get_adcp_capabilities` answers, asked once for each way.
    async fn capabilities(&mut self) -> Result<Answer, Verdict> {
        let answer = self.tool("get_adcp_capabilities", json!({})).await?;
        if answer.is_refusal() {
            return not_here(format!("get_adcp_capabilities gives {}", answer.describe()));
        }
        Ok(answer)
    }

    /// The releases that the seller says it speaks, asked once for each way; empty when it does
    /// not say.
    async fn releases(&mut self) -> Result<Vec<String>, Verdict> {
        let key = format!("adcp releases {}", self.seller.way.name());
        if let Some(known) = self.memo.get(&key) {
            let known = known.clone()?;
            return Ok(tradepost_wire::json::from_value(known).unwrap_or_default());
        }
        let releases = match self.capabilities().await {
            Ok(answer) => {
                let listed = answer.payload.pointer("/adcp/supported_versions").cloned();
                let listed: Vec<String> = listed
                    .and_then(|it| tradepost_wire::json::from_value(it).ok())
                    .unwrap_or_default();
                Ok(json!(listed))
            }
            Err(Verdict::NotApplicable(_)) => Ok(json!([])),
            Err(other) => Err(other),
        };
        self.memo.insert(key, releases.clone());
        Ok(tradepost_wire::json::from_value(releases?).unwrap_or_default())
    }

    /// Whether the seller speaks a release of 3.1 or later, as far as it says.
    async fn speaks_3_1(&mut self) -> Result<bool, Verdict> {
        Ok(self.releases().await?.iter().any(|release| !release.starts_with("3.0")))
    }
}

/// Judges whether a refusal has one of these codes; the first is the expected one.
fn refused(answer: &Answer, codes: &[Code]) -> Judged {
    if codes.iter().any(|code| answer.code() == Some(code.name())) {
        return Ok(Verdict::Pass);
    }
    let names: Vec<_> = codes.iter().map(|code| code.name()).collect();
    fail(format!("expected {}, and got {}", names.join(" or "), answer.describe()))
}

/// A text member of an error.
fn member<'v>(error: &'v Value, name: &str) -> &'v str {
    text(error, name).unwrap_or_default()
}
